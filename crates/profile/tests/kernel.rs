//! Where the time of slow calls went, from records of the kernel.

use crate::sample;
use proptest::prelude::*;
use tailwater_profile::clock::TickRate;
use tailwater_profile::kernel::{
    Account, Accounts, After, Cause, Coverage, Did, HadBy, Interrupting, Interruption, Lanes,
    LanesReport, Occupant, Stretch, ThreadState, WaitedBehind, Waker, Wakers, Woken,
};
use tailwater_profile::record::{
    Call, Clock, Figure, FunctionId, Gap, Loss, LossKind, Measured, Record, ThreadId,
};
use tailwater_profile::trace::Header;

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
    assert_eq!(told.named.as_deref(), Some("hog (101)"));
    assert_eq!((told.behind[0].ns, told.behind[1].ns), (7_900, 100));
    assert_eq!(told.behind[1].had_by, HadBy::Idle);
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
fn moves_from_core_to_core_within_the_time_count_once() {
    let run = |from, to, cpu| state(from, to, Did::Running { cpu });
    let records = [
        run(0, 100, 0),
        state(100, 200, asleep(Waker::Timer)),
        run(200, 300, 1),
        run(300, 400, 1),
        state(400, 500, Did::Unknown),
        run(500, 600, 0),
    ];
    let moves = |from_ns, to_ns| account(&records, from_ns, to_ns).moves;
    assert_eq!([moves(0, 600), moves(200, 600), moves(0, 250), moves(250, 450)], [2, 1, 1, 0]);
    let time = |from_ns, to_ns| Stretch { tid: TID, from_ns, to_ns };
    assert_eq!(accounts(&records, vec![vec![time(0, 300), time(50, 400)]])[0].moves, 1);
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
fn times_without_end_are_no_reason_to_panic() {
    let all = || Stretch { tid: TID, from_ns: 0, to_ns: u64::MAX };
    let told = |records: &[Record]| accounts(records, vec![vec![all(), all()]]).remove(0);
    let interrupted = [
        interruption(0, u64::MAX, Interrupting::Softirq(3)),
        state(0, u64::MAX, Did::Running { cpu: 0 }),
    ];
    let found = told(&interrupted);
    assert_eq!((found.total_ns, found.running_ns, found.interrupts_ns), (u64::MAX, 0, u64::MAX));
    assert_eq!(told(&[state(0, u64::MAX, asleep(Waker::Timer))]).asleep_ns, u64::MAX);
    assert_eq!(told(&[state(0, u64::MAX, runnable(u64::MAX, 7))]).runnable_ns, u64::MAX);
    assert_eq!(told(&[state(0, u64::MAX, Did::Unknown)]).unknown_ns, u64::MAX);
    assert_eq!(told(&[]).unknown_ns, u64::MAX);
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

fn lanes(records: &[Record]) -> LanesReport {
    let mut lanes = Lanes::default();
    names().iter().chain(records).for_each(|record| lanes.add(record));
    lanes.finish()
}

#[test]
fn a_quota_is_no_wake_up() {
    let held_back = |after, idle| {
        let behind = WaitedBehind { idle, ..WaitedBehind::default() };
        let did = Did::Runnable { cpu: 0, after, behind };
        let told = account(&[state(0, idle, did)], 0, idle);
        (told.behind[0].had_by, told.named)
    };
    let (ms, quota) = (1_000_000, Some("a core that did not let it run".to_owned()));
    // `cpu.max` stops a thread that is on its core, and one that is woken later in the period.
    assert_eq!(held_back(After::Preempted, 60 * ms), (HadBy::HeldBack, quota.clone()));
    assert_eq!(held_back(After::Woken, 60 * ms), (HadBy::HeldBack, quota));
    // An idle core takes a thread from another's queue, or is woken for it.
    assert_eq!(held_back(After::Preempted, 30_000).0, HadBy::Idle);
    assert_eq!(held_back(After::Woken, 300_000).0, HadBy::Idle);
}

#[test]
fn wakers_of_one_name_are_one_as_neighbours_are() {
    let mut records: Vec<Record> = (10..16).map(|id| sample::thread(id, "pool")).collect();
    let sleeps = (0..6u64).map(|nth| {
        let woken = Waker::Thread(ThreadId(10 + nth as u32));
        state(nth * 1_000, nth * 1_000 + 1_000, asleep(woken))
    });
    records.extend(sleeps);
    records.push(state(6_000, 8_000, asleep(Waker::Timer)));
    let told = account(&records, 0, 8_000);
    let rows: Vec<_> =
        told.sleeps.iter().map(|one| (one.woken_by.as_deref(), one.sleeps, one.ns)).collect();
    assert_eq!(rows, [(Some("pool (6 threads)"), 6, 6_000), (Some("timer"), 1, 2_000)]);
    assert_eq!(told.named.as_deref(), Some("pool (6 threads)"));
}

#[test]
fn what_cannot_be_named_comes_in_its_place_and_nothing_is_named_for_less_than_half() {
    let occupants = vec![Occupant { thread: ThreadId(1), time: 3_000 }];
    let behind = WaitedBehind { occupants, others: 5_000, idle: 0 };
    let did = Did::Runnable { cpu: 0, after: After::Woken, behind };
    let told = account(&[state(0, 8_000, did)], 0, 8_000);
    let rows: Vec<_> = told.behind.iter().map(|one| (one.had_by, one.ns)).collect();
    assert_eq!(rows, [(HadBy::Others, 5_000), (HadBy::Thread, 3_000)]);
    assert_eq!((told.cause, told.named), (Cause::Runnable, None));
    let thirds = [
        state(0, 1_000, Did::Running { cpu: 0 }),
        state(1_000, 2_000, runnable(1_000, 0)),
        state(2_000, 3_000, asleep(Waker::Timer)),
    ];
    let told = account(&thirds, 0, 3_000);
    assert_eq!((told.cause, told.named), (Cause::Mixed, None));
}

/// What let a lock go that no wait is recorded of.
#[test]
fn a_waker_is_told_with_its_innermost_function() {
    let Record::Thread(hog) = sample::thread(1, "hog") else { panic!("it is a thread") };
    let slept = [
        state(0, 400, asleep(Waker::Thread(ThreadId(1)))),
        state(400, 5_000, asleep(Waker::Thread(ThreadId(1)))),
        state(5_000, 8_000, asleep(Waker::Timer)),
    ];
    let told = account(&slept, 0, 8_000);
    let woken = told.sleeps[0].woken;
    assert_eq!(woken, Some(Woken { tid: hog.tid, at_ns: 5_000 }), "the longest");
    assert_eq!(told.sleeps[1].woken, None, "a timer has no function");
    // Two ticks in a nanosecond, from 1,000 on.
    let header =
        Header { clock: Clock { ticks: 1_000, raw_ns: 0, real_ns: 0 }, ..sample::header() };
    let rate = TickRate { ns_per_tick: 0.5, measured: true };
    let wanted = [woken.expect("a thread"), Woken { tid: hog.tid, at_ns: 9_000 }];
    let mut wakers = Wakers::new(&header, rate, &wanted);
    let called = |thread: u32, function: u32, depth: u32, (start, end): (u64, u64)| {
        let Record::Call(call) = sample::call(1) else { panic!("it is a call") };
        let (thread, function) = (ThreadId(thread), FunctionId(function));
        Record::Call(Call { thread, function, depth, start, end, ..call })
    };
    let records = [
        sample::function(1, "serve"),
        sample::function(2, "unlock"),
        sample::function(3, "before"),
        Record::Thread(hog),
        sample::thread(0, "worker"),
        called(1, 3, 1, (9_000, 10_500)),
        called(1, 2, 1, (10_900, 11_100)),
        called(0, 3, 5, (10_900, 11_100)),
        called(1, 1, 0, (8_000, 12_000)),
    ];
    records.iter().for_each(|record| wakers.add(record));
    assert_eq!(wakers.finish(), [Some("unlock".to_owned()), None]);
}

#[test]
fn a_stopped_thread_is_not_asleep() {
    let records = [state(0, 900, Did::Stopped { woken: Waker::Unknown })];
    let told = account(&records, 0, 900);
    assert_eq!((told.asleep_ns, told.stopped_ns, told.cause), (0, 900, Cause::Stopped));
    assert_eq!(lanes(&records).spans[0].name, "stopped");
}

#[test]
fn what_lies_in_two_stretches_counts_once() {
    let records = [
        state(0, 1_000, asleep(Waker::Timer)),
        interruption(1_200, 1_400, Interrupting::Timer),
        state(1_000, 2_000, Did::Running { cpu: 0 }),
    ];
    let stretches = [(0, 500), (500, 1_300), (1_300, 2_000)];
    let stretches = stretches.map(|(from_ns, to_ns)| Stretch { tid: TID, from_ns, to_ns });
    let told = &accounts(&records, vec![stretches.to_vec()])[0];
    assert_eq!((told.sleeps[0].sleeps, told.sleeps[0].ns), (1, 1_000));
    assert_eq!((told.interrupts[0].count, told.interrupts[0].ns), (1, 200));
}

#[test]
fn an_interruption_is_found_however_long_before_it_began() {
    let mut records: Vec<Record> =
        (0..500u64).map(|nth| interruption(nth * 10, nth * 10 + 2, Interrupting::Timer)).collect();
    records.push(interruption(5, 9_000, Interrupting::Softirq(3)));
    records.push(interruption(u64::MAX, u64::MAX, Interrupting::Fault(1)));
    records.push(state(0, 10_000, Did::Running { cpu: 0 }));
    let told = account(&records, 6_000, 9_500);
    assert_eq!((told.interrupts_ns, told.running_ns), (3_000, 500));
    assert_eq!(told.interrupts[0].name, "softirq NET_RX");
}

#[test]
fn the_file_says_what_it_lacks() {
    let mut accounts = Accounts::new(vec![]);
    accounts.add(&Record::Loss(Loss { thread: None, kind: LossKind::Events, count: 7 }));
    accounts.add(&Record::Figure(Figure { what: Measured::Throttlings, value: 3 }));
    accounts.damaged();
    let expected = Coverage {
        lost_events: 7,
        damaged_parts: 1,
        left_out: 0,
        throttled: Some(3),
        first_touch_ns: None,
    };
    assert_eq!(accounts.coverage(), expected);
}

#[test]
fn faults_are_the_cause_where_they_may_have_taken_most_of_the_time() {
    let faults = |count: u64| {
        let touches = (0..count).map(|nth| interruption(nth, nth, Interrupting::Fault(nth)));
        let mut records: Vec<Record> = touches.collect();
        records.push(state(0, 100_000, Did::Running { cpu: 0 }));
        records.push(Record::Figure(Figure { what: Measured::FirstTouchNs, value: 600 }));
        account(&records, 0, 100_000)
    };
    let few = faults(50);
    assert_eq!((few.faults_ns, few.cause), (30_000, Cause::Running));
    let many = faults(100);
    assert_eq!((many.faults, many.faults_ns, many.cause), (100, 60_000, Cause::Faults));
    assert_eq!(many.running_ns, 100_000, "they are a part of it");
    assert_eq!(faults(1_000).faults_ns, 100_000, "and no more than it");
}

#[test]
fn a_gap_voids_what_the_time_line_would_show() {
    let report = lanes(&[
        state(0, 1_000, Did::Running { cpu: 0 }),
        state(1_000, 2_000, asleep(Waker::Timer)),
        interruption(850, 950, Interrupting::Timer),
        interruption(100, 200, Interrupting::Timer),
        Record::Gap(Gap { thread: None, start: 800, end: 1_500 }),
        // Nothing is known of this thread then, and nothing shown.
        Record::Gap(Gap { thread: None, start: 5_000, end: 6_000 }),
    ]);
    let told: Vec<_> =
        report.spans.iter().map(|one| (one.name.as_str(), one.from_ns, one.ns)).collect();
    let expected = [
        ("running", 0, 800),
        ("timer interrupt", 100, 100),
        ("unknown", 800, 700),
        ("asleep", 1_500, 500),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_thread_has_the_last_name_that_it_had_and_no_empty_one() {
    let mut lanes = Lanes::default();
    let named = |id: u32, name: &str| {
        let Record::Thread(thread) = sample::thread(id, name) else { panic!("it is a thread") };
        Record::Thread(tailwater_profile::record::Thread { tid: TID, ..thread })
    };
    let ran = |id, from| {
        let did = Did::Running { cpu: 0 };
        Record::State(ThreadState { thread: ThreadId(id), start: from, end: from + 10, did })
    };
    let by = Interrupting::Timer;
    let early = Interruption { thread: ThreadId(0), start: 1, end: 2, by };
    let records = [
        named(0, ""),
        Record::Interruption(early),
        named(1, "sh"),
        ran(1, 0),
        named(2, "server"),
        ran(2, 10),
        ran(0, 20),
    ];
    records.iter().for_each(|record| lanes.add(record));
    assert_eq!(lanes.finish().threads, [(TID, "server (100)".to_owned())]);
}

fn did() -> impl Strategy<Value = Did> {
    prop_oneof![
        Just(Did::Running { cpu: 0 }),
        Just(runnable(10, 0)),
        Just(asleep(Waker::Timer)),
        Just(Did::Stopped { woken: Waker::Timer }),
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
            told.stopped_ns,
            told.unknown_ns,
        ];
        prop_assert_eq!(parts.iter().sum::<u64>(), told.total_ns);
        prop_assert_eq!(told.total_ns, ns);
        let told_ns: u64 = told.interrupts.iter().map(|one| one.ns).sum();
        prop_assert!(told_ns <= told.interrupts_ns);
    }
}
