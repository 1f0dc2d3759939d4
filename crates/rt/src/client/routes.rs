//! Which replica a call goes to, and what becomes of one whose try has failed.

use super::answer::CallError;
use super::callers::Caller;
use super::channel::{Channel, Health};
use super::event::{End, NewCall};
use std::time::Duration;
use tailwater_control::client::Reply;
use tailwater_control::retry::{Failure, HedgeCounts, Tries};
use tailwater_control::{Reason, Replicas};
use tailwater_core::Instant;

/// The replicas as they were found last.
pub(super) struct Routes {
    replicas: Replicas,
    health: Vec<Health>,
}

/// A try that has failed.
pub(super) struct Failed {
    pub(super) token: u64,
    pub(super) call: NewCall,
    pub(super) failure: Failure,
    /// What the caller hears if it goes nowhere.
    pub(super) error: CallError,
}

impl Routes {
    pub(super) fn new(replicas: Replicas) -> Self {
        let health = vec![Health::Unknown; replicas.count()];
        Self { replicas, health }
    }

    /// Looks how the replicas are: true if that has changed.
    pub(super) fn look(&mut self, now: Instant, channels: &[Channel]) -> bool {
        let has_changed = self.has_news(now, channels);
        for (replica, channel) in channels.iter().enumerate() {
            self.health[replica] = channel.health(now);
            self.replicas.set_up(replica, self.health[replica] == Health::Well);
        }
        has_changed
    }

    /// Whether a look would show a change.
    pub(super) fn has_news(&self, now: Instant, channels: &[Channel]) -> bool {
        !self.health.iter().copied().eq(channels.iter().map(|channel| channel.health(now)))
    }

    /// Whether the call had better go elsewhere.
    pub(super) fn should_leave<F>(&self, caller: &Caller<F>) -> bool {
        caller.is_impatient || self.health[caller.place.replica] == Health::Unwell
    }

    /// Where a new call goes.
    pub(super) fn first(&mut self, now: Instant, channels: &[Channel]) -> (usize, Tries) {
        self.replicas.first(|replica| channels[replica].load(now))
    }

    /// Where a call goes whose try has failed; `None`: nowhere.
    pub(super) fn next<F>(
        &mut self,
        now: Instant,
        caller: &mut Caller<F>,
        failure: Failure,
        channels: &[Channel],
    ) -> Option<usize> {
        let load = |replica: usize| channels[replica].load(now);
        let failed = (caller.place.replica, failure);
        self.replicas.next(now, caller.deadline, &mut caller.tries, failed, load).ok()
    }

    /// When a call that goes somewhere now wants to leave for want of credit.
    pub(super) fn patience(&self, now: Instant, tries: Tries) -> Option<Instant> {
        self.replicas.credit_wait(tries).map(|wait| now + wait)
    }

    pub(super) const fn hedges(&self) -> bool {
        self.replicas.hedges()
    }

    /// See [`Replicas::hedge_after`].
    pub(super) fn hedge_after(&mut self) -> Option<Duration> {
        self.replicas.hedge_after()
    }

    /// Where a late call is tried besides; `None`: nowhere.
    pub(super) fn hedge<F>(
        &mut self,
        now: Instant,
        caller: &mut Caller<F>,
        channels: &[Channel],
    ) -> Option<usize> {
        let load = |replica: usize| channels[replica].load(now);
        self.replicas.hedge(now, caller.deadline, &mut caller.tries, load)
    }

    pub(super) fn on_hedgeable_end(&mut self, took: Duration) {
        self.replicas.on_hedgeable_end(took);
    }

    pub(super) const fn on_hedge_won(&mut self) {
        self.replicas.on_hedge_won();
    }

    pub(super) fn hedge_counts(&self) -> HedgeCounts {
        self.replicas.hedge_counts()
    }

    pub(super) fn on_reply(&mut self, replica: usize, reply: &Reply) {
        self.replicas.on_reply(replica, reply);
    }
}

impl Failed {
    /// A try without an answer; `None` for an end that is final.
    pub(super) fn of(token: u64, call: NewCall, end: &End) -> Option<Self> {
        let failure = end.failure()?;
        let error = match (failure, end) {
            (_, End::Unsent(reason)) => CallError::unsent(*reason),
            (Failure::NotBegun, _) => CallError::Shed(Reason::Draining),
            (Failure::Shed(reason), _) => CallError::Shed(reason),
            (Failure::Lost, End::Rejected { reason: Some(reason), .. }) => CallError::Shed(*reason),
            (Failure::Unsent | Failure::Lost, _) => CallError::Disconnected,
        };
        Some(Self { token, call, failure, error })
    }
}
