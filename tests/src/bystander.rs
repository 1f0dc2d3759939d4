//! The honest client in the same moment: whatever others do, its calls succeed.

use crate::{ECHO, Served};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_rt::client::CallOptions;

/// A machine that stands still for a while (a snapshot, a suspended laptop) is not the server's fault.
const OPTIONS: CallOptions =
    CallOptions { deadline: Duration::from_secs(120), priority: 128, tenant: 0 };

/// Calls one after the other from before a fault until after it.
pub struct Bystander {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    answered: AtomicU32,
}

impl Bystander {
    /// Starts to call, and returns once the first calls are answered.
    ///
    /// # Panics
    /// When no thread can be had.
    #[must_use]
    pub fn of(served: &Served) -> Self {
        let shared = Arc::new(Shared::default());
        let (client, own) = (served.client(), shared.clone());
        let call = move || {
            let number = own.answered.load(SeqCst).to_le_bytes();
            let answer = client.call_with(ECHO, number, OPTIONS).wait();
            let answer = answer.unwrap_or_else(|error| panic!("a bystander was hurt: {error}"));
            assert_eq!(answer.payload, number, "an answer meant for somebody else");
            own.answered.fetch_add(1, SeqCst);
            !own.stop.load(SeqCst)
        };
        let thread =
            std::thread::Builder::new().name("bystander".into()).spawn(move || while call() {});
        let bystander = Self { shared, thread: Some(thread.expect("a thread for the bystander")) };
        bystander.goes_on();
        bystander
    }

    /// Waits until some more of its calls are answered from now on.
    ///
    /// # Panics
    /// When one of them fails.
    pub fn goes_on(&self) {
        let before = self.shared.answered.load(SeqCst);
        crate::eventually("the bystander's calls go on", || {
            let thread = self.thread.as_ref().expect("it runs until it is dropped");
            thread.is_finished() || self.shared.answered.load(SeqCst) >= before + 10
        });
    }

    /// Ends it.
    ///
    /// # Panics
    /// When one of its calls has failed.
    pub fn is_unhurt(mut self) {
        self.goes_on();
        self.shared.stop.store(true, SeqCst);
        let thread = self.thread.take().expect("it runs until now");
        assert!(thread.join().is_ok(), "one of the bystander's calls failed");
    }
}

impl Drop for Bystander {
    /// When the test failed before [`Bystander::is_unhurt`].
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
    }
}
