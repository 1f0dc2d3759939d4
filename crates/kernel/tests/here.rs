//! What the kernel of this machine tells of this very process. Where the right is lacking, a test says so and passes.

use rustix::thread::{CpuSet, futex};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU32;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;
use tailwater_kernel::schedule::{Fact, Interrupting, Interval, Machine, State, Waits};
use tailwater_kernel::{
    Event, FUTEX_WAITS, Probe, Recorder, Sampled, Sampling, Source, Syscalls, What, now_ns,
};

/// Says why a test shows nothing here, past the harness, which hides what tests that pass have printed.
pub(crate) fn passed_over(why: &(impl std::fmt::Display + ?Sized)) {
    let _ = writeln!(std::io::stderr(), "PASSED OVER: {why}");
}

/// A recorder, or a line that says why there is none.
fn recorder() -> Option<Recorder> {
    match Recorder::start(Probe::look()) {
        Ok(recorder) => Some(recorder),
        Err(missing) => {
            passed_over(&missing);
            None
        }
    }
}

fn own_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

#[test]
fn a_thread_that_sleeps_and_one_that_wakes_it_are_told() {
    let Some(mut recorder) = recorder() else { return };
    let cpus: Vec<u32> = recorder.cpus().collect();
    let mut events: Vec<Event> = Vec::new();
    let (to_sleeper, woken) = channel::<()>();
    let (tell_tid, tid) = channel();
    let sleeper = std::thread::spawn(move || {
        tell_tid.send(own_tid()).expect("someone listens");
        while woken.recv().is_ok() {}
    });
    let sleeper_tid = tid.recv().expect("it starts");
    for _ in 0..50 {
        to_sleeper.send(()).expect("it listens");
        // Long enough that it sleeps again, mostly; nothing depends on it.
        std::thread::sleep(Duration::from_micros(500));
        recorder.read(|event| events.push(*event));
    }
    drop(to_sleeper);
    sleeper.join().expect("it ends");
    let losses = recorder.finish(|event| events.push(*event));
    assert_eq!(losses.unread, 0, "every record is understood");
    assert!(events.is_sorted_by_key(|event| event.at_ns));

    let first_ns = events.first().expect("events").at_ns;
    let last_ns = events.last().expect("events").at_ns;
    let mut machine = Machine::new(cpus.into_iter());
    machine.follow(sleeper_tid, first_ns);
    let (mut facts, mut waits) = (Vec::new(), Waits::default());
    events.iter().for_each(|event| machine.apply(event, &mut |fact| facts.push(fact)));
    machine.finish(last_ns, &mut |fact| facts.push(fact));
    facts.iter().for_each(|fact| waits.add(fact));
    let intervals: Vec<&Interval> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Interval(one) => Some(one),
            Fact::Interruption(_) | Fact::Void { .. } => None,
        })
        .collect();
    assert!(intervals.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns), "no hole");
    if losses.events + losses.late == 0 {
        let ran = intervals.iter().any(|one| matches!(one.state, State::Running { .. }));
        let slept = intervals.iter().any(|one| matches!(one.state, State::Asleep { .. }));
        assert!(ran && slept, "{intervals:?}");
        assert!(waits.spread().count > 0, "it was woken, and waited for a core");
    }
}

#[test]
fn a_thread_that_a_followed_one_makes_is_followed() {
    let Some(recorder) = recorder() else { return };
    let mut machine = Machine::new(recorder.cpus());
    machine.follow(own_tid(), now_ns());
    let child = std::thread::spawn(own_tid).join().expect("it ends");
    let mut tids = BTreeSet::new();
    let mut take = |fact: Fact| {
        if let Fact::Interval(one) = fact {
            tids.insert(one.tid);
        }
    };
    let losses = recorder.finish(|event| machine.apply(event, &mut take));
    machine.finish(now_ns(), &mut take);
    assert!(tids.contains(&child) || losses.events > 0, "no {child} in {tids:?}");
}

#[test]
fn every_processor_is_seen_sooner_or_later() {
    let Some(mut recorder) = recorder() else { return };
    let allowed = rustix::thread::sched_getaffinity(None).expect("the processors of this thread");
    let allowed: BTreeSet<usize> = (0..1024).filter(|cpu| allowed.is_set(*cpu)).collect();
    let mut seen = BTreeSet::new();
    // Visits are made by other threads, which may be late where the machine is full.
    for _ in 0..3_000 {
        recorder.read(|event| {
            if !matches!(event.what, What::Blind | What::Late { .. }) {
                seen.insert(event.cpu as usize);
            }
        });
        if seen.is_superset(&allowed) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{seen:?} of {allowed:?}");
}

#[test]
fn page_faults_of_first_touches_are_told() {
    if !Probe::look().has(Source::PageFaults) {
        passed_over("page faults cannot be had here");
        return;
    }
    let Some(mut recorder) = recorder() else { return };
    let own = own_tid();
    const PAGES: usize = 64;
    let memory = std::hint::black_box(vec![1u8; PAGES * 4096 * 64]);
    let mut faults = 0;
    let mut count = |event: &Event| {
        faults += u64::from(event.tid == own && matches!(event.what, What::Fault { .. }));
    };
    recorder.read(&mut count);
    let losses = recorder.finish(&mut count);
    assert!(faults > 0 || losses.events > 0, "{} bytes were new", memory.len());
}

/// Without switches, too, each says whom it interrupted: what is sent over loopback is received on the sender's time.
#[test]
fn softirqs_alone_are_those_of_the_thread_that_brought_them() {
    let mut recorder = match Recorder::start(Probe::look().only(&[Source::Softirqs])) {
        Ok(recorder) => recorder,
        Err(missing) => return passed_over(&missing),
    };
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let own_address = socket.local_addr().expect("its address");
    let mut machine = Machine::new(recorder.cpus());
    machine.follow(own_tid(), now_ns());
    let softirqs = std::cell::Cell::new(0);
    let mut count = |fact: Fact| {
        let is_net_rx =
            matches!(fact, Fact::Interruption(one) if one.by == Interrupting::Softirq(3));
        softirqs.set(softirqs.get() + u64::from(is_net_rx));
    };
    // On a full machine a thread of the kernel's may take them for a while.
    for _ in 0..10_000 {
        socket.send_to(b"x", own_address).expect("it is sent");
        recorder.read(|event| machine.apply(event, &mut count));
        if softirqs.get() > 0 {
            break;
        }
    }
    let losses = recorder.finish(|event| machine.apply(event, &mut count));
    assert!(softirqs.get() > 0 || losses.events > 0, "none of 10,000");
}

#[test]
fn system_calls_of_a_program_are_counted_with_those_of_all_that_it_makes() {
    let mut syscalls = match Syscalls::of_next_program(&["kill"]) {
        Ok(syscalls) => syscalls,
        Err(missing) => return passed_over(&missing),
    };
    // The shell itself makes two such calls, one that it forks makes one, and one that that forks another.
    let line = "kill -0 $$; kill -0 $$; (kill -0 $$; (kill -0 $$; :); :)";
    let done = Command::new("sh").args(["-c", line]).status().expect("there is a shell");
    assert!(done.success());
    // What this process does is not the program's.
    rustix::process::test_kill_process(rustix::process::getpid()).expect("it is this one");
    let (all, named) = syscalls.read().expect("the kernel tells it");
    assert_eq!(named, [("kill".to_owned(), 4)]);
    assert!(all > 4, "{all}");
}

#[test]
fn a_system_call_that_does_not_exist_is_named() {
    assert!(Syscalls::of_next_program(&["no_such_call"]).is_err());
}

#[test]
fn system_calls_of_threads_that_run_already_are_counted_and_those_of_others_are_not() {
    let names = ["kill", "no_such_call"];
    let (tell_tid, tid) = channel();
    let (go, gone) = channel::<()>();
    let kill = || rustix::process::test_kill_process(rustix::process::getpid()).expect("this one");
    let other = std::thread::spawn(move || {
        tell_tid.send(own_tid()).expect("someone listens");
        while gone.recv().is_ok() {
            kill();
        }
    });
    // More threads than a filter names; numbers that no thread has count nothing.
    let tids: Vec<u32> = (5_000_000..5_000_150).chain(tid.recv()).collect();
    match Syscalls::of_threads(&tids, &names) {
        Ok(mut syscalls) => {
            (0..3).for_each(|_| go.send(()).expect("it listens"));
            kill();
            drop(go);
            other.join().expect("it ends");
            let (all, named) = syscalls.read().expect("the kernel tells it");
            assert_eq!(named, [("kill".to_owned(), 3)]);
            assert!(all > 3, "{all}");
        }
        Err(missing) => passed_over(&missing),
    }
}

#[test]
fn calls_of_futex_that_wait_are_told_from_those_that_wake() {
    let mut syscalls = match Syscalls::of_threads(&[own_tid()], &["futex", FUTEX_WAITS]) {
        Ok(syscalls) => syscalls,
        Err(missing) => return passed_over(&missing),
    };
    if let Some(missing) = syscalls.refused() {
        return passed_over(missing);
    }
    let word = AtomicU32::new(0);
    for flags in [futex::Flags::PRIVATE, futex::Flags::empty()] {
        // The word has another value, so that each returns at once.
        assert!(futex::wait(&word, flags, 1, None).is_err());
        assert!(futex::wait_bitset(&word, flags, 1, None, NonZeroU32::MAX).is_err());
        assert_eq!(futex::wake(&word, flags, 1), Ok(0));
    }
    let (_, named) = syscalls.read().expect("the kernel tells it");
    assert_eq!(named, [("futex".to_owned(), 6), (FUTEX_WAITS.to_owned(), 4)]);
}

/// Were both read in one order, then whatever is called while they are read at one end would be named and not among all.
#[test]
fn between_two_readings_no_more_calls_are_named_than_there_are() {
    let (tell_tid, tid) = channel();
    let (over, ended) = channel::<()>();
    let other = std::thread::spawn(move || {
        tell_tid.send(own_tid()).expect("someone listens");
        while ended.try_recv() == Err(TryRecvError::Empty) {
            rustix::process::test_kill_process(rustix::process::getpid()).expect("it is this one");
        }
    });
    let tids: Vec<u32> = tid.recv().into_iter().collect();
    match Syscalls::of_threads(&tids, &["kill"]) {
        Ok(mut syscalls) => {
            for _ in 0..1_000 {
                let (all, named) = syscalls.read_first().expect("the kernel tells it");
                let (all_then, named_then) = syscalls.read().expect("the kernel tells it");
                let (all, kills) = (all_then - all, named_then[0].1 - named[0].1);
                // Of a call that is made right then one of both may be counted already.
                assert!(kills <= all + 1, "{kills} of {all}");
            }
        }
        Err(missing) => passed_over(&missing),
    }
    drop(over);
    other.join().expect("it ends");
}

#[test]
fn a_thread_that_never_switches_has_its_name() {
    let Some(mut recorder) = recorder() else { return };
    let own = own_tid();
    let began_ns = now_ns();
    rustix::thread::set_name(c"renamed").expect("a name that is short enough");
    let mut machine = Machine::new(recorder.cpus());
    machine.follow(own, began_ns);
    let mut facts = Vec::new();
    recorder.read(|event| machine.apply(event, &mut |fact| facts.push(fact)));
    let losses = recorder.finish(|event| machine.apply(event, &mut |fact| facts.push(fact)));
    machine.finish(now_ns(), &mut |fact| facts.push(fact));
    let last = facts.iter().rev().find_map(|fact| match fact {
        Fact::Interval(one) if one.tid == own => Some(one.name.to_string()),
        _ => None,
    });
    assert!(last.as_deref() == Some("renamed") || losses.events > 0, "{last:?}");
}

/// The thread that empties the rings may not wait for a processor that a real-time thread has: it never goes there.
#[test]
fn the_thread_that_reads_stays_where_it_is() {
    let allowed = rustix::thread::sched_getaffinity(None).expect("the processors of this thread");
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let first = cpus.next().expect("one");
    let mut one = CpuSet::new();
    one.set(first);
    rustix::thread::sched_setaffinity(None, &one).expect("it may run there");
    let Some(mut recorder) = recorder() else { return };
    let own = own_tid();
    let mut elsewhere = Vec::new();
    let mut look = |event: &Event| {
        let is_visit = event.tid == own && event.cpu as usize != first;
        let is_told = !matches!(event.what, What::Blind | What::Late { .. });
        elsewhere.extend((is_visit && is_told).then_some(*event));
    };
    (0..3).for_each(|_| recorder.read(&mut look));
    recorder.finish(&mut look);
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    assert!(cpus.next().is_some() || allowed.count() == 1);
}

/// A thousand samples in each second that the thread has a core: twenty have come long before it has had one for five.
#[test]
fn a_thread_that_is_made_later_is_sampled_where_it_is() {
    let began = now_ns();
    let mut sampling =
        match Sampling::start(Sampled::Running(std::process::id(), &[own_tid()]), 1_000) {
            Ok(sampling) => sampling,
            Err(missing) => return passed_over(&missing),
        };
    let is_over = AtomicBool::new(false);
    let (tell, told) = channel();
    let of_process = || clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            tell.send(own_tid()).expect("it is awaited");
            while !is_over.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        let (spinner, until) = (told.recv().expect("it runs"), of_process() + 5);
        let mut seen = 0;
        while seen < 20 && of_process() < until {
            sampling.read(|sample| {
                assert!(sample.at_ns >= began && sample.address != 0, "{sample:?}");
                seen += u32::from(sample.tid == spinner);
            });
            std::thread::sleep(Duration::from_millis(5));
        }
        is_over.store(true, Relaxed);
        assert!(seen >= 20, "{seen}");
    });
    sampling.finish(|_| {});
}

/// A shell whose child spins for a second of its time; another one that had begun before is not sampled.
#[test]
fn a_program_that_is_started_next_is_sampled_with_its_children_and_no_other() {
    let spins = "ulimit -t 5; while :; do :; done";
    let mut stranger = Command::new("sh").args(["-c", spins]).spawn().expect("a shell");
    let mut sampling = match Sampling::start(Sampled::Next, 1_000) {
        Ok(sampling) => sampling,
        Err(missing) => {
            stranger.kill().and_then(|()| stranger.wait()).expect("it runs");
            return passed_over(&missing);
        }
    };
    let forks = "(ulimit -t 1; while :; do :; done) & echo $!; wait";
    let mut shell = Command::new("sh");
    let mut shell = shell.args(["-c", forks]).stdout(Stdio::piped()).spawn().expect("a shell");
    let mut tids = BTreeSet::new();
    while shell.try_wait().expect("it is ours").is_none() {
        sampling.read(|sample| tids.extend([sample.tid]));
        std::thread::sleep(Duration::from_millis(5));
    }
    sampling.finish(|sample| tids.extend([sample.tid]));
    stranger.kill().and_then(|()| stranger.wait()).expect("it runs");
    let mut said = String::new();
    shell.stdout.take().expect("piped").read_to_string(&mut said).expect("a number");
    let child: u32 = said.trim().parse().expect("a number");
    assert!(tids.contains(&child), "no {child} in {tids:?}");
    assert!(!tids.contains(&stranger.id()) && !tids.contains(&own_tid()), "{tids:?}");
}
