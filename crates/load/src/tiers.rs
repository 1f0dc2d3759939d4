//! What the front and the tiers of a run did, as results tell it.

use crate::census::Counted;
use crate::meter::{Metered, Used, Window, per_second};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::Nanos;
use tailwater_rt::Totals;
use tailwater_rt::counts::TierCounts;
use tailwater_rt::cpu::Usage;
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

/// The front and each tier; nothing where there are no tiers. `counted` has the front first, then all nodes of the first tier,
/// and so on. `front_spins`: its CPU time says nothing, its busy time does.
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

/// Of a tier whose processes took their counts along: what they used in so much time. Its callers have `told` the rest.
#[must_use]
pub fn uncounted(told: &TierReading, count: u32, length: Duration, used: &Used) -> TierReading {
    let reading = reading((&told.tier, count), (length, used), &[], false);
    TierReading { hedges: told.hedges, ..reading }
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of seconds")]
fn reading(
    (tier, count): (&str, u32),
    (length, used): (Duration, &Used),
    nodes: &[Counted],
    spins: bool,
) -> TierReading {
    let totals = totals(nodes, used.commands);
    let length_ns = length.nanos().max(1) as f64;
    let ratio = |time: Duration| time.nanos() as f64 / length_ns;
    let usage = used.usage;
    let cpu = if spins {
        totals.as_ref().map(|totals| Duration::from_nanos(totals.busy_ns))
    } else {
        usage.map(|usage| usage.cpu)
    };
    let per_request = |(cpu, totals): (Duration, &Totals)| match totals.received {
        0 => 0.0,
        received => cpu.nanos() as f64 / received as f64,
    };
    let answered = totals.as_ref().filter(|all| all.served > 0 && used.commands.is_none());
    let waited_us = answered.map(|all| all.waited_ns as f64 / all.served as f64 / 1e3);
    let rate = |of: fn(&Totals) -> u64| totals.as_ref().map(|all| per_second(of(all), length));
    let per_s = |of: fn(&Usage) -> u64| usage.as_ref().map(|all| per_second(of(all), length));
    let delay = nodes.iter().map(|node| node.delay).max().unwrap_or_default();
    TierReading {
        tier: tier.to_owned(),
        nodes: count,
        received_rps: rate(|totals| totals.received),
        served_rps: rate(|totals| totals.served),
        drop_ratio: totals.as_ref().map(drop_ratio),
        shed_by_reason: totals.as_ref().map(by_reason).unwrap_or_default(),
        cores_used: cpu.map(ratio),
        cpu_ns_per_request: cpu.zip(totals.as_ref()).map(per_request),
        delay_us: delay.nanos() as f64 / 1e3,
        waited_us,
        memory_bytes: used.memory,
        run_delay_ratio: usage.map(|usage| ratio(usage.run_delay)),
        involuntary_per_s: per_s(|usage| usage.involuntary),
        voluntary_per_s: per_s(|usage| usage.voluntary),
        faults_per_s: per_s(|usage| usage.faults),
        kernel_share: usage.as_ref().map(Usage::kernel_share),
        hedges: None,
    }
}

/// Of all nodes together; `None` where one did not say, as a part of them would look like the whole tier. A program of others
/// says how much it was asked, and has answered that.
fn totals(nodes: &[Counted], commands: Option<u64>) -> Option<Totals> {
    if let Some(asked) = commands {
        return Some(Totals { received: asked, served: asked, ..Totals::default() });
    }
    let each = nodes.iter().map(|node| Some(node.counts.as_ref()?.totals));
    each.reduce(|sum, one| Some(sum?.and(&one?))).flatten()
}

/// What waited when the window began was received before it.
#[expect(clippy::cast_precision_loss, reason = "counts of seconds")]
fn drop_ratio(totals: &Totals) -> f64 {
    let shed = totals.shed_total();
    shed as f64 / totals.received.max(totals.served + shed).max(1) as f64
}

fn by_reason(totals: &Totals) -> BTreeMap<String, u64> {
    let all = Reason::ALL.into_iter().zip(totals.shed);
    let some = all.filter(|(_, count)| *count > 0);
    some.map(|(reason, count)| (reason.name().to_owned(), count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_rt::counts::Counts;
    use tailwater_stats::result::Noise;

    fn counted(received: u64, shed: u64, delay_us: u64) -> Counted {
        let mut totals = Totals { received, served: received - shed, ..Totals::default() };
        totals.busy_ns = 1_000 * received;
        totals.waited_ns = 2_500 * totals.served;
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
        Used { usage: Some(usage), memory: 4096, commands: None }
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
        assert_eq!((leaf.received_rps, leaf.served_rps), (Some(200.0), Some(180.0)));
        assert_eq!((leaf.drop_ratio, leaf.delay_us), (Some(0.1), 90.0));
        assert_eq!(leaf.waited_us, Some(2.5), "of those that were answered");
        assert_eq!(leaf.shed_by_reason, [("delay".to_owned(), 40)].into());
        assert_eq!((leaf.cores_used, leaf.cpu_ns_per_request), (Some(0.5), Some(2_500_000.0)));
        assert_eq!((leaf.run_delay_ratio, leaf.involuntary_per_s), (Some(0.05), Some(25.0)));
        assert_eq!(
            (leaf.voluntary_per_s, leaf.faults_per_s, leaf.kernel_share),
            (Some(300.0), Some(4.0), Some(0.75))
        );
        assert_eq!((found[0].cores_used, found[2].memory_bytes), (Some(0.25), 4096));
        // A front that spins uses its core whatever it does: what it was busy for counts.
        let spins = readings(&tiers, &window, &all, true);
        assert_eq!((spins[0].cores_used, spins[1].cores_used), (Some(1e-4), Some(0.5)));
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
        assert_eq!((cache.received_rps, cache.served_rps), (Some(500.0), Some(500.0)));
        assert_eq!((cache.nodes, cache.delay_us, cache.waited_us), (2, 0.0, None));
        assert_eq!(cache.cpu_ns_per_request, Some(200_000.0));
        assert_eq!((found[2].received_rps, found[2].delay_us), (Some(70.0), 9.0));
        // One that did not say is not told as one that was asked nothing.
        window.tiers[0].commands = None;
        let cache = &readings(&tiers, &window, &all, false)[1];
        assert_eq!((&*cache.tier, cache.received_rps, cache.drop_ratio), ("cache", None, None));
        assert_eq!((cache.cores_used, cache.cpu_ns_per_request), (Some(0.1), None));
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

    /// Its callers' second tries were left out, and its limits kept by zeros.
    #[test]
    fn of_a_tier_whose_processes_are_taken_away_its_callers_tell_and_nothing_else_is_known() {
        let window = Window {
            length: Duration::from_secs(1),
            server: used(1),
            tiers: vec![Used::default(), used(300)],
            noise: Noise::default(),
        };
        let taken = TierProcesses { metered: None, ..tier("leaf", 0) };
        let name = "leaf".to_owned();
        let calls = TierCounts { name, hedged: 5, hedges_won: 2, hedges_over_budget: 0 };
        let mut all = [counted(1, 0, 0), counted(70, 0, 0)];
        all[0].counts.iter_mut().for_each(|counts| counts.tiers = vec![calls.clone()]);
        let found = readings(&[taken, tier("store", 1)], &window, &all, false);
        let told = HedgeReading { sent_per_s: 5.0, won_per_s: 2.0, over_budget_per_s: 0.0 };
        let (tier, nodes, hedges) = ("leaf".into(), 0, Some(told));
        assert_eq!(found[1], TierReading { tier, nodes, hedges, ..TierReading::default() });
        assert_eq!((&*found[2].tier, found[2].received_rps), ("store", Some(70.0)));
        // What is known elsewhere of its processes leaves that as it is.
        let found = uncounted(&found[1], 2, Duration::from_secs(1), &used(300));
        assert_eq!((&*found.tier, found.nodes, found.received_rps), ("leaf", 2, None));
        assert_eq!((found.cores_used, found.involuntary_per_s), (Some(0.3), Some(50.0)));
        assert_eq!(found.hedges, Some(told));
    }

    #[test]
    fn a_process_that_could_not_be_read_used_an_unknown_share() {
        let window = Window {
            length: Duration::from_secs(1),
            server: used(1),
            tiers: vec![Used::default()],
            noise: Noise::default(),
        };
        let all = [counted(1, 0, 0), counted(70, 7, 0)];
        let leaf = &readings(&[tier("leaf", 1)], &window, &all, false)[1];
        assert_eq!((leaf.received_rps, leaf.drop_ratio), (Some(70.0), Some(0.1)));
        assert_eq!((leaf.cores_used, leaf.cpu_ns_per_request), (None, None));
        assert_eq!((leaf.involuntary_per_s, leaf.run_delay_ratio), (None, None));
        assert_eq!(
            (leaf.voluntary_per_s, leaf.faults_per_s, leaf.kernel_share),
            (None, None, None)
        );
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
        let leaf = &readings(&[tier("leaf", 2)], &window, &all, false)[1];
        assert_eq!((leaf.received_rps, leaf.cpu_ns_per_request), (None, None));
        assert_eq!(leaf.cores_used, Some(0.3));
    }

    #[test]
    fn what_waited_when_the_window_began_makes_no_more_drops_than_requests() {
        let mut counted = counted(100, 100, 0);
        let totals = &mut counted.counts.as_mut().expect("counts").totals;
        totals.received = 80;
        totals.served = 25;
        let length = Duration::from_secs(1);
        let found = reading(("leaf", 1), (length, &used(0)), &[counted], false);
        let drops = found.drop_ratio.expect("it has said");
        assert!((drops - 0.8).abs() < 1e-9, "{drops}");
    }
}
