//! What the front and the tiers of a run did, as results tell it.

use crate::census::Counted;
use crate::meter::{Metered, Used, Window, per_second};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::Nanos;
use tailwater_rt::Totals;
use tailwater_rt::counts::TierCounts;
use tailwater_stats::result::{HedgeReading, TierReading};

/// A tier's nodes and the processes that hold them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TierProcesses {
    /// Its name.
    pub tier: String,
    /// How many nodes it has.
    pub count: u32,
    /// Where each of them listens that can be asked for its counts: none where they are programs of others.
    pub nodes: Vec<String>,
    /// The processes; `None` where a fault takes some away, and with them what they used.
    pub metered: Option<Metered>,
}

/// The front and each tier that is metered; nothing where there are no tiers. `counted` has the front first, then all nodes of the
/// first tier, and so on. `front_spins`: its CPU time says nothing, its busy time does.
#[must_use]
pub fn readings(
    tiers: &[TierProcesses],
    window: &Window,
    counted: &[Counted],
    front_spins: bool,
) -> Vec<TierReading> {
    let all = counted;
    let Some((front, mut rest)) = counted.split_first().filter(|_| !tiers.is_empty()) else {
        return Vec::new();
    };
    let front = std::slice::from_ref(front);
    let mut found = vec![reading(("", 1), (window.length, &window.server), front, front_spins)];
    for (tier, used) in tiers.iter().zip(&window.tiers) {
        let (own, others) = rest.split_at(tier.nodes.len().min(rest.len()));
        rest = others;
        let Some(metered) = &tier.metered else { continue };
        // Without a count everything of the tier would look as if nothing was asked.
        if !metered.foreign.is_empty() && used.commands.is_none() {
            continue;
        }
        let hedges = hedges(&tier.tier, all, window.length);
        let of_tier = reading((&tier.tier, tier.count), (window.length, used), own, false);
        found.push(TierReading { hedges, ..of_tier });
    }
    found
}

/// Second tries of calls to a tier, by all that were asked.
fn hedges(tier: &str, counted: &[Counted], length: Duration) -> Option<HedgeReading> {
    let callers = counted.iter().filter_map(|caller| caller.counts.as_ref());
    let counts = callers.flat_map(|counts| &counts.tiers).filter(|told| told.name == tier);
    let add = |[sent, won, over]: [u64; 3], of: &TierCounts| {
        [sent + of.hedged, won + of.hedges_won, over + of.hedges_over_budget]
    };
    let sum = counts.fold([0; 3], add);
    let [sent_per_s, won_per_s, over_budget_per_s] = sum.map(|count| per_second(count, length));
    let told = HedgeReading { sent_per_s, won_per_s, over_budget_per_s };
    (sum != [0; 3]).then_some(told)
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of seconds")]
fn reading(
    (tier, count): (&str, u32),
    (length, used): (Duration, &Used),
    nodes: &[Counted],
    spins: bool,
) -> TierReading {
    // A part of the nodes would look like the whole tier.
    let totals: Option<Vec<&Totals>> =
        nodes.iter().map(|node| Some(&node.counts.as_ref()?.totals)).collect();
    let totals = totals.unwrap_or_default();
    let sum = |of: fn(&Totals) -> u64| totals.iter().map(|totals| of(totals)).sum::<u64>();
    // A program of others says how much it was asked, and has answered that.
    let asked = used.commands.unwrap_or(0);
    let (received, shed) = (asked + sum(|totals| totals.received), sum(Totals::shed_total));
    let served = asked + sum(|totals| totals.served);
    let cpu = if spins { sum(|totals| totals.busy_ns) } else { used.usage.cpu.nanos() } as f64;
    let by_reason = Reason::ALL.into_iter().enumerate().map(|(at, reason)| {
        (reason.name().to_owned(), totals.iter().map(|totals| totals.shed[at]).sum::<u64>())
    });
    let delay = nodes.iter().map(|node| node.delay).max().unwrap_or_default();
    let length_ns = length.nanos().max(1) as f64;
    TierReading {
        tier: tier.to_owned(),
        nodes: count,
        received_rps: per_second(received, length),
        served_rps: per_second(served, length),
        // What waited when the window began was received before it.
        drop_ratio: shed as f64 / received.max(served + shed).max(1) as f64,
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
        hedges: None,
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
        Used { usage, memory: 4096, commands: None }
    }

    fn tier(name: &str, nodes: usize) -> TierProcesses {
        let (count, metered) = (nodes as u32, Some(Metered::default()));
        TierProcesses {
            tier: name.into(),
            count,
            nodes: vec!["127.0.0.1:1".into(); nodes],
            metered,
        }
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
    fn a_program_of_others_has_what_it_says_and_no_controller() {
        let commands = Some(500);
        let mut window = Window {
            length: Duration::from_secs(1),
            server: used(1),
            tiers: vec![Used { commands, ..used(100) }, used(1)],
            noise: Noise::default(),
        };
        let foreign = vec![([127, 0, 0, 1], 1).into(); 2];
        let metered = Some(Metered { foreign, ..Metered::default() });
        let cache = TierProcesses { metered, count: 2, ..tier("cache", 0) };
        let all = [counted(1, 0, 0), counted(70, 0, 9)];
        let tiers = [cache, tier("leaf", 1)];
        let found = readings(&tiers, &window, &all, false);
        let cache = &found[1];
        assert_eq!((cache.nodes, cache.received_rps, cache.served_rps), (2, 500.0, 500.0));
        assert_eq!((cache.delay_us, cache.cpu_ns_per_request), (0.0, 200_000.0));
        assert_eq!((found[2].received_rps, found[2].delay_us), (70.0, 9.0));
        // One that did not say is not told as one that was asked nothing.
        window.tiers[0].commands = None;
        let found = readings(&tiers, &window, &all, false);
        let names: Vec<_> = found.iter().map(|found| &*found.tier).collect();
        assert_eq!(names, ["", "leaf"]);
    }

    #[test]
    fn second_tries_are_told_of_the_tier_that_was_called() {
        let window = Window {
            length: Duration::from_secs(2),
            server: used(1),
            tiers: vec![used(300)],
            noise: Noise::default(),
        };
        let name = "leaf".to_owned();
        let calls = TierCounts { name, hedged: 20, hedges_won: 10, hedges_over_budget: 4 };
        let mut all = [counted(1, 0, 0), counted(70, 0, 0)];
        all[0].counts.iter_mut().for_each(|counts| counts.tiers = vec![calls.clone()]);
        let found = readings(&[tier("leaf", 1)], &window, &all, false);
        let told = HedgeReading { sent_per_s: 10.0, won_per_s: 5.0, over_budget_per_s: 2.0 };
        assert_eq!((found[0].hedges, found[1].hedges), (None, Some(told)));
    }

    #[test]
    fn a_tier_whose_processes_are_taken_away_has_no_reading() {
        let window = Window {
            length: Duration::from_secs(1),
            server: used(1),
            tiers: vec![Used::default(), used(300)],
            noise: Noise::default(),
        };
        let taken = TierProcesses { metered: None, ..tier("leaf", 0) };
        let all = [counted(1, 0, 0), counted(70, 0, 0)];
        let found = readings(&[taken, tier("store", 1)], &window, &all, false);
        let names: Vec<_> = found.iter().map(|found| (&*found.tier, found.received_rps)).collect();
        assert_eq!(names, [("", 1.0), ("store", 70.0)]);
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

    #[test]
    fn what_waited_when_the_window_began_makes_no_more_drops_than_requests() {
        let mut counted = counted(100, 100, 0);
        let totals = &mut counted.counts.as_mut().expect("counts").totals;
        totals.received = 80;
        totals.served = 25;
        let length = Duration::from_secs(1);
        let found = reading(("leaf", 1), (length, &used(0)), &[counted], false);
        assert!((found.drop_ratio - 0.8).abs() < 1e-9, "{}", found.drop_ratio);
    }
}
