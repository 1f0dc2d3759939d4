//! Sessions that hold credit and do not use it: which to look at when.

use super::typical::Typical;
use std::time::Duration;
use tailwater_core::{Instant, SessionId};

/// A hand that goes round a loop's sessions, a few at a time.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// The session to look at next.
    hand: usize,
    due: Instant,
    /// How long clients that come back were silent before.
    silence: Typical,
    /// Sessions that are to lose all credits but one; at most [`REVOKED`].
    surplus: Vec<SessionId>,
    /// Some session may have to be set idle: the loop must be called although nothing happens.
    watching: bool,
    /// As far as this round has come.
    seen: bool,
}

/// Sessions are looked at so often.
const LOOK: Duration = Duration::from_millis(1);
/// So many at once: with a look each [`LOOK`], all of 10,000 within a sixth of a second.
const BATCH: usize = 64;
/// Windows that are cut at a look. Each costs a message, a fifth of a 10 µs request.
const REVOKED: usize = 8;
/// So many times the usual silence is silence for good: one in 250 of those that come at random.
const SILENCES: u32 = 8;
/// However slow the others are. A million clients at twice what ten cores can do ask once a second: with a
/// limit of a second a third of them counted as idle, each with a window that no pool counted.
const SILENCE_MAX: Duration = Duration::from_secs(10);

impl Idle {
    /// A client's message came after so long a silence.
    pub(super) fn on_heard(&mut self, silence: Duration) {
        self.silence.learn(silence);
        self.see();
    }

    /// From what silence on a session counts as idle; at least `least`.
    pub(super) fn threshold(&self, least: Duration) -> Duration {
        (SILENCES * self.silence.median()).min(SILENCE_MAX).max(least)
    }

    /// The sessions to look at now, of `count`; none until the next look is due.
    pub(super) fn batch(
        &mut self,
        now: Instant,
        count: usize,
    ) -> impl Iterator<Item = SessionId> + use<> {
        let is_due = now >= self.due;
        if is_due {
            self.due = now + LOOK;
            self.surplus.clear();
        }
        let looked = if is_due { BATCH.min(count) } else { 0 };
        let first = if self.hand < count { self.hand } else { 0 };
        self.hand = first + looked;
        if is_due && self.hand >= count {
            (self.hand, self.watching) = (self.hand - count, self.seen);
            self.seen = false;
        }
        (first..first + looked)
            .map(move |index| SessionId(u32::try_from(index % count).expect("a session's number")))
    }

    /// A session of the batch is not silent for long enough, but may be.
    pub(super) const fn see(&mut self) {
        (self.watching, self.seen) = (true, true);
    }

    /// These of the batch, with their windows, hold more than one credit in silence, while others want
    /// credit and there is none: the largest windows are cut first.
    pub(super) fn cut(&mut self, mut found: Vec<(u32, SessionId)>) {
        found.sort_unstable_by_key(|&(window, id)| (std::cmp::Reverse(window), id));
        self.surplus = found.into_iter().take(REVOKED).map(|(_, id)| id).rev().collect();
    }

    /// The next to lose its credits, largest window first.
    pub(super) fn next_cut(&mut self) -> Option<SessionId> {
        self.surplus.pop()
    }

    /// When the loop must look again at the latest; `None` while all that may be idle are.
    pub(super) fn next_look(&self, now: Instant, least: Duration) -> Option<Instant> {
        self.watching.then(|| now + self.threshold(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn each_session_is_looked_at_in_turn() {
        for count in [0_usize, 1, 7, 64, 65, 200] {
            let (mut idle, mut seen) = (Idle::default(), vec![0; count]);
            let rounds = 10 * count.div_ceil(BATCH).max(1);
            for ms in 0..rounds as u64 {
                idle.batch(at(ms), count).for_each(|id| seen[id.index()] += 1);
                assert_eq!(idle.batch(at(ms), count).count(), 0, "not twice at one time");
            }
            let (least, most) = (seen.iter().min(), seen.iter().max());
            assert!(least >= Some(&9).filter(|_| count > 0), "{count}: {least:?}");
            assert!(most <= least.map(|least| least + 2).as_ref(), "{count}: {least:?}, {most:?}");
        }
    }

    #[test]
    fn the_largest_windows_are_cut_and_no_more_than_a_few() {
        let mut idle = Idle::default();
        idle.cut((0..40).map(|id| (id * 7 % 40, SessionId(id))).collect());
        let cut: Vec<u32> =
            std::iter::from_fn(|| idle.next_cut()).map(|id| id.0 * 7 % 40).collect();
        assert_eq!(cut, (32..40).rev().collect::<Vec<_>>());
    }

    #[test]
    fn silence_is_measured_against_that_of_the_others() {
        let (mut idle, least) = (Idle::default(), Duration::from_millis(20));
        assert_eq!(idle.threshold(least), least);
        (0..5_000).for_each(|_| idle.on_heard(Duration::from_millis(10)));
        let usual = idle.threshold(least);
        assert!((75..=85).contains(&usual.as_millis()), "{usual:?}");
        (0..50_000).for_each(|_| idle.on_heard(Duration::from_secs(60)));
        assert_eq!(idle.threshold(least), SILENCE_MAX);
    }

    #[test]
    fn a_loop_without_sessions_to_watch_may_sleep() {
        let (mut idle, least) = (Idle::default(), Duration::from_millis(20));
        assert_eq!(idle.next_look(at(0), least), None);
        idle.on_heard(Duration::ZERO);
        assert_eq!(idle.next_look(at(0), least), Some(at(20)));
        idle.batch(at(0), 3).for_each(|_| ());
        idle.see();
        idle.batch(at(1), 3).for_each(|_| ());
        assert_eq!(idle.next_look(at(1), least), Some(at(21)), "one was seen in the last round");
        idle.batch(at(2), 3).for_each(|_| ());
        assert_eq!(idle.next_look(at(2), least), None);
    }

    /// Of 200 sessions all but the first 128 leave just when the hand has come so far: the next round begins
    /// at the first session, and the round before has not ended twice.
    #[test]
    fn a_round_goes_on_where_the_crowd_has_shrunk_to_the_hand() {
        let mut idle = Idle::default();
        (0..2).for_each(|ms| assert_eq!(idle.batch(at(ms), 200).count(), 64));
        idle.see();
        let ids: Vec<u32> = idle.batch(at(2), 128).map(|id| id.0).collect();
        assert_eq!(ids, (0..64).collect::<Vec<_>>());
        idle.batch(at(3), 128).for_each(|_| ());
        assert!(idle.next_look(at(3), Duration::ZERO).is_some(), "it was seen in this round");
    }
}
