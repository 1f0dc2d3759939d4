//! Time by category and of a set of functions, while threads ran and in all.

use crate::sample;
use tailwater_profile::breakdown::{Breakdown, Category, CategoryRules, Pattern, Portion, Rule};
use tailwater_profile::clock::Clocks;
use tailwater_profile::kernel::{Did, RunningTimes, ThreadState, Waker};
use tailwater_profile::record::{Clock, Gap, Record, ThreadId};
use tailwater_profile::stacks::{Choice, Report, Stacks};
use tailwater_profile::trace::Ending;

fn call(generation: u64, path: &[u32], start: u64, end: u64) -> Record {
    Record::Call(sample::call_on(generation, path, start, end))
}

/// A loop that handles a request: it parses, and compresses by a function that calls another of its kind. 10 ms.
fn records() -> Vec<Record> {
    let names = ["main", "handle", "parse", "ZSTD_compress", "ZSTD_block", "helper"];
    let mut records: Vec<Record> =
        names.iter().zip(1..).map(|(name, id)| sample::function(id, name)).collect();
    records.push(sample::thread(0, "w"));
    records.extend([
        call(3, &[1, 2, 3], 1_000_000, 2_000_000),
        call(6, &[1, 2, 4, 5, 6], 3_500_000, 4_500_000),
        call(5, &[1, 2, 4, 5], 3_000_000, 5_000_000),
        call(4, &[1, 2, 4], 2_000_000, 6_000_000),
        call(7, &[1, 2, 4], 6_000_000, 7_000_000),
        call(2, &[1, 2], 1_000_000, 8_000_000),
        call(1, &[1], 0, 10_000_000),
    ]);
    records
}

fn report(stacks: Stacks) -> Report {
    let mut stacks = stacks;
    stacks.add(&sample::second_clock());
    records().iter().for_each(|record| stacks.add(record));
    stacks.finish(&Ending::Unfinished)
}

fn all() -> Stacks {
    Stacks::new(&sample::header(), Choice::All)
}

fn patterns(globs: &[&str]) -> Vec<Pattern> {
    globs.iter().map(|glob| Pattern::new(glob)).collect()
}

fn rules() -> CategoryRules {
    let rule = |category: &str, globs: &[&str]| Rule {
        category: category.into(),
        patterns: patterns(globs),
    };
    CategoryRules::new(vec![
        rule("compression", &["ZSTD_*"]),
        rule("serialization", &["parse"]),
        rule("anything of ZSTD_block again", &["ZSTD_block"]),
    ])
}

fn category(name: &str, ns: u64) -> Category {
    Category { name: name.into(), ns }
}

#[test]
fn a_set_counts_once_what_its_functions_call_of_one_another() {
    let found = Portion::of(&report(all()), &patterns(&["ZSTD_*"]));
    assert_eq!((found.ns, found.calls), (5_000_000, 2));
    assert_eq!(found.functions, ["ZSTD_compress", "ZSTD_block"]);
    let none = Portion::of(&report(all()), &patterns(&["LZ4_*"]));
    assert_eq!((none.ns, none.calls, none.functions.len()), (0, 0, 0));
    let by_file = Portion::of(&report(all()), &patterns(&["file:*/nowhere.c"]));
    assert_eq!(by_file.ns, 0);
}

/// Two frames that one look found share its window, so a thin wrapper has no time of its own.
#[test]
fn a_wrapper_that_takes_no_time_itself_has_its_calls() {
    let names = ["main", "ZSTD_wrapper", "ZSTD_block"].iter().zip(1..);
    let mut stacks = all();
    stacks.add(&sample::second_clock());
    names.for_each(|(name, id)| stacks.add(&sample::function(id, name)));
    for nth in 0..7 {
        let (start, end) = (nth * 1_000_000, nth * 1_000_000 + 500_000);
        stacks.add(&call(nth * 2 + 3, &[1, 2, 3], start, end));
        stacks.add(&call(nth * 2 + 2, &[1, 2], start, end));
    }
    stacks.add(&call(1, &[1], 0, 10_000_000));
    let report = stacks.finish(&Ending::Unfinished);
    let found = Portion::of(&report, &patterns(&["ZSTD_*"]));
    assert_eq!((found.ns, found.calls), (3_500_000, 7));
    assert_eq!(found.functions, ["ZSTD_wrapper", "ZSTD_block"]);
    let by_itself = Breakdown::of(&report, &CategoryRules::new(vec![]));
    assert_eq!(by_itself.unknown.len(), 2, "the wrapper has no time: {:?}", by_itself.unknown);
}

#[test]
fn a_function_without_a_rule_belongs_to_what_called_it_and_the_first_rule_decides() {
    let found = Breakdown::of(&report(all()), &rules());
    let known = [category("compression", 5_000_000), category("serialization", 1_000_000)];
    assert_eq!(found.categories, known);
    // The helper of the compression.
    assert_eq!(found.inherited_ns, 1_000_000);
    // main has 3 ms of its own, and handle 1.
    assert_eq!(found.unknown_ns, 4_000_000);
    assert_eq!(found.unknown, [category("main", 3_000_000), category("handle", 1_000_000)]);
}

/// The kernel's facts of the thread: it slept from 2.5 to 4 ms, and of 8 to 9 ms nothing is known.
fn kernel() -> RunningTimes {
    let began = sample::began_ns();
    let state = |from: u64, to: u64, did| {
        let (start, end) = (began + from, began + to);
        Record::State(ThreadState { thread: ThreadId(0), start, end, did })
    };
    let mut times = RunningTimes::default();
    times.add(&sample::thread(0, "w"));
    for (from, to) in [(0, 2_500_000), (4_000_000, 10_000_000)] {
        times.add(&state(from, to, Did::Running { cpu: 0 }));
    }
    let asleep = Did::Asleep { is_uninterruptible: false, woken: Waker::Timer };
    times.add(&state(2_500_000, 4_000_000, asleep));
    let (start, end) = (began + 8_000_000, began + 9_000_000);
    times.add(&Record::Gap(Gap { thread: None, start, end }));
    times
}

#[test]
fn time_without_a_core_counts_for_nobody() {
    let header = sample::header();
    let mut clocks = Clocks::new(header.clock);
    let Record::Clock(second) = sample::second_clock() else { panic!("a clock") };
    let second: Clock = second;
    clocks.add(&second);
    let running = kernel().finish();
    let tid = 100;
    let at = |ns| running.until(tid, sample::began_ns() + ns);
    assert_eq!([at(0), at(2_600_000), at(5_000_000)], [0, 2_500_000, 3_500_000]);
    assert_eq!([at(8_500_000), at(20_000_000)], [6_500_000, 7_500_000]);
    assert_eq!(running.until(7, u64::MAX), 0, "a thread that the kernel does not know");
    let report = report(all().while_running(running, clocks));
    let found = Portion::of(&report, &patterns(&["ZSTD_*"]));
    assert_eq!((found.ns, found.calls), (3_500_000, 2));
    assert_eq!(report.total_ns, 7_500_000);
}
