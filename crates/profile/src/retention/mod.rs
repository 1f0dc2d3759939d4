//! Which part of a trace is worth keeping: the slowest requests, with all that happened meanwhile.
//!
//! [`Retention`] takes the records of a trace as they come, and holds those of the last moments. It hands on what lies in
//! a request that may yet prove to be among the slowest. How many a percentile leaves is known at the end only, so there are
//! two readings. The first keeps the so many longest of every moment, which are more than the percentile's as long as
//! [`SLOWEST_KEPT`] suffice; the second, of what the first kept, takes those at least as long as the first has found out.
//!
//! Nothing above the percentile is missing, as long as no mark is lost. Where a bound is reached, more is kept than need be,
//! never less. What can be wanting is counted. What came later than [`LATEST`] is so, as a longer time in a queue does. So are
//! requests that were silent for so long when marks were lost, and those that were silent longest when too many were open.

mod longest;
mod windows;
mod held;
mod last;

use crate::above;
use crate::clock::Clocks;
use crate::record::{Figure, LossKind, MarkKind, Measured, Record, Ticks};
use crate::requests::{Assembly, Incomplete, Request};
use crate::trace::Header;
use hdrhistogram::Histogram;
use held::{Held, Kept};
pub use last::{Gone, Last};
use longest::Longest;
use std::time::Duration;
pub(crate) use windows::Windows;

/// Requests of the first reading at a time: 0.1 % of a hundred million.
pub const SLOWEST_KEPT: usize = 100_000;
/// Records of threads come in turns. None is later than this behind another, unless the recorder stood still, or a request
/// was queued for longer: that is told when its work begins.
pub const LATEST: Duration = Duration::from_secs(1);
/// Steps in which time goes on, as a part of [`LATEST`].
const STEPS: u64 = 64;
/// Told of all requests.
const QUANTILES: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];
/// Longer requests count as this many ticks in the distribution.
const LONGEST_TICKS: u64 = 1 << 48;

/// Chooses among the records of a trace, as they come.
pub struct Retention {
    assembly: Assembly,
    longest: Longest,
    held: Held,
    kept: Kept,
    lengths: Histogram<u64>,
    /// The latest moment that a record has told of, and that of the last step.
    latest: Ticks,
    stepped: Ticks,
    clocks: Clocks,
    /// [`LATEST`] in ticks.
    lateness: Ticks,
    incomplete: u64,
    /// When marks were lost: the end of a request that was open then may be among them. One loss is waited out, and then
    /// the latest since; a loss in every second must not put that off.
    lost: Option<Ticks>,
    lost_since: Option<Ticks>,
}

/// What the first reading found out.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// Requests in all.
    pub requests: u64,
    /// What those above the percentile took at least, in ticks.
    pub above: Ticks,
    /// More are above the percentile than were kept: of these all that are at least so long.
    pub is_short: bool,
    /// Kept requests of which something came too late, or had gone before their marks came. Those that were given up count, too,
    /// as they may be above the percentile: when marks were lost, or when too many were open.
    pub incomplete: u64,
    /// Requests that had not ended. What happened meanwhile is kept.
    pub unfinished: u64,
    /// How long the oldest of these had been open, in nanoseconds.
    pub unfinished_max_ns: u64,
    /// As nanoseconds: the median of all, and of what one in a hundred, a thousand and ten thousand is longer.
    quantiles_ns: [u64; 4],
    /// [`Found::above`] in nanoseconds.
    pub at_least_ns: u64,
}

impl Retention {
    /// The first reading, of the trace with this header: of so many of the longest, such as [`SLOWEST_KEPT`].
    #[must_use]
    pub fn of_slowest(header: &Header, max: usize) -> Self {
        Self::of(header, Longest::new(max, 0))
    }

    /// The second, of what the first has kept: of those that are above the percentile.
    #[must_use]
    pub fn of_found(header: &Header, found: &Found) -> Self {
        Self::of(header, Longest::new(usize::MAX, found.above))
    }

    fn of(header: &Header, longest: Longest) -> Self {
        let clocks = Clocks::new(header.clock);
        Self {
            lateness: clocks.rate().ticks(LATEST),
            clocks,
            assembly: Assembly::default(),
            longest,
            held: Held::default(),
            kept: Kept::default(),
            lengths: Histogram::new(2).expect("two digits are within the library's range"),
            latest: 0,
            stepped: 0,
            incomplete: 0,
            lost: None,
            lost_since: None,
        }
    }

    /// Takes the next record, and hands on what is known to be worth it by now, in the order in which it came. Names,
    /// clocks and losses always are.
    pub fn add(&mut self, record: Record, mut keep: impl FnMut(&Record)) {
        if let Record::Clock(clock) = &record {
            self.clocks.add(clock);
            self.lateness = self.clocks.rate().ticks(LATEST);
        }
        if matches!(&record, Record::Loss(loss) if loss.kind == LossKind::Marks) {
            match self.lost {
                None => self.lost = Some(self.latest),
                Some(_) => self.lost_since = Some(self.latest),
            }
        }
        let Some((_, end)) = held::span(&record) else { return keep(&record) };
        if let Record::Mark(mark) = &record
            && mark.kind != MarkKind::Size
        {
            self.assembly.hold(mark);
        }
        self.latest = self.latest.max(end);
        self.held.push(record);
        if self.latest - self.stepped >= self.lateness / STEPS || self.held.is_full() {
            self.stepped = self.latest;
            self.step(self.latest.saturating_sub(self.lateness), &mut keep);
        }
    }

    /// No more comes.
    pub fn finish(&mut self, quantile: f64, mut keep: impl FnMut(&Record)) -> Found {
        self.step(Ticks::MAX, &mut keep);
        let requests = self.lengths.len();
        let wanted = above::leaves(quantile, requests as usize);
        let above = self.longest.nth(wanted).unwrap_or(0);
        let is_short = self.longest.are_fewer(wanted);
        let rate = self.clocks.rate();
        let quantiles_ns = QUANTILES.map(|share| rate.ns(self.lengths.value_at_quantile(share)));
        let at_least_ns = rate.ns(above);
        let Incomplete { unfinished, forgotten, .. } = self.assembly.incomplete(rate);
        // Until the last record: of a request that hangs no mark may follow.
        let oldest = self.assembly.open_requests().map(|(_, start)| start).min();
        let open_for = |start| rate.ns(self.latest.saturating_sub(start));
        Found {
            requests,
            above,
            is_short,
            incomplete: self.incomplete + forgotten,
            unfinished,
            unfinished_max_ns: oldest.map_or(0, open_for),
            quantiles_ns,
            at_least_ns,
        }
    }

    /// All that ended until `until` has come.
    fn step(&mut self, until: Ticks, keep: &mut impl FnMut(&Record)) {
        while let Some(ended) = self.assembly.next_until(until) {
            if let Some(request) = ended {
                self.ended(&request);
            }
        }
        if let Some(lost) = self.lost
            && until > lost.saturating_add(self.lateness)
        {
            // Or all would be kept for ever, in wait for an end that was lost.
            self.incomplete += self.assembly.give_up(lost);
            self.lost = self.lost_since.take();
        }
        let bar = self.longest.bar();
        let is_full = self.held.is_full();
        let mut undecided = Ticks::MAX;
        for (number, start) in self.assembly.open_requests() {
            let has_begun = self.kept.has_begun(number, start, until);
            if is_full || has_begun || until.saturating_sub(start) >= bar {
                // It is long enough already, or there is, or was, no room to wait and see.
                self.kept.goes_on(number, start, until);
            } else {
                undecided = undecided.min(start);
            }
        }
        self.held.let_go(until, undecided, &mut self.kept, keep);
        let (assembly, from) = (&self.assembly, self.held.front().unwrap_or(until));
        self.kept.forget(from, until, |number, start| assembly.is_open(number, start));
    }

    fn ended(&mut self, request: &Request) {
        let length = request.end.saturating_sub(request.start);
        self.lengths.record(length.min(LONGEST_TICKS)).expect("the histogram grows");
        let is_long = length >= self.longest.bar();
        self.longest.add(length);
        if is_long {
            self.incomplete += u64::from(request.start < self.kept.gone());
        }
        let is_kept = is_long || self.kept.has_begun(request.number, request.start, request.end);
        self.kept.ended(request.number, request.start, request.end, is_kept);
    }
}

impl Found {
    /// What a reader of the kept part must know of all requests.
    #[must_use]
    pub fn figures(&self) -> [Record; 7] {
        let [p50, p99, p999, p9999] = self.quantiles_ns;
        let figures = [
            (Measured::Requests, self.requests),
            (Measured::RequestsAboveNs, self.at_least_ns),
            (Measured::RequestsIncomplete, self.incomplete),
            (Measured::RequestsP50Ns, p50),
            (Measured::RequestsP99Ns, p99),
            (Measured::RequestsP999Ns, p999),
            (Measured::RequestsP9999Ns, p9999),
        ];
        figures.map(|(what, value)| Record::Figure(Figure { what, value }))
    }
}
