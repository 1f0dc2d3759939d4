//! The slowest calls of a function, from records to the story of each.

use crate::sample;
use tailwater_profile::record::{
    Call, CallFlags, Counted, Counter, Counters, Counts, Function, FunctionId, Gap, Record,
    ThreadId, Ticks, Wait, WaitKind,
};
use tailwater_profile::slowest::{CallRow, Node, Report, Slowest};
use tailwater_profile::trace::Ending;

const US: Ticks = 2_000;

/// A call from `start` to `end`, in µs; `path` has its function last, those around it before.
fn call(thread: u32, generation: u64, path: &[u32], start: u64, end: u64) -> Call {
    let (function, around) = path.split_last().expect("a function");
    Call {
        thread: ThreadId(thread),
        function: FunctionId(*function),
        parent: around.last().map(|id| FunctionId(*id)),
        depth: around.len() as u32,
        generation,
        start: 10_000 + start * US,
        start_slack: 2,
        end: 10_000 + end * US,
        end_slack: 2,
        flags: CallFlags::default(),
        site: 0,
    }
}

fn wait(thread: u32, start: u64, end: u64) -> Record {
    let (start, end) = (10_000 + start * US, 10_000 + end * US);
    Record::Wait(Wait {
        thread: ThreadId(thread),
        kind: WaitKind::Mutex,
        object: 0x5000,
        start,
        end,
        released: end,
        holder: Some(ThreadId(9)),
        function: Some(FunctionId(4)),
        holder_function: Some(FunctionId(5)),
        holder_site: 0,
        site: 0,
    })
}

/// Runs both passes over the same records.
fn slowest(records: &[Record], wanted: usize, name: &'static str) -> Report {
    let is_asked = move |function: &Function| function.name == name;
    let mut first = Slowest::new(&sample::header(), wanted, is_asked);
    first.add(&sample::second_clock());
    records.iter().for_each(|record| first.add(record));
    let mut second = first.finish(&Ending::Unfinished);
    records.iter().for_each(|record| second.add(record));
    second.finish()
}

/// A damaged trace may name any number of functions; no more have names than 2²⁰.
#[test]
fn functions_are_chosen_in_bounded_memory() {
    let mut first = Slowest::new(&sample::header(), 1, |_: &Function| true);
    (0..(1 << 20) + 10).for_each(|id| first.add(&sample::function(id, "")));
    assert_eq!(first.finish(&Ending::Unfinished).finish().functions, 1 << 20);
}

/// `main` calls `handle` four times in one thread, once in another; what is within is what ended since it began.
fn handled() -> Vec<Record> {
    let names = ["main", "handle", "parse", "lock", "holder"];
    let names = names.iter().zip(1..).map(|(name, id)| sample::function(id, name));
    let calls = [
        // A quick one, with a parse of its own.
        call(0, 3, &[1, 2, 3], 11, 12),
        call(0, 2, &[1, 2], 10, 20),
        // A slow one: two parses, and a lock that another thread holds.
        call(0, 5, &[1, 2, 3], 31, 41),
        call(0, 6, &[1, 2, 3], 42, 52),
        call(0, 7, &[1, 2, 4], 60, 560),
        call(0, 4, &[1, 2], 30, 1_030),
        // Beside it: as long, and none of it.
        call(9, 2, &[5], 0, 600),
        call(1, 3, &[1, 2, 3], 40, 900),
        call(1, 2, &[1, 2], 35, 935),
        // Within the slow one by time, and after it by generation: the next.
        call(0, 9, &[1, 2, 3], 1_029, 1_050),
        call(0, 8, &[1, 2], 1_028, 1_060),
        call(0, 1, &[1], 0, 2_000),
    ];
    let mut records: Vec<Record> = names.collect();
    records.push(sample::thread(0, "worker"));
    records.extend(calls.into_iter().map(Record::Call));
    records.insert(9, wait(0, 61, 559));
    records.push(Record::Gap(Gap {
        thread: None,
        start: 10_000 + 700 * US,
        end: 10_000 + 710 * US,
    }));
    records
}

fn us(row: &CallRow) -> u64 {
    row.took.low_ns.div_ceil(1_000)
}

fn shape(node: &Node) -> String {
    let callees: Vec<String> = node.callees.iter().map(shape).collect();
    format!("{}×{}({})", node.function, node.calls, callees.join(" "))
}

#[test]
fn the_slowest_come_first_and_each_has_its_own_calls() {
    let report = slowest(&handled(), 3, "handle");
    assert_eq!((report.functions, report.count, report.left_out), (1, 4, 0));
    assert_eq!(report.slowest.iter().map(us).collect::<Vec<_>>(), [1_000, 900, 32]);
    let shapes: Vec<String> = report.slowest.iter().map(|row| shape(&row.tree)).collect();
    assert_eq!(
        shapes,
        ["handle×1(lock×1() parse×2())", "handle×1(parse×1())", "handle×1(parse×1())"]
    );
    assert_eq!(report.slowest[0].thread, "worker (100)");
}

#[test]
fn the_time_of_a_call_is_told_by_what_it_ran_and_waited_for() {
    let report = slowest(&handled(), 1, "handle");
    let row = &report.slowest[0];
    let parts = row.parts;
    assert_eq!((parts.waiting_ns, parts.unknown_ns, parts.running_ns), (498_000, 10_000, 492_000));
    let wait = &row.waits[0];
    assert_eq!((wait.kind, wait.ns, wait.function.as_deref()), ("mutex", 498_000, Some("lock")));
    let held = wait.holder.as_ref().expect("it is known");
    assert_eq!(held.function.as_deref(), Some("holder"));
    assert_eq!((held.doing[0].function.as_str(), held.doing[0].ns), ("holder", 498_000));
    // 1,000 less 500 in the lock and 20 in the parses, each known to within 4 ns and the call itself, too.
    let itself = row.tree.itself;
    assert!(
        itself.low_ns >= 479_980 && itself.high_ns.is_some_and(|high| high <= 480_020),
        "{itself:?}"
    );
    assert_eq!(row.start_ns, 30_000 + 4_500);
    assert!(!row.open);
}

#[test]
fn a_slow_call_has_what_was_counted_in_it_and_nothing_of_anothers() {
    let faults = Counters::of_mask(1 << Counter::Faults as u8).expect("one");
    let counted = |call: &Call, value| {
        let &Call { thread, function, generation, start, end, .. } = call;
        let counts = Counts::new(faults, |_| value);
        Record::Counted(Counted { thread, function, generation, start, end, counts })
    };
    let mut records = handled();
    let of = |record: &Record, generation, thread| matches!(record, Record::Call(call) if (call.generation, call.thread) == (generation, ThreadId(thread)));
    let slow = records.iter().position(|record| of(record, 4, 0)).expect("it is there");
    let Record::Call(call) = records[slow] else { panic!("a call") };
    records.insert(slow + 1, counted(&call, 7));
    // The next slow one counted nothing; what follows it is of a thread that has one of the same number.
    let other = records.iter().position(|record| of(record, 2, 1)).expect("it is there");
    let Record::Call(call) = records[other] else { panic!("a call") };
    records.insert(other + 1, counted(&Call { thread: ThreadId(7), ..call }, 8));
    let report = slowest(&records, 2, "handle");
    let told = report.slowest.iter().map(|row| row.counted.iter());
    let told: Vec<Vec<_>> =
        told.map(|all| all.map(|one| (one.counter, one.count)).collect()).collect();
    assert_eq!(told, [vec![("faults", 7)], vec![]]);
}

#[test]
fn a_call_that_was_cut_is_open_and_one_of_no_known_length_is_counted_only() {
    let mut records = handled();
    let cut = CallFlags(CallFlags::UNFINISHED);
    records.push(Record::Call(Call { flags: cut, ..call(2, 1, &[2], 0, 5_000) }));
    let unknown = Call { end_slack: u32::MAX, ..call(2, 2, &[2], 6_000, 6_001) };
    records.push(Record::Call(unknown));
    let report = slowest(&records, 1, "handle");
    assert_eq!((report.count, report.left_out), (5, 1));
    let row = &report.slowest[0];
    assert!(row.open && row.took.high_ns.is_none() && us(row) == 5_000, "{row:?}");
    assert!(slowest(&records, 1, "nowhere").slowest.is_empty());
}

#[test]
fn recursive_calls_are_told_each_by_itself() {
    let name = sample::function(2, "handle");
    let calls =
        [call(0, 3, &[2, 2, 2], 2, 50), call(0, 2, &[2, 2], 1, 80), call(0, 1, &[2], 0, 100)];
    let records: Vec<Record> =
        [name].into_iter().chain(calls.into_iter().map(Record::Call)).collect();
    let report = slowest(&records, 9, "handle");
    let shapes: Vec<String> = report.slowest.iter().map(|row| shape(&row.tree)).collect();
    assert_eq!(shapes, ["handle×1(handle×1(handle×1()))", "handle×1(handle×1())", "handle×1()"]);
}
