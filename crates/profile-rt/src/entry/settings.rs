//! What the environment asks for.

use crate::look::scan::WHOLE;
use crate::memory::arena::Watch;
use crate::memory::lease::Term;
use crate::write::filter::Filter;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use tailwater_profile::record::{Counters, Ticks};

/// Scanners at most: beyond that each would look at few of the threads that machines have cores for.
pub(crate) const SCANNERS_MAX: usize = 16;

/// Read once, when the runtime is loaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// `TAILWATER_PROFILE_OUT`: where to record from the start; without it nothing is recorded until
    /// `tw_profile_start`.
    pub(crate) out: Option<PathBuf>,
    /// `TAILWATER_PROFILE_BUDGET`: the share of each thread's time that scanning may take, 0.001 to
    /// 1, by default 0.05, in 65536ths. Less finds fewer calls, more slows the program down.
    pub(crate) budget: u64,
    /// `TAILWATER_PROFILE_SCANNERS`: threads that look, each at its part of the program's, up to [`SCANNERS_MAX`], by
    /// default 1. More look more often where threads are many, and each takes a core. With 0 there is one that finds out which
    /// threads come and go, and looks at no stack.
    pub(crate) scanners: usize,
    /// Whether they look.
    pub(crate) looks: bool,
    /// `TAILWATER_PROFILE_CPU`: how much of cores all scanners together may take, 0.01 to their number, by default a whole
    /// one each, in 65536ths. Less leaves more to the program where cores are few, and widens the bounds of times.
    pub(crate) cpu: u64,
    /// `TAILWATER_PROFILE_SCANNER_CPU`: the processors that scanners run on, one each, by the kernel's numbers with commas
    /// between; by default any that the program may use. Where there are fewer than scanners, some share one.
    pub(crate) scanner_cpus: Vec<usize>,
    /// `TAILWATER_PROFILE_LOCK_NS`: the shortest wait that is recorded, in ns, by default 1000. Less
    /// costs time in the waiting threads and room in the trace. More than a second or so, which is as many
    /// ticks as 32 bits hold, counts as that.
    pub(crate) lock_ns: u64,
    /// `TAILWATER_PROFILE_HOLD_NS`: the shortest time for which a lock must be held to be recorded though nothing waited for it, in
    /// ns. By default, and with 0, none is. Otherwise each lock and each unlock reads the clock. At most as above.
    pub(crate) hold_ns: u64,
    /// `TAILWATER_PROFILE_COUNTERS`: what clocked calls count, by `Counter::name` with commas between, four at most. By default
    /// nothing. Those of the kernel take a microsecond or two of each call.
    pub(crate) counters: Counters,
    /// `TAILWATER_PROFILE_FUNCTIONS`: see [`Filter`]; by default all functions are recorded.
    pub(crate) filter: Filter,
}

impl Settings {
    /// Reads variables through `get`; what cannot be understood counts as not set, since the program
    /// that is profiled should run either way.
    pub(crate) fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| get(name).and_then(|value| value.into_string().ok());
        let share = |name, may_be: RangeInclusive<f64>| {
            let share = text(name).and_then(|share| share.parse::<f64>().ok());
            share.filter(|share| may_be.contains(share))
        };
        let budget = share("TAILWATER_PROFILE_BUDGET", 0.001..=1.0).unwrap_or(0.05);
        let scanners =
            text("TAILWATER_PROFILE_SCANNERS").and_then(|count| count.parse::<usize>().ok());
        let scanners = scanners.filter(|count| *count <= SCANNERS_MAX).unwrap_or(1);
        let (looks, scanners) = (scanners > 0, scanners.max(1));
        let whole = scanners as f64;
        let cpu = share("TAILWATER_PROFILE_CPU", 0.01..=whole).unwrap_or(whole);
        // More than the kernel's set of processors holds is none.
        let processor = |number: &str| {
            number.parse::<usize>().ok().filter(|cpu| *cpu < rustix::thread::CpuSet::MAX_CPU)
        };
        let scanner_cpus: Option<Vec<usize>> = text("TAILWATER_PROFILE_SCANNER_CPU")
            .and_then(|list| list.split(',').map(processor).collect());
        Self {
            out: get("TAILWATER_PROFILE_OUT").filter(|path| !path.is_empty()).map(PathBuf::from),
            budget: (budget * WHOLE as f64) as u64,
            scanners,
            looks,
            cpu: (cpu * WHOLE as f64) as u64,
            scanner_cpus: scanner_cpus.unwrap_or_default(),
            lock_ns: text("TAILWATER_PROFILE_LOCK_NS")
                .and_then(|ns| ns.parse().ok())
                .unwrap_or(1000),
            hold_ns: text("TAILWATER_PROFILE_HOLD_NS").and_then(|ns| ns.parse().ok()).unwrap_or(0),
            counters: text("TAILWATER_PROFILE_COUNTERS")
                .and_then(|list| list.parse().ok())
                .unwrap_or_default(),
            filter: Filter::parse(&text("TAILWATER_PROFILE_FUNCTIONS").unwrap_or_default()),
        }
    }

    /// How much of a core each scanner may take, in 65536ths.
    pub(crate) const fn cpu_each(&self) -> u64 {
        self.cpu / self.scanners as u64
    }

    /// Where that scanner runs; `None`: anywhere.
    pub(crate) fn cpu_of(&self, scanner: usize) -> Option<usize> {
        self.scanner_cpus.iter().cycle().nth(scanner).copied()
    }

    /// The shortest wait that is recorded, in ticks, where a microsecond has `us`. At least one: zero records nothing.
    pub(crate) fn lock_ticks(&self, us: Ticks) -> u32 {
        ticks(self.lock_ns, us)
    }

    /// Has the program's threads tell what is asked for beside waits and marks; nothing is told before it records.
    pub(crate) fn ask(&self, watch: &Watch, by: Term, us: Ticks) {
        watch.holds.say(by, self.hold_ticks(us));
        watch.count(by, self.counters);
    }

    /// The same of holds; zero: none is recorded.
    pub(crate) fn hold_ticks(&self, us: Ticks) -> u32 {
        if self.hold_ns == 0 { 0 } else { ticks(self.hold_ns, us) }
    }
}

/// At least one.
fn ticks(ns: u64, us: Ticks) -> u32 {
    let ticks = ns.saturating_mul(us) / 1000;
    u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_profile::record::Counter;

    #[test]
    fn what_is_not_understood_counts_as_not_set() {
        let unset = Settings::read(|_| None);
        assert_eq!((unset.budget, unset.cpu, unset.lock_ns), (WHOLE / 20, WHOLE, 1000));
        for nonsense in ["", "much", "-1", "0", "2", "NaN"] {
            for set in ["TAILWATER_PROFILE_BUDGET", "TAILWATER_PROFILE_CPU"] {
                let settings = Settings::read(|name| (name == set).then(|| nonsense.into()));
                assert_eq!(settings, unset, "{set}={nonsense}");
            }
        }
        let all = "cpu,faults,switches,preemptions,cycles";
        for (set, nonsense) in
            [("SCANNERS", "-1"), ("SCANNERS", "17"), ("SCANNER_CPU", "1,x"), ("COUNTERS", all)]
        {
            let set = format!("TAILWATER_PROFILE_{set}");
            let settings = Settings::read(|name| (name == set).then(|| nonsense.into()));
            assert_eq!(settings, unset, "{set}={nonsense}");
        }
        let held = |ns: &str| {
            Settings::read(|name| (name == "TAILWATER_PROFILE_HOLD_NS").then(|| ns.into()))
        };
        let ticks = ["0", "much", "1", "2000", "9000000000"].map(|ns| held(ns).hold_ticks(3));
        assert_eq!(
            ticks,
            [0, 0, 1, 6, 27_000_000],
            "in 333 ns each; what is asked for is never none"
        );
        assert_eq!(held("9000000000").hold_ticks(3000), u32::MAX);
        let several = Settings::read(|name| match name {
            "TAILWATER_PROFILE_COUNTERS" => Some("faults,cpu".into()),
            "TAILWATER_PROFILE_SCANNERS" => Some("3".into()),
            "TAILWATER_PROFILE_SCANNER_CPU" => Some("5,7".into()),
            _ => None,
        });
        assert_eq!((several.scanners, several.cpu, several.cpu_each()), (3, 3 * WHOLE, WHOLE));
        let counters: Vec<Counter> = several.counters.iter().collect();
        assert_eq!(counters, [Counter::Cpu, Counter::Faults]);
        assert_eq!([0, 1, 2].map(|scanner| several.cpu_of(scanner)), [5, 7, 5].map(Some));
        assert_eq!(unset.cpu_of(0), None);
        let none = Settings::read(|name| name.ends_with("SCANNERS").then(|| "0".into()));
        assert_eq!((none.scanners, none.looks, unset.looks), (1, false, true));
        let set = Settings::read(|name| {
            Some(if name.ends_with("OUT") { "x.trace" } else { "0.5" }.into())
        });
        assert_eq!(set.budget, WHOLE / 2);
        assert_eq!(set.out, Some("x.trace".into()));
    }
}
