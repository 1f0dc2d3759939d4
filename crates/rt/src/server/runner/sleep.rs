//! How a worker or a member of the crew sleeps, and what wakes it: its thread is parked, or waits in a poller for its
//! calls to other tiers.

use crate::bell::Bell;
use crate::config::ServerConfig;
use crate::downstream::{Downstream, Hold, TierConfig, Trunk};
use crate::poll::{EventBell, Poller, Readiness};
use crate::time::now;
use rustix::io::Errno;
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;
use tailwater_core::Instant;

/// The poller's key of the worker's bell: no channel has it.
const BELL: u64 = 0;
/// A sleep that nothing is to end.
const LONGEST: Duration = Duration::from_secs(3_600);

/// What wakes a worker.
#[derive(Clone)]
pub(super) enum WorkerBell {
    /// Its thread, set before the first request is handed over.
    Thread(Arc<OnceLock<Thread>>),
    Event(EventBell),
}

impl WorkerBell {
    /// # Errors
    /// When the system is out of descriptors: a worker that calls other tiers needs one.
    pub(super) fn new(config: &ServerConfig) -> Result<Self, Errno> {
        Ok(if config.tiers.is_empty() {
            Self::Thread(Arc::default())
        } else {
            Self::Event(EventBell::new()?)
        })
    }

    /// The worker's thread is this one.
    pub(super) fn is_of(&self, thread: &Thread) {
        if let Self::Thread(slot) = self {
            slot.get_or_init(|| thread.clone());
        }
    }
}

impl Bell for WorkerBell {
    fn ring(&self) {
        match self {
            Self::Thread(thread) => {
                if let Some(thread) = thread.get() {
                    thread.unpark();
                }
            }
            Self::Event(bell) => bell.ring(),
        }
    }
}

/// A worker's way to other tiers, before its thread has it.
pub(super) struct Route {
    poller: Poller,
    trunk: Trunk,
}

impl Route {
    /// `None` for a worker without tiers. `plug` makes of the trunk what the worker needs beside its own channels.
    ///
    /// # Errors
    /// When the system is out of descriptors or memory.
    pub(super) fn new(
        bell: &WorkerBell,
        plug: impl FnOnce(Trunk) -> Result<Trunk, Errno>,
    ) -> Result<Option<Self>, Errno> {
        let WorkerBell::Event(bell) = bell else { return Ok(None) };
        let poller = Poller::new()?;
        poller.add_bell(bell, BELL)?;
        let trunk = plug(Trunk::new(&poller)?)?;
        Ok(Some(Self { poller, trunk }))
    }

    /// Makes the tiers those of the present thread's handlers; see [`Downstream::install`].
    pub(super) fn open(self, tiers: &[TierConfig], hold: Hold) -> Calls {
        Calls {
            poller: self.poller,
            downstream: Downstream::install(tiers, self.trunk, hold),
            ready: Vec::new(),
            looked: Instant::ZERO,
        }
    }
}

/// A worker's calls to other tiers.
pub(super) struct Calls {
    poller: Poller,
    pub(super) downstream: Downstream,
    ready: Vec<Readiness>,
    /// When the last sleep ended, which looked at the channels.
    looked: Instant,
}

impl Calls {
    /// Calls and answers have their turn. A worker that is never idle looks at its channels this often.
    pub(super) fn turn(&mut self, every: Duration) -> bool {
        let time = now();
        if time.since(self.looked()) >= every {
            self.downstream.look();
        }
        self.downstream.turn(time)
    }

    fn wait(&mut self, timeout: Duration) {
        self.poller.wait(Some(timeout), &mut self.ready);
        self.looked = now();
        for readiness in self.ready.drain(..) {
            match readiness.key {
                // What it was rung for is looked for behind each sleep.
                BELL => {}
                _ => self.downstream.on_ready(self.looked, readiness),
            }
        }
    }

    /// When the channels were looked at last: in a sleep, or by a handler that held the thread for its answers.
    fn looked(&self) -> Instant {
        self.looked.max(self.downstream.looked())
    }
}

/// Sleeps until the bell rings, an answer comes, or `until`; not at all while there is something for the tiers to do.
pub(super) fn sleep(calls: Option<&mut Calls>, until: Option<Instant>) {
    let timeout = |until: Option<Instant>| until.map_or(LONGEST, |at| at.since(now()));
    match calls {
        None => std::thread::park_timeout(timeout(until)),
        // What the crew brings is looked for after the thread lay down: rule 1 in `bell.rs`.
        Some(calls) if calls.downstream.has_work() => {}
        Some(calls) => {
            let due = [until, calls.downstream.next_due()].into_iter().flatten().min();
            calls.wait(timeout(due));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::client::ChannelConfig;
    use crate::downstream::tier;
    use crate::server::testing::job;
    use std::pin::pin;
    use std::task::{Context, Waker};
    use tailwater_core::threads::Completion;

    /// Behind each handler that had waited for its answers for longer than the period, its worker looked once more.
    #[test]
    fn a_handler_that_held_its_worker_has_looked_at_the_channels() {
        let leaf = ChannelConfig::new("127.0.0.1:1".parse().unwrap());
        let tiers = vec![TierConfig::new("leaf", vec![leaf])];
        let config = ServerConfig { tiers, ..ServerConfig::default() };
        let bell = WorkerBell::new(&config).unwrap();
        let route = Route::new(&bell, Ok).unwrap().expect("there is a tier");
        let hold = Hold { longest: Duration::from_millis(1), is_called: Box::new(|_| false) };
        let calls = route.open(&config.tiers, hold);
        calls.downstream.set_completion(Completion::Sync);
        let began = now();
        assert!(calls.looked() < began);
        let request = job(0, 1, 1).request;
        let mut fan = pin!(tier("leaf").expect("it is opened").fan(&request).call(0, 1, ""));
        let polled = fan.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "nobody listens there");
        assert!(calls.looked() >= began);
    }
}
