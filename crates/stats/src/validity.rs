//! Which runs may count: rules fixed before any run, that look at the generator and the machine.
//!
//! Nothing here reads goodput or latency. A rule that did would choose the results it likes.

use crate::result::{GeneratorReading, Run, TierReading};
use crate::rules::Rules;

/// What a rule looks at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// Whether any request was intended.
    Intended,
    /// How much of the schedule was sent.
    Sent,
    /// How far the capacity changed around the run.
    Drift,
    /// Whether what has a limit could be read.
    Unread,
    /// How late the generator was.
    Lateness,
    /// What the hypervisor took.
    Steal,
    /// How often the server lost a core.
    ServerSwitches,
    /// How often the generator lost a core.
    LoadSwitches,
    /// How often a tier lost a core.
    TierSwitches,
    /// How long the server waited for a core.
    ServerDelay,
    /// How long the generator waited for a core.
    LoadDelay,
    /// How long a tier waited for a core.
    TierDelay,
    /// What other processes used.
    Foreign,
}

/// A rule that a run breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    /// Which it is.
    pub subject: Subject,
    /// The sentence of it, with its reading and limit.
    pub said: String,
}

/// All rules that `run` breaks: those of [`judge`], and then those of [`discard`].
#[must_use]
pub fn breaches(run: &Run, rules: &Rules) -> Vec<Breach> {
    let mut all = of_load(run, rules);
    all.extend(of_noise(run, rules));
    all
}

/// The rules that `run` breaks, each as a sentence with its reading and limit; none for a valid
/// run.
#[must_use]
pub fn judge(run: &Run, rules: &Rules) -> Vec<String> {
    of_load(run, rules).into_iter().map(|breach| breach.said).collect()
}

/// Those on what was asked for, and on what could be read.
fn of_load(run: &Run, rules: &Rules) -> Vec<Breach> {
    let intended = run.fates.total();
    if intended == 0 {
        let said = "no request was intended in the measured window".to_owned();
        return vec![Breach { subject: Subject::Intended, said }];
    }
    let mut broken = Vec::new();
    let sent = 1.0 - run.unsent as f64 / intended as f64;
    if sent < rules.offered_min {
        let (found, needed) = (sent * 100.0, rules.offered_min * 100.0);
        let said = format!("sent {found:.1} % of the schedule's requests, below {needed:.1} %");
        broken.push(Breach { subject: Subject::Sent, said });
    }
    if run.yardstick.capacity_drift > rules.capacity_drift_max {
        let (found, most) =
            (run.yardstick.capacity_drift * 100.0, rules.capacity_drift_max * 100.0);
        let said = format!("capacity changed by {found:.1} % around it, above {most:.1} %");
        broken.push(Breach { subject: Subject::Drift, said });
    }
    broken.extend(blind(run, rules).map(|said| Breach { subject: Subject::Unread, said }));
    broken
}

/// The limits whose readings are not there: nothing says that they were kept.
fn blind(run: &Run, rules: &Rules) -> impl Iterator<Item = String> {
    let noise = &run.noise;
    let of_run = [
        (
            "involuntary switches of the server",
            noise.server_involuntary_per_s,
            Some(rules.server_involuntary_max_per_s),
        ),
        ("run delay of the server", noise.server_run_delay_ratio, rules.server_run_delay_max),
        ("CPU time of other processes", noise.foreign_cpu_ratio, rules.foreign_cpu_max),
    ];
    let is_limit = |limit: &Option<f64>| limit.is_some_and(f64::is_finite);
    let of_run = of_run.into_iter().filter(|(_, found, limit)| found.is_none() && is_limit(limit));
    let of_tiers = rules.tiers.iter().flat_map(|(tier, limits)| {
        let reading = run.tiers.iter().find(|reading| reading.tier == *tier);
        let switches = reading.and_then(|reading| reading.involuntary_per_s);
        let delay = reading.and_then(|reading| reading.run_delay_ratio);
        let of_tier = [
            (
                format!("involuntary switches of tier {tier}"),
                switches,
                limits.involuntary_max_per_s,
            ),
            (format!("run delay of tier {tier}"), delay, limits.run_delay_max),
        ];
        of_tier.into_iter().filter(|(_, found, limit)| found.is_none() && is_limit(limit))
    });
    let named = of_tiers.map(|(what, ..)| what);
    let all: Vec<String> = of_run.map(|(what, ..)| what.to_owned()).chain(named).collect();
    all.into_iter().map(|what| format!("{what} could not be read, and there is a limit on it"))
}

/// Why a run must be set aside for noise or a late generator, with the reading and the limit of every rule it
/// breaks; `None` for a quiet run.
#[must_use]
pub fn discard(run: &Run, rules: &Rules) -> Option<String> {
    let broken: Vec<String> = of_noise(run, rules).into_iter().map(|breach| breach.said).collect();
    (!broken.is_empty()).then(|| broken.join("; "))
}

/// Those on noise and on a late generator.
fn of_noise(run: &Run, rules: &Rules) -> Vec<Breach> {
    let noise = &run.noise;
    let tiers = run.tiers.iter().flat_map(|tier| of_tier(tier, rules));
    let readings = [
        late(&run.generator, rules.lateness_of_slo_max * run.asked.slo_us),
        share(Subject::Steal, "steal", Some(noise.steal_ratio), Some(rules.steal_max)),
        switches(
            Subject::ServerSwitches,
            "the server",
            noise.server_involuntary_per_s,
            Some(rules.server_involuntary_max_per_s),
        ),
        switches(
            Subject::LoadSwitches,
            "the generator",
            Some(noise.load_involuntary_per_s),
            Some(rules.load_involuntary_max_per_s),
        ),
        share(
            Subject::ServerDelay,
            "run delay of the server",
            noise.server_run_delay_ratio,
            rules.server_run_delay_max,
        ),
        share(
            Subject::LoadDelay,
            "run delay of the generator",
            Some(noise.load_run_delay_ratio),
            rules.load_run_delay_max,
        ),
        share(
            Subject::Foreign,
            "CPU time of other processes",
            noise.foreign_cpu_ratio,
            rules.foreign_cpu_max,
        ),
    ];
    readings.into_iter().chain(tiers).flatten().collect()
}

fn of_tier(tier: &TierReading, rules: &Rules) -> [Option<Breach>; 2] {
    let limits = rules.tiers.get(&tier.tier).copied().unwrap_or_default();
    let whose = format!("tier {}", tier.tier);
    let delay = format!("run delay of {whose}");
    [
        switches(
            Subject::TierSwitches,
            &whose,
            tier.involuntary_per_s,
            limits.involuntary_max_per_s,
        ),
        share(Subject::TierDelay, &delay, tier.run_delay_ratio, limits.run_delay_max),
    ]
}

/// A generator is late where others have its core, and where it is asked for too much.
fn late(generator: &GeneratorReading, limit_us: f64) -> Option<Breach> {
    let found_us = generator.lateness_p99_us;
    (found_us > limit_us).then(|| Breach {
        subject: Subject::Lateness,
        said: format!("generator lateness p99 {found_us:.1} µs, above {limit_us:.1} µs"),
    })
}

/// The kernel counts in ticks, and a window is never quite as long as it was meant: one tick in a second is 1 %, be it
/// some µs shorter or longer.
const ROUNDING: f64 = 1.001;

/// A share that exceeds its limit, where there are both.
fn share(subject: Subject, what: &str, found: Option<f64>, limit: Option<f64>) -> Option<Breach> {
    let (found, limit) = found.zip(limit).filter(|(found, limit)| *found > ROUNDING * limit)?;
    let said = format!("{what} {:.1} % of a core, above {:.1}", 100.0 * found, 100.0 * limit);
    Some(Breach { subject, said })
}

fn switches(
    subject: Subject,
    whose: &str,
    found: Option<f64>,
    limit: Option<f64>,
) -> Option<Breach> {
    let (found, limit) = found.zip(limit).filter(|(found, limit)| found > limit)?;
    let said = format!("involuntary switches of {whose} {found:.1} per second, above {limit:.1}");
    Some(Breach { subject, said })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{AskedRun, Fates, LatencyReading, Noise, Rates, RefusalReading, Yardstick};
    use crate::rules::TierRules;

    fn late_by(lateness_p99_us: f64) -> GeneratorReading {
        GeneratorReading { lateness_p99_us, ..GeneratorReading::default() }
    }

    fn run() -> Run {
        Run {
            asked: AskedRun { slo_us: 400.0, ..AskedRun::default() },
            rates: Rates { asked_rps: 10_000.0, offered_rps: 9_900.0, ..Rates::default() },
            fates: Fates { ok: 1_000, ..Fates::default() },
            generator: late_by(200.0),
            ..Run::default()
        }
    }

    #[test]
    fn a_run_on_the_limits_is_valid() {
        assert!(judge(&run(), &Rules::default()).is_empty());
        let barely = Run { unsent: 20, ..run() };
        assert!(judge(&barely, &Rules::default()).is_empty());
    }

    /// A schedule of a thousand requests has 3 % more or fewer than its rate says in every third draw.
    #[test]
    fn what_the_schedule_drew_does_not_select() {
        for offered_rps in [9_000.0, 10_000.0, 11_000.0] {
            let drawn = Run { rates: Rates { offered_rps, ..run().rates }, ..run() };
            assert!(judge(&drawn, &Rules::default()).is_empty(), "{offered_rps}");
        }
    }

    #[test]
    fn a_capacity_that_changed_around_a_run_voids_it() {
        let steady =
            Run { yardstick: Yardstick { capacity_drift: 0.2, ..run().yardstick }, ..run() };
        assert!(judge(&steady, &Rules::default()).is_empty());
        let drifted =
            Run { yardstick: Yardstick { capacity_drift: 0.82, ..run().yardstick }, ..run() };
        let why = "capacity changed by 82.0 % around it, above 20.0 %";
        assert_eq!(judge(&drifted, &Rules::default()), [why]);
    }

    #[test]
    fn each_rule_names_its_reading_and_limit() {
        let short = Run { unsent: 21, ..run() };
        assert_eq!(
            judge(&short, &Rules::default()),
            ["sent 97.9 % of the schedule's requests, below 98.0 %"]
        );
        let slow = Run { generator: late_by(200.5), ..run() };
        assert_eq!(
            discard(&slow, &Rules::default()).as_deref(),
            Some("generator lateness p99 200.5 µs, above 200.0 µs")
        );
        assert!(judge(&slow, &Rules::default()).is_empty(), "told once");
        assert_eq!(judge(&Run::default(), &Rules::default()).len(), 1);
    }

    #[test]
    fn what_was_never_sent_counts_against_the_offered_load() {
        let fates = Fates { ok: 970, lost: 30, ..Fates::default() };
        let lost = Run { rates: Rates { asked_rps: 0.0, ..run().rates }, fates, ..run() };
        assert!(judge(&lost, &Rules::default()).is_empty(), "losses of the server are results");
        let unsent = Run { unsent: 30, ..lost };
        assert_eq!(judge(&unsent, &Rules::default()).len(), 1);
    }

    #[test]
    fn results_never_decide() {
        let poor = Run {
            fates: Fates { late: 600, expired: 100, shed: 200, lost: 100, ..Fates::default() },
            latency: LatencyReading { p99_us: 1e9, ..run().latency },
            refusals: RefusalReading { drop_ratio: 1.0, ..run().refusals },
            ..run()
        };
        assert!(judge(&poor, &Rules::default()).is_empty());
    }

    #[test]
    fn noise_above_a_limit_discards_and_says_why() {
        let quiet = Noise {
            steal_ratio: 0.01,
            server_involuntary_per_s: Some(200.0),
            load_involuntary_per_s: 50.0,
            server_run_delay_ratio: Some(0.9),
            ..Noise::default()
        };
        let with = |noise| Run { noise, ..run() };
        assert_eq!(discard(&with(quiet), &Rules::default()), None);
        // A tick in a window that was 2 µs too short.
        let tick = Noise { steal_ratio: 0.01 / 0.999_998, ..quiet };
        assert_eq!(discard(&with(tick), &Rules::default()), None);
        let noisy = Noise { steal_ratio: 0.03, load_involuntary_per_s: 201.0, ..quiet };
        assert_eq!(
            discard(&with(noisy), &Rules::default()).as_deref(),
            Some(
                "steal 3.0 % of a core, above 1.0; \
                 involuntary switches of the generator 201.0 per second, above 200.0"
            )
        );
        let rules = Rules { server_run_delay_max: Some(0.5), ..Rules::default() };
        assert_eq!(
            discard(&with(quiet), &rules).as_deref(),
            Some("run delay of the server 90.0 % of a core, above 50.0")
        );
    }

    /// A killed front was read as zero, and every rule on it was kept.
    #[test]
    fn a_limit_whose_reading_is_not_there_voids_the_run() {
        let mut blind = run();
        blind.noise.server_involuntary_per_s = None;
        blind.noise.server_run_delay_ratio = None;
        blind.noise.foreign_cpu_ratio = None;
        let why =
            "involuntary switches of the server could not be read, and there is a limit on it";
        assert_eq!(judge(&blind, &Rules::default()), [why], "the others have no limit");
        assert_eq!(discard(&blind, &Rules::default()), None, "a second try would read no more");
        let own = TierRules { run_delay_max: Some(0.5), ..TierRules::default() };
        let rules = Rules {
            server_run_delay_max: Some(0.5),
            foreign_cpu_max: Some(0.5),
            tiers: [("leaf".to_owned(), own)].into(),
            ..Rules::default()
        };
        assert_eq!(judge(&blind, &rules).len(), 4);
        let tier = |run_delay_ratio| TierReading {
            tier: "leaf".into(),
            run_delay_ratio,
            ..TierReading::default()
        };
        let of = |tier| judge(&Run { tiers: vec![tier], ..run() }, &rules);
        assert_eq!(of(tier(Some(0.4))), [""; 0], "there is no limit on its switches");
        let why = "run delay of tier leaf could not be read, and there is a limit on it";
        assert_eq!(of(tier(None)), [why]);
    }

    #[test]
    fn a_tier_is_held_to_its_own_limits_alone() {
        let tier = |name: &str| TierReading {
            tier: name.into(),
            involuntary_per_s: Some(900.0),
            run_delay_ratio: Some(0.4),
            ..TierReading::default()
        };
        let run = Run { tiers: vec![tier(""), tier("leaf"), tier("store")], ..run() };
        assert_eq!(discard(&run, &Rules::default()), None, "tiers share their cores");
        let own = TierRules { involuntary_max_per_s: Some(500.0), run_delay_max: Some(0.5) };
        let rules = Rules { tiers: [("leaf".to_owned(), own)].into(), ..Rules::default() };
        assert_eq!(
            discard(&run, &rules).as_deref(),
            Some("involuntary switches of tier leaf 900.0 per second, above 500.0")
        );
    }

    #[test]
    fn breaches_are_what_judge_and_discard_say() {
        let noise = Noise { steal_ratio: 0.03, load_involuntary_per_s: 201.0, ..Noise::default() };
        let bad = Run {
            unsent: 21,
            yardstick: Yardstick { capacity_drift: 0.3, ..run().yardstick },
            noise,
            ..run()
        };
        let rules = Rules::default();
        let found = breaches(&bad, &rules);
        let which: Vec<Subject> = found.iter().map(|breach| breach.subject).collect();
        assert_eq!(which, [Subject::Sent, Subject::Drift, Subject::Steal, Subject::LoadSwitches]);
        let said: Vec<String> = found.into_iter().map(|breach| breach.said).collect();
        let (told, noisy) = said.split_at(judge(&bad, &rules).len());
        assert_eq!(told, judge(&bad, &rules));
        assert_eq!(Some(noisy.join("; ")), discard(&bad, &rules));
        assert!(breaches(&run(), &rules).is_empty());
    }
}
