//! The fate of every intended request, counted as it becomes known and folded into a
//! [`Run`].
//!
//! Latency counts from the time a request was *intended*, so that a generator or client that holds
//! requests back cannot hide the wait.

mod classes;

use crate::bins::Bins;
use crate::hist::Histogram;
use crate::result::{
    ClassReading, Fates, GeneratorReading, LatencyReading, Rates, RefusalReading, Run, Series,
};
use classes::Seconds;
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_core::{Instant, Nanos, Ratio};

/// What a tally counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TallySpec {
    /// Answers within this time of their intended time are in time. Zero makes every answer late.
    pub slo: Duration,
    /// First instant of the measured window; requests intended earlier are warm-up.
    pub from: Instant,
    /// First instant after the window; requests intended from here on are cool-down.
    pub to: Instant,
    /// Width of the bins of a time series, `None` for no series. Too small a width is enlarged to
    /// keep no more than 4096 bins.
    pub bin: Option<Duration>,
}

/// The latency of what was not served, in [`TallyFindings::points`].
const NOT_SERVED: f32 = -1.0;

/// Counts fates request by request. Each intended request gets exactly one of [`Tally::served`],
/// [`Tally::served_in_part`], [`Tally::shed`], [`Tally::expired`], [`Tally::lost`] and [`Tally::unsent`]; those intended
/// outside the window are ignored.
///
/// One per thread, then [`Tally::merge`].
#[derive(Clone, Debug)]
pub struct Tally {
    spec: TallySpec,
    fates: Fates,
    unsent: u64,
    partial: u64,
    shed_by_reason: BTreeMap<&'static str, u64>,
    latency: Histogram,
    reject: Histogram,
    lateness: Histogram,
    bins: Option<Bins>,
    points: Vec<(f32, f32)>,
    /// By class, for those that were told.
    classes: Vec<Seconds>,
}

impl Tally {
    /// An empty tally.
    #[must_use]
    pub fn new(spec: TallySpec) -> Self {
        Self {
            spec,
            fates: Fates::default(),
            unsent: 0,
            partial: 0,
            shed_by_reason: BTreeMap::new(),
            latency: Histogram::new(),
            reject: Histogram::new(),
            lateness: Histogram::new(),
            bins: spec.bin.map(|width| Bins::new(width, spec.to.since(spec.from))),
            points: Vec::new(),
            classes: Vec::new(),
        }
    }

    /// Answered, `latency` after its intended time.
    pub fn served(&mut self, intended: Instant, latency: Duration) {
        self.answer(intended, latency, latency <= self.spec.slo);
    }

    /// The same, but the answer lacks a part: it counts as late, whenever it came.
    pub fn served_in_part(&mut self, intended: Instant, latency: Duration) {
        self.partial += u64::from(self.offset(intended).is_some());
        self.answer(intended, latency, false);
    }

    fn answer(&mut self, intended: Instant, latency: Duration, ok: bool) {
        let Some(offset) = self.offset(intended) else {
            return;
        };
        *(if ok { &mut self.fates.ok } else { &mut self.fates.late }) += 1;
        self.latency.record(latency);
        // Steps are judged by these latencies alone: that of a part must not look like one in time.
        let misleads = !ok && latency <= self.spec.slo;
        self.note(offset, if misleads { NOT_SERVED } else { latency.as_secs_f32() * 1e6 });
        if let Some(bin) = self.bins.as_mut().and_then(|bins| bins.at(offset)) {
            bin.intended += 1;
            bin.ok += u64::from(ok);
            bin.latency.record(latency);
        }
    }

    /// Rejected by the server, `reject_delay` after it was sent, for the reason of that stable
    /// name.
    pub fn shed(&mut self, intended: Instant, reject_delay: Duration, reason: &'static str) {
        let Some(offset) = self.offset(intended) else {
            return;
        };
        self.fates.shed += 1;
        *self.shed_by_reason.entry(reason).or_default() += 1;
        self.reject.record(reject_delay);
        self.note(offset, NOT_SERVED);
        if let Some(bin) = self.bins.as_mut().and_then(|bins| bins.at(offset)) {
            bin.intended += 1;
            bin.reject.record(reject_delay);
        }
    }

    /// Given up at the client before it was sent.
    pub fn expired(&mut self, intended: Instant) {
        if self.intend(intended) {
            self.fates.expired += 1;
        }
    }

    /// Sent, but neither answered nor rejected until the driver stopped waiting.
    pub fn lost(&mut self, intended: Instant) {
        if self.intend(intended) {
            self.fates.lost += 1;
        }
    }

    /// Never handed to a client, because the generator could not. Counts as lost, and against the
    /// validity of the run.
    pub fn unsent(&mut self, intended: Instant) {
        if self.intend(intended) {
            self.fates.lost += 1;
            self.unsent += 1;
        }
    }

    /// The generator came to the request `lateness` after its intended time. No fate: comes beside
    /// one.
    pub fn late_by(&mut self, intended: Instant, lateness: Duration) {
        if self.offset(intended).is_some() {
            self.lateness.record(lateness);
        }
    }

    /// A request of this class was intended, where there are several. No fate: comes beside one.
    pub fn asked(&mut self, intended: Instant, class: Option<usize>) {
        if let Some((seconds, at)) = self.of_class(intended, class) {
            seconds.asked(at);
        }
    }

    /// A request of this class, where there are several, was answered `latency` after its intended time.
    /// Comes beside [`Tally::served`].
    pub fn answered(&mut self, intended: Instant, class: Option<usize>, latency: Duration) {
        if latency <= self.spec.slo
            && let Some((seconds, at)) = self.of_class(intended, class)
        {
            seconds.in_time(at);
        }
    }

    fn of_class(
        &mut self,
        intended: Instant,
        class: Option<usize>,
    ) -> Option<(&mut Seconds, Duration)> {
        let (class, offset) = (class?, self.offset(intended)?);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, Seconds::default());
        }
        Some((&mut self.classes[class], offset))
    }

    /// The window ends at `to`, if it would not have before: rates are of the shorter time. Nothing that was intended later may
    /// have been counted. Bins beyond it stay, and hold nothing.
    pub fn end_at(&mut self, to: Instant) {
        self.spec.to = self.spec.to.min(to);
    }

    /// Adds what another thread counted.
    ///
    /// # Panics
    ///
    /// When the two were made for different specs.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.spec, other.spec, "tallies of different specs cannot be merged");
        self.fates += other.fates;
        self.unsent += other.unsent;
        self.partial += other.partial;
        for (reason, count) in &other.shed_by_reason {
            *self.shed_by_reason.entry(reason).or_default() += count;
        }
        self.latency.merge(&other.latency);
        self.reject.merge(&other.reject);
        self.lateness.merge(&other.lateness);
        if let (Some(mine), Some(theirs)) = (&mut self.bins, &other.bins) {
            mine.merge(theirs);
        }
        self.points.extend_from_slice(&other.points);
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), Seconds::default());
        }
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            mine.merge(theirs);
        }
    }

    /// Closes the tally.
    #[must_use]
    pub fn finish(mut self) -> TallyFindings {
        self.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let owned = |(reason, count): (&str, u64)| (reason.to_owned(), count);
        let window = self.spec.to.since(self.spec.from);
        TallyFindings {
            classes: self.classes.iter().map(|seconds| seconds.reading(window)).collect(),
            slo: self.spec.slo,
            window,
            fates: self.fates,
            unsent: self.unsent,
            partial: self.partial,
            shed_by_reason: self.shed_by_reason.into_iter().map(owned).collect(),
            latency: self.latency,
            reject: self.reject,
            lateness: self.lateness,
            series: self.bins.map(|bins| series(&bins)),
            points: self.points,
        }
    }

    /// The time from the window's start; `None` outside the window.
    fn offset(&self, intended: Instant) -> Option<Duration> {
        (self.spec.from <= intended && intended < self.spec.to)
            .then(|| intended.since(self.spec.from))
    }

    /// Notes an intended request that leaves no duration behind; false outside the window.
    fn intend(&mut self, intended: Instant) -> bool {
        let Some(offset) = self.offset(intended) else {
            return false;
        };
        if let Some(bin) = self.bins.as_mut().and_then(|bins| bins.at(offset)) {
            bin.intended += 1;
        }
        self.note(offset, NOT_SERVED);
        true
    }

    /// Kept only where there are bins: steps are laid over one another afterwards.
    fn note(&mut self, offset: Duration, latency_us: f32) {
        if self.spec.bin.is_some() {
            self.points.push((offset.as_secs_f32() * 1e6, latency_us));
        }
    }
}

/// What a closed [`Tally`] found.
#[derive(Clone, Debug)]
pub struct TallyFindings {
    /// As in [`TallySpec`].
    pub slo: Duration,
    /// Length of the measured window.
    pub window: Duration,
    /// Where every intended request went.
    pub fates: Fates,
    /// How many of the lost were never handed to a client.
    pub unsent: u64,
    /// How many of the late lacked a part, whenever they came.
    pub partial: u64,
    /// Sheds by the reason's stable name; they add up to [`Fates::shed`].
    pub shed_by_reason: BTreeMap<String, u64>,
    /// Of served requests, from their intended time.
    pub latency: Histogram,
    /// From sending a request to receiving its reject.
    pub reject: Histogram,
    /// By how much the generator came late.
    pub lateness: Histogram,
    /// Per bin, when bins were asked for. `demand_ratio` holds zeros, one for each bin: only the
    /// driver knows what the scenario asked for.
    pub series: Option<Series>,
    /// Of each intended request, when bins were asked for and in order of time: its offset in the window
    /// and its latency, in µs; negative where it was not served, or only a part of it in time.
    pub points: Vec<(f32, f32)>,
    /// By class, where several were told; without names.
    pub classes: Vec<ClassReading>,
}

impl TallyFindings {
    /// `count` per second of the window; zero for an empty window.
    #[must_use]
    pub fn per_second(&self, count: u64) -> f64 {
        let window_ns = self.window.nanos();
        if window_ns == 0 { 0.0 } else { count as f64 * 1e9 / window_ns as f64 }
    }

    /// Writes into `run` everything that follows from the tally: SLO, fates, rates, percentiles,
    /// drop ratio, lateness, series. The shares of capacity and bound follow from what `run`
    /// already says about those. All else is left alone.
    ///
    /// `received` is the server's own count of requests in the window. Without it the drop ratio is
    /// shed ÷ (served + shed), which differs by the requests that are lost. The same where the count is lower:
    /// what was intended in the window and answered after it was received, too.
    pub fn fill(self, run: &mut Run, received: Option<u64>) {
        let Fates { ok, late, shed, .. } = self.fates;
        run.asked.slo_us = micros(self.slo);
        let rates = Rates {
            offered_rps: self.per_second(self.fates.total()),
            throughput_rps: self.per_second(ok + late),
            goodput_rps: self.per_second(ok),
            ..run.rates
        };
        run.rates = rates.quoted(&run.yardstick);
        // What was answered was received, though perhaps not within the window, as the server counts.
        let answered = ok + late + shed;
        run.refusals = RefusalReading {
            drop_ratio: Ratio::of(shed, received.unwrap_or(answered).max(answered)).0,
            reject_p50_us: micros(self.reject.quantile(0.5)),
        };
        run.latency = LatencyReading {
            p50_us: micros(self.latency.quantile(0.5)),
            p99_us: micros(self.latency.quantile(0.99)),
            p999_us: micros(self.latency.quantile(0.999)),
        };
        run.generator = GeneratorReading {
            lateness_p50_us: micros(self.lateness.quantile(0.5)),
            lateness_p95_us: micros(self.lateness.quantile(0.95)),
            lateness_p99_us: micros(self.lateness.quantile(0.99)),
            ..run.generator
        };
        run.fates = self.fates;
        run.unsent = self.unsent;
        run.answers.partial = self.partial;
        run.shed_by_reason = self.shed_by_reason;
        run.series = self.series;
        run.classes = self.classes;
    }
}

fn series(bins: &Bins) -> Series {
    let offered_rps = bins.rates(|bin| bin.intended);
    Series {
        bin_us: micros(bins.width()),
        goodput_rps: bins.rates(|bin| bin.ok),
        p99_us: bins.micros(|bin| bin.latency.quantile(0.99)),
        reject_p50_us: bins.micros(|bin| bin.reject.quantile(0.5)),
        demand_ratio: vec![0.0; offered_rps.len()],
        offered_rps,
    }
}

fn micros(duration: Duration) -> f64 {
    duration.nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests;
