//! Where a call goes among replicas, and whether it is tried again when one refuses.
//!
//! A refusal comes early so that the client can send the call to another replica and still meet the objective.
//! Protego retries once, after a shed or after 10 µs without credit (NSDI '23, §3.3 and §5.3).
//! [`Replicas`] decides that for one client: a call goes on to a replica that it has not seen, while it
//! has tries left and its deadline leaves time for an answer. Retries multiply load just when there is
//! too much of it, so those after a shed are paid from a *retry budget*, as is usual: 10 % of a client's
//! requests in Google's services (Beyer et al., Site Reliability Engineering, ch. 21), ten tokens and a
//! tenth per success in gRPC's retry throttling (proposal A6), 20 % in Finagle's `RetryBudget`. A call
//! that was never sent has cost nobody anything and moves on without paying. So does one that a server has not begun
//! because it goes away. Neither that one nor what leaves a lost connection unsent has had a try there.
//!
//! It only decides. The driver keeps one [`Client`](crate::Client) for each replica, with its own session, credits
//! and queue. It sends where it is told to, and says how each try ended.

mod budget;
mod estimate;
mod hedge;
#[cfg(test)]
mod tests;

pub use hedge::{HedgeAfter, HedgeConfig, HedgeCounts, Hedges, Lateness};

use crate::client::Reply;
use crate::server::{Outcome, Reason};
use budget::Budget;
use estimate::Estimate;
use std::ops::Add;
use std::time::Duration;
use tailwater_core::{Instant, Ratio};

/// Most replicas that one client knows.
pub const REPLICAS_MAX: usize = 32;

/// How calls are tried again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RetryConfig {
    /// Most replicas that one call is tried at; default 2, a retry. 1: never again. More than two
    /// divide the objective further, since each try may take as long as a server's target delay. Where [`Replicas::next`] says
    /// that there was no try, none counts.
    pub tries: u8,
    /// How long a call waits for credit before it goes to another replica, while it can; `None`, the
    /// default: until its client gives it up. About a round trip: shorter, and calls leave a replica
    /// that would have taken them next; longer, and the objective is spent on waiting.
    pub credit_wait: Option<Duration>,
    /// The retry budget: retries after a shed for each call; default 0.1. At 0 only the burst is left;
    /// at 1 sheds of a fleet that is full double its load.
    pub share: Ratio,
    /// Retries that may come at once, and all that is ever saved up; default 10. At 0 nothing is tried
    /// again after a shed.
    pub burst: u32,
    /// Where calls go first.
    pub first: First,
}

/// Which replica a call is tried at first. The next are those that follow, or again the least loaded.
/// A replica whose connection is down comes last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// The client's own: clients are divided over the replicas by their numbers. The default.
    Own,
    /// Always that of number 0: the others stand by (Protego §5.3).
    Primary,
    /// Where this client's [`Load`] is the least; the client's own among equals.
    LeastLoaded,
}

/// What one client has at a replica. For [`First::LeastLoaded`] those that are paused come after all others: a call
/// that goes there waits for the time that the server has asked for, and lengthens the queue that it asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// The server has asked this client for silence, and the time is not over.
    pub is_paused: bool,
    /// Calls of this client that have not ended.
    pub calls: usize,
    /// Some of these have not been sent: a further call would go behind them. No second try goes there.
    pub has_waiting: bool,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self { tries: 2, credit_wait: None, share: Ratio(0.1), burst: 10, first: First::Own }
    }
}

/// How a try ended without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The server refused; it did not begin, or undid what it had begun. A refusal is made into this by
    /// [`Failure::refused`].
    Shed(Reason),
    /// The server goes away and has not begun the call: it refused it as [`Reason::Draining`], or closed without having
    /// read it.
    NotBegun,
    /// The call was not sent: no credit came, its queue was full, or the connection was lost before.
    Unsent,
    /// It was sent, and the connection was lost, or the server has lost one behind it ([`Reason::Unavailable`]): whether it
    /// was carried out is unknown.
    Lost,
}

impl Failure {
    /// What a refusal means: by a server that goes away, the call is not begun; by one that needs another, that one may have
    /// carried it out; else it is shed.
    #[must_use]
    pub const fn refused(reason: Reason) -> Self {
        match reason {
            Reason::Draining => Self::NotBegun,
            Reason::Unavailable => Self::Lost,
            reason => Self::Shed(reason),
        }
    }
}

/// Why a call is not tried again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Refusal {
    /// It may have been carried out.
    MayBeDone,
    /// It has had all its tries.
    Tries,
    /// No other replica is there that it has not seen.
    Replicas,
    /// An answer would come too late.
    Deadline,
    /// Too many sheds were retried lately.
    Budget,
}

/// Where a call has been. Small: every call on its way has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tries {
    seen: u32,
    /// How often it has left a place where it had no try.
    spared: u8,
    /// It has left the replica where it went first.
    has_left: bool,
}

impl Tries {
    /// Nowhere yet.
    pub const NONE: Self = Self { seen: 0, spared: 0, has_left: false };

    /// A call that was spared so often has its tries counted: servers that refuse without end must not pass it on for ever.
    const SPARED_MAX: u8 = 16;

    /// How many replicas it has been tried at.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.seen.count_ones()
    }

    /// Whether the call has failed where it went first, now that its try at `here` has ended without an answer. It goes to
    /// `next`, if anywhere. That is known once of each call: these are its tries before [`Replicas::next`]. Every failure counts,
    /// that of a connection too. A call that stays waits, and has not failed yet. For drivers that tell how soon they know.
    #[must_use]
    pub const fn fails_first(self, here: usize, next: Option<usize>) -> bool {
        let stays = matches!(next, Some(next) if next == here);
        !self.has_left && !stays
    }

    /// Of two tries at once the one at `here` has failed, and the other goes on. As after [`Replicas::next`], what a server
    /// has not begun had no try there.
    pub fn failed_beside(&mut self, (here, failure): (usize, Failure)) {
        if failure == Failure::NotBegun && self.spare() {
            *self = self.without(here);
        }
    }

    /// As if it had not been tried there.
    const fn without(self, replica: usize) -> Self {
        Self { seen: self.seen & !(1 << replica), ..self }
    }

    /// It had no try where it was. False where that has happened so often that its tries count all the same.
    const fn spare(&mut self) -> bool {
        let is_spared = self.may_be_spared();
        if is_spared {
            self.spared += 1;
        }
        is_spared
    }

    const fn may_be_spared(self) -> bool {
        self.spared < Self::SPARED_MAX
    }

    const fn has_seen(self, replica: usize) -> bool {
        self.seen >> replica & 1 == 1
    }
}

/// What was decided so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RetryCounts {
    /// Calls.
    pub calls: u64,
    /// Sheds that were answered by a retry.
    pub retried: u64,
    /// Calls that moved on before they were sent, or begun.
    pub moved: u64,
    /// Sheds that only the budget kept from being tried again.
    pub over_budget: u64,
}

/// Of several clients together.
impl Add for RetryCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            retried: self.retried + other.retried,
            moved: self.moved + other.moved,
            over_budget: self.over_budget + other.over_budget,
        }
    }
}

/// One client's view of the replicas of a server.
#[derive(Clone, Debug)]
pub struct Replicas {
    config: RetryConfig,
    budget: Budget,
    all: Vec<Replica>,
    home: usize,
    counts: RetryCounts,
    hedges: Option<Hedges>,
}

#[derive(Clone, Copy, Debug)]
struct Replica {
    up: bool,
    estimate: Estimate,
    /// Calls that its estimate kept away since it was heard last, or was tried all the same.
    passed_over: u32,
    /// It was tried all the same: its next answer begins the estimate anew.
    is_on_trial: bool,
}

/// A replica that has kept so many calls in a row away is tried by one all the same. Answers alone renew what is known of it,
/// and where other replicas come first none would ever come. Ours: one wasted try in so many. Were the estimate forgotten, all
/// calls would go there until one is answered, and of those that are given up no answer is heard.
const PASSED_OVER_MAX: u32 = 256;

impl Replica {
    const fn new(up: bool) -> Self {
        Self { up, estimate: Estimate::NONE, passed_over: 0, is_on_trial: false }
    }

    /// It may have a call for which its answers are too late.
    const fn may_be_tried(&self) -> bool {
        self.passed_over >= PASSED_OVER_MAX
    }

    /// A call goes there.
    const fn tried(&mut self) {
        if self.may_be_tried() {
            self.passed_over = 0;
            self.is_on_trial = true;
        }
    }

    fn on_reply(&mut self, reply: &Reply) {
        if self.is_on_trial && reply.outcome == Outcome::Served {
            self.estimate = Estimate::NONE;
            self.is_on_trial = false;
        }
        self.estimate.on_reply(reply);
        self.passed_over = 0;
    }
}

impl Replicas {
    /// `count` replicas, all of them up, from 1 to [`REPLICAS_MAX`]; what is beyond is never used.
    /// `client` is the client's number, which decides where it is at home.
    #[must_use]
    pub fn new(config: RetryConfig, count: usize, client: u64) -> Self {
        let count = count.clamp(1, REPLICAS_MAX);
        let home = match config.first {
            First::Primary => 0,
            #[expect(clippy::cast_possible_truncation, reason = "below the count")]
            First::Own | First::LeastLoaded => (client % count as u64) as usize,
        };
        let fresh = Replica::new(true);
        let budget = Budget::new(config.share, config.burst);
        let (counts, hedges) = (RetryCounts::default(), None);
        Self { config, budget, all: vec![fresh; count], home, counts, hedges }
    }

    /// The same with second tries beside the first, for calls that may be carried out twice.
    #[must_use]
    pub fn hedged(mut self, config: HedgeConfig) -> Self {
        self.hedges = Some(Hedges::new(config));
        self
    }

    /// A new call: where it goes. `load` is this client's at each replica.
    pub fn first(&mut self, load: impl Fn(usize) -> Load) -> (usize, Tries) {
        self.counts.calls += 1;
        self.budget.on_call();
        let replica = self.pick(Tries::default(), |_| true, load).unwrap_or(self.home);
        (replica, Tries { seen: 1 << replica, ..Tries::NONE })
    }

    /// A try has failed at `here`: where the call goes now. A place counts as tried in `tries` only if it goes there, and a
    /// token is spent only then. `deadline` is when the answer is worthless.
    ///
    /// What leaves a place unsent that is not up had no try there, and may come back when it is up again. From the 17th time on it
    /// had one. Beside a second try that goes on it had one, too.
    ///
    /// What a server has not begun had no try there: it may come back to that place when the next server is there. If it
    /// can go nowhere else, it goes to `here`, and waits for that server. With one replica it has ended, and the caller hears
    /// what the server said. So it is with a call that was turned away 16 times. Of a hedged call whose other try goes on
    /// [`Tries::failed_beside`] is told in its place.
    ///
    /// # Errors
    /// With why the failure stands.
    pub fn next(
        &mut self,
        now: Instant,
        deadline: Option<Instant>,
        tries: &mut Tries,
        (here, failure): (usize, Failure),
        load: impl Fn(usize) -> Load,
    ) -> Result<usize, Refusal> {
        let is_turned_away = failure == Failure::NotBegun && tries.spare();
        // Where credit did not come it counts, or calls would go round for as long as none comes anywhere. A place whose server is in
        // doubt may have a connection that stands: so often, and no more, a call leaves it for nothing.
        let is_left_unsent =
            failure == Failure::Unsent && !self.all[here].up && tries.may_be_spared();
        let used = if is_turned_away || is_left_unsent { tries.without(here) } else { *tries };
        let candidate = self.candidate(now, deadline, used, (here, failure), load);
        if candidate == Err(Refusal::Deadline) {
            self.pass_over(now, deadline, used);
        }
        let replica = match candidate {
            Err(_) if is_turned_away && self.all.len() > 1 => return Ok(here),
            candidate => candidate?,
        };
        if let Failure::Shed(_) = failure {
            if !self.budget.take() {
                self.counts.over_budget += 1;
                return Err(Refusal::Budget);
            }
            self.counts.retried += 1;
        } else {
            self.counts.moved += 1;
        }
        // Only now: what waits is asked again whenever a place changes.
        let spared = tries.spared + u8::from(is_left_unsent);
        *tries = Tries { seen: used.seen | 1 << replica, spared, has_left: true };
        self.all[replica].tried();
        Ok(replica)
    }

    /// After how long without credit the driver shall ask [`Replicas::next`] whether the call moves on,
    /// with [`Failure::Unsent`]; if it does not, it waits on where it is. `None`: it need not ask.
    #[must_use]
    pub fn credit_wait(&self, tries: Tries) -> Option<Duration> {
        let more = tries.count() < u32::from(self.config.tries) && self.all.len() > 1;
        self.config.credit_wait.filter(|_| more)
    }

    /// Whether there are second tries: they are configured, and there is a second replica.
    #[must_use]
    pub const fn hedges(&self) -> bool {
        self.hedges.is_some() && self.all.len() > 1
    }

    /// A new call that may be carried out twice: after how long without an end the driver shall ask
    /// [`Replicas::hedge`]. `None`: it need not ask. [`Lateness`] is for drivers that may come late to it.
    pub fn hedge_after(&mut self) -> Option<Duration> {
        self.hedges.as_mut()?.on_call()
    }

    /// A call is late: where it goes beside the place where it is. `tries` is changed only if it goes somewhere, and a
    /// token is spent only then. Not bounded by [`RetryConfig::tries`], since the first try has not failed. A replica
    /// that asked for a pause is none that answers sooner. At one where calls wait the second try would wait behind them,
    /// and might push out one that has no other.
    pub fn hedge(
        &mut self,
        now: Instant,
        deadline: Option<Instant>,
        tries: &mut Tries,
        load: impl Fn(usize) -> Load,
    ) -> Option<usize> {
        let is_open = |replica: usize| {
            let Load { is_paused, has_waiting, .. } = load(replica);
            let is_late = self.is_late(now, deadline, replica);
            self.all[replica].up && !is_paused && !has_waiting && !is_late
        };
        let Some(replica) = self.pick(*tries, is_open, &load) else {
            self.pass_over(now, deadline, *tries);
            return None;
        };
        self.hedges.as_mut()?.take().then(|| {
            tries.seen |= 1 << replica;
            self.all[replica].tried();
            replica
        })
    }

    /// A call that may be carried out twice was answered, or given up for lateness: its first try took so long, or longer.
    pub fn on_hedgeable_end(&mut self, took: Duration) {
        if let Some(hedges) = &mut self.hedges {
            hedges.on_end(took);
        }
    }

    /// A second try was answered before the first.
    pub const fn on_hedge_won(&mut self) {
        if let Some(hedges) = &mut self.hedges {
            hedges.on_won();
        }
    }

    /// What was decided of second tries so far.
    #[must_use]
    pub fn hedge_counts(&self) -> HedgeCounts {
        self.hedges.as_ref().map(Hedges::counts).unwrap_or_default()
    }

    /// An answer or reject came from a replica: it tells how long answers take.
    pub fn on_reply(&mut self, replica: usize, reply: &Reply) {
        self.all[replica].on_reply(reply);
    }

    /// Whether the connection to a replica stands.
    pub fn set_up(&mut self, replica: usize, up: bool) {
        self.all[replica].up = up;
    }

    /// As it was last set; true at first.
    #[must_use]
    pub fn is_up(&self, replica: usize) -> bool {
        self.all[replica].up
    }

    /// How many replicas there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// What was decided so far.
    #[must_use]
    pub const fn counts(&self) -> RetryCounts {
        self.counts
    }

    fn candidate(
        &self,
        now: Instant,
        deadline: Option<Instant>,
        tries: Tries,
        (here, failure): (usize, Failure),
        load: impl Fn(usize) -> Load,
    ) -> Result<usize, Refusal> {
        if failure == Failure::Lost {
            return Err(Refusal::MayBeDone);
        }
        if tries.count() >= u32::from(self.config.tries) {
            return Err(Refusal::Tries);
        }
        // One that is down would only be waited for, which the call can do where it is.
        // Of a server that has not begun it the driver may not know yet that it goes away.
        let left = (failure == Failure::NotBegun).then_some(here);
        let may_go = |replica: usize| self.all[replica].up && left != Some(replica);
        let replica = self.pick(tries, may_go, load).ok_or(Refusal::Replicas)?;
        if self.is_late(now, deadline, replica) { Err(Refusal::Deadline) } else { Ok(replica) }
    }

    /// A call that is not late yet goes nowhere. Of the replicas that it has not seen, those are passed over whose answers would
    /// come too late.
    fn pass_over(&mut self, now: Instant, deadline: Option<Instant>, tries: Tries) {
        if deadline.is_some_and(|deadline| now >= deadline) {
            return;
        }
        for replica in 0..self.all.len() {
            let is_open = self.all[replica].up && !tries.has_seen(replica);
            if is_open && self.is_late(now, deadline, replica) {
                self.all[replica].passed_over += 1;
            }
        }
    }

    /// An answer of this replica would come too late, and it is not to be found out whether that is still so.
    fn is_late(&self, now: Instant, deadline: Option<Instant>, replica: usize) -> bool {
        let it = &self.all[replica];
        let least = if it.may_be_tried() { Duration::ZERO } else { it.estimate.least() };
        deadline.is_some_and(|deadline| now >= deadline || now + least > deadline)
    }

    /// The best of those that a call may go to and has not seen.
    fn pick(
        &self,
        tries: Tries,
        may_go: impl Fn(usize) -> bool,
        load: impl Fn(usize) -> Load,
    ) -> Option<usize> {
        let count = self.all.len();
        let in_turn = (0..count).map(|offset| (self.home + offset) % count);
        let unseen = in_turn.filter(|&replica| !tries.has_seen(replica) && may_go(replica));
        // The first of equals stays: the order above is the client's own.
        unseen.min_by_key(|&replica| {
            let loaded = self.config.first == First::LeastLoaded;
            let load = if loaded { load(replica) } else { Load::default() };
            (!self.all[replica].up, load.is_paused, load.calls)
        })
    }
}
