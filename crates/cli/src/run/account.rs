//! What processes used that faults kill and start anew.
//!
//! A generator meters the processes that there are when a run begins. Those that come later, and what the killed ones had
//! used, are known here alone. They are read at both ends of the measured window.

use super::deployment::{Deployment, Taken};
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_load::meter::{Used, per_second};
use tailwater_load::tiers::uncounted;
use tailwater_rt::cpu::Usage;
use tailwater_rt::time::now;
use tailwater_stats::result::{Noise, Run};

/// Readings of such processes in one run.
#[derive(Default)]
pub(super) struct Account {
    first: Option<Reading>,
    last: Option<Reading>,
}

struct Reading {
    at: Instant,
    all: Vec<Taken>,
}

/// What was used between both readings.
struct Spent {
    length: Duration,
    all: Vec<Taken>,
}

impl Account {
    /// Reads them: at the window's begin, and then at its end.
    pub(super) fn look(&mut self, deployment: &Deployment) {
        let reading = Reading { at: now(), all: deployment.taken() };
        let place = if self.first.is_none() { &mut self.first } else { &mut self.last };
        *place = Some(reading);
    }

    /// Adds them to what the generator has read.
    pub(super) fn complete(self, run: &mut Run) {
        if let Some(spent) = self.spent() {
            spent.complete(run);
        }
    }

    fn spent(self) -> Option<Spent> {
        let (first, last) = self.first.zip(self.last)?;
        let length = last.at.since(first.at);
        let since = |(after, before): (Taken, &Taken)| Taken {
            used: after.used.since(&before.used),
            ..after
        };
        let all = last.all.into_iter().zip(&first.all).map(since).collect();
        Some(Spent { length, all })
    }
}

impl Spent {
    fn complete(&self, run: &mut Run) {
        for taken in &self.all {
            note(&mut run.noise, taken, self.length);
            let Taken { tier, count, used } = taken;
            // Each has its reading, with what its callers counted; there is none at all where the front is alone.
            if let Some(told) = run.tiers.iter_mut().find(|told| told.tier == *tier) {
                *told = uncounted(told, *count, self.length, used);
            }
        }
    }
}

/// Their time is no time of others.
fn note(noise: &mut Noise, Taken { tier, used: Used { usage, .. }, .. }: &Taken, length: Duration) {
    let share = |time: Duration| time.as_secs_f64() / length.as_secs_f64().max(1e-9);
    let own = usage.map(|usage: Usage| share(usage.cpu));
    noise.foreign_cpu_ratio =
        noise.foreign_cpu_ratio.zip(own).map(|(all, own)| (all - own).max(0.0));
    if tier.is_empty() {
        noise.server_involuntary_per_s = usage.map(|usage| per_second(usage.involuntary, length));
        noise.server_run_delay_ratio = usage.map(|usage| share(usage.run_delay));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{HedgeReading, TierReading};

    fn taken(tier: &str, cpu_ms: u64) -> Taken {
        let usage = Usage {
            cpu: Duration::from_millis(cpu_ms),
            run_delay: Duration::from_millis(100),
            involuntary: 60,
            ..Usage::default()
        };
        let used = Used { usage: Some(usage), ..Used::default() };
        Taken { tier: tier.into(), count: 2, used }
    }

    fn blind() -> Run {
        let noise = Noise {
            server_involuntary_per_s: None,
            server_run_delay_ratio: None,
            foreign_cpu_ratio: Some(0.5),
            ..Noise::default()
        };
        let hedges = Some(HedgeReading { sent_per_s: 3.0, ..HedgeReading::default() });
        let tier = |name: &str| TierReading { tier: name.into(), ..TierReading::default() };
        let leaf = TierReading { hedges, ..tier("leaf") };
        Run { noise, tiers: vec![tier(""), leaf, tier("store")], ..Run::default() }
    }

    /// They were counted as programs of others, and the front's rules saw zeros.
    #[test]
    fn what_killed_processes_used_is_the_runs_own() {
        let mut run = blind();
        let all = vec![taken("", 300), taken("leaf", 100)];
        Spent { length: Duration::from_secs(2), all }.complete(&mut run);
        let noise = run.noise;
        assert_eq!(noise.server_involuntary_per_s, Some(30.0));
        assert_eq!(noise.server_run_delay_ratio, Some(0.05));
        assert!(noise.foreign_cpu_ratio.is_some_and(|left| (left - 0.3).abs() < 1e-9), "{noise:?}");
        let told: Vec<_> = run.tiers.iter().map(|it| (&*it.tier, it.cores_used)).collect();
        assert_eq!(told, [("", Some(0.15)), ("leaf", Some(0.05)), ("store", None)]);
        let sent = run.tiers.iter().map(|it| Some(it.hedges?.sent_per_s)).collect::<Vec<_>>();
        assert_eq!(sent, [None, Some(3.0), None], "second tries are told by who calls");
    }

    #[test]
    fn a_tiers_processes_say_nothing_of_the_server_and_unread_ones_nothing_at_all() {
        let mut run = blind();
        let unread = Taken { used: Used::default(), ..taken("leaf", 0) };
        Spent { length: Duration::from_secs(1), all: vec![unread] }.complete(&mut run);
        assert_eq!(run.noise.server_involuntary_per_s, None);
        assert_eq!(run.noise.foreign_cpu_ratio, None);
        let leaf = &run.tiers[1];
        assert_eq!((leaf.cores_used, leaf.run_delay_ratio, leaf.received_rps), (None, None, None));
        let before = run.tiers.clone();
        Account::default().complete(&mut run);
        assert_eq!(run.tiers, before, "it was never read");
    }
}
