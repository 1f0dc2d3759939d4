//! Which other processes were busy while an experiment ran: what to close where its runs do not count.

use rustix::param::clock_ticks_per_second;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};
use tailwater_stats::result::{Experiment, Run};
use tailwater_stats::{Rules, discard, judge};

/// So many are named at most.
const NAMED_MAX: usize = 3;
/// Less of a core disturbs nothing.
const SHARE_MIN: f64 = 0.05;
/// The parent of what lost its own: it waits for children that are not its work.
const INIT: u32 = 1;
/// The parent of the kernel's own threads.
const KERNEL: u32 = 2;

/// What every process had used when an experiment began.
pub(super) struct Busiest {
    began: Instant,
    before: BTreeMap<u32, Process>,
}

/// A process, from its line in `/proc/PID/stat`.
#[derive(Clone, PartialEq, Debug)]
struct Process {
    name: String,
    parent: u32,
    /// In ticks, with that of children that have ended.
    used: u64,
}

/// A process that was busy, and with how much of a core.
#[derive(Clone, PartialEq, Debug)]
struct Busy {
    pid: u32,
    name: String,
    share: f64,
}

impl Busiest {
    pub(super) fn begin() -> Self {
        Self { began: Instant::now(), before: processes() }
    }

    /// Why runs do not count and what to close, where another process or machine was the cause.
    pub(super) fn blame(&self, experiment: &Experiment) -> Option<String> {
        let rules = experiment.rules.clone().unwrap_or_default();
        let spoiled = experiment.runs.iter().filter(|run| is_disturbed(run, &rules)).count();
        let noisy = !experiment.discarded.is_empty();
        let cause = match self.found() {
            busy if !busy.is_empty() => Cause::Programs(busy),
            _ if experiment.runs.iter().any(|run| crowds(run, &rules)) => Cause::Crowd,
            _ if noisy => Cause::Machines,
            _ => return None,
        };
        (spoiled > 0).then(|| sentence(spoiled, experiment.runs.len(), &cause))
    }

    /// What was busy since the beginning, as people are told what to close; `None` where nothing was.
    pub(super) fn named(&self) -> Option<String> {
        let busy = self.found();
        (!busy.is_empty()).then(|| named(&busy))
    }

    /// What was busy since the beginning, the busiest first. What began and ended since then counts with its
    /// parent.
    fn found(&self) -> Vec<Busy> {
        let ticks = self.began.elapsed().max(Duration::from_millis(1)).as_secs_f64()
            * clock_ticks_per_second() as f64;
        let most = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        let busy = |(pid, process): (u32, Process)| {
            let before = self.before.get(&pid).map_or(0, |before| before.used);
            // A child that ended brings along what it used before the beginning.
            let share = (process.used.saturating_sub(before) as f64 / ticks).min(most);
            Busy { pid, name: process.name, share }
        };
        let mut found: Vec<Busy> = processes().into_iter().map(busy).collect();
        found.retain(|busy| busy.share >= SHARE_MIN);
        found.sort_by(|a, b| b.share.total_cmp(&a.share));
        found
    }
}

/// Whether a rule on the machine or on the generator is why it does not count. A server that ended is no noise.
fn is_disturbed(run: &Run, rules: &Rules) -> bool {
    let told = |why: &String| run.verdict.invalid_because.contains(why);
    !run.verdict.valid && (judge(run, rules).iter().any(told) || discard(run, rules).is_some())
}

/// Whether the threads of a run took cores from each other, more than its rules allow. Those of one server and a generator do so
/// where nobody else did: neither other processes nor the machine's owner had a share of a core.
fn crowds(run: &Run, rules: &Rules) -> bool {
    let noise = &run.noise;
    let server = noise.server_involuntary_per_s.unwrap_or_default();
    let is_alone = noise.steal_ratio <= rules.steal_max
        && noise.foreign_cpu_ratio.is_some_and(|share| share < SHARE_MIN);
    (is_alone || !run.tiers.is_empty())
        && (server > rules.server_involuntary_max_per_s
            || noise.load_involuntary_per_s > rules.load_involuntary_max_per_s)
}

/// What spoiled runs.
#[derive(Clone, PartialEq, Debug)]
enum Cause {
    /// Others on this machine, the busiest first.
    Programs(Vec<Busy>),
    /// The run's own processes.
    Crowd,
    /// Whatever else shares the cores.
    Machines,
}

fn sentence(spoiled: usize, all: usize, cause: &Cause) -> String {
    let verb = if spoiled == 1 { "does" } else { "do" };
    let start = format!("{spoiled} of {all} runs {verb} not count");
    match cause {
        Cause::Programs(busy) => {
            let named = named(busy);
            format!("{start}, since other programs ran beside them; close {named} and run it again")
        }
        Cause::Crowd => format!(
            "{start}: threads of server, tiers and generator share cores and interrupt each other; give them cores by \
             server.cores, tier.pin, clients.cores and clients.pace = \"sleep\", and what must share cores limits of its \
             own in [validity], as scenarios/threads.toml does"
        ),
        Cause::Machines => format!(
            "{start}, and no program in sight was busy: the cores are shared with other machines or containers; run it \
             again later"
        ),
    }
}

/// The busiest of them, each with its process and its share.
fn named(busy: &[Busy]) -> String {
    let one = |busy: &Busy| {
        let share = 100.0 * busy.share;
        format!("{} (process {}, {share:.0} % of a core)", busy.name, busy.pid)
    };
    let named: Vec<String> = busy.iter().take(NAMED_MAX).map(one).collect();
    named.join(", ")
}

/// All but this one, by number. What ends meanwhile is left out.
fn processes() -> BTreeMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let myself = std::process::id();
    let others = numbers.filter(|&pid| pid != myself && pid != INIT && pid != KERNEL);
    let read = |pid| Some((pid, parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?));
    others.filter_map(read).filter(|(_, process)| process.parent != KERNEL).collect()
}

/// `PID (name) state parent …`; the name may hold anything (proc_pid_stat(5)).
fn parse(line: &str) -> Option<Process> {
    let (head, rest) = line.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // Fields 14 to 17 of the line: of itself and of children that were waited for, each in user and kernel mode.
    let used = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let name = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    Some(Process { name, parent: fields.get(1)?.parse().ok()?, used })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};
    use tailwater_stats::result::{Discard, Noise, RunVerdict, TierReading};

    /// Ended when dropped.
    struct Spinning(Child);

    impl Drop for Spinning {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_line_is_read_whatever_the_name() {
        let line = "7 (a ) b\n) R 3 7 7 0 -1 4194304 5 6 0 0 11 22 33 44 20 0 1 0";
        let found = Process { name: "a ) b\u{fffd}".into(), parent: 3, used: 110 };
        assert_eq!(parse(line), Some(found));
        assert_eq!(parse("7 (short) R 3"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn what_spins_meanwhile_is_found() {
        let busiest = Busiest::begin();
        let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        let spinning = Spinning(child.expect("a shell"));
        let pid = spinning.0.id();
        // However slow the machine: until it has had its share.
        while !busiest.found().iter().any(|busy| busy.pid == pid && busy.name == "sh") {
            std::thread::yield_now();
        }
        assert!(busiest.found().iter().all(|busy| busy.pid != std::process::id()));
    }

    #[test]
    fn one_line_names_what_to_close() {
        let busy = |pid, name: &str, share| Busy { pid, name: name.into(), share };
        let all = [
            busy(12, "cargo", 0.934),
            busy(7, "firefox", 0.5),
            busy(8, "x", 0.2),
            busy(9, "y", 0.1),
        ];
        assert_eq!(
            sentence(5, 9, &Cause::Programs(all.to_vec())),
            "5 of 9 runs do not count, since other programs ran beside them; close cargo (process 12, 93 % of a \
             core), firefox (process 7, 50 % of a core), x (process 8, 20 % of a core) and run it again"
        );
        assert!(sentence(1, 9, &Cause::Machines).starts_with("1 of 9 runs does not"));
    }

    #[test]
    fn processes_that_a_run_has_too_many_of_are_no_fault_of_others() {
        let noise = Noise {
            server_involuntary_per_s: Some(900.0),
            foreign_cpu_ratio: None,
            ..Noise::default()
        };
        let alone = Run { noise, ..Run::default() };
        let rules = Rules::default();
        assert!(!crowds(&alone, &rules), "whether others had its core is not known");
        let with = |foreign, steal_ratio| {
            let noise = Noise { foreign_cpu_ratio: Some(foreign), steal_ratio, ..alone.noise };
            crowds(&Run { noise, ..alone.clone() }, &rules)
        };
        assert!(with(0.0, 0.0), "its own threads had its core");
        assert!(!with(0.5, 0.0) && !with(0.0, 0.5), "something else had its core");
        let tiers = vec![TierReading::default(); 2];
        let crowded = Run { tiers, ..alone };
        assert!(crowds(&crowded, &rules));
        assert!(!crowds(&crowded, &Rules { server_involuntary_max_per_s: 1e3, ..rules }));
        assert!(sentence(2, 2, &Cause::Crowd).contains("tier.pin"));
    }

    #[test]
    fn nothing_is_blamed_where_every_run_counts() {
        let mut experiment = Experiment {
            runs: vec![Run {
                verdict: RunVerdict { valid: true, ..RunVerdict::default() },
                ..Run::default()
            }],
            discarded: vec![Discard::default()],
            ..Experiment::default()
        };
        assert_eq!(Busiest::begin().blame(&experiment), None);
        experiment.runs[0].verdict.valid = false;
        experiment.runs[0].verdict.invalid_because =
            vec!["the server of the tier store ended".to_owned()];
        assert_eq!(Busiest::begin().blame(&experiment), None, "others are not to blame");
        experiment.runs[0].noise = Noise { steal_ratio: 0.5, ..Noise::default() };
        assert!(Busiest::begin().blame(&experiment).is_some());
    }
}
