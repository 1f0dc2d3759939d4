//! Each design's equations, written out from the thesis (§6.2.4) and not from the terms that the model chooses.

use tailwater_tune::accelerator::equations::Parameters;
use tailwater_tune::accelerator::{Design, Strategy, Threading};

/// Costs of which no two sums are alike, so that a term too many or too few shows.
const POINT: Parameters = Parameters {
    host: 2e9,
    kernel_share: 0.2,
    offloads: 10_000.0,
    setup: 100.0,
    transfer: 2_000.0,
    queueing: 700.0,
    switch: 5_000.0,
    acceleration: Some(8.0),
    batch: 1.0,
    hosts: 1.0,
    elapsed: 2e9,
};

/// (1 − α) + n/C·costs, and α/A more where the accelerator is waited for.
fn cycles(is_waited_for: bool, costs: f64) -> f64 {
    let kernel = if is_waited_for { 0.2 / 8.0 } else { 0.0 };
    1.0 - 0.2 + kernel + 10_000.0 / 2e9 * costs
}

/// Threading, place, whether the driver waits, and C_S/C and C_L/C by the equations that the thesis names.
fn expected() -> Vec<(Threading, Strategy, bool, f64, f64)> {
    // o₀ + L + Q, and o₁.
    let (moved, switch) = (100.0 + 2_000.0 + 700.0, 5_000.0);
    let [on, off, remote] = [Strategy::OnChip, Strategy::OffChip, Strategy::Remote];
    // 6.1 and 6.8; 6.5 and 6.6.
    let (one, eight) = (cycles(true, moved), cycles(true, moved));
    let (five, six) = (cycles(true, moved + switch), cycles(false, moved));
    // 6.3 with so many o₁; L + Q is 0 where the driver does not wait, and where the accelerator is remote.
    let three = |switches: f64| cycles(false, moved + switches * switch);
    let three_without = |switches: f64| cycles(false, 100.0 + switches * switch);
    vec![
        (Threading::Sync, on, true, one, one),
        (Threading::Sync, off, true, one, one),
        (Threading::Sync, remote, true, one, one),
        (Threading::SyncOs, off, true, three(2.0), five),
        (Threading::SyncOs, off, false, three_without(2.0), five),
        (Threading::SyncOs, remote, true, three_without(2.0), five),
        (Threading::Async, off, true, six, eight),
        (Threading::Async, remote, true, six, eight),
        (Threading::AsyncDistinct, off, true, three(1.0), five),
        (Threading::AsyncDistinct, off, false, three_without(1.0), five),
        (Threading::AsyncDistinct, remote, true, three_without(1.0), five),
        (Threading::AsyncNoResponse, off, true, six, eight),
        // The accelerator's time is then another service's.
        (Threading::AsyncNoResponse, remote, true, six, six),
    ]
}

#[test]
fn each_design_spends_what_its_equations_say() {
    for (threading, strategy, acknowledged, of_host, of_request) in expected() {
        let design = Design { threading, strategy, acknowledged };
        let close = |factor: Option<f64>, cycles: f64| {
            let found = 1.0 / factor.expect("A is known");
            assert!((found - cycles).abs() < 1e-12, "{design:?}: {found} instead of {cycles}");
        };
        close(POINT.speedup(design), of_host);
        close(POINT.latency_reduction(design), of_request);
    }
}

/// 6.2, 6.4 and 6.7 for throughput, and the inequalities below 6.5 and 6.8 for latency, as kernel cycles of an offload.
#[test]
fn an_offload_pays_from_the_size_that_its_inequality_says() {
    let (moved, switch) = (2_800.0, 5_000.0);
    // x > x/A + costs.
    let waited = |costs: f64| costs / (1.0 - 1.0 / 8.0);
    for (threading, of_throughput, of_latency) in [
        (Threading::Sync, waited(moved), waited(moved)),
        (Threading::SyncOs, moved + 2.0 * switch, waited(moved + switch)),
        (Threading::Async, moved, waited(moved)),
        (Threading::AsyncDistinct, moved + switch, waited(moved + switch)),
        (Threading::AsyncNoResponse, moved, waited(moved)),
    ] {
        let design = Design { threading, strategy: Strategy::OffChip, acknowledged: true };
        let ends = [design.of_throughput(), design.of_latency()]
            .map(|terms| POINT.break_even_cycles(terms).expect("A is known"));
        for (found, wanted) in ends.into_iter().zip([of_throughput, of_latency]) {
            assert!((found - wanted).abs() < 1e-9, "{design:?}: {found} instead of {wanted}");
        }
    }
}
