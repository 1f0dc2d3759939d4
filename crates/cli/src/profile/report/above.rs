//! From which percentile on a call is slow.

use clap::ValueEnum;
use tailwater_profile::functions::FunctionRow;

/// Which calls of a function are slow.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Above {
    /// Half of its calls.
    P50,
    /// One in a hundred.
    P99,
    /// One in a thousand.
    #[value(name = "p99.9")]
    P999,
    /// One in ten thousand.
    #[value(name = "p99.99")]
    P9999,
}

impl Above {
    /// So many calls has a function of which one is beyond it: of fewer the longest is no slow one for that.
    pub(super) const fn calls(self) -> u64 {
        match self {
            Self::P50 => 2,
            Self::P99 => 100,
            Self::P999 => 1_000,
            Self::P9999 => 10_000,
        }
    }

    /// What it is called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::P9999 => "p99.99",
        }
    }

    /// What such a call of that function surely took, in nanoseconds; zero where that is not known.
    pub(super) const fn of(self, row: &FunctionRow) -> u64 {
        match self {
            Self::P50 => row.calls.p50.low_ns,
            Self::P99 => row.calls.p99.low_ns,
            Self::P999 => row.calls.p999.low_ns,
            Self::P9999 => row.calls.p9999.low_ns,
        }
    }
}
