//! Questions for the server's counts: beside admission, since they must be answered when everything is shed,
//! and beside the loops, since an answer may take long to make.

use super::event_loop::EventLoop;
use super::inbox::{Question, Questions, Report};
use super::job::{Answer, Origin};
use super::key::ConnectionKey;
use super::shared::Shared;
use crate::config::Introspection;
use crate::counts::{BudgetCounts, Counts, LOCKS_TOLD, LockCounts};
use crate::downstream::TierConfig;
use crate::net::Peer;
use crate::service::Reply;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use tailwater_control::{Arrival, Outcome, Reached, Reason, RequestEnd, Verdict};
use tailwater_core::{Instant, Nanos as _};
use tailwater_sync::LockStats;
use tailwater_wire::Fault;

/// Questions that wait for the reporter at most; beyond it clients are told to ask later.
const WAITING: usize = 64;

/// The thread that makes reports.
pub(super) struct Reporter {
    shared: Arc<Shared>,
    questions: Receiver<Question>,
}

impl Reporter {
    pub(super) fn new(shared: Arc<Shared>) -> (Self, Questions) {
        let (sender, questions) = sync_channel(WAITING);
        (Self { shared, questions }, sender)
    }

    /// Answers until the last loop has ended.
    pub(super) fn run(self) {
        let mut allowance = Allowance::default();
        while let Ok(question) = self.questions.recv() {
            let may_ask = allowance.take(crate::time::now());
            let text = may_ask.then(|| report(&self.shared, question.budgets));
            let inbox = &self.shared.inboxes[question.home];
            inbox.reports.push(Report { question, text });
            inbox.doorbell.notify();
        }
    }
}

/// One JSON object.
fn report(shared: &Shared, budgets: Option<BudgetCounts>) -> Vec<u8> {
    let gauges = shared.admission.gauges();
    let locks = tailwater_sync::report_top(LOCKS_TOLD);
    let counts = Counts {
        totals: shared.totals(),
        pool: gauges.pool.into(),
        issued: gauges.issued.into(),
        sessions: gauges.sessions.into(),
        delay_ns: gauges.delay.nanos(),
        rtt_ns: gauges.rtt.nanos(),
        budgets,
        locks: locks.iter().map(lock_counts).collect(),
        tiers: shared.config.tiers.iter().map(TierConfig::counts).collect(),
    };
    serde_json::to_vec(&counts).unwrap_or_default()
}

fn lock_counts(lock: &LockStats) -> LockCounts {
    LockCounts {
        name: lock.name.into(),
        contended: lock.contended,
        refused: lock.refused,
        gave_up: lock.gave_up,
        wait_ns: lock.wait_total.nanos(),
        wait_p50_ns: lock.wait_p50.nanos(),
        wait_p99_ns: lock.wait_p99.nanos(),
        wait_max_ns: lock.wait_max.nanos(),
    }
}

/// How often the server answers: so many times in a row, and once more for each of these gaps.
#[derive(Clone, Copy, Debug, Default)]
struct Allowance {
    /// When the last question would have been due, had they come at the gap.
    paid_until: Instant,
}

impl Allowance {
    const BURST: u64 = 16;
    const GAP: Duration = Duration::from_millis(20);

    /// Whether one more may be answered now.
    fn take(&mut self, now: Instant) -> bool {
        let ahead = Self::GAP.nanos() * Self::BURST;
        if self.paid_until.as_nanos() > now.as_nanos() + ahead {
            return false;
        }
        self.paid_until = self.paid_until.max(now) + Self::GAP;
        true
    }
}

/// Whether a client may ask.
fn may_ask(whose: Introspection, peer: Option<&Peer>) -> bool {
    match whose {
        Introspection::Anyone => true,
        Introspection::Off => false,
        Introspection::Local => peer.is_some_and(Peer::is_local),
    }
}

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// Passes a question on to the reporter. A client that registers by it is registered as by any request.
    pub(super) fn on_question(&mut self, origin: Origin, registers: Option<&Arrival>) {
        let key = origin.key.connection;
        if let Some(arrival) = registers {
            self.register(key, arrival);
        }
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !may_ask(self.shared.config.introspection, connection.peer.get().as_deref()) {
            let why = b"the server's counts are not told to this client";
            return self.tell_apart(&origin, Fault::Forbidden.status(), why);
        }
        // The reporter reads what is published; the client may ask for what it has caused just now.
        self.publish(true);
        let budgets = self.control.budgets().map(super::budgets::Budgets::counts);
        let question = Question { home: self.index, origin, budgets };
        match self.questions.try_send(question) {
            Ok(()) => {
                if let Some(connection) = self.connections.get_mut(key) {
                    connection.work.questions += 1;
                }
            }
            Err(_) => self.tell_apart(&origin, Fault::TooOften.status(), TOO_OFTEN),
        }
    }

    /// The reporter has answered.
    pub(super) fn tell(&mut self, report: Report) {
        let origin = report.question.origin;
        let key = origin.key.connection;
        if let Some(connection) = self.connections.get_mut(key).filter(|it| it.is_answered()) {
            connection.work.questions -= 1;
            match report.text {
                Some(text) => self.tell_apart(&origin, 0, &text),
                None => self.tell_apart(&origin, Fault::TooOften.status(), TOO_OFTEN),
            }
            self.settle(key);
        }
    }

    /// An answer that the controller knows nothing of.
    fn tell_apart(&mut self, origin: &Origin, status: u16, payload: &[u8]) {
        let now = self.clock.now();
        let Some(connection) = self.connections.get_mut(origin.key.connection) else { return };
        let answer = Answer::Response { status, payload };
        self.control.sent(now, connection);
        self.egress.answer(connection, origin, now, Duration::ZERO, answer);
        self.totals.frames_out += 1;
    }

    /// Registers a client whose first request is none that the controller judges.
    fn register(&mut self, key: ConnectionKey, arrival: &Arrival) {
        let (now, session) = (self.clock.now(), key.session());
        let Some(connection) = self.connections.get_mut(key) else { return };
        let verdict = self.control.judge(now, connection, arrival, self.queue.delay(now));
        let (outcome, reached) = match verdict {
            // It is no work for the controller to count.
            Verdict::Admit => (Outcome::Shed(Reason::Cancelled), Reached::Queue),
            Verdict::Shed(reason) | Verdict::Close(reason) => {
                (Outcome::Shed(reason), Reached::Arrival)
            }
        };
        let (waited, service) = (Duration::ZERO, Duration::ZERO);
        let done = RequestEnd { outcome, reached, waited, service, class: arrival.class };
        connection.offer = self.control.done(now, session, &done);
    }
}

const TOO_OFTEN: &[u8] = b"counts are told 50 times a second at most; ask later";

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_keeps_asking_is_answered_at_the_gap_and_after_a_pause_in_a_row_again() {
        let mut allowance = Allowance::default();
        let at = |ms: u64| Instant::from_nanos((10_000 + ms) * 1_000_000);
        let mut answered =
            |from: u64, to: u64| (from..to).filter(|ms| allowance.take(at(*ms))).count();
        assert_eq!(answered(0, 17), 17, "a few in a row");
        assert_eq!(answered(17, 1_017), 50, "then fifty a second");
        assert_eq!(answered(5_000, 5_017), 17, "after a pause");
    }
}
