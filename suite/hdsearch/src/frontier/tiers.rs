//! The three tiers behind sockets, in this process: each server a thread of its own.

use crate::leaf::Leaf;
use crate::midtier::MidTier;
use crate::service::{self, LEAVES};
use crate::wire::{self, Answer};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::downstream::TierConfig;
use tailwater_rt::{Server, ServerConfig};

/// Leaves that serve.
pub struct Tiers {
    controller: Controller,
    leaves: Vec<Arc<Leaf>>,
    servers: Vec<Server>,
}

/// A mid-tier that serves, and its client.
pub struct Front {
    client: Client,
    /// Serves until it is dropped.
    _server: Server,
}

/// Why the tiers do not answer.
#[derive(Debug)]
pub struct TiersError(String);

/// Nothing is refused: one query at a time is no overload.
const OBJECTIVE: Duration = Duration::from_secs(10);

impl Tiers {
    /// Starts a server for each leaf, on a free port of this machine.
    ///
    /// # Errors
    /// When one cannot listen.
    pub fn start(leaves: Vec<Arc<Leaf>>) -> Result<Self, TiersError> {
        let controller = Spec::named("none").build(&Site::one_loop(OBJECTIVE, 1));
        let controller = controller.map_err(|error| TiersError(error.to_string()))?;
        let start = |leaf: &Arc<Leaf>| {
            let router = Arc::clone(leaf).router();
            Server::start(ServerConfig::default(), controller.admission.clone(), router)
                .map_err(|error| TiersError(format!("a leaf cannot serve: {error}")))
        };
        let servers = leaves.iter().map(start).collect::<Result<_, _>>()?;
        Ok(Self { controller, leaves, servers })
    }

    /// Those that serve.
    #[must_use]
    pub fn leaves(&self) -> &[Arc<Leaf>] {
        &self.leaves
    }

    /// Starts a mid-tier before them.
    ///
    /// # Errors
    /// When it cannot listen, or cannot be reached.
    pub fn front(&self, midtier: MidTier) -> Result<Front, TiersError> {
        let leaves = self.servers.iter().map(|leaf| ChannelConfig::new(leaf.address().clone()));
        let tier = TierConfig::new(LEAVES, leaves.collect()).controller(&self.controller);
        let config = ServerConfig { tiers: vec![tier], ..ServerConfig::default() };
        let router = service::router(midtier);
        let server = Server::start(config, self.controller.admission.clone(), router)
            .map_err(|error| TiersError(format!("the mid-tier cannot serve: {error}")))?;
        let channel = ChannelConfig::new(server.address().clone());
        let client = Client::connect_with(channel, &self.controller)
            .map_err(|error| TiersError(format!("the mid-tier cannot be reached: {error}")))?;
        Ok(Front { client, _server: server })
    }
}

impl Front {
    /// Asks the mid-tier, and waits for its answer.
    ///
    /// # Errors
    /// When it does not answer, or something else.
    pub fn ask(&self, request: Vec<u8>) -> Result<Answer, TiersError> {
        let answer = self.client.call(wire::SEARCH.0, request).wait();
        let answer = answer.map_err(|error| TiersError(error.to_string()))?;
        if answer.status != 0 {
            return Err(TiersError(String::from_utf8_lossy(&answer.payload).into_owned()));
        }
        wire::read_answer(&answer.payload).ok_or_else(|| TiersError("found no answer".into()))
    }
}

impl fmt::Debug for Tiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tiers").field("leaves", &self.leaves.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

impl fmt::Display for TiersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TiersError {}
