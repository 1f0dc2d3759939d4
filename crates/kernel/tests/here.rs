//! What the kernel of this machine tells of this very process. Where the right is lacking, a test says so and passes.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::time::Duration;
use tailwater_kernel::counts::Counting;
use tailwater_kernel::schedule::{Fact, Interval, Machine, State, Waits};
use tailwater_kernel::{Event, Probe, Recorder, Source, What};

/// Says why a test shows nothing here.
#[expect(clippy::print_stderr, reason = "it is for readers of the tests' output")]
fn passed_over(why: &(impl std::fmt::Display + ?Sized)) {
    eprintln!("passed over: {why}");
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

/// One system call that nothing else here makes.
fn ask(_nth: u32) {
    std::hint::black_box(rustix::process::getppid());
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
        assert!(waits.of(sleeper_tid).count > 0, "it was woken, and waited for a core");
    }
}

#[test]
fn every_processor_is_seen_from_the_beginning() {
    let Some(recorder) = recorder() else { return };
    let allowed = rustix::thread::sched_getaffinity(None).expect("the processors of this thread");
    let mut seen = BTreeSet::new();
    recorder.finish(|event| {
        if !matches!(event.what, What::Blind | What::Late { .. }) {
            seen.insert(event.cpu as usize);
        }
    });
    let allowed: BTreeSet<usize> = (0..1024).filter(|cpu| allowed.is_set(*cpu)).collect();
    assert!(seen.is_superset(&allowed), "{seen:?} of {allowed:?}");
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

#[test]
fn system_calls_are_counted_in_all_and_by_name() {
    let mut counting = Counting::begin(std::process::id(), &["getppid"]).expect("it is there");
    let missing = counting.lacks().map(ToString::to_string);
    // A thread that begins later counts too.
    let later = std::thread::spawn(|| (0..100).for_each(ask));
    later.join().expect("it ends");
    (0..50).for_each(ask);
    let counts = counting.read().expect("it is still there");
    match missing {
        Some(missing) => {
            passed_over(&missing);
            assert_eq!(counts.syscalls, None);
        }
        None => {
            assert_eq!(counts.by_name["getppid"], 150);
            assert!(counts.syscalls.expect("counted") >= 150);
        }
    }
    assert!(counts.cpu_ns > 0);
}

#[test]
fn a_system_call_that_does_not_exist_is_named() {
    let counting = Counting::begin(std::process::id(), &["no_such_call"]).expect("it is there");
    assert!(counting.lacks().is_some());
}
