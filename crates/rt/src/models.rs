//! What models of threads that sleep are made of.

use crate::bell::Bell;
use loom::sync::Notify;
use std::sync::Arc;

/// Every interleaving, up to three preemptions.
pub(crate) fn model(work: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(work);
}

/// A ring stays until a sleep ends by it. (loom's `unpark` does not: it forgets a token when the thread waits for a mutex
/// meanwhile.)
#[derive(Clone)]
pub(crate) struct Rings(Arc<Notify>);

impl Rings {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Notify::new()))
    }

    /// Sleeps until it is rung, or was meanwhile.
    pub(crate) fn wait(&self) {
        self.0.wait();
    }
}

impl Bell for Rings {
    fn ring(&self) {
        self.0.notify();
    }
}
