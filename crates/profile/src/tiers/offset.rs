//! How far one process's clock is ahead of another's, from the times of calls between them.
//!
//! A call is read by the server after its client has sent it, and its answer by the client after the server has. So of
//! each call that both have told of
//!
//! ```text
//! answer sent (server) − answer read (client)  ≤  ahead  ≤  read (server) − sent (client)
//! ```
//!
//! as NTP has it (RFC 5905, §8). A call is two messages here, and either process may have called the other: one is the
//! near process, the other the far one. The bounds hold whatever the network did, and the closest of all calls count. The
//! thesis asks for profiles across servers (§4.2.1) and leaves open how their clocks are joined.

use super::calls::Message;

/// By how much two clocks may run apart, in parts of a million: Ethernet allows 100 for each (IEEE 802.3), and other
/// oscillators are no worse. A bound that is a second old is wider by 200 µs.
const DRIFT_PPM: i64 = 200;

/// Bounds of a far clock's lead over a near one, at any time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Offset {
    /// When (by the near clock) and at most how far it was ahead.
    upper: Vec<(i64, i64)>,
    /// The same, turned round: at most how far behind.
    lower: Vec<(i64, i64)>,
}

/// At least and at most so far ahead, in nanoseconds; messages that contradict each other have it the wrong way round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub(super) least: i64,
    pub(super) most: i64,
}

/// So far ahead, and how far the truth may be from that, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lead {
    pub(super) ahead: i64,
    pub(super) error: u64,
}

impl Offset {
    /// From messages between two processes, times in nanoseconds; `None` unless there are some both ways.
    pub(super) fn of(
        there: impl Iterator<Item = Message<i64>>,
        back: impl Iterator<Item = Message<i64>>,
    ) -> Option<Self> {
        let upper: Vec<_> = there.map(|one| (one.sent, one.read - one.sent)).collect();
        let lower: Vec<_> = back.map(|one| (one.read, one.read - one.sent)).collect();
        let is_whole = !upper.is_empty() && !lower.is_empty();
        is_whole.then(|| Self { upper: closest(upper), lower: closest(lower) })
    }

    /// The bounds at a time of the near clock.
    pub(super) fn at(&self, near: i64) -> Bounds {
        Bounds { least: -bound(&self.lower, near), most: bound(&self.upper, near) }
    }

    /// The bounds at a time of the far clock.
    pub(super) fn at_far(&self, far: i64) -> Bounds {
        // Each turn divides the error of the time by 5,000, as the drift is; of ten seconds the second leaves 0.4 µs.
        let turn = |bounds: Bounds| self.at(far.saturating_sub(bounds.lead().ahead));
        turn(turn(self.at(self.upper[0].0)))
    }

    /// The times of the messages, by the near clock. At one of these the bounds are closest together.
    pub(super) fn times(&self) -> impl Iterator<Item = i64> {
        self.upper.iter().chain(&self.lower).map(|(time, _)| *time)
    }

    /// By how much the bounds exclude each other: zero where a lead fits them all.
    pub(super) fn contradiction(&self) -> u64 {
        self.times().map(|time| self.at(time).contradiction()).max().unwrap_or(0)
    }
}

impl Bounds {
    /// The middle; of bounds that exclude each other too, with both of them within the error.
    pub(super) const fn lead(self) -> Lead {
        let width = self.most - self.least;
        Lead { ahead: self.least + width / 2, error: width.unsigned_abs().div_ceil(2) }
    }

    /// By how much they exclude each other.
    pub(super) fn contradiction(self) -> u64 {
        self.least.saturating_sub(self.most).max(0).unsigned_abs()
    }

    /// By how much they exclude a lead.
    pub(super) fn excludes(self, lead: Lead) -> u64 {
        let error = i64::try_from(lead.error).unwrap_or(i64::MAX);
        let above = self.least.saturating_sub(lead.ahead.saturating_add(error));
        let below = lead.ahead.saturating_sub(error).saturating_sub(self.most);
        above.max(below).max(0).unsigned_abs()
    }
}

impl Lead {
    pub(super) const NONE: Self = Self { ahead: 0, error: 0 };

    /// A clock is so far ahead of one that is so far ahead of a third: errors add up, whatever the sign of each.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            ahead: self.ahead.saturating_add(other.ahead),
            error: self.error.saturating_add(other.error),
        }
    }

    /// How far a clock is ahead of one when it and that are so far ahead of a third.
    pub(super) const fn minus(self, other: Self) -> Self {
        Self {
            ahead: self.ahead.saturating_sub(other.ahead),
            error: self.error.saturating_add(other.error),
        }
    }
}

/// By time; each bound is the closest that follows from it and those before and after it.
fn closest(mut bounds: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    bounds.sort_unstable();
    for at in 1..bounds.len() {
        bounds[at].1 = bounds[at].1.min(aged(bounds[at - 1], bounds[at].0));
    }
    for at in (1..bounds.len()).rev() {
        bounds[at - 1].1 = bounds[at - 1].1.min(aged(bounds[at], bounds[at - 1].0));
    }
    bounds
}

/// What a bound from one time says at another.
const fn aged((from, bound): (i64, i64), time: i64) -> i64 {
    let age = (time - from).unsigned_abs() as i64;
    bound + (age / 1_000 * DRIFT_PPM + 999) / 1_000
}

/// Of bounds that are the closest ones, the neighbours say all. There is one.
fn bound(bounds: &[(i64, i64)], time: i64) -> i64 {
    let after = bounds.partition_point(|&(from, _)| from < time);
    let next = aged(bounds[after.min(bounds.len() - 1)], time);
    after.checked_sub(1).map_or(next, |before| aged(bounds[before], time).min(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A call of a client whose clock is true, to a server whose clock is ahead and runs fast: it, and its answer.
    fn call(
        sent: i64,
        (there, work, back): (i64, i64, i64),
        ahead: impl Fn(i64) -> i64,
    ) -> [Message<i64>; 2] {
        let server = |time: i64| time + ahead(time);
        let (read, replied) = (sent + there, sent + there + work);
        let call = Message { sent, read: server(read) };
        [call, Message { sent: server(replied), read: replied + back }]
    }

    /// Of calls of the near process.
    fn offset(calls: &[[Message<i64>; 2]]) -> Option<Offset> {
        Offset::of(calls.iter().map(|one| one[0]), calls.iter().map(|one| one[1]))
    }

    proptest! {
        #[test]
        fn a_planted_lead_lies_within_the_bounds_at_any_time(
            lead in -1_000_000_000_000i64..1_000_000_000_000,
            ppm in -150i64..150,
            calls in prop::collection::vec(
                (0i64..60_000_000_000, 1_000i64..2_000_000, 0i64..5_000_000, 1_000i64..2_000_000),
                1..60,
            ),
            asked in 0i64..60_000_000_000,
        ) {
            let ahead = |time: i64| lead + time * ppm / 1_000_000;
            let calls: Vec<_> = calls
                .iter()
                .map(|&(sent, there, work, back)| call(sent, (there, work, back), ahead))
                .collect();
            let found = offset(&calls).expect("there is a call");
            // The clock ahead is told of at the server's reading, a network's time after the call was sent.
            let slack = 2;
            prop_assert!(found.contradiction() <= slack as u64);
            for bounds in [found.at(asked), found.at_far(asked + ahead(asked))] {
                prop_assert!(bounds.least <= ahead(asked) + slack, "{bounds:?} {}", ahead(asked));
                prop_assert!(bounds.most >= ahead(asked) - slack, "{bounds:?} {}", ahead(asked));
                let Lead { ahead: found, error } = bounds.lead();
                prop_assert!((found - ahead(asked)).abs() <= error as i64 + slack + 1);
            }
        }

        /// Beside the clever bounds the naive ones.
        #[test]
        fn neighbours_say_all(
            bounds in prop::collection::vec((0i64..10_000_000_000, 0i64..3_000_000), 1..40),
            time in 0i64..10_000_000_000,
        ) {
            let naive = bounds.iter().map(|&one| aged(one, time)).min().expect("there is one");
            let found = bound(&closest(bounds), time);
            // Each step from neighbour to neighbour rounds up.
            prop_assert!((found - naive).abs() <= 80, "{found} {naive:?}");
        }

        /// The same messages say the same, by whichever process the calls were made.
        #[test]
        fn either_process_may_be_the_near_one(
            lead in -1_000_000i64..1_000_000,
            calls in prop::collection::vec(
                (0i64..1_000_000, 1_000i64..20_000, 0i64..5_000, 1_000i64..20_000),
                1..20,
            ),
        ) {
            let calls: Vec<_> =
                calls.iter().map(|&(sent, times, work, back)| call(sent, (times, work, back), |_| lead)).collect();
            let there = offset(&calls).expect("calls").at(0);
            let back = calls.iter().map(|one| one[1]);
            let back = Offset::of(back, calls.iter().map(|one| one[0])).expect("calls").at(0);
            // Within two milliseconds by either clock, 400 ns of drift and what is rounded.
            prop_assert!(there.least.abs_diff(-back.most) <= 800, "{there:?} {back:?}");
            prop_assert!(there.most.abs_diff(-back.least) <= 800, "{there:?} {back:?}");
        }
    }

    #[test]
    fn quick_calls_make_close_bounds_and_distance_in_time_widens_them() {
        let ahead = |_| 7_000_000;
        let calls = [
            call(0, (20_000, 1_000_000, 30_000), ahead),
            call(10_000_000, (900_000, 0, 900_000), ahead),
        ];
        let known = offset(&calls).expect("calls");
        let found = known.at(0);
        assert_eq!(found.most, 7_020_000);
        // Its answer was read a millisecond later: 200 ns of drift.
        assert!((6_969_700..=6_970_000).contains(&found.least), "{found:?}");
        let Lead { ahead, error } = found.lead();
        assert!(error < 26_000 && ahead.abs_diff(7_000_000) <= error);
        let later = known.at(1_000_000_000).lead();
        assert!(later.error > error + 190_000, "{later:?}");
        assert_eq!(offset(&[]), None);
    }

    /// A clock that was set back by 5 ms: a second later the drift would explain no more than 0.2 ms.
    #[test]
    fn a_contradiction_is_told_wherever_it_is() {
        let quick = (20_000, 0, 20_000);
        let set_back = |time: i64| if time < 1_000_000_000 { 7_000_000 } else { 2_000_000 };
        let calls =
            [0, 500_000_000, 1_500_000_000, 90_000_000_000].map(|at| call(at, quick, set_back));
        let known = offset(&calls).expect("calls");
        assert!((4_700_000..5_000_000).contains(&known.contradiction()), "{known:?}");
        assert_eq!(known.at(90_000_000_000).contradiction(), 0, "nothing is wrong there");
    }

    #[test]
    fn errors_add_up_whatever_the_bounds_say() {
        let lead = Bounds { least: -3, most: 10 }.lead();
        assert_eq!(lead, Lead { ahead: 3, error: 7 });
        // These exclude each other.
        let bounds = Bounds { least: 9, most: 1 };
        assert_eq!((bounds.contradiction(), bounds.lead()), (8, Lead { ahead: 5, error: 4 }));
        assert_eq!(lead.plus(bounds.lead()), Lead { ahead: 8, error: 11 });
        assert_eq!(lead.minus(bounds.lead()), Lead { ahead: -2, error: 11 });
    }

    #[test]
    fn bounds_exclude_what_lies_outside_them() {
        let bounds = Bounds { least: 10, most: 20 };
        let excluded = |ahead, error| bounds.excludes(Lead { ahead, error });
        assert_eq!([excluded(15, 0), excluded(22, 2), excluded(5, 5)], [0; 3]);
        assert_eq!([excluded(23, 2), excluded(4, 5), excluded(7, 0)], [1, 1, 3]);
    }
}
