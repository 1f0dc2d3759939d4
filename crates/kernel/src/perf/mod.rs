//! Events as `perf script` prints them: of what `perf sched record` has recorded.
//!
//! Such a text tells the same events as a [`crate::Recorder`] does, save in what a waker was: that follows from the interrupts
//! around it, if all of them were recorded, too.

mod told;

use self::told::{Told, told_by};
use crate::event::{Context, Event, What};
use crate::probe::Missing;
use crate::recorder::Losses;
use std::collections::{BTreeMap, BTreeSet};

/// Events held, some 600 MB.
const EVENTS_MAX: usize = 8 << 20;
/// Processors that Linux can have (`NR_CPUS` of `arch/x86/Kconfig`). A line that names a further one cannot be read.
const CPUS_MAX: u32 = 8_192;
/// Brackets before that of the processor: each letter of a thread's name (`TASK_COMM_LEN`) may be one.
const BRACKETS_MAX: usize = 16;
/// `CLOCK_MONOTONIC_RAW`, by the number that the kernel has for it.
const RAW: u32 = 4;
/// A processor that is silent for so long after the first event, and then tells of its idle thread, was idle: a busy one has its
/// timer.
const SILENT_NS: u64 = 100_000_000;
/// What may wake a thread without being one. Where one of these is not recorded, an interrupt's wakings look like those of the
/// thread that it interrupted.
const INTERRUPTS: [&str; 3] =
    ["irq:irq_handler_entry", "irq:softirq_entry", "irq_vectors:local_timer_entry"];
/// Without it nothing is known of any thread.
const SWITCH: &str = "sched:sched_switch";

/// What to type for a recording that can be taken.
pub const PERF_RECORD: &str = "perf sched record -k CLOCK_MONOTONIC_RAW -e 'irq:*' -e 'irq_vectors:local_timer_*' \
                               -e exceptions:page_fault_user -- sleep 10";

/// What `perf script` must be asked to print.
pub const PERF_SCRIPT: [&str; 6] =
    ["script", "--header", "--ns", "--show-lost-events", "--fields", "tid,cpu,time,event,trace"];

/// A text of `perf script` that is read line by line.
#[derive(Default)]
pub struct PerfScript {
    /// Numbers of the clocks that events were recorded with, as the header has them.
    clocks: BTreeSet<u32>,
    has_header: bool,
    /// The time of the day and that of the clock at one moment, where the header has them.
    reference: Option<(u64, u64)>,
    points: BTreeSet<String>,
    /// Switches from threads that samples number otherwise, less those from threads that both number alike.
    misnumbered: i64,
    cores: BTreeMap<u32, Seen>,
    events: Vec<Event>,
    losses: Losses,
    is_full: bool,
}

/// What was read of a processor.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Its first event, if none was lost before.
    first: Option<(u64, u32)>,
    last_ns: u64,
    /// The thread that it has.
    current: Option<u32>,
}

/// What a text tells.
#[derive(Debug)]
pub struct PerfEvents {
    /// By time.
    pub events: Vec<Event>,
    /// The processors that told something.
    pub cpus: Vec<u32>,
    /// What was lost, and lines that could not be read.
    pub losses: Losses,
    /// Whether it tells of what wakes threads without being one.
    pub has_interrupts: bool,
    /// Nanoseconds since 1970 and of `CLOCK_MONOTONIC_RAW` at one moment, where it says so.
    pub reference: Option<(u64, u64)>,
}

impl PerfScript {
    /// Takes the next line, without its end.
    pub fn take(&mut self, line: &str) {
        match line.strip_prefix('#') {
            Some(comment) => self.header(comment.trim()),
            None if line.trim().is_empty() => {}
            None => self.line(line),
        }
    }

    /// Concludes.
    ///
    /// # Errors
    ///
    /// What the text lacks, and what to type.
    pub fn finish(mut self) -> Result<PerfEvents, Missing> {
        self.check()?;
        let has_interrupts = INTERRUPTS.iter().all(|point| self.points.contains(*point));
        if !has_interrupts {
            for event in &mut self.events {
                if let What::Waking { context, .. } = &mut event.what {
                    *context = Context::Unknown;
                }
            }
        }
        self.events.extend(silent(&self.cores));
        // Stable: events of one processor at one time keep their order.
        self.events.sort_by_key(|event| event.at_ns);
        Ok(PerfEvents {
            cpus: self.cores.keys().copied().collect(),
            events: self.events,
            losses: self.losses,
            has_interrupts,
            reference: self.reference,
        })
    }

    fn check(&self) -> Result<(), Missing> {
        let record = || format!("type: {PERF_RECORD}");
        if !self.has_header {
            return Err(Missing::new(
                "it has no header, which names the clock of its times",
                format!("name perf.data itself, or type: perf {}", PERF_SCRIPT.join(" ")),
            ));
        }
        if !self.points.contains(SWITCH) {
            return Err(Missing::new(format!("it has no event {SWITCH}"), record()));
        }
        // perf numbers samples as its own namespace does, and a switch has the host's numbers. No trace is numbered by both.
        if self.misnumbered > 0 {
            return Err(Missing::new(
                "perf had a PID namespace of its own, and switches tell the host's numbers of threads",
                "run perf and the program on the host, or give the container the host's: --pid=host",
            ));
        }
        match self.clocks.iter().find(|clock| **clock != RAW) {
            Some(other) => Err(Missing::new(
                format!(
                    "its times are of {}, and those of a trace of CLOCK_MONOTONIC_RAW",
                    clock_name(*other)
                ),
                record(),
            )),
            None if self.clocks.is_empty() => Err(Missing::new(
                "its times are of the scheduler's own clock, and those of a trace of CLOCK_MONOTONIC_RAW",
                record(),
            )),
            None if self.is_full => Err(Missing::new(
                format!("it has more than {EVENTS_MAX} events"),
                "cut it, and name the text: perf script --time FROM,TO, with the options that `profile import --help` has",
            )),
            None => Ok(()),
        }
    }

    /// `event : name = sched:sched_switch, … clockid = 4`, `clockid: monotonic_raw (4)`, `reference time: … = 1761.5 (TOD) = 4.7
    /// (monotonic_raw)`.
    fn header(&mut self, comment: &str) {
        self.has_header |= comment.starts_with("captured on");
        if let Some(event) = comment.strip_prefix("event : name = ") {
            let name = event.split(',').next().unwrap_or_default();
            if name.contains(':') {
                self.points.insert(name.trim().to_owned());
                let clock =
                    event.split_once("clockid = ").filter(|_| event.contains("use_clockid = 1"));
                self.clocks.extend(clock.and_then(|(_, after)| last_clock(after)));
            }
        } else if let Some(clock) = comment.strip_prefix("clockid: ") {
            let number = clock.split_once('(').and_then(|(_, after)| after.strip_suffix(')'));
            self.clocks.extend(number.and_then(|number| number.parse::<u32>().ok()));
        } else if let Some(reference) = comment.strip_prefix("reference time: ") {
            let mut times = reference
                .split(" = ")
                .skip(1)
                .map(|part| part.split(' ').next().and_then(nanoseconds));
            self.reference = times.next().flatten().zip(times.next().flatten());
        }
    }

    fn line(&mut self, line: &str) {
        let Some(Line { tid, cpu, at_ns, rest }) = Line::of(line) else {
            return self.unread(None);
        };
        if let Some(lost) = rest.strip_prefix("PERF_RECORD_LOST") {
            let count = lost.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(1);
            self.losses.events = self.losses.events.saturating_add(count);
            return self.go_blind(cpu);
        }
        let (point, told) = rest.split_once(": ").unwrap_or((rest.trim_end_matches(':'), ""));
        match told_by(point, told.trim()) {
            Told::Nothing => {}
            Told::Unread => self.unread(Some(cpu)),
            Told::What(own, what) => {
                if !self.points.contains(point) {
                    self.points.insert(point.to_owned());
                }
                if let Some((own, tid)) = own.zip(tid).filter(|(own, _)| *own != 0) {
                    self.misnumbered += if own == tid { -1 } else { 1 };
                }
                let seen = self.cores.entry(cpu).or_default();
                // A thread that ends has no number any more where it is switched from.
                let Some(tid) = own.or(tid).or(seen.current) else { return self.unread(Some(cpu)) };
                if seen.last_ns == 0 {
                    seen.first = Some((at_ns, tid));
                }
                seen.last_ns = at_ns;
                seen.current = Some(if let What::Switch { next, .. } = what { next } else { tid });
                self.add(Event { at_ns, cpu, tid, what });
            }
        }
    }

    fn add(&mut self, event: Event) {
        match self.events.len() < EVENTS_MAX {
            true => self.events.push(event),
            false => self.is_full = true,
        }
    }

    /// What it told is as lost as what found no room; of whatever processor.
    fn unread(&mut self, cpu: Option<u32>) {
        self.losses.unread += 1;
        let all: Vec<u32> = match cpu {
            Some(cpu) => vec![cpu],
            None => self.cores.keys().copied().collect(),
        };
        all.into_iter().for_each(|cpu| self.go_blind(cpu));
    }

    /// From its last event on, some are lost.
    fn go_blind(&mut self, cpu: u32) {
        let seen = self.cores.entry(cpu).or_default();
        let at_ns = seen.last_ns;
        // Before its first event it is blind anyhow, and what that is of says nothing of the time before.
        seen.last_ns = at_ns.max(1);
        // It is blind once from there on, however much is lost before its next event.
        let has_seen = seen.current.take().is_some();
        if at_ns > 1 && has_seen {
            self.add(Event { at_ns, cpu, tid: 0, what: What::Blind });
        }
    }
}

/// Of processors that were silent at first, which thread each had.
fn silent(cores: &BTreeMap<u32, Seen>) -> Vec<Event> {
    let firsts = || cores.iter().filter_map(|(cpu, seen)| Some((*cpu, seen.first?)));
    let Some(began_ns) = firsts().map(|(_, (at_ns, _))| at_ns).min() else { return vec![] };
    let at_ns = began_ns.saturating_add(SILENT_NS);
    let late = firsts().filter(|(_, (first_ns, _))| *first_ns > at_ns);
    // That of a thread may have come from idling untold. A busy processor has its timer, and is not silent.
    let idle = late.filter(|(_, (_, tid))| *tid == 0);
    // An end without a beginning: it says which thread the processor has, and no more.
    idle.map(|(cpu, (_, tid))| Event { at_ns, cpu, tid, what: What::InterruptExit }).collect()
}

/// The parts of a line: `comm 4711/4712 [001] 17.123456789: sched:sched_waking: …`, of which the name need not be there.
struct Line<'a> {
    /// `None`: the thread has none any more.
    tid: Option<u32>,
    cpu: u32,
    at_ns: u64,
    rest: &'a str,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        // A name may have brackets.
        line.match_indices('[').take(BRACKETS_MAX).find_map(|(at, _)| {
            let (cpu, after) = line[at + 1..].split_once("] ")?;
            let (time, rest) = after.trim_start().split_once(": ")?;
            let words = line[..at].trim_end();
            let number = words.rsplit([' ', '/']).next()?;
            Some(Self {
                tid: u32::try_from(number.parse::<i64>().ok()?).ok().filter(|tid| *tid != u32::MAX),
                cpu: cpu.parse::<u32>().ok().filter(|nth| *nth < CPUS_MAX)?,
                at_ns: nanoseconds(time)?,
                rest: rest.trim(),
            })
        })
    }
}

/// `17.123456789`, or with fewer decimals.
fn nanoseconds(time: &str) -> Option<u64> {
    let (seconds, part) = time.split_once('.')?;
    let digits = u32::try_from(part.len()).ok().filter(|digits| (1..=9).contains(digits))?;
    let part: u64 = part.parse().ok()?;
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(part * 10u64.pow(9 - digits))
}

/// The number after `clockid = `: `4, id = …`.
fn last_clock(after: &str) -> Option<u32> {
    let after = after.rsplit("clockid = ").next()?;
    after.split([',', ' ', '}']).next()?.parse().ok()
}

fn clock_name(number: u32) -> String {
    match number {
        0 => "CLOCK_REALTIME".into(),
        1 => "CLOCK_MONOTONIC".into(),
        7 => "CLOCK_BOOTTIME".into(),
        11 => "CLOCK_TAI".into(),
        other => format!("the clock number {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Left, Name};
    use crate::schedule::{Fact, Interval, Machine, State, Waker};

    const HEADER: &str = "# ========\n# captured on    : Thu Nov 26 11:00:00 2026\n\
        # event : name = sched:sched_switch, , id = { 5, 6 }, type = 2, use_clockid = 1, clockid = 4\n\
        # event : name = irq:softirq_entry, , type = 2, use_clockid = 1, clockid = 4\n\
        # event : name = irq:irq_handler_entry, , type = 2, use_clockid = 1, clockid = 4\n\
        # event : name = irq_vectors:local_timer_entry, , type = 2, use_clockid = 1, clockid = 4\n\
        # clockid: monotonic_raw (4)\n\
        # reference time: 2026-11-26 11:00:00.500000 = 1795690800.500000 (TOD) = 90.250000000 (monotonic_raw)\n";

    fn script(text: &str) -> PerfScript {
        let mut script = PerfScript::default();
        text.lines().for_each(|line| script.take(line));
        script
    }

    fn events(lines: &str) -> PerfEvents {
        script(&format!("{HEADER}{lines}")).finish().expect("it has all that is needed")
    }

    fn refused(text: &str) -> String {
        script(text).finish().expect_err("it cannot be taken").to_string()
    }

    #[test]
    fn both_ways_of_printing_tell_the_same() {
        let by_kernel = "\
  12 [001] 100.000001000: sched:sched_waking: comm=a pid: b pid=7 prio=120 target_cpu=000
  12 [001] 100.000002000: sched:sched_wakeup: comm=a pid: b pid=7 prio=120 target_cpu=000
   0 [000] 100.000003000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a pid: b next_pid=7 next_prio=120
   7 [000] 100.000004000: sched:sched_switch: prev_comm=a pid: b prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
";
        let by_plugin = "\
         hog   3/12 [001] 100.000001000:       sched:sched_waking: a pid: b:7 [120] CPU:000
         hog   3/12 [001] 100.000002000:       sched:sched_wakeup: a pid: b:7 [120] CPU:000
 some [0] x 0     0 [000] 100.000003000:       sched:sched_switch: swapper/0:0 [120] R ==> a pid: b:7 [120]
    a pid: b     -1 [000] 100.000004000:       sched:sched_switch: a pid: b:7 [120] D ==> swapper/0:0 [120]
";
        let PerfEvents { events: told, cpus, losses, has_interrupts, reference } =
            events(by_kernel);
        assert_eq!(told, events(by_plugin).events);
        assert_eq!((cpus, losses, has_interrupts), (vec![0, 1], Losses::default(), true));
        assert_eq!(reference, Some((1_795_690_800_500_000_000, 90_250_000_000)));
        let what = What::Switch {
            previous_name: Name::new(b"a pid: b"),
            left: Left::Uninterruptible,
            next: 0,
            next_name: Name::new(b"swapper/0"),
        };
        let last = Event { at_ns: 100_000_004_000, cpu: 0, tid: 7, what };
        assert_eq!(told.last(), Some(&last));
        let context = Context::Innermost;
        assert_eq!(told[0].what, What::Waking { tid: 7, cpu: 0, context });
    }

    fn facts(told: &PerfEvents, tid: u32) -> Vec<(State, u64)> {
        let mut machine = Machine::new(told.cpus.iter().copied());
        machine.follow(tid, told.events[0].at_ns);
        let mut states = Vec::new();
        let mut tell = |fact: Fact| {
            if let Fact::Interval(Interval { from_ns, to_ns, state, .. }) = fact {
                states.push((state, to_ns - from_ns));
            }
        };
        told.events.iter().for_each(|event| machine.apply(event, &mut tell));
        machine.finish(told.events.last().expect("one").at_ns, &mut tell);
        states
    }

    const SLEEP: &str = "\
7 [000] 100.000001000: sched:sched_switch: a:7 [120] S ==> b:8 [120]
8 [000] 100.000005000: irq_vectors:local_timer_entry: vector=236
8 [000] 100.000006000: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000
8 [000] 100.000007000: irq_vectors:local_timer_exit: vector=236
8 [000] 100.000009000: sched:sched_switch: b:8 [120] R ==> a:7 [120]
7 [000] 100.000010000: sched:sched_switch: a:7 [120] S ==> b:8 [120]
8 [000] 100.000012000: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000
";

    #[test]
    fn a_waker_is_what_is_open_on_its_processor() {
        let told = facts(&events(SLEEP), 7);
        let wakers: Vec<Waker> = told
            .iter()
            .filter_map(|(state, _)| match state {
                State::Asleep { woken, .. } => Some(*woken),
                _ => None,
            })
            .collect();
        let other = Waker::Thread { tid: 8, name: Name::new(b"b") };
        assert_eq!(wakers, [Waker::Timer, other]);
    }

    /// An interrupt's wakings were those of the thread that it interrupted.
    #[test]
    fn without_interrupts_nobody_is_named_as_a_waker() {
        let lines: Vec<&str> = SLEEP.lines().filter(|line| !line.contains("irq")).collect();
        let header: Vec<&str> = HEADER.lines().filter(|line| !line.contains("irq")).collect();
        let told = script(&format!("{}\n{}", header.join("\n"), lines.join("\n"))).finish();
        let told = told.expect("it has all that is needed");
        assert!(!told.has_interrupts);
        let wakers = facts(&told, 7);
        let wakers = wakers.iter().filter(|(state, _)| matches!(state, State::Asleep { .. }));
        assert!(wakers.clone().count() == 2, "{wakers:?}");
        let unknown = State::Asleep { is_uninterruptible: false, woken: Waker::Unknown };
        assert!(wakers.clone().all(|(state, _)| *state == unknown), "{wakers:?}");
    }

    #[test]
    fn what_is_lost_or_cannot_be_read_blinds_its_processor() {
        let told = events(
            "7 [000] 100.000001000: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n\
             9 [001] 100.000002000: sched:sched_switch: c:9 [120] S ==> d:5 [120]\n\
             8 [000] 100.000005000: PERF_RECORD_LOST lost 12\n\
             5 [001] 100.000006000: sched:sched_switch: nonsense\n\
             8 [000] 100.000007000: irq:softirq_exit: vec=1 [action=TIMER]\n",
        );
        assert_eq!((told.losses.events, told.losses.unread), (12, 1));
        let blind: Vec<(u64, u32)> = told
            .events
            .iter()
            .filter(|event| event.what == What::Blind)
            .map(|event| (event.at_ns, event.cpu))
            .collect();
        // From the last event on that could be read.
        assert_eq!(blind, [(100_000_001_000, 0), (100_000_002_000, 1)]);
    }

    /// What a text can say costs no more than what it tells.
    #[test]
    fn a_text_that_means_harm_is_counted_and_no_more() {
        let switch = "7 [000] 100.000001000: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n";
        let lost = "8 [000] 100.000002000: PERF_RECORD_LOST lost 18446744073709551615\n";
        let nobodys =
            "7 [4000000000] 100.000003000: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n";
        let told = events(&format!("{switch}{}{}", lost.repeat(2), nobodys.repeat(100)));
        assert_eq!((told.losses.events, told.losses.unread), (u64::MAX, 100));
        assert_eq!((told.cpus, told.events.len()), (vec![0], 2));
        let late = "7 [000] 18446744073.709551615: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n";
        assert_eq!(events(late).events.len(), 1);
    }

    /// No event ever comes from a processor that is not there, and until then nothing is certain.
    #[test]
    fn a_thread_sent_to_a_processor_that_cannot_be_is_counted_and_no_more() {
        let before = "8 [000] 100.000001000: sched:sched_switch: b:8 [120] R ==> a:7 [120]\n\
                      9 [001] 100.000002000: sched:sched_switch: c:9 [120] S ==> d:5 [120]\n";
        let after = "5 [001] 100.000004000: sched:sched_switch: d:5 [120] S ==> c:9 [120]\n\
                     7 [000] 100.000005000: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n\
                     8 [000] 100.000007000: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=000\n\
                     8 [000] 100.000009000: sched:sched_switch: b:8 [120] R ==> a:7 [120]\n\
                     7 [000] 100.000012000: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n";
        let without = events(&format!("{before}{after}"));
        let states = facts(&without, 7);
        assert!(states.iter().any(|(state, _)| matches!(state, State::Asleep { .. })));
        for sent in [
            "sched_waking: comm=c pid=9 prio=120 target_cpu=4000000000",
            "sched_wakeup: comm=c pid=9 prio=120 target_cpu=8192",
            "sched_wakeup: c:9 [120] CPU:4000000000",
            "sched_wakeup_new: c:9 [120] CPU:4000000000",
            "sched_migrate_task: comm=c pid=9 prio=120 orig_cpu=1 dest_cpu=4000000000",
        ] {
            let told = events(&format!("{before}5 [001] 100.000003000: sched:{sent}\n{after}"));
            assert_eq!((told.losses.unread, &told.cpus), (1, &without.cpus), "{sent}");
            assert_eq!(facts(&told, 7), states, "{sent}");
        }
    }

    #[test]
    fn a_processor_that_was_silent_at_first_had_the_thread_of_its_first_event() {
        let told = events(
            "7 [000] 100.000001000: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n\
             8 [000] 100.200000000: sched:sched_switch: b:8 [120] R ==> a:7 [120]\n\
             7 [000] 100.300000000: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n\
             8 [000] 100.500000000: sched:sched_waking: comm=a pid=7 prio=120 target_cpu=001\n\
             0 [001] 100.600000000: sched:sched_switch: swapper/1:0 [120] R ==> a:7 [120]\n",
        );
        let states = facts(&told, 7);
        let slept: u64 = states
            .iter()
            .filter(|(state, _)| matches!(state, State::Asleep { .. }))
            .map(|(_, ns)| ns)
            .sum();
        assert_eq!(slept, 200_000_000, "{states:?}");
        let silent = Event { at_ns: 100_100_001_000, cpu: 1, tid: 0, what: What::InterruptExit };
        assert!(told.events.contains(&silent), "{:?}", told.events);
    }

    #[test]
    fn what_cannot_be_matched_is_refused_with_what_to_type() {
        let namespace = "3 [000] 100.0: sched:sched_switch: a:70 [120] S ==> swapper/0:0 [120]\n\
                         0 [000] 100.1: sched:sched_switch: swapper/0:0 [120] R ==> c:80 [120]\n";
        assert!(refused(&format!("{HEADER}{namespace}")).contains("--pid=host"));
        let line = "7 [000] 100.000001000: sched:sched_switch: a:7 [120] S ==> b:8 [120]\n";
        let why = refused(line);
        assert!(why.contains("no header") && why.contains("perf script --header --ns"), "{why}");
        let other = HEADER.replace("clockid = 4", "clockid = 1").replace("_raw (4)", " (1)");
        let why = refused(&format!("{other}{line}"));
        assert!(why.contains("are of CLOCK_MONOTONIC,"), "{why}");
        assert!(why.contains("type: perf sched record -k CLOCK_MONOTONIC_RAW"), "{why}");
        let none: Vec<&str> = HEADER.lines().filter(|line| !line.contains("clock")).collect();
        let none = format!("{}\n{line}", none.join("\n"));
        assert!(refused(&none).contains("the scheduler's own clock"), "{}", refused(&none));
        let why = refused("# captured on : now\n# clockid: monotonic_raw (4)\n");
        assert!(why.contains("no event sched:sched_switch"), "{why}");
    }
}
