//! Where the time of slow calls went, from records of the kernel.

mod sample;

use proptest::prelude::*;
use tailwater_profile::kernel::{
    Account, Accounts, After, Cause, Did, Interrupting, Interruption, Lanes, Occupant, Stretch,
    ThreadState, WaitedBehind, Waker,
};
use tailwater_profile::record::{Gap, Record, ThreadId};

/// The thread in question has number 0 in the file, and 100 in the kernel.
const TID: u32 = 100;

fn state(from: u64, to: u64, did: Did) -> Record {
    Record::State(ThreadState { thread: ThreadId(0), start: from, end: to, did })
}

fn interruption(from: u64, to: u64, by: Interrupting) -> Record {
    Record::Interruption(Interruption { thread: ThreadId(0), start: from, end: to, by })
}

fn runnable(hog: u64, idle: u64) -> Did {
    let occupants = vec![Occupant { thread: ThreadId(1), time: hog }];
    let behind = WaitedBehind { occupants, others: 0, idle };
    Did::Runnable { cpu: 0, after: After::Woken, behind }
}

fn asleep(woken: Waker) -> Did {
    Did::Asleep { is_uninterruptible: false, woken }
}

fn names() -> Vec<Record> {
    vec![sample::thread(0, "worker"), sample::thread(1, "hog")]
}

fn accounts(records: &[Record], wanted: Vec<Vec<Stretch>>) -> Vec<Account> {
    let mut accounts = Accounts::new(wanted);
    names().iter().chain(records).for_each(|record| accounts.add(record));
    accounts.finish()
}

fn account(records: &[Record], from_ns: u64, to_ns: u64) -> Account {
    let mut all = accounts(records, vec![vec![Stretch { tid: TID, from_ns, to_ns }]]);
    all.pop().expect("one was asked for")
}

#[test]
fn a_neighbour_that_had_the_core_is_named() {
    let records = [
        state(0, 1_000, Did::Running { cpu: 0 }),
        state(1_000, 9_000, runnable(7_900, 100)),
        state(9_000, 10_000, Did::Running { cpu: 0 }),
    ];
    let told = account(&records, 500, 9_500);
    assert_eq!((told.total_ns, told.running_ns, told.runnable_ns), (9_000, 1_000, 8_000));
    assert_eq!(told.cause, Cause::Runnable);
    assert_eq!(told.behind[0].thread.as_deref(), Some("hog (101)"));
    assert_eq!((told.behind[0].ns, told.behind[1].ns, told.behind[1].idle), (7_900, 100, true));
    // Half of the wait: its shares in proportion.
    let half = account(&records, 500, 5_000);
    assert_eq!((half.runnable_ns, half.behind[0].ns), (4_000, 3_950));
}

#[test]
fn a_sleep_is_no_neighbours_fault() {
    let records = [
        state(0, 100, Did::Running { cpu: 0 }),
        state(100, 9_000, asleep(Waker::Timer)),
        state(9_000, 9_100, runnable(100, 0)),
        state(9_100, 10_000, Did::Running { cpu: 0 }),
    ];
    let told = account(&records, 0, 10_000);
    assert_eq!((told.cause, told.asleep_ns), (Cause::Asleep, 8_900));
    assert_eq!(told.sleeps[0].woken_by.as_deref(), Some("timer"));
}

#[test]
fn interrupts_within_one_another_count_once_and_leave_the_rest_to_the_thread() {
    let records = [
        interruption(1_200, 1_300, Interrupting::Device(24)),
        interruption(1_000, 2_000, Interrupting::Softirq(3)),
        interruption(2_500, 2_500, Interrupting::Fault(0x7000)),
        state(0, 3_000, Did::Running { cpu: 0 }),
    ];
    let told = account(&records, 0, 3_000);
    assert_eq!((told.running_ns, told.interrupts_ns, told.faults), (2_000, 1_000, 1));
    let rows: Vec<_> = told.interrupts.iter().map(|one| (one.name.as_str(), one.ns)).collect();
    assert_eq!(rows, [("softirq NET_RX", 900), ("interrupt 24", 100)]);
    assert_eq!(told.cause, Cause::Running);
}

#[test]
fn what_no_event_tells_is_unknown() {
    let records = [
        state(1_000, 5_000, Did::Running { cpu: 0 }),
        state(5_000, 6_000, Did::Unknown),
        // An event of that time came too late.
        Record::Gap(Gap { thread: None, start: 2_000, end: 4_000 }),
    ];
    let told = account(&records, 0, 7_000);
    assert_eq!((told.running_ns, told.unknown_ns, told.cause), (2_000, 5_000, Cause::Unknown));
    let none = &accounts(&records, vec![vec![Stretch { tid: 4, from_ns: 0, to_ns: 10 }]])[0];
    assert_eq!((none.total_ns, none.unknown_ns), (10, 10));
}

#[test]
fn the_parts_of_a_request_add_up_over_its_threads() {
    let other = |from, to| {
        let did = Did::Running { cpu: 1 };
        Record::State(ThreadState { thread: ThreadId(1), start: from, end: to, did })
    };
    let records = [state(0, 100, asleep(Waker::Unknown)), other(0, 300)];
    let wanted = vec![
        Stretch { tid: TID, from_ns: 0, to_ns: 100 },
        Stretch { tid: 101, from_ns: 100, to_ns: 300 },
    ];
    let told = &accounts(&records, vec![wanted])[0];
    assert_eq!((told.total_ns, told.asleep_ns, told.running_ns), (300, 100, 200));
    assert_eq!(told.sleeps[0].woken_by, None);
}

#[test]
fn a_time_line_has_what_lies_around_first() {
    let mut lanes = Lanes::default();
    let records = [
        interruption(100, 300, Interrupting::Timer),
        state(100, 900, Did::Running { cpu: 2 }),
        state(900, 1_000, runnable(100, 0)),
    ];
    names().iter().chain(&records).for_each(|record| lanes.add(record));
    let report = lanes.finish();
    assert_eq!(report.threads, [(TID, "worker (100)".to_owned())]);
    let told: Vec<_> = report.spans.iter().map(|one| (one.name.as_str(), one.ns)).collect();
    assert_eq!(told, [("running", 800), ("timer interrupt", 200), ("waiting for a core", 100)]);
    assert_eq!(report.spans[0].cpu, Some(2));
    assert_eq!(report.spans[2].why.as_deref(), Some("the core had hog (101)"));
}

fn did() -> impl Strategy<Value = Did> {
    prop_oneof![
        Just(Did::Running { cpu: 0 }),
        Just(runnable(10, 0)),
        Just(asleep(Waker::Timer)),
        Just(Did::Unknown),
    ]
}

proptest! {
    /// Whatever the records say, also such as overlap: no time is lost, and none is made.
    #[test]
    fn the_parts_add_up_to_the_whole(
        states in prop::collection::vec((0u64..2_000, 0u64..400, did()), 0..20),
        interrupted in prop::collection::vec((0u64..2_000, 0u64..300, 0u32..12), 0..20),
        gap in (0u64..2_000, 0u64..300),
        (from, ns) in (0u64..2_000, 0u64..2_000),
    ) {
        let states = states.into_iter().map(|(at, ns, did)| state(at, at + ns, did));
        let interrupted = interrupted
            .into_iter()
            .map(|(at, ns, vector)| interruption(at, at + ns, Interrupting::Softirq(vector)));
        let gap = Record::Gap(Gap { thread: None, start: gap.0, end: gap.0 + gap.1 });
        let records: Vec<Record> = states.chain(interrupted).chain([gap]).collect();
        let told = account(&records, from, from + ns);
        let parts = [
            told.running_ns,
            told.interrupts_ns,
            told.runnable_ns,
            told.asleep_ns,
            told.unknown_ns,
        ];
        prop_assert_eq!(parts.iter().sum::<u64>(), told.total_ns);
        prop_assert_eq!(told.total_ns, ns);
        let told_ns: u64 = told.interrupts.iter().map(|one| one.ns).sum();
        prop_assert!(told_ns <= told.interrupts_ns);
    }
}
