//! What the machine and the processes of a run did while a window was measured.

use crate::foreign;
use crate::memory::memory;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_rt::cpu::{MachineTime, Usage};
use tailwater_rt::time::now;
use tailwater_stats::result::Noise;

/// The processes of the server that clients ask, or of a tier, which are metered together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Metered {
    /// The processes.
    pub pids: Vec<u32>,
    /// Nodes in memcached's protocol, which say by it how much they were asked.
    pub foreign: Vec<SocketAddr>,
}

/// A reading of everything that is compared at both ends of the window.
#[derive(Clone, Debug)]
struct Reading {
    at: Instant,
    server: Used,
    load: Usage,
    /// Of the tiers' processes.
    tiers: Vec<Used>,
    /// Every process that was to be read has been.
    is_complete: bool,
    machine: MachineTime,
}

/// What happened between two readings.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its length.
    pub length: Duration,
    /// What the server's processes used.
    pub server: Used,
    /// What the tiers' processes used, in their order.
    pub tiers: Vec<Used>,
    /// The noise in it. What processes used that are metered elsewhere counts among others' time here.
    pub noise: Noise,
}

/// What some processes used in a window.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Used {
    /// In the window; `None` where there is no process, or one could not be read.
    pub usage: Option<Usage>,
    /// Resident memory at its end, in bytes.
    pub memory: u64,
    /// What nodes in memcached's protocol were asked; `None` where there are none, or one did not say.
    pub commands: Option<u64>,
}

impl Used {
    /// Since they were begun.
    #[must_use]
    pub fn by(Metered { pids, foreign: nodes }: &Metered) -> Self {
        let usages = pids.iter().map(|pid| Usage::of(*pid));
        let commands: Option<Vec<u64>> =
            nodes.iter().map(|node| foreign::commands(*node)).collect();
        Self {
            usage: usages.reduce(|sum, one| Some(sum?.and(&one?))).flatten(),
            memory: pids.iter().map(|pid| memory(*pid)).sum(),
            commands: commands.filter(|all| !all.is_empty()).map(|all| all.iter().sum()),
        }
    }

    /// What was used since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let commands = self.commands.zip(earlier.commands);
        let usage = self.usage.zip(earlier.usage);
        Self {
            usage: usage.map(|(after, before)| after.since(&before)),
            memory: self.memory,
            commands: commands.map(|(after, before)| after.saturating_sub(before)),
        }
    }
}

impl Reading {
    /// Takes some 100 µs for each process; twice a run.
    fn take(at: Instant, server: &Metered, tiers: &[Metered]) -> Self {
        let of_server = Used::by(server);
        let of_tiers: Vec<Used> = tiers.iter().map(Used::by).collect();
        let mut of_all = tiers.iter().zip(&of_tiers);
        let is_read = |(of, used): (&Metered, &Used)| of.pids.is_empty() || used.usage.is_some();
        let is_complete = is_read((server, &of_server)) && of_all.all(is_read);
        Self {
            at,
            server: of_server,
            load: Usage::of(std::process::id()).unwrap_or_default(),
            tiers: of_tiers,
            is_complete,
            machine: MachineTime::now(),
        }
    }

    /// From `earlier` to this one.
    fn since(&self, earlier: &Self) -> Window {
        let length = self.at.since(earlier.at);
        let share = |time: Duration| time.as_secs_f64() / length.as_secs_f64().max(1e-9);
        let load = self.load.since(&earlier.load);
        let server = self.server.since(&earlier.server);
        let pairs = self.tiers.iter().zip(&earlier.tiers);
        let tiers: Vec<Used> = pairs.map(|(after, before)| after.since(before)).collect();
        let usages = tiers.iter().chain([&server]).filter_map(|used| used.usage);
        let own = usages.map(|usage| usage.cpu).sum::<Duration>() + load.cpu;
        let machine = self.machine.since(&earlier.machine);
        let noise = Noise {
            steal_ratio: share(machine.stolen),
            server_involuntary_per_s: server
                .usage
                .map(|usage| per_second(usage.involuntary, length)),
            load_involuntary_per_s: per_second(load.involuntary, length),
            server_run_delay_ratio: server.usage.map(|usage| share(usage.run_delay)),
            load_run_delay_ratio: share(load.run_delay),
            // What a process used that was not read would count as others'.
            foreign_cpu_ratio: (self.is_complete && earlier.is_complete)
                .then(|| share(machine.busy.saturating_sub(own))),
        };
        Window { length, server, tiers, noise }
    }
}

/// Counts of a window as a rate.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
pub fn per_second(count: u64, length: Duration) -> f64 {
    count as f64 / length.as_secs_f64().max(1e-9)
}

/// Which processes are read, and when.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// Time before the measured window.
    pub(crate) warm_up: Duration,
    /// Length of the measured window.
    pub(crate) measure: Duration,
    pub(crate) server: &'a Metered,
    /// The tiers.
    pub(crate) tiers: &'a [Metered],
}

/// Readings at both ends of the window, and looks in between where there are tiers.
pub(crate) struct Meters<'a> {
    subject: Subject<'a>,
    start: Instant,
    /// Where the window ends early.
    end: Option<Instant>,
    next: u32,
    before: Option<Reading>,
    after: Option<Reading>,
}

/// Which of a window's looks it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    First,
    Between,
    Last,
}

/// Parts of a window with tiers: a queue is looked at where they meet, and at both ends.
const PARTS: u32 = 10;

impl<'a> Meters<'a> {
    pub(crate) const fn new(subject: Subject<'a>, start: Instant) -> Self {
        Self { subject, start, end: None, next: 0, before: None, after: None }
    }

    fn parts(&self) -> u32 {
        if self.subject.tiers.is_empty() { 1 } else { PARTS }
    }

    /// When the next look is due; nothing after the last.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let Subject { warm_up, measure, .. } = self.subject;
        let at = self.start + (warm_up + measure * self.next / self.parts());
        (self.next <= self.parts()).then(|| self.end.map_or(at, |end| at.min(end)))
    }

    /// The window ends here, after its beginning: the last look is due then, if it was not before.
    pub(crate) fn end_at(&mut self, end: Instant) {
        self.end = Some(end);
    }

    /// The look that is due, where one is. Processes are read at the first and the last.
    pub(crate) fn look(&mut self) -> Option<(Instant, Look)> {
        let time = now();
        let due = self.next_due().filter(|due| time >= *due)?;
        self.next += 1;
        let reading = || Reading::take(time, self.subject.server, self.subject.tiers);
        if self.before.is_none() {
            self.before = Some(reading());
            return Some((time, Look::First));
        }
        if self.next <= self.parts() && self.end != Some(due) {
            return Some((time, Look::Between));
        }
        self.next = self.parts() + 1;
        self.after = Some(reading());
        Some((time, Look::Last))
    }

    /// What happened between the first look and the last.
    pub(crate) fn window(&self) -> Window {
        let readings = self.before.as_ref().zip(self.after.as_ref());
        let (before, after) = readings.expect("both ends of the window were passed");
        after.since(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_seen_to_use_cpu_and_memory() {
        let me = std::process::id();
        let own = Metered { pids: vec![me], ..Metered::default() };
        let before = Reading::take(now(), &own, std::slice::from_ref(&own));
        let until = before.load.cpu + Duration::from_millis(30);
        let mut sum = 0_u64;
        while Usage::of(me).unwrap().cpu < until {
            sum = std::hint::black_box(sum + 1);
        }
        let window = Reading::take(now(), &own, std::slice::from_ref(&own)).since(&before);
        assert_eq!(window.server.commands, None);
        let cpu = window.tiers[0].usage.map(|usage| usage.cpu);
        assert!(cpu >= Some(Duration::from_millis(30)), "{window:?}");
        assert!(window.server.memory > 100 * 1024, "{window:?}");
        assert!(window.noise.foreign_cpu_ratio >= Some(0.0));
        assert_eq!(memory(u32::MAX), 0);
    }

    #[test]
    fn a_process_that_is_gone_was_not_read_and_used_no_nothing() {
        let me = std::process::id();
        let of = |pids: &[u32]| Metered { pids: pids.to_vec(), ..Metered::default() };
        assert_eq!(Used::by(&of(&[me, u32::MAX])).usage, None);
        assert!(Used::by(&of(&[me, me])).usage.is_some());
        let (none, gone) = (of(&[]), of(&[u32::MAX]));
        let noise = |server: &Metered, tiers: &[Metered]| {
            let before = Reading::take(now(), server, tiers);
            Reading::take(now(), server, tiers).since(&before).noise
        };
        for server in [&none, &gone] {
            let noise = noise(server, &[]);
            assert_eq!(
                (noise.server_involuntary_per_s, noise.server_run_delay_ratio),
                (None, None)
            );
        }
        // Its time would look like that of other programs; where none is metered here, somebody else does.
        let of_others = |server, tiers: &[Metered]| noise(server, tiers).foreign_cpu_ratio;
        assert_eq!(
            (of_others(&gone, &[]), of_others(&none, std::slice::from_ref(&gone))),
            (None, None)
        );
        assert!(of_others(&none, std::slice::from_ref(&none)).is_some());
    }
}
