//! What each part costs, by blocks of its own: one for each part in every round.

use super::accelerator::Offloaded;
use super::host::{Doing, Host, Plan, Ran};
use super::kernels::Side;
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_core::Rng;
use tailwater_tune::accelerator::validation::{Cell, NoiseLimits, Parts};
use tailwater_tune::accelerator::{Strategy, Threading};

/// Host threads of a design that runs another while one waits: enough that one has always something to do.
const OVERSUBSCRIBED: usize = 3;
/// Times that a part is measured again for noise, before the machine is too busy.
const TRIES: u32 = 100;
/// Requests of a pilot, and the most of a block.
const PILOT: usize = 50;
const REQUESTS_MAX: f64 = 1e6;

/// A part of the model's inputs, as it is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    /// A request without its kernel.
    Work,
    /// The kernel by the host.
    Kernel { size: usize },
    /// The kernel by instructions of the host's own core.
    Instruction { size: usize },
    /// The kernel by the accelerator, among requests: without a pause before each, its caches are warmer than they are in use.
    Service { size: usize, hold: Duration },
    /// The host's own part of an offload. Of a leaf, the answer comes while the host works, so a request's work is in it.
    Setup { size: usize, has_work: bool },
    /// One switch from thread to thread, by itself.
    Switch,
    /// A request with an empty offload: what is left of a design is its way there and back. A leaf gets its data all the
    /// same, of that size.
    Empty { threading: Threading, others_percent: u32, size: usize },
    /// Offloads without anything between, so that the host waits for the accelerator alone.
    Busy { size: usize, hold: Duration, others_percent: u32 },
}

/// What was found for each part, round by round.
pub(super) struct Calibration {
    sizes: Vec<u32>,
    /// Time of the kernel by the host in a pilot, by size: what A slows the accelerator down from.
    kernels: Vec<Duration>,
    /// Parts with the requests of a block of each.
    parts: Vec<(Part, usize)>,
    rules: NoiseLimits,
    /// Of the order of parts.
    rng: Rng,
    found: BTreeMap<Part, Vec<f64>>,
}

/// How many rounds, how long a block is, what may disturb it, and what decides the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) rounds: u32,
    pub(super) block: Duration,
    pub(super) rules: NoiseLimits,
    pub(super) seed: u64,
}

impl Calibration {
    /// All parts that the cells need, of which none was measured yet.
    pub(super) fn begin(
        host: &Host<'_>,
        (cells, sizes): (&[Cell], &[u32]),
        effort: Effort,
    ) -> Result<Self, Failure> {
        let mut calibration = Self {
            sizes: sizes.to_vec(),
            kernels: Vec::new(),
            parts: Vec::new(),
            rules: effort.rules,
            rng: Rng::from_seed(effort.seed).split("order of parts"),
            found: BTreeMap::new(),
        };
        for size in 0..sizes.len() {
            let time = calibration.pilot(host, Part::Kernel { size })?;
            calibration.kernels.push(Duration::from_nanos(time as u64));
        }
        let parts = cells.iter().flat_map(|cell| calibration.parts_of(cell));
        let mut parts: Vec<Part> = parts.collect();
        parts.sort_unstable();
        parts.dedup();
        for part in parts {
            let time = calibration.pilot(host, part)?;
            let count = effort.block.as_nanos() as f64 / time.max(1.0);
            let requests = count.clamp(PILOT as f64, REQUESTS_MAX) as usize;
            calibration.parts.push((part, requests));
        }
        Ok(calibration)
    }

    /// Measures each part once, in an order by chance.
    pub(super) fn round(&mut self, host: &Host<'_>) -> Result<(), Failure> {
        self.rng.shuffle(&mut self.parts);
        for at in 0..self.parts.len() {
            let time = self.quiet(host, self.parts[at])?;
            self.found.entry(self.parts[at].0).or_default().push(time);
        }
        Ok(())
    }

    /// The rounds of a cell.
    pub(super) fn of(&self, cell: &Cell) -> Vec<Parts> {
        let rounds = self.found.values().map(Vec::len).min().unwrap_or(0);
        (0..rounds).map(|round| self.parts_in(cell, round)).collect()
    }

    fn parts_in(&self, cell: &Cell, round: usize) -> Parts {
        let found = |part: Part| self.found.get(&part).map(|times| times[round]);
        let needed = |part: Part| found(part).unwrap_or(0.0);
        let size = self.size(cell);
        let parts = Offloading::of(cell, size);
        let of = |part: Option<Part>| part.and_then(found);
        Parts {
            work: needed(Part::Work),
            kernel: needed(Part::Kernel { size }),
            device: needed(self.device(cell)),
            // Two blocks: noise may put the smaller one first.
            setup: match parts.setup {
                Some(part @ Part::Setup { has_work: true, .. }) => {
                    (needed(part) - needed(Part::Work)).max(0.0)
                }
                part => of(part).unwrap_or(0.0),
            },
            handed: of(parts.handed),
            queued: of(parts.queued),
            switch: parts.switch.map(|(more, less)| {
                let less = less.map_or(0.0, needed);
                (needed(more) - less).max(0.0)
            }),
            busy: self.busy(cell).and_then(found),
        }
    }

    fn parts_of(&self, cell: &Cell) -> Vec<Part> {
        let size = self.size(cell);
        let mut parts = vec![Part::Work, Part::Kernel { size }, self.device(cell)];
        let Offloading { setup, handed, queued, switch } = Offloading::of(cell, size);
        parts.extend([setup, handed, queued].into_iter().flatten());
        parts.extend(switch.into_iter().flat_map(|(more, less)| [Some(more), less]).flatten());
        parts.extend(self.busy(cell));
        parts
    }

    /// None where the host's thread waits for each answer, or does the work itself.
    fn busy(&self, cell: &Cell) -> Option<Part> {
        let waits = cell.strategy == Strategy::OnChip || cell.threading == Threading::Sync;
        let (size, hold) = (self.size(cell), self.hold(cell));
        (!waits).then_some(Part::Busy { size, hold, others_percent: cell.others_percent })
    }

    fn size(&self, cell: &Cell) -> usize {
        self.sizes.iter().position(|&bytes| bytes == cell.bytes).unwrap_or(0)
    }

    fn device(&self, cell: &Cell) -> Part {
        let size = self.size(cell);
        match cell.strategy {
            Strategy::OnChip => Part::Instruction { size },
            _ => Part::Service { size, hold: self.hold(cell) },
        }
    }

    fn hold(&self, cell: &Cell) -> Duration {
        cell.acceleration.map_or(Duration::ZERO, |a| self.kernels[self.size(cell)].div_f64(a))
    }

    /// A block of a cell, with the accelerator or without.
    pub(super) fn plan(&self, cell: &Cell, with: bool, requests: usize) -> Plan {
        let offloaded = Offloaded { is_empty: false, hold: self.hold(cell) };
        let doing = match (with, cell.strategy) {
            (false, _) => Doing::Here(Side::Host),
            (true, Strategy::OnChip) => Doing::Here(Side::Device),
            (true, _) => Doing::There(cell.threading, offloaded),
        };
        Plan {
            doing,
            has_work: true,
            size: self.size(cell),
            requests,
            threads: threads(cell.threading),
            others_percent: cell.others_percent,
        }
    }

    /// Requests of a block that take about so long without the accelerator.
    pub(super) fn requests(&self, cell: &Cell, work: Duration, block: Duration) -> usize {
        let each = work + self.kernels[self.size(cell)];
        let count = block.as_nanos() as f64 / each.as_nanos().max(1) as f64;
        count.clamp(PILOT as f64, REQUESTS_MAX) as usize
    }

    /// Nanoseconds of a part, roughly, whatever disturbs it.
    fn pilot(&self, host: &Host<'_>, part: Part) -> Result<f64, Failure> {
        let found = part.run(host, PILOT)?;
        Ok(part.time(found.block.ns_per_request, found.service_ns))
    }

    /// Nanoseconds of a part, of the first block that the rules let count.
    fn quiet(&self, host: &Host<'_>, (part, requests): (Part, usize)) -> Result<f64, Failure> {
        let mut why = String::new();
        for _ in 0..TRIES {
            let found = part.run(host, requests)?;
            match self.rules.broken(&found.block.noise) {
                None => return Ok(part.time(found.block.ns_per_request, found.service_ns)),
                Some(broken) => why = broken,
            }
        }
        Err(Failure::work(format!(
            "{TRIES} blocks of calibration in a row cannot count ({why}); end what else runs on this machine, or give \
             shorter blocks by --block"
        )))
    }
}

impl Part {
    /// A block of it.
    fn run(self, host: &Host<'_>, requests: usize) -> Result<Ran, Failure> {
        match self.plan(requests) {
            Some(plan) => host.run(&plan),
            None => host.run_switches(requests),
        }
    }

    /// None where no request is made.
    fn plan(self, requests: usize) -> Option<Plan> {
        let of = |is_empty, hold| Offloaded { is_empty, hold };
        let (doing, has_work, size) = match self {
            Self::Work => (Doing::Nothing, true, 0),
            Self::Kernel { size } => (Doing::Here(Side::Host), false, size),
            Self::Instruction { size } => (Doing::Here(Side::Device), false, size),
            Self::Service { size, hold } => {
                (Doing::There(Threading::Sync, of(false, hold)), true, size)
            }
            Self::Setup { size, has_work } => (Doing::Described, has_work, size),
            Self::Switch => return None,
            Self::Empty { threading, size, .. } => {
                (Doing::There(threading, of(true, Duration::ZERO)), true, size)
            }
            Self::Busy { size, hold, .. } => {
                (Doing::There(Threading::Async, of(false, hold)), false, size)
            }
        };
        let others_percent = match self {
            Self::Empty { others_percent, .. } | Self::Busy { others_percent, .. } => {
                others_percent
            }
            _ => 0,
        };
        Some(Plan { doing, has_work, size, requests, threads: 1, others_percent })
    }

    /// What of a block is the part: the accelerator's own time, or the host's.
    fn time(self, host_ns: f64, service_ns: Option<f64>) -> f64 {
        match self {
            Self::Service { .. } => service_ns.unwrap_or(host_ns),
            _ => host_ns,
        }
    }
}

/// The parts around a cell's offloads; none of an instruction.
struct Offloading {
    setup: Option<Part>,
    /// An empty offload whose thread waits as long as the design's driver does.
    handed: Option<Part>,
    /// The same beside other hosts.
    queued: Option<Part>,
    /// What tells the o₁ of a design, and what is subtracted from it. A thread that waits hands its core on. A thread that
    /// takes answers is woken by the other core, which interrupts the one that works: to it and back is one o₁.
    switch: Option<(Part, Option<Part>)>,
}

impl Offloading {
    fn of(cell: &Cell, size: usize) -> Self {
        if cell.strategy == Strategy::OnChip {
            return Self { setup: None, handed: None, queued: None, switch: None };
        }
        // A leaf gets its data by the host's hands, and every answer is taken: sending and receiving are o₀.
        let is_leaf = cell.strategy == Strategy::Remote;
        let size = if is_leaf { size } else { 0 };
        let empty = |threading, others_percent| Part::Empty { threading, others_percent, size };
        let waits = match cell.threading {
            Threading::Sync | Threading::Async => cell.threading,
            _ if is_leaf => Threading::Async,
            _ => Threading::AsyncNoResponse,
        };
        let others = cell.others_percent;
        Self {
            setup: Some(Part::Setup { size, has_work: is_leaf }),
            handed: Some(empty(waits, 0)),
            queued: (others > 0).then(|| empty(waits, others)),
            switch: match cell.threading {
                Threading::SyncOs => Some((Part::Switch, None)),
                Threading::AsyncDistinct => Some((empty(cell.threading, 0), Some(empty(waits, 0)))),
                _ => None,
            },
        }
    }
}

const fn threads(threading: Threading) -> usize {
    match threading {
        Threading::SyncOs => OVERSUBSCRIBED,
        _ => 1,
    }
}
