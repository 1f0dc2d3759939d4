//! The open-loop schedule of a run: every request's time, client and cost, decided beforehand.

use crate::demand::{Arrivals, DemandPlan, Step};
use crate::service::Service;
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
    /// A single process of the total rate is drawn, and each of its arrivals given to a client chosen
    /// uniformly. Thinning a Poisson process by independent choices leaves independent Poisson
    /// processes, each with its share of the rate, so this equals drawing one process per client
    /// (Breakwater §5.2) and merging them, at the cost of one draw per request instead of a heap of
    /// clients.
    ///
    /// Arrivals, clients and service times have generators of their own, and gaps are drawn in units of
    /// expected requests. So at twice the demand the same requests come, with the same clients and
    /// costs, in half the time: runs at different demand differ by nothing else.
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
    steps: std::vec::IntoIter<Step>,
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
            steps: plan.steps.clone().into_iter(),
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
    /// Nobody is there to ask.
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

/// Gaps in units of expected requests: what is left of one when a step ends goes on in the next, so
/// that a change of rate is neither seen in advance nor answered late.
struct Gaps {
    arrivals: Arrivals,
    rng: Rng,
    left: f64,
}

impl Gaps {
    fn new(arrivals: Arrivals, rng: Rng) -> Self {
        let mut gaps = Self { arrivals, rng, left: 0.0 };
        gaps.draw();
        gaps
    }

    fn draw(&mut self) {
        self.left = match self.arrivals {
            Arrivals::Poisson => self.rng.exponential(1.0),
            Arrivals::Periodic => 1.0,
        };
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
        if gaps.left >= room {
            gaps.left -= room;
            // Whoever asks again finds the step over, and no gap is shortened twice.
            self.at_ns = self.length_ns;
            return None;
        }
        self.at_ns = (self.at_ns + self.wait_ns(gaps.left)).min(self.length_ns);
        gaps.draw();
        Some(self.start_ns.saturating_add(self.at_ns as u64))
    }
}

#[cfg(test)]
mod tests;
