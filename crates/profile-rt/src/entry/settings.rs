//! What the environment asks for.

use crate::look::scan::WHOLE;
use crate::write::filter::Filter;
use std::ffi::OsString;
use std::path::PathBuf;
use tailwater_profile::record::Ticks;

/// Read once, when the runtime is loaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// `TAILWATER_PROFILE_OUT`: where to record from the start; without it nothing is recorded until
    /// `tw_profile_start`.
    pub(crate) out: Option<PathBuf>,
    /// `TAILWATER_PROFILE_BUDGET`: the share of each thread's time that scanning may take, 0.001 to
    /// 1, by default 0.05, in 65536ths. Less finds fewer calls, more slows the program down.
    pub(crate) budget: u64,
    /// `TAILWATER_PROFILE_CPU`: the share of a core that the scanner may take, 0.01 to 1, by default 1, in
    /// 65536ths. Less leaves more to the program where cores are few, and widens the bounds of times.
    pub(crate) cpu: u64,
    /// `TAILWATER_PROFILE_SCANNER_CPU`: the processor that the scanner runs on, by the kernel's number; by default
    /// any that the program may use.
    pub(crate) scanner_cpu: Option<usize>,
    /// `TAILWATER_PROFILE_LOCK_NS`: the shortest wait that is recorded, in ns, by default 1000. Less
    /// costs time in the waiting threads and room in the trace. More than a second or so, which is as many
    /// ticks as 32 bits hold, counts as that.
    pub(crate) lock_ns: u64,
    /// `TAILWATER_PROFILE_FUNCTIONS`: see [`Filter`]; by default all functions are recorded.
    pub(crate) filter: Filter,
}

impl Settings {
    /// Reads variables through `get`; what cannot be understood counts as not set, since the program
    /// that is profiled should run either way.
    pub(crate) fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| get(name).and_then(|value| value.into_string().ok());
        let share = |name, least: f64| {
            let share = text(name).and_then(|share| share.parse::<f64>().ok());
            share.filter(|share| (least..=1.0).contains(share))
        };
        let budget = share("TAILWATER_PROFILE_BUDGET", 0.001).unwrap_or(0.05);
        let cpu = share("TAILWATER_PROFILE_CPU", 0.01).unwrap_or(1.0);
        Self {
            out: get("TAILWATER_PROFILE_OUT").filter(|path| !path.is_empty()).map(PathBuf::from),
            budget: (budget * WHOLE as f64) as u64,
            cpu: (cpu * WHOLE as f64) as u64,
            scanner_cpu: text("TAILWATER_PROFILE_SCANNER_CPU")
                .and_then(|cpu| cpu.parse().ok())
                // More than the kernel's set of processors holds.
                .filter(|cpu| *cpu < rustix::thread::CpuSet::MAX_CPU),
            lock_ns: text("TAILWATER_PROFILE_LOCK_NS")
                .and_then(|ns| ns.parse().ok())
                .unwrap_or(1000),
            filter: Filter::parse(&text("TAILWATER_PROFILE_FUNCTIONS").unwrap_or_default()),
        }
    }

    /// The shortest wait that is recorded, in ticks, where a microsecond has `us`. At least one: zero records nothing.
    pub(crate) fn lock_ticks(&self, us: Ticks) -> u32 {
        let ticks = self.lock_ns.saturating_mul(us) / 1000;
        u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let set = Settings::read(|name| {
            Some(if name.ends_with("OUT") { "x.trace" } else { "0.5" }.into())
        });
        assert_eq!(set.budget, WHOLE / 2);
        assert_eq!(set.out, Some("x.trace".into()));
    }
}
