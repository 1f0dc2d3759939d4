//! What the environment asks for.

use crate::filter::Filter;
use crate::scan::WHOLE;
use std::ffi::OsString;
use std::path::PathBuf;

/// Read once, when the runtime is loaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// `TAILWATER_PROFILE_OUT`: where to record from the start; without it nothing is recorded until
    /// `tw_profile_start`.
    pub(crate) out: Option<PathBuf>,
    /// `TAILWATER_PROFILE_BUDGET`: the share of each thread's time that scanning may take, 0.001 to
    /// 1, by default 0.05, in 65536ths. Less finds fewer calls, more slows the program down.
    pub(crate) budget: u64,
    /// `TAILWATER_PROFILE_LOCK_NS`: the shortest wait that is recorded, in ns, by default 1000. Less
    /// costs time in the waiting threads and room in the trace.
    pub(crate) lock_ns: u64,
    /// `TAILWATER_PROFILE_FUNCTIONS`: see [`Filter`]; by default all functions are recorded.
    pub(crate) filter: Filter,
}

impl Settings {
    /// Reads variables through `get`; what cannot be understood counts as not set, since the program
    /// that is profiled should run either way.
    pub(crate) fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| get(name).and_then(|value| value.into_string().ok());
        let budget = text("TAILWATER_PROFILE_BUDGET")
            .and_then(|budget| budget.parse::<f64>().ok())
            .filter(|budget| (0.001..=1.0).contains(budget))
            .unwrap_or(0.05);
        Self {
            out: get("TAILWATER_PROFILE_OUT").filter(|path| !path.is_empty()).map(PathBuf::from),
            budget: (budget * WHOLE as f64) as u64,
            lock_ns: text("TAILWATER_PROFILE_LOCK_NS")
                .and_then(|ns| ns.parse().ok())
                .unwrap_or(1000),
            filter: Filter::parse(&text("TAILWATER_PROFILE_FUNCTIONS").unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_counts_as_not_set() {
        let unset = Settings::read(|_| None);
        assert_eq!((unset.budget, unset.lock_ns, &unset.out), (WHOLE / 20, 1000, &None));
        for nonsense in ["", "much", "-1", "0", "2", "NaN"] {
            let settings = Settings::read(|name| {
                (name == "TAILWATER_PROFILE_BUDGET").then(|| nonsense.into())
            });
            assert_eq!(settings, unset, "{nonsense}");
        }
        let set = Settings::read(|name| {
            Some(if name.ends_with("OUT") { "x.trace" } else { "0.5" }.into())
        });
        assert_eq!(set.budget, WHOLE / 2);
        assert_eq!(set.out, Some("x.trace".into()));
    }
}
