//! The quantities that figures draw.

use super::figure::{Course, Quantity};
use tailwater_report::AxisKind;

pub(crate) const DEMAND: Quantity = Quantity {
    label: "clients' demand (thousand requests/s)",
    of: |run| Some(run.asked_rps / 1e3),
    axis: AxisKind::Around,
};

pub(crate) const DEMAND_RATIO: Quantity = Quantity {
    label: "clients' demand (× capacity)",
    of: |run| Some(run.demand_ratio),
    axis: AxisKind::Around,
};

pub(crate) const CLIENTS: Quantity =
    Quantity { label: "clients", of: |run| Some(f64::from(run.clients)), axis: AxisKind::Log };

pub(crate) const GOODPUT: Quantity = Quantity {
    label: "goodput (thousand requests/s)",
    of: |run| Some(run.goodput_rps / 1e3),
    axis: AxisKind::FromZero,
};

pub(crate) const THROUGHPUT: Quantity = Quantity {
    label: "throughput (thousand requests/s)",
    of: |run| Some(run.throughput_rps / 1e3),
    axis: AxisKind::FromZero,
};

pub(crate) const P50: Quantity = Quantity {
    label: "median latency",
    of: |run| (run.p50_us > 0.0).then_some(run.p50_us),
    axis: AxisKind::LogTime,
};

pub(crate) const P99: Quantity = Quantity {
    label: "99th percentile of latency",
    of: |run| (run.p99_us > 0.0).then_some(run.p99_us),
    axis: AxisKind::LogTime,
};

pub(crate) const DROPS: Quantity = Quantity {
    label: "drop rate (% of requests received by the server)",
    of: |run| Some(run.drop_ratio * 100.0),
    axis: AxisKind::FromZero,
};

/// Busy time per received request, times the requests that were sent and not lost.
pub(crate) const CPU: Quantity = Quantity {
    label: "cores busy at the server",
    of: |run| {
        let total = run.fates.total().max(1) as f64;
        let received = 1.0 - (run.fates.expired + run.fates.lost) as f64 / total;
        Some(run.server_cpu_ns_per_request * 1e-9 * run.offered_rps * received)
    },
    axis: AxisKind::FromZero,
};

/// Of the whole run, warm-up included.
pub(crate) const RETRIES: Quantity = Quantity {
    label: "requests that a second replica was asked for (%)",
    of: |run| run.retry.map(|retry| (retry.retried + retry.moved) * 100.0),
    axis: AxisKind::FromZero,
};

pub(crate) const FAILURES: Quantity = Quantity {
    label: "99th percentile until a failure at the first replica is known",
    of: |run| run.retry.map(|retry| retry.failure_p99_us).filter(|&us| us > 0.0),
    axis: AxisKind::LogTime,
};

pub(crate) const RX: Quantity = Quantity {
    label: "messages received by the server per served request",
    of: |run| (run.rx_per_request > 0.0).then_some(run.rx_per_request),
    axis: AxisKind::FromZero,
};

pub(crate) const TX: Quantity = Quantity {
    label: "messages sent by the server per served request",
    of: |run| (run.tx_per_request > 0.0).then_some(run.tx_per_request),
    axis: AxisKind::FromZero,
};

pub(crate) const GOODPUT_COURSE: Course = Course {
    label: "goodput (thousand requests/s)",
    of: |series| &series.goodput_rps,
    unit: 1e-3,
    axis: AxisKind::FromZero,
};

pub(crate) const P99_COURSE: Course = Course {
    label: "99th percentile of latency",
    of: |series| &series.p99_us,
    unit: 1.0,
    axis: AxisKind::LogTime,
};

pub(crate) const REJECT_COURSE: Course = Course {
    label: "median reject delay",
    of: |series| &series.reject_p50_us,
    unit: 1.0,
    axis: AxisKind::LogTime,
};
