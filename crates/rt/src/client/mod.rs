//! The client: [`Client`] for programs, [`Channel`] for drivers that bring their own event loop.

mod alarms;
mod answer;
mod call;
mod callers;
mod calls;
mod channel;
mod config;
mod demand;
mod desk;
mod event;
mod exchange;
mod link;
mod liveness;
mod over;
mod reactor;
mod routes;
mod session;
mod slot;
mod slots;

pub use answer::{Answer, CallError};
pub use call::CallFuture;
pub(crate) use callers::Fill;
pub use channel::{Channel, Health, Losses};
pub use config::ChannelConfig;
pub use event::{End, Event, NewCall};
pub(crate) use exchange::{Exchange, Order, Replica};
pub use tailwater_marks::Caller;
pub use tailwater_wire::Fault;

use crate::net::Address;
use crate::time::now;
use desk::Desk;
use reactor::Reactor;
use slot::{Filler, Slot};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_control::catalog::{Controller, default_client};
use tailwater_control::retry::REPLICAS_MAX;
use tailwater_control::{Client as Control, ConfigError, Replicas, RetryConfig};
use tailwater_core::MethodId;

/// A connection to one server, or to each of several replicas, that many callers share. Cheap to clone, and
/// may be dropped on any thread.
///
/// Calls are multiplexed; without credit they wait in a bounded queue and expire there. 65,536 calls may be
/// made before the client's thread takes them; one more ends at once with [`CallError::QueueFull`]. A call
/// whose deadline has passed, or whose future is dropped, is taken back, or the server is told to end it.
/// A lost connection is tried again with back-off; calls that were on it fail with
/// [`CallError::Disconnected`], because whether they were carried out is unknown.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

/// How to call: the defaults suit most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallOptions {
    /// How long the answer is worth anything; travels with the request. Default: 10 s.
    pub deadline: Duration,
    /// Smaller is more important; 128 is the middle and the default.
    pub priority: u8,
    /// On whose behalf; zero, the default, for nobody in particular.
    pub tenant: u32,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), priority: 128, tenant: 0 }
    }
}

impl Client {
    /// A client with the default controller's gate, which learns the server's objective from the server.
    /// Returns at once; the connection is made in the background, and calls wait for it.
    ///
    /// # Errors
    /// When the system is out of descriptors or threads.
    pub fn connect(address: Address) -> io::Result<Self> {
        let half = |_| default_client();
        Self::start(vec![ChannelConfig::new(address)], half, RetryConfig::default())
    }

    /// A client of a server that runs `controller`.
    ///
    /// # Errors
    /// As [`Client::replicas`].
    pub fn connect_with(config: ChannelConfig, controller: &Controller) -> io::Result<Self> {
        Self::replicas(vec![config], controller, RetryConfig::default())
    }

    /// A client of several servers that do the same, all of which run `controller`: a connection with
    /// its own credits to each. A call that one refuses, or that finds no credit, is tried at another
    /// as `retry` has it ([`tailwater_control::retry`]), while its deadline leaves time; what may have
    /// been carried out is never tried again. A call that a server has not begun because it shuts down goes
    /// elsewhere, or waits for a replica that can be reached. If no other is left, the caller hears what the
    /// last said. A replica that is lost, silent or shutting down gets no new calls while another is well.
    ///
    /// Arguments are kept until the call ends. The first configuration's `client_id` decides which replica
    /// is the client's own; of clients without one, chance.
    ///
    /// # Errors
    /// As [`Client::connect`]; or [`io::ErrorKind::InvalidInput`] without a server, with more than
    /// [`REPLICAS_MAX`], or with a configuration that cannot work: a [`ConfigError`] is inside of it.
    pub fn replicas(
        servers: Vec<ChannelConfig>,
        controller: &Controller,
        retry: RetryConfig,
    ) -> io::Result<Self> {
        Self::start(servers, |number| controller.client(number), retry)
    }

    fn start(
        servers: Vec<ChannelConfig>,
        half: impl Fn(u64) -> Control,
        retry: RetryConfig,
    ) -> io::Result<Self> {
        check(&servers).map_err(|found| io::Error::new(io::ErrorKind::InvalidInput, found))?;
        let drawn = drawn_number();
        let number = |config: &ChannelConfig| match config.client_id {
            0 => drawn,
            id => id,
        };
        let replicas = Replicas::new(retry, servers.len(), number(&servers[0]));
        let replica = |(index, config): (u64, ChannelConfig)| {
            let number = number(&config);
            Replica::nth(index, config, number, &half)
        };
        let servers = (0..).zip(servers).map(replica).collect();
        let reactor = Reactor::new(servers, replicas)?;
        let desk = reactor.desk().clone();
        let thread = std::thread::Builder::new()
            .name("tailwater-client".into())
            .spawn(move || reactor.run())?;
        Ok(Self { inner: Arc::new(Inner { desk, thread: Some(thread) }) })
    }

    /// Calls; await the answer in any executor, or [`CallFuture::wait`] for it.
    pub fn call(&self, method: u16, payload: impl Into<Vec<u8>>) -> CallFuture {
        self.call_with(method, payload, CallOptions::default())
    }

    /// Calls with a deadline, priority and tenant of its own.
    pub fn call_with(
        &self,
        method: u16,
        payload: impl Into<Vec<u8>>,
        options: CallOptions,
    ) -> CallFuture {
        let slot = Arc::new(Slot::default());
        let call = NewCall {
            method: MethodId(method),
            payload: payload.into().into(),
            deadline: Some(now() + options.deadline),
            priority: options.priority,
            tenant: options.tenant,
            caller: Caller::present(),
        };
        let desk = self.inner.desk.clone();
        desk.order(Order { call, filler: Filler::new(slot.clone()) });
        CallFuture::new(slot, desk)
    }

    /// Why a server is not reached: of the first without a connection, what ended the last attempt or the
    /// connection before it, such as `cannot connect to 127.0.0.1:7000: Connection refused`. `None` while
    /// all connections stand, and before anything has failed.
    ///
    /// For people: calls wait and attempts go on meanwhile.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.inner.desk.trouble()
    }
}

fn check(servers: &[ChannelConfig]) -> Result<(), ConfigError> {
    let count = servers.len();
    if count == 0 || count > REPLICAS_MAX {
        let needed = format!("a list of 1 to {REPLICAS_MAX}");
        return Err(ConfigError::new("servers", format!("a list of {count}"), needed));
    }
    servers.iter().try_for_each(ChannelConfig::check)
}

/// Stands in for the number of a client that has none. Were it the same for all, they would come back in
/// step after a lost connection and be at home at the same replica.
pub(crate) fn drawn_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.desk.close();
        let own = std::thread::current().id();
        // A waker that the reactor rang may drop the last client: its own thread cannot wait for itself, and
        // ends once it is back from there.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != own) {
            // A reactor that panicked has said why; its callers have been told `Disconnected`.
            let _ = thread.join();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn clients_without_a_number_draw_different_ones() {
        assert_ne!(super::drawn_number(), super::drawn_number());
    }
}
