//! What runs measure, by the name under which the summary knows it.

use tailwater_stats::result::Run;

/// What a run measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quantity {
    Offered,
    Throughput,
    Goodput,
    OfCapacity,
    OfBound,
    Bound,
    P50,
    P99,
    P999,
    Drop,
    Expired,
    Late,
    Lost,
    RejectP50,
    LatenessP99,
    Cpu,
}

impl Quantity {
    /// Its name in `Summary::of`.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Offered => "offered_rps",
            Self::Throughput => "throughput_rps",
            Self::Goodput => "goodput_rps",
            Self::OfCapacity => "goodput_of_capacity",
            Self::OfBound => "goodput_of_bound",
            Self::Bound => "bound_rps",
            Self::P50 => "p50_us",
            Self::P99 => "p99_us",
            Self::P999 => "p999_us",
            Self::Drop => "drop_ratio",
            Self::Expired => "fates.expired",
            Self::Late => "fates.late",
            Self::Lost => "fates.lost",
            Self::RejectP50 => "reject_p50_us",
            Self::LatenessP99 => "lateness_p99_us",
            Self::Cpu => "server_cpu_ns_per_request",
        }
    }

    /// Whether zero means that there was nothing to measure.
    pub(crate) const fn positive(self) -> bool {
        matches!(
            self,
            Self::P50
                | Self::P99
                | Self::P999
                | Self::RejectP50
                | Self::Cpu
                | Self::Bound
                | Self::Offered
        )
    }

    /// Its value in one run.
    pub(crate) fn of(self, run: &Run) -> f64 {
        let share = |count: u64| match run.fates.total() {
            0 => 0.0,
            total => count as f64 / total as f64,
        };
        match self {
            Self::Offered => run.rates.offered_rps,
            Self::Throughput => run.rates.throughput_rps,
            Self::Goodput => run.rates.goodput_rps,
            Self::OfCapacity => run.rates.goodput_of_capacity,
            Self::OfBound => run.rates.goodput_of_bound,
            Self::Bound => run.yardstick.bound_rps,
            Self::P50 => run.latency.p50_us,
            Self::P99 => run.latency.p99_us,
            Self::P999 => run.latency.p999_us,
            Self::Drop => run.refusals.drop_ratio,
            Self::Expired => share(run.fates.expired),
            Self::Late => share(run.fates.late),
            Self::Lost => share(run.fates.lost),
            Self::RejectP50 => run.refusals.reject_p50_us,
            Self::LatenessP99 => run.generator.lateness_p99_us,
            Self::Cpu => run.server.cpu_ns_per_request,
        }
    }
}
