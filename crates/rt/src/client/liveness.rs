//! Whether the server is there: the two questions, ours and its own.

use std::time::Duration;
use tailwater_core::Instant;

/// One connection's. Nothing is asked while nothing is due from the server: an idle connection whose server
/// is gone is found out by the next call.
#[derive(Debug)]
pub(super) struct Liveness {
    ping_after: Duration,
    patience: Duration,
    /// Since when something is due and nothing was heard; `None` while nothing is due.
    quiet_since: Option<Instant>,
    /// A question that nothing has been heard since.
    asked: Option<Asked>,
    /// Numbers the questions.
    token: u64,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    /// When the connection is given up.
    until: Instant,
    /// The PING is not among the outgoing frames yet.
    unsaid: bool,
}

impl Liveness {
    pub(super) const fn new(ping_after: Duration, patience: Duration) -> Self {
        Self { ping_after, patience, quiet_since: None, asked: None, token: 0 }
    }

    /// A new connection.
    pub(super) const fn reset(&mut self) {
        (self.quiet_since, self.asked) = (None, None);
    }

    /// Something is due from the server, or nothing is. Extra calls do no harm.
    pub(super) fn expect(&mut self, now: Instant, due: bool) {
        match (due, self.quiet_since) {
            (true, None) => self.quiet_since = Some(now),
            (false, _) => self.reset(),
            (true, Some(_)) => {}
        }
    }

    /// Bytes came: the server is there.
    pub(super) fn on_heard(&mut self, now: Instant) {
        self.asked = None;
        self.quiet_since = self.quiet_since.map(|_| now);
    }

    /// The kernel took bytes although it had been full: the server reads. The question may be behind them,
    /// so its answer is given the whole time again.
    pub(super) fn on_progress(&mut self, now: Instant) {
        if let Some(asked) = &mut self.asked {
            asked.until = now + self.patience;
        } else {
            self.quiet_since = self.quiet_since.map(|_| now);
        }
    }

    /// Nothing was heard since `since`, when something was sent that is worthless by now: asks at once.
    pub(super) fn doubt(&mut self, now: Instant, since: Instant) {
        if self.quiet_since.is_some_and(|quiet| quiet <= since) {
            self.ask(now);
        }
    }

    /// Does what is due by time.
    ///
    /// # Errors
    /// When the connection is to be given up.
    pub(super) fn look(&mut self, now: Instant) -> Result<(), Silent> {
        match self.asked {
            Some(asked) if asked.until <= now => Err(Silent),
            None if self.question_at().is_some_and(|at| at <= now) => {
                self.ask(now);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The token of a PING that is to be sent.
    pub(super) fn next_ping(&mut self) -> Option<u64> {
        let asked = self.asked.as_mut().filter(|asked| asked.unsaid)?;
        asked.unsaid = false;
        self.token += 1;
        Some(self.token)
    }

    /// Whether it was asked and has not been heard since.
    pub(super) const fn is_doubtful(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.asked.map_or_else(|| self.question_at(), |asked| Some(asked.until))
    }

    fn question_at(&self) -> Option<Instant> {
        self.quiet_since.map(|quiet| quiet + self.ping_after)
    }

    fn ask(&mut self, now: Instant) {
        if self.asked.is_none() {
            self.asked = Some(Asked { until: now + self.patience, unsaid: true });
        }
    }
}

/// The server has not said anything for too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Silent;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn liveness() -> Liveness {
        Liveness::new(Duration::from_millis(10), Duration::from_millis(50))
    }

    #[test]
    fn who_owes_nothing_is_not_asked() {
        let mut liveness = liveness();
        liveness.expect(at(0), true);
        liveness.expect(at(1), false);
        assert_eq!(liveness.next_deadline(), None);
        assert_eq!(liveness.look(at(1_000_000)), Ok(()));
        assert_eq!(liveness.next_ping(), None);
    }

    #[test]
    fn a_silent_server_is_asked_once_and_then_given_up() {
        let mut liveness = liveness();
        liveness.expect(at(0), true);
        liveness.expect(at(5), true);
        assert_eq!(liveness.next_deadline(), Some(at(10)), "from when something was due");
        assert_eq!(liveness.look(at(10)), Ok(()));
        assert_eq!((liveness.next_ping(), liveness.next_ping()), (Some(1), None));
        assert!(liveness.is_doubtful());
        assert_eq!(liveness.next_deadline(), Some(at(60)));
        assert_eq!(liveness.look(at(59)), Ok(()));
        assert_eq!(liveness.look(at(60)), Err(Silent));
    }

    #[test]
    fn whatever_is_heard_is_a_sign_of_life() {
        let mut liveness = liveness();
        liveness.expect(at(0), true);
        assert_eq!(liveness.look(at(10)), Ok(()));
        liveness.on_heard(at(59));
        assert!(!liveness.is_doubtful());
        assert_eq!(liveness.next_ping(), None, "the question is answered before it was asked");
        assert_eq!(liveness.look(at(68)), Ok(()));
        assert_eq!(liveness.next_deadline(), Some(at(69)));
    }

    #[test]
    fn a_server_that_reads_slowly_is_given_its_time() {
        let mut liveness = liveness();
        liveness.expect(at(0), true);
        for ms in (10..1_000).step_by(40) {
            assert_eq!(liveness.look(at(ms)), Ok(()));
            liveness.on_progress(at(ms));
        }
        assert!(liveness.is_doubtful(), "but others are preferred");
        assert_eq!(liveness.look(at(1_100)), Err(Silent));
    }

    #[test]
    fn a_call_that_was_given_up_raises_doubt_only_if_nothing_was_heard_since_it_was_sent() {
        let mut liveness = liveness();
        liveness.expect(at(0), true);
        liveness.on_heard(at(3));
        liveness.doubt(at(5), at(2));
        assert!(!liveness.is_doubtful(), "it has been heard since");
        liveness.doubt(at(6), at(4));
        assert_eq!(liveness.next_ping(), Some(1));
    }
}
