//! The quantities that figures draw and claims compare.

use serde::Deserialize;
use tailwater_report::AxisKind;
use tailwater_stats::result::{Run, Series};

/// Something of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// What the clients ask for, in thousands per second.
    Demand,
    /// The same in capacities.
    DemandRatio,
    /// Logical clients.
    Clients,
    /// Answers within the objective, in thousands per second.
    Goodput,
    /// All answers, in thousands per second.
    Throughput,
    /// Median latency in µs.
    P50,
    /// 99th percentile in µs.
    P99,
    /// Shed ÷ received, in per cent.
    Drops,
    /// Cores busy at the server: busy time per received request, times the requests sent and not lost.
    Cpu,
    /// Requests that a second replica was asked for in per cent, of the whole run, warm-up included.
    Retries,
    /// 99th percentile in µs until a failure at the first replica is known.
    Failures,
    /// Messages received by the server per served request.
    Received,
    /// Messages sent by the server per served request.
    Sent,
}

/// What kind of number a quantity is: see `tolerance`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dimension {
    /// Requests per second.
    Rate,
    /// Time.
    Time,
    /// Parts of a hundred.
    Share,
    /// One number over another.
    Ratio,
    /// A number of things, which no claim compares by itself.
    Count,
}

/// Label with unit, layout of the axis, kind of number.
type About = (&'static str, AxisKind, Dimension);

impl Quantity {
    const fn about(self) -> About {
        use AxisKind as A;
        use Dimension as D;
        match self {
            Self::Demand => ("clients' demand (thousand requests/s)", A::Around, D::Rate),
            Self::DemandRatio => ("clients' demand (× capacity)", A::Around, D::Ratio),
            Self::Clients => ("clients", A::Log, D::Count),
            Self::Goodput => ("goodput (thousand requests/s)", A::FromZero, D::Rate),
            Self::Throughput => ("throughput (thousand requests/s)", A::FromZero, D::Rate),
            Self::P50 => ("median latency", A::LogTime, D::Time),
            Self::P99 => ("99th percentile of latency", A::LogTime, D::Time),
            Self::Drops => {
                ("drop rate (% of requests received by the server)", A::FromZero, D::Share)
            }
            Self::Cpu => ("cores busy at the server", A::FromZero, D::Count),
            Self::Retries => {
                ("requests that a second replica was asked for (%)", A::FromZero, D::Share)
            }
            Self::Failures => {
                let label = "99th percentile until a failure at the first replica is known";
                (label, A::LogTime, D::Time)
            }
            Self::Received => {
                ("messages received by the server per served request", A::FromZero, D::Count)
            }
            Self::Sent => ("messages sent by the server per served request", A::FromZero, D::Count),
        }
    }

    /// Name with unit.
    pub(crate) const fn label(self) -> &'static str {
        self.about().0
    }

    /// How its axis is laid out.
    pub(crate) const fn axis(self) -> AxisKind {
        self.about().1
    }

    pub(crate) const fn dimension(self) -> Dimension {
        self.about().2
    }

    /// `None` where the run has none, such as the latency of no answers.
    pub(crate) fn of(self, run: &Run) -> Option<f64> {
        let positive = |value: f64| (value > 0.0).then_some(value);
        match self {
            Self::Demand => Some(run.rates.asked_rps / 1e3),
            Self::DemandRatio => Some(run.asked.demand_ratio),
            Self::Clients => Some(f64::from(run.asked.clients)),
            Self::Goodput => Some(run.rates.goodput_rps / 1e3),
            Self::Throughput => Some(run.rates.throughput_rps / 1e3),
            Self::P50 => positive(run.latency.p50_us),
            Self::P99 => positive(run.latency.p99_us),
            Self::Drops => Some(run.refusals.drop_ratio * 100.0),
            Self::Cpu => Some(cores_busy(run)),
            Self::Retries => run.retry.map(|retry| (retry.retried + retry.moved) * 100.0),
            Self::Failures => run.retry.and_then(|retry| positive(retry.failure_p99_us)),
            Self::Received => positive(run.server.rx_per_request),
            Self::Sent => positive(run.server.tx_per_request),
        }
    }
}

fn cores_busy(run: &Run) -> f64 {
    let total = run.fates.total().max(1) as f64;
    let received = 1.0 - (run.fates.expired + run.fates.lost) as f64 / total;
    run.server.cpu_ns_per_request * 1e-9 * run.rates.offered_rps * received
}

/// Something of a run over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Answers within the objective, in thousands per second.
    Goodput,
    /// 99th percentile in µs.
    P99,
    /// Median time in µs until a reject is known.
    RejectDelay,
}

impl Course {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Goodput => "goodput (thousand requests/s)",
            Self::P99 => "99th percentile of latency",
            Self::RejectDelay => "median reject delay",
        }
    }

    /// A logarithmic one leaves out zeros.
    pub(crate) const fn axis(self) -> AxisKind {
        match self {
            Self::Goodput => AxisKind::FromZero,
            Self::P99 | Self::RejectDelay => AxisKind::LogTime,
        }
    }

    /// One value for each bin.
    pub(crate) fn of(self, series: &Series) -> Vec<f64> {
        match self {
            Self::Goodput => series.goodput_rps.iter().map(|rps| rps / 1e3).collect(),
            Self::P99 => series.p99_us.clone(),
            Self::RejectDelay => series.reject_p50_us.clone(),
        }
    }
}
