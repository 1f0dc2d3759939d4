//! How far one process's clock is ahead of another's, from the times of calls between them.
//!
//! A call is read by the server after its client has sent it, and its answer by the client after the server has. So of
//! each call that both have told of
//!
//! ```text
//! answer sent (server) − answer read (client)  ≤  ahead  ≤  read (server) − sent (client)
//! ```
//!
//! as NTP has it (RFC 5905, §8). The bounds hold whatever the network did, and the closest of all calls count. The
//! thesis asks for profiles across servers (§4.2.1) and leaves open how their clocks are joined.

/// By how much two clocks may run apart, in parts of a million: Ethernet allows 100 for each (IEEE 802.3), and other
/// oscillators are no worse. A bound that is a second old is wider by 200 µs.
const DRIFT_PPM: i64 = 200;

/// Bounds of one clock's lead over another, at any time of the client's clock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Offset {
    /// When (by the client) and at most how far it was ahead.
    upper: Vec<(i64, i64)>,
    /// The same, turned round: at most how far behind.
    lower: Vec<(i64, i64)>,
    calls: u64,
}

/// The four times of a call, each in nanoseconds of its own process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamps {
    pub(super) sent: i64,
    pub(super) read: i64,
    pub(super) replied: i64,
    pub(super) answered: i64,
}

/// At least and at most so far ahead, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lead {
    pub(super) least: i64,
    pub(super) most: i64,
}

impl Lead {
    pub(super) const NONE: Self = Self { least: 0, most: 0 };

    /// The middle.
    pub(super) const fn middle(self) -> i64 {
        self.least + (self.most - self.least) / 2
    }

    /// How far the truth may be from the middle; so too where the bounds contradict each other.
    pub(super) const fn error(self) -> u64 {
        (self.most - self.least).unsigned_abs().div_ceil(2)
    }

    /// A clock is so far ahead of one that is so far ahead of a third.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self { least: self.least + other.least, most: self.most + other.most }
    }

    /// The same, seen from the other side.
    pub(super) const fn turned(self) -> Self {
        Self { least: -self.most, most: -self.least }
    }
}

impl Offset {
    /// From all calls between two processes.
    pub(super) fn of(calls: &[Stamps]) -> Self {
        let upper = calls.iter().map(|call| (call.sent, call.read - call.sent));
        let lower = calls.iter().map(|call| (call.answered, call.answered - call.replied));
        Self {
            upper: closest(upper.collect()),
            lower: closest(lower.collect()),
            calls: calls.len() as u64,
        }
    }

    pub(super) const fn calls(&self) -> u64 {
        self.calls
    }

    /// The bounds at a time of the client's; `None` without a call.
    pub(super) fn at(&self, time: i64) -> Option<Lead> {
        Some(Lead { least: -bound(&self.lower, time)?, most: bound(&self.upper, time)? })
    }

    /// The closest bounds at any time.
    pub(super) fn closest(&self) -> Option<Lead> {
        let least = |bounds: &[(i64, i64)]| bounds.iter().map(|(_, bound)| *bound).min();
        Some(Lead { least: -least(&self.lower)?, most: least(&self.upper)? })
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

/// Of bounds that are the closest ones, the neighbours say all.
fn bound(bounds: &[(i64, i64)], time: i64) -> Option<i64> {
    let after = bounds.partition_point(|&(from, _)| from < time);
    let near = [after.checked_sub(1), Some(after)].into_iter().flatten();
    near.filter_map(|at| bounds.get(at)).map(|&one| aged(one, time)).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A call of a client whose clock is true, to a server whose clock is ahead and runs fast.
    fn call(sent: i64, (there, work, back): (i64, i64, i64), ahead: impl Fn(i64) -> i64) -> Stamps {
        let server = |time: i64| time + ahead(time);
        let (read, replied) = (sent + there, sent + there + work);
        Stamps { sent, read: server(read), replied: server(replied), answered: replied + back }
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
            let stamps: Vec<_> = calls
                .iter()
                .map(|&(sent, there, work, back)| call(sent, (there, work, back), ahead))
                .collect();
            let found = Offset::of(&stamps).at(asked).expect("there is a call");
            // The clock ahead is told of at the server's reading, a network's time after the call was sent.
            let slack = 2;
            prop_assert!(found.least <= ahead(asked) + slack, "{found:?} {}", ahead(asked));
            prop_assert!(found.most >= ahead(asked) - slack, "{found:?} {}", ahead(asked));
            let (middle, error) = (found.middle(), found.error() as i64);
            prop_assert!((middle - ahead(asked)).abs() <= error + slack + 1);
        }

        /// Beside the clever bounds the naive ones.
        #[test]
        fn neighbours_say_all(
            bounds in prop::collection::vec((0i64..10_000_000_000, 0i64..3_000_000), 1..40),
            time in 0i64..10_000_000_000,
        ) {
            let naive = bounds.iter().map(|&one| aged(one, time)).min();
            let found = bound(&closest(bounds), time).expect("there is one");
            // Each step from neighbour to neighbour rounds up.
            prop_assert!((found - naive.expect("one")).abs() <= 80, "{found} {naive:?}");
        }
    }

    #[test]
    fn quick_calls_make_close_bounds_and_distance_in_time_widens_them() {
        let ahead = |_| 7_000_000;
        let stamps = [
            call(0, (20_000, 1_000_000, 30_000), ahead),
            call(10_000_000, (900_000, 0, 900_000), ahead),
        ];
        let offset = Offset::of(&stamps);
        let found = offset.at(0).expect("calls");
        assert_eq!(found.most, 7_020_000);
        // Its answer was read a millisecond later: 200 ns of drift.
        assert!((6_969_700..=6_970_000).contains(&found.least), "{found:?}");
        assert!(found.error() < 26_000 && found.middle().abs_diff(7_000_000) <= found.error());
        let later = offset.at(1_000_000_000).expect("calls");
        assert!(later.error() > found.error() + 190_000, "{later:?}");
        assert_eq!(Offset::of(&[]).at(0), None);
    }

    #[test]
    fn leads_add_up_and_turn_round() {
        let lead = Lead { least: -3, most: 10 };
        assert_eq!(lead.plus(Lead { least: 5, most: 6 }), Lead { least: 2, most: 16 });
        assert_eq!(lead.turned(), Lead { least: -10, most: 3 });
        assert_eq!((lead.middle(), lead.error()), (3, 7));
    }
}
