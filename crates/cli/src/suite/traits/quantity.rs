//! What is told of each tier, as quantities of one query: counts of the tier divided by queries of the front.

use tailwater_kernel::FUTEX_WAITS;
use tailwater_stats::result::{Run, TierReading};
use tailwater_stats::traits::{ALL_CALLS, SoftirqTraits, ThreadTime, TierTraits, Traits};

/// One quantity.
pub(super) struct Quantity {
    /// In JSON.
    pub(super) key: &'static str,
    /// In tables, with its unit.
    pub(super) label: &'static str,
    /// `None` where it is not known.
    pub(super) of: fn(&Seen<'_>) -> Option<f64>,
}

/// Told only where every run that counts has them. Runs whose queries overlap more have none; without these a median would
/// be that of the calmer ones.
pub(super) const OF_EVERY_RUN: [&str; 3] =
    ["running_percent", "runnable_percent", "blocked_percent"];

/// A tier in a run.
pub(super) struct Seen<'a> {
    run: &'a Run,
    /// The front is 0.
    at: usize,
    reading: &'a TierReading,
    traits: &'a Traits,
    tier: &'a TierTraits,
    /// Queries that the front received, per second.
    queries_per_s: f64,
}

/// System calls by what they are for; of those in none of these lists the rest consists.
const SEND: &[&str] = &["sendto", "sendmsg", "write", "writev"];
const RECEIVE: &[&str] = &["recvfrom", "recvmsg", "read", "readv"];
const POLL: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2", "ppoll"];

/// What the kernel counts of every process, in the order of tables: runs without the watch tell it. Shares are per cent; times
/// are in µs but for core-milliseconds.
pub(super) const PLAIN: &[Quantity] = &[
    Quantity {
        key: "requests",
        label: "requests",
        of: |it| it.per_query(it.reading.received_rps?),
    },
    Quantity {
        key: "core_ms",
        label: "CPU, core-ms",
        of: |it| Some(it.us_per_query(it.reading.cores_used?)? / 1e3),
    },
    Quantity {
        key: "kernel_percent",
        label: "  in kernel, %",
        of: |it| Some(100.0 * it.reading.kernel_share?),
    },
    Quantity {
        key: "voluntary",
        label: "vol. switches",
        of: |it| it.per_query(it.reading.voluntary_per_s?),
    },
    Quantity {
        key: "involuntary",
        label: "invol. switches",
        of: |it| it.per_query(it.reading.involuntary_per_s?),
    },
    Quantity {
        key: "runqueue_us",
        label: "run-queue, µs",
        of: |it| it.us_per_query(it.reading.run_delay_ratio?),
    },
    Quantity {
        key: "faults",
        label: "page faults",
        of: |it| it.per_query(it.reading.faults_per_s?),
    },
    Quantity { key: "running_percent", label: "CPU ÷ latency, %", of: |it| Some(it.shares()?.0) },
    Quantity { key: "runnable_percent", label: "  waits, %", of: |it| Some(it.shares()?.1) },
    Quantity { key: "blocked_percent", label: "  elsewhere, %", of: |it| Some(it.shares()?.2) },
    Quantity { key: "queued_percent", label: "    queued, %", of: |it| it.queued_percent() },
    Quantity { key: "queued_us", label: "one queues, µs", of: |it| it.reading.waited_us },
];

/// What only the watch tells, in the order of tables.
pub(super) const WATCHED: &[Quantity] = &[
    Quantity { key: "syscalls", label: "system calls", of: |it| it.calls(&[ALL_CALLS]) },
    Quantity { key: "futex", label: "  futex", of: |it| it.calls(&["futex"]) },
    Quantity { key: "futex_waits", label: "    of it waits", of: |it| it.futex_waits() },
    Quantity { key: "send", label: "  send, write", of: |it| it.calls(SEND) },
    Quantity { key: "receive", label: "  receive, read", of: |it| it.calls(RECEIVE) },
    Quantity { key: "poll", label: "  poll", of: |it| it.calls(POLL) },
    Quantity { key: "epoll_ctl", label: "  epoll_ctl", of: |it| it.calls(&["epoll_ctl"]) },
    Quantity { key: "other_calls", label: "  others", of: |it| it.other_calls() },
    Quantity {
        key: "waits",
        label: "waits for a core",
        of: |it| it.per_query(it.time()?.waits_per_s),
    },
    Quantity {
        key: "wait_p50_us", label: "  one: p50, µs", of: |it| Some(it.time()?.wait_p50_us)
    },
    Quantity { key: "wait_p99_us", label: "  p99, µs", of: |it| Some(it.time()?.wait_p99_us) },
    Quantity { key: "wait_p999_us", label: "  p99.9, µs", of: |it| Some(it.time()?.wait_p999_us) },
    Quantity {
        key: "net_rx",
        label: "net_rx softirqs",
        of: |it| it.per_query(it.softirq("net_rx")?.per_s),
    },
    Quantity { key: "net_rx_p99_us", label: "  p99, µs", of: |it| it.softirq_p99_us("net_rx") },
    Quantity {
        key: "net_tx",
        label: "net_tx softirqs",
        of: |it| it.per_query(it.softirq("net_tx")?.per_s),
    },
    Quantity { key: "sched_p99_us", label: "sched p99, µs", of: |it| it.softirq_p99_us("sched") },
    Quantity { key: "rcu_p99_us", label: "rcu p99, µs", of: |it| it.softirq_p99_us("rcu") },
];

impl<'a> Seen<'a> {
    /// A tier of a run that told its traits and whose front received something.
    pub(super) fn of(run: &'a Run, at: usize) -> Option<Self> {
        let traits = run.traits.as_ref()?;
        let (reading, tier) = run.tiers.get(at).zip(traits.tiers.get(at))?;
        let queries_per_s = run.tiers.first()?.received_rps?;
        (queries_per_s > 0.0).then_some(Self { run, at, reading, traits, tier, queries_per_s })
    }

    /// Calls of each kernel's name, per query.
    pub(super) fn calls_by_name(&self) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        let queries_per_s = self.queries_per_s;
        let counts = self.tier.syscalls_per_s.iter();
        let named = counts.filter(|(name, _)| *name != ALL_CALLS && *name != FUTEX_WAITS);
        named.map(move |(name, per_s)| (&**name, per_s / queries_per_s))
    }

    fn per_query(&self, per_s: f64) -> Option<f64> {
        Some(per_s / self.queries_per_s)
    }

    /// Of time ÷ time.
    fn us_per_query(&self, ratio: f64) -> Option<f64> {
        self.per_query(1e6 * ratio)
    }

    fn calls(&self, names: &[&str]) -> Option<f64> {
        let counts = &self.tier.syscalls_per_s;
        counts.contains_key(ALL_CALLS).then(|| {
            let of = |name: &&str| counts.get(*name).copied().unwrap_or(0.0);
            names.iter().map(of).sum::<f64>() / self.queries_per_s
        })
    }

    /// `None` of results of before they were told apart.
    fn futex_waits(&self) -> Option<f64> {
        self.per_query(*self.tier.syscalls_per_s.get(FUTEX_WAITS)?)
    }

    fn other_calls(&self) -> Option<f64> {
        let lists: [&[&str]; 4] = [SEND, RECEIVE, POLL, &["futex", "epoll_ctl"]];
        let told: f64 = lists.iter().map(|names| self.calls(names)).sum::<Option<f64>>()?;
        // The two counters are not read at the same instant.
        Some((self.calls(&[ALL_CALLS])? - told).max(0.0))
    }

    fn time(&self) -> Option<ThreadTime> {
        self.tier.time
    }

    /// None are none where events were told.
    fn softirq(&self, name: &str) -> Option<SoftirqTraits> {
        Some(self.tier.softirqs.as_ref()?.get(name).copied().unwrap_or_default())
    }

    /// `None` where there were none.
    fn softirq_p99_us(&self, name: &str) -> Option<f64> {
        self.softirq(name).filter(|found| found.per_s > 0.0).map(|found| found.p99_us)
    }

    /// The mean wait in the front for the start of the handler, of the mean latency in per cent: a part of what is elsewhere.
    fn queued_percent(&self) -> Option<f64> {
        let is_told = self.at == 0 && self.traits.mean_us > 0.0;
        Some(100.0 * self.reading.waited_us? / self.traits.mean_us).filter(|_| is_told)
    }

    /// Parts of a query's mean latency in per cent: CPU time of the front, its waits for a core, and neither: leaves, the
    /// network and the generator. CPU time after the answer counts, too, and so does that of threads at the same time. `None` for tiers behind it, which do their parts of a query at the same time. `None` also
    /// where queries overlap so much that the parts are more than the whole.
    fn shares(&self) -> Option<(f64, f64, f64)> {
        let of_latency = |us: f64| 100.0 * us / self.traits.mean_us;
        let running = of_latency(self.us_per_query(self.run.tiers[self.at].cores_used?)?);
        let runnable = of_latency(self.us_per_query(self.reading.run_delay_ratio?)?);
        let rest = 100.0 - running - runnable;
        (self.at == 0 && self.traits.mean_us > 0.0 && rest >= 0.0)
            .then_some((running, runnable, rest))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn calls(all: f64, named: &[(&str, f64)]) -> BTreeMap<String, f64> {
        let named = named.iter().map(|(name, per_s)| ((*name).to_owned(), *per_s));
        named.chain([(ALL_CALLS.to_owned(), all)]).collect()
    }

    /// A front that receives 100 queries a second, and a leaf that has four requests of each.
    pub(in super::super) fn run() -> Run {
        let tier = |name: &str, received_rps, cores_used| TierReading {
            tier: name.into(),
            nodes: 4,
            received_rps: Some(received_rps),
            cores_used: Some(cores_used),
            run_delay_ratio: Some(0.002),
            voluntary_per_s: Some(300.0),
            involuntary_per_s: Some(20.0),
            kernel_share: Some(0.5),
            ..TierReading::default()
        };
        let time = ThreadTime { waits_per_s: 400.0, wait_p99_us: 70.0, ..ThreadTime::default() };
        let front = TierTraits {
            syscalls_per_s: calls(1_000.0, &[("sendto", 500.0), ("futex", 100.0), ("read", 20.0)]),
            time: Some(time),
            softirqs: Some(BTreeMap::new()),
        };
        let tiers = vec![front, TierTraits::default()];
        Run {
            tiers: vec![tier("", 100.0, 0.004), tier("leaf", 400.0, 0.03)],
            traits: Some(Traits { mean_us: 200.0, tiers, ..Traits::default() }),
            ..Run::default()
        }
    }

    fn all() -> impl Iterator<Item = &'static Quantity> {
        PLAIN.iter().chain(WATCHED)
    }

    fn value(run: &Run, at: usize, key: &str) -> Option<f64> {
        let quantity = all().find(|quantity| quantity.key == key).expect("a quantity");
        (quantity.of)(&Seen::of(run, at).expect("a tier"))
    }

    #[test]
    fn counts_of_every_tier_are_divided_by_queries_of_the_front() {
        let run = run();
        let of = |at, key| value(&run, at, key);
        assert_eq!((of(0, "requests"), of(1, "requests")), (Some(1.0), Some(4.0)));
        assert_eq!((of(0, "core_ms"), of(1, "core_ms")), (Some(0.04), Some(0.3)));
        assert_eq!(
            (of(0, "send"), of(0, "receive"), of(0, "futex")),
            (Some(5.0), Some(0.2), Some(1.0))
        );
        assert!((of(0, "other_calls").expect("known") - 3.8).abs() < 1e-9);
        assert_eq!((of(0, "runqueue_us"), of(1, "voluntary")), (Some(20.0), Some(3.0)));
        assert_eq!((of(0, "waits"), of(0, "net_rx")), (Some(4.0), Some(0.0)));
        assert_eq!(of(0, "net_rx_p99_us"), None, "there was none");
    }

    /// They are among the calls of futex, and no call of another name.
    #[test]
    fn waits_of_futex_are_a_part_of_its_calls() {
        let mut run = run();
        assert_eq!(value(&run, 0, "futex_waits"), None, "an earlier result does not tell them");
        let others = value(&run, 0, "other_calls");
        let calls = &mut run.traits.as_mut().expect("told").tiers[0].syscalls_per_s;
        calls.insert(FUTEX_WAITS.to_owned(), 40.0);
        assert_eq!(value(&run, 0, "futex_waits"), Some(0.4));
        assert_eq!((value(&run, 0, "futex"), value(&run, 0, "other_calls")), (Some(1.0), others));
        let seen = Seen::of(&run, 0).expect("a tier");
        assert_eq!(seen.calls_by_name().count(), 3);
    }

    #[test]
    fn what_was_not_told_is_not_known_rather_than_none() {
        let run = run();
        for key in
            ["syscalls", "futex", "other_calls", "waits", "wait_p99_us", "net_rx", "queued_us"]
        {
            assert_eq!(value(&run, 1, key), None, "{key}");
        }
        assert!(Seen::of(&Run { traits: None, ..run.clone() }, 0).is_none());
        assert!(Seen::of(&run, 2).is_none());
        let mut silent = run;
        silent.tiers[0].received_rps = Some(0.0);
        assert!(Seen::of(&silent, 1).is_none(), "no query to divide by");
    }

    #[test]
    fn shares_of_latency_add_up_for_the_front_and_are_unknown_where_queries_overlap() {
        let mut run = run();
        let shares = |run: &Run| {
            ["running_percent", "runnable_percent", "blocked_percent"].map(|key| value(run, 0, key))
        };
        assert_eq!(shares(&run), [Some(20.0), Some(10.0), Some(70.0)]);
        assert_eq!(value(&run, 1, "running_percent"), None);
        run.tiers.iter_mut().for_each(|tier| tier.waited_us = Some(30.0));
        let queued = |at, key| value(&run, at, key);
        assert_eq!((queued(0, "queued_percent"), queued(1, "queued_percent")), (Some(15.0), None));
        assert_eq!(queued(1, "queued_us"), Some(30.0));
        run.tiers[0].cores_used = Some(0.9);
        assert_eq!(shares(&run), [None; 3]);
    }

    #[test]
    fn keys_are_told_apart_and_labels_leave_room_for_six_columns() {
        assert!(all().all(|quantity| quantity.label.chars().count() <= 17));
        let mut keys: Vec<_> = all().map(|quantity| quantity.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all().count(), "each is told by runs of one kind");
    }
}
