//! Loads of several machines on one server at the same time, as one.

use super::error::MergeError;
use std::collections::{BTreeMap, BTreeSet};
use tailwater_core::{Nanos, Ratio};
use tailwater_stats::Histogram;
use tailwater_stats::result::{
    AnswerReading, AskedRun, ConnectionReading, Experiment, Fates, GeneratorReading,
    LatencyReading, LoadMark, Noise, Rates, RefusalReading, ReplicaReading, ReplicasCompared, Run,
    RunVerdict,
};

/// Of their windows, so much must be in common: rates are added up.
const IN_COMMON_MIN: f64 = 0.9;

/// No load has more of anything: so many requests take years at a million a second. Of 2¹⁶ loads they can be added up.
const COUNT_MAX: u128 = 1 << 48;

/// What says that it is of one `tailwater load`, where something was answered.
pub(super) fn mark(result: &Experiment) -> Option<&LoadMark> {
    let is_answered = matches!(&result.runs[..], [run] if !run.latency_counts_ns.is_empty());
    result.load.as_ref().filter(|_| is_answered)
}

/// One result, whose requests are those of all. What each load read of the server itself is left out: it was of the requests
/// of all, and of its own window.
pub(super) fn merge(loads: &[Experiment]) -> Result<Experiment, MergeError> {
    let first = loads.first().ok_or(MergeError::Nothing)?;
    let mut seeds = BTreeSet::new();
    let mut marks = Vec::new();
    let mut clients = 0_u32;
    for (at, load) in loads.iter().enumerate() {
        marks.push(mark(load).ok_or(MergeError::NoLoad(at))?);
        if let Some(what) = other_work(&marks[0].asks, &marks[at].asks) {
            return Err(MergeError::OtherLoad(at, what));
        }
        if let Some(what) = difference(first, load) {
            return Err(MergeError::OtherLoad(at, what.into()));
        }
        if !seeds.insert(load.seed) {
            return Err(MergeError::SameSeed(at, load.seed));
        }
        let run = &load.runs[0];
        if let Some(what) = beyond(run) {
            return Err(MergeError::TooMany(at, what));
        }
        let all = clients.checked_add(run.asked.clients);
        clients = all.ok_or(MergeError::TooMany(at, "clients"))?;
    }
    let runs: Vec<&Run> = loads.iter().flat_map(|load| &load.runs).collect();
    let mut run = together(&runs);
    run.asked.clients = clients;
    run.verdict = RunVerdict::of(reasons(&runs).chain(apart(&marks)));
    let title = format!("{} loads at the same time", loads.len());
    let cut_short = loads.iter().find_map(|load| load.cut_short.clone());
    // Without a mark, it is no part of another: none is counted twice.
    Ok(Experiment { title, runs: vec![run], cut_short, load: None, ..first.clone() })
}

/// What the second asked for and the first did not.
fn other_work(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Option<String> {
    let name = one.keys().chain(other.keys()).find(|&name| one.get(name) != other.get(name))?;
    let [first, its] = [one, other].map(|asks| asks.get(name).map_or("none", String::as_str));
    Some(format!("{name} ({its}, not {first})"))
}

/// What else of the second load is not as in the first, and must be.
fn difference(one: &Experiment, other: &Experiment) -> Option<&'static str> {
    let (run, its) = (&one.runs[0].asked, &other.runs[0].asked);
    let alike = [
        ("objective", run.slo_us.to_bits() == its.slo_us.to_bits()),
        ("controller", (&run.controller, &run.profile) == (&its.controller, &its.profile)),
        ("way of arriving", one.arrivals == other.arrivals),
        ("set of data", contents(one).eq(contents(other))),
        ("version of tailwater", one.manifest.tailwater == other.manifest.tailwater),
        ("commit of tailwater", built(one) == built(other)),
    ];
    alike.into_iter().find(|(_, is_alike)| !is_alike).map(|(what, _)| what)
}

/// From what its program was built.
fn built(load: &Experiment) -> (&str, bool) {
    (&load.manifest.commit, load.manifest.dirty)
}

/// Of its data, wherever they were taken from.
fn contents(load: &Experiment) -> impl Iterator<Item = (&str, u64)> {
    load.data.iter().map(|data| (&*data.sha256, data.bytes))
}

/// What a load has more of than [`COUNT_MAX`].
fn beyond(run: &Run) -> Option<&'static str> {
    let sum = |counts: &[u64]| counts.iter().map(|count| u128::from(*count)).sum::<u128>();
    let fates =
        sum(&[run.fates.ok, run.fates.late, run.fates.expired, run.fates.shed, run.fates.lost]);
    let answers = sum(&[run.unsent, run.answers.wrong, run.answers.partial]);
    let reasons = run.shed_by_reason.values().map(|count| u128::from(*count)).sum::<u128>();
    let latencies = run.latency_counts_ns.values().map(|count| u128::from(*count)).sum::<u128>();
    let replicas = run
        .replicas
        .compared
        .as_ref()
        .map_or(0, |it| sum(&[it.keys, it.untold, it.differ]) + sum(&it.gets));
    let connections = run.connections.as_ref().map_or(0, |it| {
        let made = [it.all, it.up, it.lost, it.goodbyes, it.remade, it.attempts_failed];
        sum(&made) + sum(&[it.requests_lost, it.requests_given_up])
    });
    let all = [
        ("requests", fates),
        ("answers", answers),
        ("reasons to refuse", reasons),
        ("latencies", latencies),
        ("replicas' answers", replicas),
        ("connections", connections),
    ];
    all.into_iter().find(|(_, count)| *count > COUNT_MAX).map(|(what, _)| what)
}

/// Why some of them do not count.
fn reasons(runs: &[&Run]) -> impl Iterator<Item = String> {
    (1..).zip(runs).flat_map(|(number, run)| {
        run.verdict.invalid_because.iter().map(move |why| format!("load {number}: {why}"))
    })
}

/// All but how many clients there were, and whether they count.
fn together(runs: &[&Run]) -> Run {
    let sum = |of: fn(&Run) -> f64| runs.iter().map(|run| of(run)).sum::<f64>();
    let most = |of: fn(&Run) -> f64| runs.iter().map(|run| of(run)).fold(0.0, f64::max);
    let count = |of: fn(&Run) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
    let (mut latency, mut shed_by_reason) = (Histogram::new(), BTreeMap::new());
    for run in runs {
        latency.merge(&Histogram::of_counts(&run.latency_counts_ns));
        for (reason, count) in &run.shed_by_reason {
            *shed_by_reason.entry(reason.clone()).or_default() += count;
        }
    }
    let us = |share| latency.quantile(share).nanos() as f64 / 1e3;
    let fates = Fates {
        ok: count(|run| run.fates.ok),
        late: count(|run| run.fates.late),
        expired: count(|run| run.fates.expired),
        shed: count(|run| run.fates.shed),
        lost: count(|run| run.fates.lost),
    };
    let AskedRun { controller, profile, arrivals, slo_us, .. } = runs[0].asked.clone();
    Run {
        asked: AskedRun { controller, profile, arrivals, slo_us, ..AskedRun::default() },
        rates: Rates {
            asked_rps: sum(|run| run.rates.asked_rps),
            offered_rps: sum(|run| run.rates.offered_rps),
            throughput_rps: sum(|run| run.rates.throughput_rps),
            goodput_rps: sum(|run| run.rates.goodput_rps),
            ..Rates::default()
        },
        fates,
        unsent: count(|run| run.unsent),
        shed_by_reason,
        latency: LatencyReading { p50_us: us(0.5), p99_us: us(0.99), p999_us: us(0.999) },
        refusals: RefusalReading {
            drop_ratio: Ratio::of(fates.shed, fates.ok + fates.late + fates.shed).0,
            // Of this and of lateness there is no more than a quantile of each load: the largest.
            reject_p50_us: most(|run| run.refusals.reject_p50_us),
        },
        generator: runs.iter().map(|run| run.generator).reduce(later).unwrap_or_default(),
        answers: AnswerReading {
            wrong: count(|run| run.answers.wrong),
            partial: count(|run| run.answers.partial),
        },
        replicas: replicas(runs),
        connections: runs.iter().filter_map(|run| run.connections).reduce(ConnectionReading::plus),
        noise: runs.iter().map(|run| run.noise).reduce(worse).unwrap_or_default(),
        latency_counts_ns: latency.counts(),
        ..Run::default()
    }
}

/// What all loads saw of the replicas of one service.
fn replicas(runs: &[&Run]) -> ReplicaReading {
    let most = |of: fn(&ReplicaReading) -> u64| runs.iter().map(|run| of(&run.replicas)).max();
    let compared = runs.iter().filter_map(|run| run.replicas.compared.clone());
    ReplicaReading {
        lost: most(|it| it.lost).unwrap_or_default(),
        returned: most(|it| it.returned).unwrap_or_default(),
        compared: compared.reduce(ReplicasCompared::plus),
    }
}

/// The later of two generators, in each respect.
fn later(one: GeneratorReading, other: GeneratorReading) -> GeneratorReading {
    GeneratorReading {
        lateness_p50_us: one.lateness_p50_us.max(other.lateness_p50_us),
        lateness_p95_us: one.lateness_p95_us.max(other.lateness_p95_us),
        lateness_p99_us: one.lateness_p99_us.max(other.lateness_p99_us),
        slipped_us: one.slipped_us.max(other.slipped_us),
    }
}

/// The noisier of two machines, in each respect; what one did not read is not known.
fn worse(one: Noise, other: Noise) -> Noise {
    let most = |of: fn(&Noise) -> f64| of(&one).max(of(&other));
    let known = |of: fn(&Noise) -> Option<f64>| Some(of(&one)?.max(of(&other)?));
    Noise {
        steal_ratio: most(|it| it.steal_ratio),
        server_involuntary_per_s: known(|it| it.server_involuntary_per_s),
        load_involuntary_per_s: most(|it| it.load_involuntary_per_s),
        server_run_delay_ratio: known(|it| it.server_run_delay_ratio),
        load_run_delay_ratio: most(|it| it.load_run_delay_ratio),
        foreign_cpu_ratio: known(|it| it.foreign_cpu_ratio),
    }
}

/// Why rates do not add up: too little of the windows is in common.
fn apart(marks: &[&LoadMark]) -> Option<String> {
    let first = marks.iter().map(|mark| mark.measured_from_unix_ms).min()?;
    // From the first one on, so that the numbers are small.
    let from = |mark: &LoadMark| (mark.measured_from_unix_ms - first) as f64;
    let last_from = marks.iter().map(|mark| from(mark)).fold(0.0, f64::max);
    let to = marks.iter().map(|mark| from(mark) + mark.measured_ms).fold(f64::INFINITY, f64::min);
    let longest = marks.iter().map(|mark| mark.measured_ms).fold(f64::MIN_POSITIVE, f64::max);
    let in_common = (to - last_from).max(0.0) / longest;
    (in_common < IN_COMMON_MIN).then(|| {
        format!(
            "the loads have {:.0} % of their time in common, and rates are added up; {:.0} % are needed: start them together",
            100.0 * in_common,
            100.0 * IN_COMMON_MIN
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tailwater_stats::result::DataUsed;

    /// Of two seconds; requests of these latencies in ms, of which those up to 5 are in time.
    fn load(seed: u64, measured_from_unix_ms: u64, latencies_ms: &[u64]) -> Experiment {
        let mut latency = Histogram::new();
        latencies_ms.iter().for_each(|&ms| latency.record(Duration::from_millis(ms)));
        let ok = latencies_ms.iter().filter(|&&ms| ms <= 5).count() as u64;
        let fates = Fates { ok, late: latencies_ms.len() as u64 - ok, ..Fates::default() };
        let run = Run {
            asked: AskedRun {
                controller: "none".into(),
                clients: 8,
                slo_us: 5e3,
                ..AskedRun::default()
            },
            rates: Rates { offered_rps: fates.total() as f64 / 2.0, ..Rates::default() },
            fates,
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            latency_counts_ns: latency.counts(),
            ..Run::default()
        };
        let asks = [("mean".to_owned(), "10us".to_owned())].into();
        let mark = LoadMark { measured_from_unix_ms, measured_ms: 2e3, asks };
        Experiment { seed, runs: vec![run], load: Some(mark), ..Experiment::default() }
    }

    #[test]
    fn percentiles_are_those_of_all_requests() {
        let (quick, slow) = (vec![1; 98], vec![1, 9]);
        let merged = merge(&[load(1, 100, &quick), load(2, 100, &slow)]).expect("two loads");
        let [run] = &merged.runs[..] else { panic!("one run") };
        let mut all = Histogram::new();
        quick.iter().chain(&slow).for_each(|&ms| all.record(Duration::from_millis(ms)));
        let us = |share| all.quantile(share).as_secs_f64() * 1e6;
        // The mean of the two 99th percentiles would be 5 ms.
        for (found, share) in
            [(run.latency.p50_us, 0.5), (run.latency.p99_us, 0.99), (run.latency.p999_us, 0.999)]
        {
            assert!((found - us(share)).abs() < 1e-6, "{share}: {found}");
        }
        assert!(run.latency.p99_us < 2e3 && run.latency.p999_us > 8e3, "{run:?}");
        assert_eq!((run.asked.clients, run.fates.ok, run.fates.late), (16, 99, 1));
        assert!((run.rates.offered_rps - 50.0).abs() < 1e-9 && run.verdict.valid, "{run:?}");
        // It has the requests of both, of which neither may be counted again.
        for again in [[merged.clone(), load(2, 100, &slow)], [load(2, 100, &slow), merged]] {
            assert!(crate::merge(again.into()).is_err());
        }
    }

    #[test]
    fn what_voids_one_load_voids_all() {
        let mut wrong = load(2, 100, &[1]);
        wrong.runs[0].answers.wrong = 3;
        wrong.runs[0].verdict.invalid_because = vec!["3 answers were wrong".into()];
        let merged = merge(&[load(1, 100, &[1]), wrong]).expect("two loads");
        let run = &merged.runs[0];
        assert_eq!((run.verdict.valid, run.answers.wrong), (false, 3));
        assert_eq!(run.verdict.invalid_because, ["load 2: 3 answers were wrong"]);
    }

    #[test]
    fn of_loads_that_were_cut_short_the_merged_one_says_so() {
        let cut = Experiment { cut_short: Some("ended by SIGTERM".into()), ..load(2, 100, &[1]) };
        let whole = load(1, 100, &[1]);
        for both in [[whole.clone(), cut.clone()], [cut, whole]] {
            let merged = merge(&both).expect("two loads");
            assert_eq!(merged.cut_short.as_deref(), Some("ended by SIGTERM"));
        }
    }

    #[test]
    fn loads_of_other_times_do_not_count() {
        let with = |from| {
            let merged = merge(&[load(1, 10_000, &[1]), load(2, from, &[1])]);
            merged.expect("two loads").runs[0].verdict.invalid_because.clone()
        };
        for from in [10_000, 10_200, 9_800] {
            assert_eq!(with(from), Vec::<String>::new(), "{from}");
        }
        for (from, percent) in [(10_300, "85 %"), (9_000, "50 %"), (11_992, " 0 %"), (0, " 0 %")] {
            let why = with(from);
            assert!(matches!(&why[..], [one] if one.contains(percent)), "{from}: {why:?}");
        }
    }

    #[test]
    fn loads_that_differ_are_refused_by_number() {
        let refused = |change: fn(&mut Experiment)| {
            let mut other = load(2, 100, &[1]);
            change(&mut other);
            merge(&[load(1, 100, &[1]), other]).map(drop).expect_err("refused")
        };
        assert_eq!(refused(|it| it.seed = 1), MergeError::SameSeed(1, 1));
        assert_eq!(refused(|it| it.runs.clear()), MergeError::NoLoad(1));
        assert_eq!(
            refused(|it| it.runs[0].asked.slo_us = 1.0),
            MergeError::OtherLoad(1, "objective".into())
        );
        let other = |it: &mut Experiment| it.runs[0].asked.controller = "breakwater".into();
        assert_eq!(refused(other), MergeError::OtherLoad(1, "controller".into()));
        assert_eq!(
            refused(|it| it.arrivals = "metronome".into()),
            MergeError::OtherLoad(1, "way of arriving".into())
        );
        let mean = |it: &mut Experiment| {
            it.load.as_mut().expect("a mark").asks.insert("mean".into(), "1ms".into());
        };
        assert_eq!(refused(mean), MergeError::OtherLoad(1, "mean (1ms, not 10us)".into()));
        let sleep = |it: &mut Experiment| {
            it.load.as_mut().expect("a mark").asks.insert("sleep".into(), "true".into());
        };
        assert_eq!(refused(sleep), MergeError::OtherLoad(1, "sleep (true, not none)".into()));
    }

    #[test]
    fn what_cannot_be_added_up_is_refused_by_number() {
        let refused = |change: fn(&mut Run)| {
            let mut other = load(2, 100, &[1]);
            change(&mut other.runs[0]);
            let merged = merge(&[load(1, 100, &[1]), other]);
            merged.map(drop).expect_err("refused")
        };
        assert_eq!(refused(|it| it.asked.clients = u32::MAX), MergeError::TooMany(1, "clients"));
        let fates: [fn(&mut Run); 2] = [
            |it| it.fates.ok = u64::MAX,
            |it| (it.fates.late, it.fates.shed) = (u64::MAX, u64::MAX),
        ];
        for change in fates {
            assert_eq!(refused(change), MergeError::TooMany(1, "requests"));
        }
        assert_eq!(refused(|it| it.unsent = u64::MAX), MergeError::TooMany(1, "answers"));
        let reason = |it: &mut Run| {
            it.shed_by_reason.insert("queue".into(), u64::MAX);
        };
        assert_eq!(refused(reason), MergeError::TooMany(1, "reasons to refuse"));
        let latency = |it: &mut Run| {
            it.latency_counts_ns.insert(7, u64::MAX);
        };
        assert_eq!(refused(latency), MergeError::TooMany(1, "latencies"));
        let gets = |it: &mut Run| {
            let gets = vec![u64::MAX, u64::MAX];
            it.replicas.compared = Some(ReplicasCompared { gets, ..ReplicasCompared::default() });
        };
        assert_eq!(refused(gets), MergeError::TooMany(1, "replicas' answers"));
        let lost = |it: &mut Run| {
            it.connections =
                Some(ConnectionReading { lost: u64::MAX, ..ConnectionReading::default() });
        };
        assert_eq!(refused(lost), MergeError::TooMany(1, "connections"));
    }

    #[test]
    fn data_are_known_by_their_contents() {
        let of = |seed, source: &str, sha256: &str| {
            let (source, sha256) = (source.into(), sha256.into());
            let data = vec![DataUsed { source, sha256, ..DataUsed::default() }];
            Experiment { data, ..load(seed, 100, &[1]) }
        };
        let with = |other| merge(&[of(1, "/here", "1f"), other]).map(drop);
        assert_eq!(with(of(2, "/there", "1f")), Ok(()));
        let why = MergeError::OtherLoad(1, "set of data".into());
        assert_eq!(with(of(2, "/here", "2f")), Err(why));
    }
}
