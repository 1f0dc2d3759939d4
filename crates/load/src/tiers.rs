//! What the front and the tiers of a run did, as results tell it.

use crate::census::Counted;
use crate::meter::{Used, Window, per_second};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::Nanos;
use tailwater_rt::Totals;
use tailwater_stats::result::TierReading;

/// A tier's nodes and the process that holds them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TierProcess {
    /// Its name.
    pub tier: String,
    /// The process.
    pub pid: u32,
    /// Where each node listens.
    pub nodes: Vec<String>,
}

/// The front and each tier; nothing where there are no tiers. `counted` has the front first, then all nodes of the
/// first tier, and so on. `front_spins`: its CPU time says nothing, its busy time does.
#[must_use]
pub fn readings(
    tiers: &[TierProcess],
    window: &Window,
    counted: &[Counted],
    front_spins: bool,
) -> Vec<TierReading> {
    let Some((front, mut rest)) = counted.split_first().filter(|_| !tiers.is_empty()) else {
        return Vec::new();
    };
    let front = std::slice::from_ref(front);
    let mut found = vec![reading("", (window.length, &window.server), front, front_spins)];
    for (tier, used) in tiers.iter().zip(&window.tiers) {
        let (own, others) = rest.split_at(tier.nodes.len().min(rest.len()));
        rest = others;
        found.push(reading(&tier.tier, (window.length, used), own, false));
    }
    found
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of seconds")]
fn reading(
    tier: &str,
    (length, used): (Duration, &Used),
    nodes: &[Counted],
    spins: bool,
) -> TierReading {
    // A part of the nodes would look like the whole tier.
    let totals: Option<Vec<&Totals>> =
        nodes.iter().map(|node| Some(&node.counts.as_ref()?.totals)).collect();
    let totals = totals.unwrap_or_default();
    let sum = |of: fn(&Totals) -> u64| totals.iter().map(|totals| of(totals)).sum::<u64>();
    let (received, shed) = (sum(|totals| totals.received), sum(Totals::shed_total));
    let cpu = if spins { sum(|totals| totals.busy_ns) } else { used.usage.cpu.nanos() } as f64;
    let by_reason = Reason::ALL.into_iter().enumerate().map(|(at, reason)| {
        (reason.name().to_owned(), totals.iter().map(|totals| totals.shed[at]).sum::<u64>())
    });
    let delay = nodes.iter().map(|node| node.delay).max().unwrap_or_default();
    let length_ns = length.nanos().max(1) as f64;
    TierReading {
        tier: tier.to_owned(),
        nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
        received_rps: per_second(received, length),
        served_rps: per_second(sum(|totals| totals.served), length),
        drop_ratio: shed as f64 / received.max(1) as f64,
        shed_by_reason: by_reason.filter(|(_, count)| *count > 0).collect(),
        cores_used: cpu / length_ns,
        cpu_ns_per_request: if received == 0 { 0.0 } else { cpu / received as f64 },
        delay_us: delay.nanos() as f64 / 1e3,
        memory_bytes: used.memory,
        run_delay_ratio: used.usage.run_delay.nanos() as f64 / length_ns,
        involuntary_per_s: per_second(used.usage.involuntary, length),
        voluntary_per_s: per_second(used.usage.voluntary, length),
        faults_per_s: per_second(used.usage.faults, length),
        kernel_share: used.usage.kernel_share(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_rt::counts::Counts;
    use tailwater_rt::cpu::Usage;
    use tailwater_stats::result::Noise;

    fn counted(received: u64, shed: u64, delay_us: u64) -> Counted {
        let mut totals = Totals { received, served: received - shed, ..Totals::default() };
        totals.busy_ns = 1_000 * received;
        totals.shed[Reason::Delay as usize - 1] = shed;
        let counts = Some(Counts { totals, ..Counts::default() });
        Counted { counts, delay: Duration::from_micros(delay_us) }
    }

    fn used(cpu_ms: u64) -> Used {
        let usage = Usage {
            cpu: Duration::from_millis(cpu_ms),
            run_delay: Duration::from_millis(100),
            involuntary: 50,
            voluntary: 600,
            faults: 8,
            user: Duration::from_millis(10),
            kernel: Duration::from_millis(30),
        };
        Used { usage, memory: 4096 }
    }

    fn tier(name: &str, nodes: usize) -> TierProcess {
        TierProcess { tier: name.into(), pid: 1, nodes: vec!["127.0.0.1:1".into(); nodes] }
    }

    #[test]
    fn each_tier_has_the_sums_of_its_own_nodes() {
        let window = Window {
            length: Duration::from_secs(2),
            server: used(500),
            tiers: vec![used(1_000), used(10)],
            noise: Noise::default(),
        };
        let tiers = [tier("leaf", 2), tier("store", 1)];
        let all = [counted(200, 0, 5), counted(100, 10, 7), counted(300, 30, 90), counted(8, 0, 0)];
        let found = readings(&tiers, &window, &all, false);
        let names: Vec<_> = found.iter().map(|found| (&*found.tier, found.nodes)).collect();
        assert_eq!(names, [("", 1), ("leaf", 2), ("store", 1)]);
        let leaf = &found[1];
        assert_eq!((leaf.received_rps, leaf.served_rps), (200.0, 180.0));
        assert_eq!((leaf.drop_ratio, leaf.delay_us), (0.1, 90.0));
        assert_eq!(leaf.shed_by_reason, [("delay".to_owned(), 40)].into());
        assert_eq!((leaf.cores_used, leaf.cpu_ns_per_request), (0.5, 2_500_000.0));
        assert_eq!((leaf.run_delay_ratio, leaf.involuntary_per_s), (0.05, 25.0));
        assert_eq!(
            (leaf.voluntary_per_s, leaf.faults_per_s, leaf.kernel_share),
            (300.0, 4.0, 0.75)
        );
        assert_eq!((found[0].cores_used, found[2].memory_bytes), (0.25, 4096));
        // A front that spins uses its core whatever it does: what it was busy for counts.
        let spins = readings(&tiers, &window, &all, true);
        assert_eq!((spins[0].cores_used, spins[1].cores_used), (1e-4, 0.5));
        assert_eq!(readings(&[], &window, &all, false), []);
    }

    #[test]
    fn a_node_that_did_not_say_leaves_its_process_to_be_told() {
        let window = Window {
            length: Duration::from_secs(1),
            server: used(1),
            tiers: vec![used(300)],
            noise: Noise::default(),
        };
        let all = [counted(1, 0, 0), counted(70, 0, 0), Counted::default()];
        let found = readings(&[tier("leaf", 2)], &window, &all, false);
        let leaf = &found[1];
        assert_eq!((leaf.received_rps, leaf.cores_used, leaf.cpu_ns_per_request), (0.0, 0.3, 0.0));
    }
}
