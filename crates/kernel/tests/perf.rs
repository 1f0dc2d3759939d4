//! What perf told of `sleep 0.01` on a machine that had other things to do.
//!
//! `perf-script.txt` came about by two commands, of whose lines those that tell nothing here were left out, as were other
//! programs' names:
//!
//! ```sh
//! perf sched record -k CLOCK_MONOTONIC_RAW -e 'irq:*' -e 'irq_vectors:local_timer_*' -- sleep 0.01
//! perf script --header --ns --show-lost-events --fields tid,cpu,time,event,trace
//! ```

use tailwater_kernel::schedule::{Fact, Interval, Machine, State, Waker};
use tailwater_kernel::{Losses, PerfEvents, PerfScript};

/// The number of `sleep`.
const TID: u32 = 29_937;

fn read() -> PerfEvents {
    let mut script = PerfScript::default();
    include_str!("perf-script.txt").lines().for_each(|line| script.take(line));
    script.finish().expect("it can be taken")
}

#[test]
fn a_sleep_its_end_and_the_wait_for_a_core_are_told() {
    let told = read();
    assert_eq!((told.losses, told.has_interrupts), (Losses::default(), true));
    assert_eq!(told.reference, Some((1_795_735_798_764_180_000, 44_732_445_722_959)));
    let mut machine = Machine::new(told.cpus.iter().copied());
    machine.follow(TID, told.events[0].at_ns);
    let mut intervals = Vec::new();
    let mut tell = |fact: Fact| match fact {
        Fact::Interval(one) => intervals.push(one),
        Fact::Interruption(_) | Fact::Void { .. } => {}
    };
    told.events.iter().for_each(|event| machine.apply(event, &mut tell));
    machine.finish(told.events.last().expect("events").at_ns, &mut tell);
    assert!(intervals.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns), "no hole");
    let [.., asleep, waiting, ran] = intervals.as_slice() else { panic!("{intervals:?}") };
    let ns = |one: &Interval| one.to_ns - one.from_ns;
    let slept = State::Asleep { is_uninterruptible: false, woken: Waker::Timer };
    assert_eq!((&asleep.state, ns(asleep)), (&slept, 10_077_052));
    let State::Runnable { behind, .. } = &waiting.state else { panic!("{waiting:?}") };
    // All of the wait is somebody's.
    let had: u64 = behind.occupants.iter().map(|one| one.ns).sum();
    assert_eq!((ns(waiting), had + behind.others_ns), (8_142_809, 8_142_809));
    let [first, second, ..] = behind.occupants.as_slice() else { panic!("{behind:?}") };
    assert_eq!((first.tid, second.tid), (29_951, 29_936));
    assert_eq!(
        (ran.state.clone(), ran.name.to_string()),
        (State::Running { cpu: 0 }, "sleep".into())
    );
}
