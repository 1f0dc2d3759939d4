//! What serves in this process: servers of tailwater's protocol, or one that speaks a protocol of others.

use crate::failure::{Failure, complain};
use std::time::Duration;
use tailwater_load::application::ServingFront;
use tailwater_rt::{Drained, Model, Server};

pub(super) enum Served {
    /// The front, or nodes of a tier.
    Ours(Vec<Server>),
    /// It has no threading model.
    Foreign(Box<dyn ServingFront>),
}

impl Served {
    /// Where it listens, or each node.
    pub(super) fn addresses(&self) -> Vec<String> {
        match self {
            Self::Ours(servers) => {
                servers.iter().map(|server| server.address().to_string()).collect()
            }
            Self::Foreign(front) => vec![front.address().to_string()],
        }
    }

    /// Whether no server has failed.
    pub(super) fn is_well(&self) -> bool {
        match self {
            Self::Ours(servers) => servers.iter().all(|server| server.failure().is_none()),
            Self::Foreign(front) => front.is_well(),
        }
    }

    /// New requests are served by this model; why not, is said.
    pub(super) fn set_model(&self, model: Model) {
        match self {
            Self::Ours(servers) => {
                let set = |server: &Server| server.set_model(model).err();
                servers.iter().filter_map(set).for_each(|why| complain(&why.to_string()));
            }
            Self::Foreign(_) => complain(&format!("found model {model}, and this server has none")),
        }
    }

    /// Ends it; for so long it waits for what is under way. One of another protocol waits for as long as its tier may take.
    pub(super) fn drain(self, patience: Duration) -> Result<(), Failure> {
        let servers = match self {
            Self::Ours(servers) => servers,
            Self::Foreign(front) if front.is_well() => {
                drop(front);
                return Ok(());
            }
            Self::Foreign(_) => return Err(Failure::work("the server's thread has ended")),
        };
        servers.iter().for_each(|server| server.begin_drain(patience));
        let drained: Vec<_> = servers.into_iter().map(|server| server.drain(patience)).collect();
        if patience.is_zero() {
            return Ok(());
        }
        drained.iter().try_for_each(|drained| conclude(drained, patience))
    }
}

/// What was not answered is not lost without a word.
fn conclude(drained: &Drained, patience: Duration) -> Result<(), Failure> {
    if let Some(failure) = &drained.failure {
        return Err(Failure::work(failure));
    }
    let Drained { unanswered, unsent, .. } = drained;
    if unanswered + unsent == 0 {
        return Ok(());
    }
    Err(Failure::work(format!(
        "after {patience:?} of draining {unanswered} requests were not answered, and {unsent} connections \
         had not read their answers; a longer --drain-for waits for them"
    )))
}
