//! The open-loop schedule of a run: every request's time, client and cost, decided beforehand.

use crate::arrivals::Arrivals;
use crate::demand::{DemandPlan, Step};
use crate::service::Service;
use crate::swell::Swell;
use rand_distr::Distribution as _;
use std::fmt;
use tailwater_core::{Nanos, Rng};

/// Requests in order of their intended times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Sorted by [`Entry::at`].
    pub entries: Vec<Entry>,
}

/// One intended request; 16 bytes, so that a run of millions stays in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// When it is to be made: nanoseconds from the start of the run.
    pub at: u64,
    /// Which client makes it; from 0.
    pub client: u32,
    /// How long its handler works, in nanoseconds; at most 4 s.
    pub service_ns: u32,
}

impl Schedule {
    /// Most requests in one schedule: 800 MB.
    pub const ENTRIES_MAX: usize = 50_000_000;

    /// Plays the plan for `clients` clients. The same arguments give the same schedule.
    ///
    /// A single process of the total rate is drawn, and each of its arrivals given to a client chosen uniformly.
    /// Thinning a Poisson process by independent choices leaves independent Poisson processes, each with its share of
    /// the rate. So this equals drawing one process per client (Breakwater §5.2) and merging them. It costs one draw
    /// per request instead of a heap of clients.
    ///
    /// Arrivals, clients and service times have generators of their own, and gaps are drawn in units of
    /// expected requests. So at twice the demand the same requests come, with the same clients and
    /// costs, in half the time: runs at different demand differ by nothing else. Bursts and swings are as long
    /// under every demand.
    ///
    /// # Errors
    /// When there is no client, a rate is negative or no number, or more than
    /// [`Schedule::ENTRIES_MAX`] requests would come.
    pub fn build(
        plan: &DemandPlan,
        clients: u32,
        service: &Service,
        seed: u64,
    ) -> Result<Self, ScheduleError> {
        let stream = Stream::new(plan, clients, service, seed)?;
        let expected = plan.requests();
        if expected > Self::ENTRIES_MAX as f64 {
            return Err(ScheduleError::TooMany { expected });
        }
        // Four standard deviations of room: the vector hardly ever grows, and never by much.
        let room = (expected + 4.0 * expected.sqrt()) as usize + 16;
        let mut entries = Vec::with_capacity(room.min(Self::ENTRIES_MAX));
        for entry in stream {
            if entries.len() == Self::ENTRIES_MAX {
                return Err(ScheduleError::TooMany { expected });
            }
            entries.push(entry);
        }
        Ok(Self { entries })
    }
}

/// Decides all that a request draws beside its service time: the same request, by client and intended
/// time in nanoseconds from the start, draws the same on every driver, whatever the controller does.
/// `seed` is the run's.
#[must_use]
pub fn request_seed(seed: u64, client: u32, intended_ns: u64) -> u64 {
    let client = u64::from(client).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    seed ^ intended_ns.rotate_left(17) ^ client
}

/// The entries of [`Schedule::build`] one by one, for who needs no more than the next: its memory
/// does not grow with the run.
pub struct Stream {
    steps: Swell,
    times: Option<StepTimes>,
    gaps: Gaps,
    client_rng: Rng,
    service_rng: Rng,
    service: Service,
    clients: u32,
    /// When the next step begins.
    next_ns: u64,
}

impl Stream {
    /// See [`Schedule::build`], which this equals entry by entry.
    ///
    /// # Errors
    /// When there is no client, or a rate is negative or no number.
    pub fn new(
        plan: &DemandPlan,
        clients: u32,
        service: &Service,
        seed: u64,
    ) -> Result<Self, ScheduleError> {
        check(plan, clients)?;
        let root = Rng::from_seed(seed);
        Ok(Self {
            steps: Swell::new(plan.steps.clone(), plan.arrivals, root.split("bursts")),
            times: None,
            gaps: Gaps::new(plan.arrivals, root.split("arrivals")),
            client_rng: root.split("clients"),
            service_rng: root.split("service"),
            service: service.clone(),
            clients,
            next_ns: 0,
        })
    }
}

impl Iterator for Stream {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(times) = &mut self.times
                && let Some(at) = times.next_ns(&mut self.gaps)
            {
                return Some(Entry {
                    at,
                    client: self.client_rng.below(self.clients),
                    service_ns: self.service.draw_ns(&mut self.service_rng),
                });
            }
            let step = self.steps.next()?;
            self.times = Some(StepTimes::new(&step, self.next_ns));
            self.next_ns = self.next_ns.saturating_add(step.length.nanos());
        }
    }
}

/// A plan that cannot be played.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ScheduleError {
    /// There are no clients to ask.
    NoClients,
    /// A step's rate is negative, infinite or no number.
    BadRate {
        /// Which step, from 0.
        step: usize,
        /// Its rate in requests per second.
        rate: f64,
    },
    /// The schedule would not fit in memory.
    TooMany {
        /// Requests that the plan asks for.
        expected: f64,
    },
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoClients => write!(f, "there are 0 clients; at least 1 is needed"),
            Self::BadRate { step, rate } => write!(
                f,
                "step {step} asks for {rate} requests/s; a finite number of 0 or more is needed"
            ),
            Self::TooMany { expected } => write!(
                f,
                "the run asks for {expected:.0} requests; at most {} fit: shorten it or lower its demand",
                Schedule::ENTRIES_MAX
            ),
        }
    }
}

impl std::error::Error for ScheduleError {}

fn check(plan: &DemandPlan, clients: u32) -> Result<(), ScheduleError> {
    if clients == 0 {
        return Err(ScheduleError::NoClients);
    }
    for (number, step) in plan.steps.iter().enumerate() {
        for rate in [step.rate.0, step.end.0] {
            if !rate.is_finite() || rate < 0.0 {
                return Err(ScheduleError::BadRate { step: number, rate });
            }
        }
    }
    Ok(())
}

/// Gaps in units of expected requests. What is left of one when a step ends goes on in the next. So a change of rate
/// is neither seen in advance nor answered late.
struct Gaps {
    arrivals: Arrivals,
    rng: Rng,
    /// What is left of the gap under way; `None`: it is to be drawn.
    left: Option<f64>,
}

/// A metronome's mean gap at the most, in µs: a quarter of an hour, beyond which nothing varies.
const METRONOME_US_MAX: f64 = 1e9;

impl Gaps {
    const fn new(arrivals: Arrivals, rng: Rng) -> Self {
        Self { arrivals, rng, left: None }
    }

    /// The gap under way at a rate in requests per nanosecond.
    fn left(&mut self, per_ns: f64) -> f64 {
        let left = self.left.unwrap_or_else(|| self.draw(per_ns));
        self.left = Some(left);
        left
    }

    fn draw(&mut self, per_ns: f64) -> f64 {
        match self.arrivals {
            Arrivals::Poisson | Arrivals::Bursts(_) | Arrivals::Diurnal(_) => {
                self.rng.exponential(1.0)
            }
            Arrivals::Periodic => 1.0,
            Arrivals::Gamma { shape } => {
                // Shapes that it refuses are no numbers or not positive; then all gaps are equal.
                let gamma = rand_distr::Gamma::new(shape, 1.0 / shape);
                gamma.map_or(1.0, |gamma| gamma.sample(&mut self.rng))
            }
            Arrivals::Metronome => {
                let mean_us = (1e-3 / per_ns).min(METRONOME_US_MAX);
                let whole_us = rand_distr::Poisson::new(mean_us);
                whole_us.map_or(1.0, |gap| gap.sample(&mut self.rng) / mean_us)
            }
        }
    }
}

/// The arrivals within a step.
struct StepTimes {
    start_ns: u64,
    /// Requests per nanosecond at the beginning, and how much that grows in each.
    per_ns: f64,
    growth: f64,
    length_ns: f64,
    at_ns: f64,
}

impl StepTimes {
    fn new(step: &Step, start_ns: u64) -> Self {
        let (per_ns, length_ns) = (step.rate.0 / 1e9, step.length.nanos() as f64);
        let growth = if step.end == step.rate || length_ns == 0.0 {
            0.0
        } else {
            (step.end.0 / 1e9 - per_ns) / length_ns
        };
        Self { start_ns, per_ns, growth, length_ns, at_ns: 0.0 }
    }

    /// Requests to be expected in the rest of the step.
    fn room(&self) -> f64 {
        let middle_ns = f64::midpoint(self.at_ns, self.length_ns);
        (self.length_ns - self.at_ns) * (self.per_ns + self.growth * middle_ns)
    }

    /// How long it takes from now until so many requests are expected: the inverse of the integral of the rate.
    /// The root is written so that nothing cancels, however flat the ramp.
    fn wait_ns(&self, requests: f64) -> f64 {
        if self.growth == 0.0 {
            return requests / self.per_ns;
        }
        let rate = self.per_ns + self.growth * self.at_ns;
        let root = (rate * rate + 2.0 * self.growth * requests).max(0.0).sqrt();
        2.0 * requests / (rate + root).max(f64::MIN_POSITIVE)
    }

    /// The next arrival, or nothing when it lies beyond the step's end.
    fn next_ns(&mut self, gaps: &mut Gaps) -> Option<u64> {
        let room = self.room();
        // A pause ends no gap and begins none.
        if room <= 0.0 {
            return None;
        }
        let left = gaps.left(self.per_ns + self.growth * self.at_ns);
        // Gaps of whole microseconds may end with the step, to the last digit: what comes then is the next step's.
        let at_ns = self.at_ns + self.wait_ns(left);
        if left >= room || at_ns >= self.length_ns {
            gaps.left = Some((left - room).max(0.0));
            // The next call finds the step over, and no gap is shortened twice.
            self.at_ns = self.length_ns;
            return None;
        }
        self.at_ns = at_ns;
        gaps.left = None;
        Some(self.start_ns.saturating_add(self.at_ns as u64))
    }
}

#[cfg(test)]
mod tests;
