//! The client: [`Client`] for programs, [`Channel`] for drivers that bring their own event loop.

mod call;
mod calls;
mod channel;
mod reactor;
mod waiting;

pub use call::{Answer, CallError, CallFuture};
pub use channel::{Channel, ChannelConfig, Event, NewCall};

use crate::net::Address;
use crate::time::now;
use call::{Filler, Slot};
use reactor::{Command, End, Reactor, Shared};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::retry::REPLICAS_MAX;
use tailwater_control::{Replicas, RetryConfig};
use tailwater_core::MethodId;

/// A connection to one server, or to each of several replicas, that many callers share. Cheap to clone.
///
/// Calls are multiplexed; without credit they wait in a bounded queue and expire there. A lost
/// connection is tried again with back-off; calls that were on it fail with
/// [`CallError::Disconnected`], because whether they were carried out is unknown.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// How to call: the defaults suit most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallOptions {
    /// How long the answer is worth anything; travels with the request. Default: 10 s.
    pub deadline: Duration,
    /// Smaller is more important; 128 is the middle and the default.
    pub priority: u8,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), priority: 128 }
    }
}

impl Client {
    /// A client with the default controller's gate. Returns at once; the connection is made in the
    /// background, and calls wait for it.
    ///
    /// # Errors
    /// When the system is out of descriptors or threads.
    pub fn connect(address: Address) -> std::io::Result<Self> {
        let slo = CallOptions::default().deadline;
        let controller = Spec::named("breakwater")
            .build(slo, 1, 0)
            .expect("the default controller's settings are sound");
        Self::connect_with(ChannelConfig::new(address), &controller)
    }

    /// A client of a server that runs `controller`.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_with(config: ChannelConfig, controller: &Controller) -> std::io::Result<Self> {
        Self::replicas(vec![config], controller, RetryConfig::default())
    }

    /// A client of several servers that do the same, all of which run `controller`: a connection with
    /// its own credits to each. A call that one refuses, or that finds no credit, is tried at another
    /// as `retry` has it ([`tailwater_control::retry`]), while its deadline leaves time; what may have
    /// been carried out is never tried again. If no other is left, the caller hears what the last said.
    ///
    /// Arguments are kept until the call ends, beside what waits to be sent. The first configuration's
    /// `client_id` decides which replica is the client's own; of clients without one, chance.
    ///
    /// # Errors
    /// As [`Client::connect`]; or [`std::io::ErrorKind::InvalidInput`] without a server, with more
    /// than [`REPLICAS_MAX`], or with a configuration that cannot work.
    pub fn replicas(
        servers: Vec<ChannelConfig>,
        controller: &Controller,
        retry: RetryConfig,
    ) -> std::io::Result<Self> {
        let count = servers.len();
        let invalid = |message| std::io::Error::new(std::io::ErrorKind::InvalidInput, message);
        if count == 0 || count > REPLICAS_MAX {
            let message = format!("{count} servers were given; 1 to {REPLICAS_MAX} are needed");
            return Err(invalid(message));
        }
        servers.iter().try_for_each(|config| config.check().map_err(invalid))?;
        let drawn = drawn_number();
        let number = |config: &ChannelConfig| match config.client_id {
            0 => drawn,
            id => id,
        };
        let replicas = Replicas::new(retry, count, number(&servers[0]));
        let end = |config: ChannelConfig| {
            let number = number(&config);
            End { half: controller.client(number), config, seed: number }
        };
        let (shared, reactor) = Reactor::new(servers.into_iter().map(end).collect(), replicas)?;
        let thread = std::thread::Builder::new()
            .name("tailwater-client".into())
            .spawn(move || reactor.run())?;
        Ok(Self { inner: Arc::new(Inner { shared, thread: Some(thread) }) })
    }

    /// Calls; await the answer in any executor, or [`CallFuture::wait`] for it.
    pub fn call(&self, method: u16, payload: impl Into<Vec<u8>>) -> CallFuture {
        self.call_with(method, payload, CallOptions::default())
    }

    /// Calls with a deadline and priority of its own.
    pub fn call_with(
        &self,
        method: u16,
        payload: impl Into<Vec<u8>>,
        options: CallOptions,
    ) -> CallFuture {
        let slot = Arc::new(Slot::default());
        let call = NewCall {
            method: MethodId(method),
            payload: payload.into(),
            deadline: Some(now() + options.deadline),
            priority: options.priority,
            tenant: 0,
        };
        self.inner.shared.send(Command { call, slot: Filler::new(slot.clone()) });
        CallFuture::new(slot)
    }
}

/// Stands in for the number of a client that has none. Were it the same for all, they would come back in
/// step after a lost connection and be at home at the same replica.
fn drawn_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // A reactor that panicked has said why; its callers have been told `Disconnected`.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn clients_without_a_number_draw_different_ones() {
        assert_ne!(super::drawn_number(), super::drawn_number());
    }
}
