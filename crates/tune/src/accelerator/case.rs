//! One accelerator for one kernel of one service.

use super::design::Design;
use super::equations::Parameters;
use super::input::{Input, Inputs, Values};
use super::queue::Queue;
use super::sizes::{Part, Sizes};
use std::fmt;

/// Everything that is said of a case. [`file::parse`](super::file::parse) makes sound ones.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// How reports call it.
    pub name: String,
    /// How threads use the accelerator.
    pub design: Design,
    /// What is known of the model's inputs.
    pub inputs: Inputs,
    /// How large offloads are, where that is known; n then follows.
    pub sizes: Option<Sizes>,
    /// Where Q comes from, instead of from the inputs.
    pub queue: Option<Queue>,
    /// Which offloads are made, of those whose sizes are known.
    pub selection: Selection,
    /// How α follows from those.
    pub weighting: Weighting,
    /// β: kernel cycles grow with the size to this power.
    pub beta: f64,
    /// Offloads that are handed over together.
    pub batch: u32,
    /// Hosts that share the accelerator.
    pub hosts: u32,
    /// Cycles of the host's clock in the unit of time, on one core; needed for a queue and for batches. C cannot stand
    /// for it: that counts busy cycles, of all cores.
    pub elapsed: Option<f64>,
    /// What a publication prints for it.
    pub stated: Option<Stated>,
}

/// Which offloads go to the accelerator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selection {
    /// Those whose size makes up for the cost (thesis §6.3.1).
    Lucrative,
    /// All, because software cannot tell.
    All,
}

/// How the share of kernel cycles follows from the offloads that are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weighting {
    /// By their work, g^β: large offloads count for more.
    Work,
    /// By their number, as the thesis does; too pessimistic, since it is the large ones that are made.
    Number,
}

/// What others print, in percent.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Stated {
    /// Estimated gain in throughput.
    pub speedup: Option<f64>,
    /// Estimated reduction of latency.
    pub latency: Option<f64>,
    /// Measured gain in throughput.
    pub measured: Option<f64>,
    /// Where it stands.
    pub source: String,
}

/// Which offloads are made, and what they carry.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Offload {
    /// n: in the unit of time.
    pub count: f64,
    /// The share of C that they replace.
    pub kernel_share: f64,
    /// Bytes of the smallest; `None` where sizes are not known, or none is made.
    pub from_bytes: Option<f64>,
    /// Q: cycles that each waits for the accelerator.
    pub queueing: f64,
    /// The share of its time that an accelerator with a queueing model is busy.
    pub utilisation: Option<f64>,
}

/// What the accelerator brings.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Outcome {
    /// What is offloaded.
    pub offload: Offload,
    /// Factor on throughput.
    pub speedup: f64,
    /// Factor by which latency shrinks; `None` where it depends on an unknown A.
    pub latency: Option<f64>,
    /// Kernel cycles from which on an offload raises throughput; infinite where none does.
    #[serde(serialize_with = "super::infinite::number")]
    pub break_even_cycles: f64,
    /// The same in bytes, where C_b is known.
    #[serde(serialize_with = "super::infinite::known")]
    pub break_even_bytes: Option<f64>,
    /// Bytes from which on an offload lowers latency, where C_b and A are known; infinite where none does.
    #[serde(serialize_with = "super::infinite::known")]
    pub latency_break_even_bytes: Option<f64>,
    /// Factor on throughput of an accelerator without any cost: 1/(1 − α), α being that of all offloads.
    pub ideal: f64,
}

/// Why there is no outcome.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NoOutcome {
    /// The accelerator would be busy for this share of its time, and its queue without end.
    Overloaded(f64),
    /// The kernel would take this share of the host's cycles.
    Oversized(f64),
    /// An input is not known.
    Lacking(Input),
    /// A queue or a batch is asked for, and nothing says how long a cycle is.
    Timeless,
}

impl fmt::Display for NoOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overloaded(utilisation) => write!(
                f,
                "the accelerator would be busy {:.0} % of the time, and its queue would grow without end; fewer \
                 hosts, more servers or a larger A is needed",
                utilisation * 100.0
            ),
            Self::Oversized(share) => write!(
                f,
                "the kernel would take {:.1} % of the host's cycles; less than 100 % is needed, by a larger C or a \
                 smaller Cb",
                share * 100.0
            ),
            Self::Lacking(input) => {
                write!(f, "{} is missing; this design's answer depends on it", input.name())
            }
            Self::Timeless => f.write_str(
                "clock is missing; a queue and a batch need it, since C says how busy the host is and not how long",
            ),
        }
    }
}

impl Case {
    /// One number for each input: the middle of what is known.
    #[must_use]
    pub fn central(&self) -> Values {
        self.inputs.values(super::Amount::central)
    }

    /// What comes out for these numbers.
    ///
    /// # Errors
    /// When they leave no steady state, or lack one.
    pub fn outcome(&self, values: &Values) -> Result<Outcome, NoOutcome> {
        let kernel = self.kernel_share(values)?;
        let offload = self.offload(values, kernel)?;
        let point = self.point(values, &offload)?;
        let lacking = || NoOutcome::Lacking(Input::Acceleration);
        let throughput = self.design.of_throughput();
        let break_even_cycles = point.break_even_cycles(throughput).ok_or_else(lacking)?;
        let per_byte = self.cycles_per_byte(values, kernel);
        let bytes = |cycles: f64| Some((cycles / per_byte?).powf(1.0 / self.beta));
        let of_latency = point.break_even_cycles(self.design.of_latency());
        Ok(Outcome {
            offload,
            speedup: point.speedup(self.design).ok_or_else(lacking)?,
            latency: point.latency_reduction(self.design),
            break_even_cycles,
            break_even_bytes: bytes(break_even_cycles),
            latency_break_even_bytes: of_latency.and_then(bytes),
            ideal: 1.0 / (1.0 - kernel),
        })
    }

    /// α of all offloads.
    fn kernel_share(&self, values: &Values) -> Result<f64, NoOutcome> {
        let share = match (values.get(Input::KernelShare), &self.sizes) {
            (Some(alpha), _) => alpha,
            (None, Some(sizes)) => {
                needed(values, Input::CyclesPerByte)? * sizes.all().work
                    / needed(values, Input::HostCycles)?
            }
            (None, None) => return Err(NoOutcome::Lacking(Input::KernelShare)),
        };
        if share < 1.0 { Ok(share) } else { Err(NoOutcome::Oversized(share)) }
    }

    /// C_b, given or from α and the sizes.
    fn cycles_per_byte(&self, values: &Values, kernel: f64) -> Option<f64> {
        let from_sizes =
            || Some(kernel * values.get(Input::HostCycles)? / self.sizes.as_ref()?.all().work);
        values.get(Input::CyclesPerByte).or_else(from_sizes)
    }

    fn offload(&self, values: &Values, kernel: f64) -> Result<Offload, NoOutcome> {
        let Some(sizes) = &self.sizes else {
            let count = needed(values, Input::Offloads)?;
            let share = values.get(Input::Share).unwrap_or(1.0);
            return self.queued(values, count, kernel * share, None);
        };
        match self.selection {
            Selection::All => self.of_part(values, kernel, (sizes, sizes.all()), self.weighting),
            Selection::Lucrative => self.lucrative(values, kernel, sizes),
        }
    }

    /// The largest sizes, so many of them that throughput is highest with the queue that they make.
    ///
    /// A size that makes up for its own wait may add more to that of the others than it brings. So all such parts are
    /// tried. For each of them throughput grows with A, and so does the highest.
    fn lucrative(&self, values: &Values, kernel: f64, sizes: &Sizes) -> Result<Offload, NoOutcome> {
        let lacking = || NoOutcome::Lacking(Input::Acceleration);
        let cycles = kernel * needed(values, Input::HostCycles)? / sizes.all().work;
        let (mut best, mut highest) = (0, 1.0);
        for largest in 1..=sizes.len() {
            let part = sizes.largest(largest);
            // The thesis weighs what is made by number, and chooses it by size all the same.
            let made = match self.of_part(values, kernel, (sizes, part), Weighting::Work) {
                Ok(made) => made,
                // More offloads keep the accelerator busier still.
                Err(NoOutcome::Overloaded(_)) => break,
                Err(why) => return Err(why),
            };
            let point = self.point(values, &made)?;
            let speedup = point.speedup(self.design).ok_or_else(lacking)?;
            if speedup > highest {
                (best, highest) = (largest, speedup);
            }
            // A smaller one does not pay even without what it does to the others.
            let alone =
                Parameters { queueing: values.get(Input::Queueing).unwrap_or(0.0), ..point };
            let threshold = alone.break_even_cycles(self.design.of_throughput());
            if cycles * part.from_bytes.powf(self.beta) <= threshold.ok_or_else(lacking)? {
                break;
            }
        }
        self.of_part(values, kernel, (sizes, sizes.largest(best)), self.weighting)
    }

    fn of_part(
        &self,
        values: &Values,
        kernel: f64,
        (sizes, part): (&Sizes, Part),
        weighting: Weighting,
    ) -> Result<Offload, NoOutcome> {
        let all = sizes.all();
        let share = match weighting {
            Weighting::Work => part.work / all.work,
            Weighting::Number => part.count / all.count,
        };
        self.queued(values, part.count, kernel * share, Some(&part))
    }

    /// With the Q that so many offloads cause.
    fn queued(
        &self,
        values: &Values,
        count: f64,
        kernel_share: f64,
        part: Option<&Part>,
    ) -> Result<Offload, NoOutcome> {
        let made = Offload {
            count,
            kernel_share,
            from_bytes: part.filter(|part| part.count > 0.0).map(|part| part.from_bytes),
            queueing: values.get(Input::Queueing).unwrap_or(0.0),
            utilisation: None,
        };
        let Some(queue) = self.queue.filter(|_| count > 0.0) else { return Ok(made) };
        let accelerated = kernel_share / needed(values, Input::Acceleration)?;
        let service = accelerated * needed(values, Input::HostCycles)? / count;
        let arrivals = f64::from(self.hosts) * count / self.elapsed.ok_or(NoOutcome::Timeless)?;
        let utilisation = arrivals * service / queue.servers();
        let variation = part.map_or(0.0, Part::variation);
        let wait = queue.wait(utilisation, variation).ok_or(NoOutcome::Overloaded(utilisation))?;
        Ok(Offload { queueing: wait * service, utilisation: Some(utilisation), ..made })
    }

    fn point(&self, values: &Values, offload: &Offload) -> Result<Parameters, NoOutcome> {
        let cost = |input| values.get(input).unwrap_or(0.0);
        let elapsed = match (self.elapsed, self.batch) {
            (Some(elapsed), _) => elapsed,
            // Nothing waits.
            (None, 1) => 0.0,
            (None, _) => return Err(NoOutcome::Timeless),
        };
        Ok(Parameters {
            host: needed(values, Input::HostCycles)?,
            kernel_share: offload.kernel_share,
            offloads: offload.count,
            setup: cost(Input::Setup),
            transfer: cost(Input::Transfer),
            queueing: offload.queueing,
            switch: cost(Input::Switch),
            acceleration: values.get(Input::Acceleration),
            batch: f64::from(self.batch),
            hosts: f64::from(self.hosts),
            elapsed,
        })
    }
}

fn needed(values: &Values, input: Input) -> Result<f64, NoOutcome> {
    values.get(input).ok_or(NoOutcome::Lacking(input))
}
