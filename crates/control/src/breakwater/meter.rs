//! What the loops of a server count together for the efficiency law, iteration by iteration.
//!
//! As in `pool`, relaxed atomics: the loop that moves `due_ns` forward owns everything below it until the
//! next is due, and the counters are numbers of their own.

use super::config::{Efficiency, Judge, Span};
use super::trend::{Flow, Trend};
use crate::ewma::ROUND_TRIP;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// Counters since the start, and the iteration that is under way.
#[derive(Debug)]
pub(super) struct Meter {
    incoming: AtomicU64,
    served: AtomicU64,
    dropped: AtomicU64,
    sojourn_ns: AtomicU64,
    /// From the issue of a credit to the request that used it, smoothed.
    unused_ns: AtomicU64,
    /// When settling or counting ends.
    due_ns: AtomicU64,
    settling: AtomicBool,
    /// When counting began, and the counters then.
    since_ns: AtomicU64,
    base: [AtomicU64; 3],
    /// The last whole iteration.
    last: [AtomicU64; 3],
    last_over_ns: AtomicU64,
    /// [`Trend`], field by field, as bits.
    trend_bits: [AtomicU64; 5],
}

/// An iteration that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Iteration {
    pub(super) last: Flow,
    pub(super) current: Flow,
    pub(super) trend: Trend,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            incoming: AtomicU64::new(0),
            served: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            sojourn_ns: AtomicU64::new(0),
            unused_ns: AtomicU64::new(0),
            due_ns: AtomicU64::new(0),
            settling: AtomicBool::new(true),
            since_ns: AtomicU64::new(0),
            base: Default::default(),
            last: Default::default(),
            last_over_ns: AtomicU64::new(0),
            trend_bits: Default::default(),
        }
    }
}

impl Meter {
    pub(super) fn on_incoming(&self) {
        self.incoming.fetch_add(1, Relaxed);
    }

    /// What came is to count neither as served nor as dropped: it is as if it had not come.
    pub(super) fn on_withdrawn(&self) {
        // A guard may have let in what was not counted.
        let fewer = |count: u64| Some(count.saturating_sub(1));
        let _ = self.incoming.fetch_update(Relaxed, Relaxed, fewer);
    }

    pub(super) fn on_dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// A request came on a credit that was issued so long ago: the way there and back, and the time that the
    /// credit lay at the client.
    pub(super) fn on_used(&self, after: Duration) {
        smooth(&self.unused_ns, after);
    }

    /// A request was served, so long after it came.
    pub(super) fn on_served(&self, sojourn: Duration) {
        self.served.fetch_add(1, Relaxed);
        smooth(&self.sojourn_ns, sojourn);
    }

    /// The length of an iteration and of its settling, for this network RTT.
    pub(super) fn pace(&self, law: &Efficiency, network: Duration) -> (Duration, Duration) {
        let before = match law.span {
            Span::Credits => Duration::from_nanos(self.unused_ns.load(Relaxed)),
            Span::RoundTrips | Span::Fixed { .. } => network,
        };
        law.pace(before + Duration::from_nanos(self.sojourn_ns.load(Relaxed)))
    }

    /// Begins to count where settling is over; where counting is over, ends the iteration — a single
    /// one, however late — and settles anew.
    pub(super) fn poll(
        &self,
        now: Instant,
        law: &Efficiency,
        network: Duration,
    ) -> Option<Iteration> {
        let due = self.due_ns.load(Relaxed);
        if now.as_nanos() < due {
            return None;
        }
        let (interval, settle) = self.pace(law, network);
        let settling = self.settling.load(Relaxed);
        let rest = if settling { interval.saturating_sub(settle) } else { settle };
        // Relaxed: the claim decides which loop goes on. Counts of other loops that it does not see yet fall into the next
        // iteration. What it writes below is read by the loop that claims next, once that time is over.
        self.due_ns.compare_exchange(due, (now + rest).as_nanos(), Relaxed, Relaxed).ok()?;
        self.settling.store(!settling, Relaxed);
        let counts = self.counts();
        if settling {
            self.since_ns.store(now.as_nanos(), Relaxed);
            store(&self.base, counts);
            return None;
        }
        Some(self.iteration(now, law, counts))
    }

    /// Come, served and dropped since the start.
    pub(super) fn counts(&self) -> [u64; 3] {
        [&self.incoming, &self.served, &self.dropped].map(|count| count.load(Relaxed))
    }

    fn iteration(&self, now: Instant, law: &Efficiency, counts: [u64; 3]) -> Iteration {
        let base = load(&self.base);
        let over = Duration::from_nanos(now.as_nanos() - self.since_ns.load(Relaxed));
        // More may be withdrawn than comes.
        let difference = std::array::from_fn(|index| counts[index].saturating_sub(base[index]));
        let (last, current) = (
            flow(load(&self.last), Duration::from_nanos(self.last_over_ns.load(Relaxed))),
            flow(difference, over),
        );
        store(&self.last, difference);
        self.last_over_ns.store(over.nanos(), Relaxed);
        let mut trend = self.trend();
        if let Judge::Slope { memory, .. } = law.judge {
            trend = trend.with(&current, memory);
            let Trend { incoming, served, dropped, variance, covariance } = trend;
            let bits = [incoming, served, dropped, variance, covariance].map(f64::to_bits);
            store(&self.trend_bits, bits);
        }
        Iteration { last, current, trend }
    }

    fn trend(&self) -> Trend {
        let [incoming, served, dropped, variance, covariance] =
            load(&self.trend_bits).map(f64::from_bits);
        Trend { incoming, served, dropped, variance, covariance }
    }
}

/// Two loops may overwrite each other's sample; neither matters.
fn smooth(mean_ns: &AtomicU64, sample: Duration) {
    mean_ns.store(ROUND_TRIP.after_any(mean_ns.load(Relaxed), sample.nanos()), Relaxed);
}

const fn flow([incoming, served, dropped]: [u64; 3], over: Duration) -> Flow {
    Flow { incoming, served, dropped, over }
}

fn load<const N: usize>(from: &[AtomicU64; N]) -> [u64; N] {
    std::array::from_fn(|index| from[index].load(Relaxed))
}

fn store<const N: usize>(into: &[AtomicU64; N], values: [u64; N]) {
    into.iter().zip(values).for_each(|(slot, value)| slot.store(value, Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    fn count(meter: &Meter, served: u64, dropped: u64) {
        for _ in 0..served {
            meter.on_incoming();
            meter.on_served(Duration::from_micros(20));
        }
        for _ in 0..dropped {
            meter.on_incoming();
            meter.on_dropped();
        }
    }

    /// A network of 10 µs and 20 µs at the server: iterations of 120 µs, of which 30 settle.
    #[test]
    fn what_happens_while_a_change_settles_is_not_counted() {
        let (meter, law, network) =
            (Meter::default(), Efficiency::TUNED, Duration::from_micros(10));
        count(&meter, 9, 9);
        let poll = |us| meter.poll(at(us), &law, network);
        assert!(poll(1_000).is_none(), "counting begins");
        count(&meter, 5, 2);
        assert!(poll(1_089).is_none());
        let first = poll(1_090).unwrap();
        assert_eq!(first.last, Flow::default());
        let over = Duration::from_micros(90);
        assert_eq!(first.current, Flow { incoming: 7, served: 5, dropped: 2, over });
        count(&meter, 100, 0);
        assert!(poll(1_120).is_none(), "settled");
        count(&meter, 1, 0);
        let second = poll(1_210).unwrap();
        assert_eq!(second.last, first.current);
        assert_eq!(second.current, Flow { incoming: 1, served: 1, dropped: 0, over });
    }

    /// Its credit lay at the client for 3 ms, and the request took 20 µs at the server.
    #[test]
    fn by_the_text_a_round_trip_begins_when_the_credit_is_issued() {
        let (meter, network) = (Meter::default(), Duration::from_micros(10));
        meter.on_used(Duration::from_micros(3_010));
        meter.on_served(Duration::from_micros(20));
        let trips = |law| meter.pace(&law, network).1;
        assert_eq!(trips(Efficiency::PAPER), Duration::from_micros(3_030));
        assert_eq!(trips(Efficiency::TUNED), Duration::from_micros(30), "network and server");
        meter.on_used(Duration::from_micros(11_010));
        assert_eq!(trips(Efficiency::PAPER), Duration::from_micros(4_030), "an eighth of the new");
        meter.on_served(Duration::from_micros(100));
        assert_eq!(trips(Efficiency::TUNED), Duration::from_micros(40), "here too");
    }

    #[test]
    fn a_late_poll_ends_one_iteration_of_its_true_length() {
        let (meter, law) = (Meter::default(), Efficiency::ARTIFACT);
        let poll = |us| meter.poll(at(us), &law, Duration::ZERO);
        assert!(poll(0).is_none());
        count(&meter, 3, 0);
        let late = poll(5_000).unwrap();
        assert_eq!(late.current.over, Duration::from_millis(5));
        assert!(poll(5_000).is_none());
        assert!(poll(5_099).is_none());
    }

    #[test]
    fn the_line_is_drawn_through_all_iterations() {
        let (meter, law, network) =
            (Meter::default(), Efficiency::TUNED, Duration::from_micros(10));
        let poll = |us| meter.poll(at(us), &law, network);
        count(&meter, 1, 0);
        assert!(poll(1_000).is_none(), "counting begins");
        count(&meter, 10, 0);
        // Answers after 20 µs and a network of 10 µs: iterations of 120 µs, of which 30 settle.
        let first = poll(1_090).unwrap();
        assert!(poll(1_120).is_none(), "settled");
        count(&meter, 10, 5);
        let second = poll(1_210).unwrap();
        let over = Duration::from_micros(90);
        let flows = [(10, 10, 0), (15, 10, 5)];
        let [first_flow, second_flow] =
            flows.map(|(incoming, served, dropped)| Flow { incoming, served, dropped, over });
        assert_eq!((first.current, second.current), (first_flow, second_flow));
        let line = Trend::default().with(&first_flow, 32.0);
        assert_eq!((first.trend, second.trend), (line, line.with(&second_flow, 32.0)));
    }
}
