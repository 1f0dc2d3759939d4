//! Statistics per function against naive ones, and over more records than fit in memory.

mod sample;

use std::collections::BTreeMap;
use std::io::{self, Read};
use tailwater_profile::blocks::{BLOCKS, Blocks, First};
use tailwater_profile::functions::{Functions, Report};
use tailwater_profile::quality::FileEnd;
use tailwater_profile::record::{
    Call, CallFlags, FunctionId, Gap, Looks, Loss, LossKind, Record, ThreadId,
};
use tailwater_profile::requests::Requests;
use tailwater_profile::trace::{Ending, Reader, Writer};

fn report(records: &[Record]) -> Report {
    let mut functions = Functions::new(&sample::header());
    functions.add(&sample::second_clock());
    records.iter().for_each(|record| functions.add(record));
    functions.finish(&Ending::Unfinished)
}

#[test]
fn quantiles_agree_with_sorting() {
    let records: Vec<Record> = (0..50_000).map(sample::call).collect();
    let mut naive: BTreeMap<FunctionId, Vec<u64>> = BTreeMap::new();
    for record in &records {
        let Record::Call(call) = record else { unreachable!("only calls") };
        naive.entry(call.function).or_default().push((call.end - call.start) / 2);
    }
    let report = report(&records);
    assert!(report.rate.measured);
    assert_eq!(report.functions.len(), naive.len());
    for (row, (id, mut lengths)) in report.functions.iter().zip(naive) {
        assert_eq!((row.id, row.calls.count), (id, lengths.len() as u64));
        lengths.sort_unstable();
        let calls = row.calls;
        for (q, found) in
            [(0.5, calls.p50), (0.99, calls.p99), (0.999, calls.p999), (1.0, calls.max)]
        {
            let truth = lengths[(q * lengths.len() as f64).ceil() as usize - 1];
            let high_ns = found.high_ns.expect("no call was cut");
            assert!(found.low_ns < truth && truth < high_ns, "{q}: {found:?} for {truth}");
            // Slacks of 1,000 to 1,700 and 1,000 to 1,900 ticks, and buckets of 1 % either side.
            assert!(high_ns - found.low_ns < 3_600 + truth / 40, "{found:?}");
        }
        let sum = lengths.iter().sum();
        assert!(calls.total.low_ns < sum && Some(sum) < calls.total.high_ns);
        assert_eq!(row.callers.len(), 1);
    }
}

#[test]
fn what_is_not_sure_counts_as_the_interval_it_is() {
    let call = |flags, length, end_slack| {
        let Record::Call(call) = sample::call(7) else { unreachable!("it is a call") };
        let (flags, end) = (CallFlags(flags), 20_000_000);
        let (start, start_slack) = (end - length, 0);
        let function = FunctionId(1);
        Record::Call(Call { function, start, start_slack, end, end_slack, flags, ..call })
    };
    let report = report(&[
        call(0, 2_000, 100),
        call(CallFlags::SALVAGED, 2_000, 100),
        call(CallFlags::GAP, 9_000_000, 1_000_000),
        call(CallFlags::UNFINISHED, 800_000, 0),
        call(CallFlags::STARTED_BEFORE | CallFlags::UNFINISHED, 12_000_000, 0),
        call(CallFlags::UNFINISHED, 60_000, 60_000),
        call(CallFlags::GAP, 4_000_000, u32::MAX),
        Record::Gap(Gap { thread: None, start: 0, end: 500_000 }),
        Record::Loss(Loss { thread: None, kind: LossKind::Calls, count: 70 }),
        Record::Loss(Loss { thread: Some(ThreadId(1)), kind: LossKind::Calls, count: 7 }),
    ]);
    let calls = report.functions[0].calls;
    assert_eq!((calls.count, calls.salvaged, calls.gap, calls.partial), (5, 1, 1, 2));
    assert_eq!((calls.p50.low_ns, calls.p50.high_ns.is_some()), (399_360, true));
    assert_eq!((calls.max.low_ns, calls.max.high_ns), (6_000_000, None));
    assert_eq!((calls.total.low_ns, calls.total.high_ns), (10_401_900, None));
    // One was first seen at the last look, the other ended in a gap longer than the format can tell.
    let longest = (4_000_000 + u64::from(u32::MAX)) / 2 + 1;
    assert_eq!((calls.left_out, calls.left_out_max_ns), (2, longest));
    assert_eq!((report.left_out, report.left_out_max_ns), (2, longest));
    assert_eq!(report.length_ns, (20_000_000 - 1_000) / 2);
    let quality = &report.quality;
    assert_eq!((quality.lost_calls, quality.gaps, quality.gap_ns), (77, 1, 250_000));
    assert_eq!(quality.ending, FileEnd::Unfinished);
}

/// A thousand calls of 1 to 1,000 ns, which no scanner tells apart, by the program's own clock.
#[test]
fn clocked_calls_have_quantiles_of_no_width_but_that_of_a_bucket() {
    let Record::Call(call) = sample::call(7) else { unreachable!("it is a call") };
    let flags = CallFlags(CallFlags::CLOCKED);
    let clocked = |ns: u64| {
        let (start, end) = (20_000_000 - ns * 2, 20_000_000);
        Record::Call(Call { start, end, start_slack: 0, end_slack: 0, flags, ..call })
    };
    let mut records: Vec<Record> = (1..=1_000).map(clocked).collect();
    records.push(Record::Loss(Loss {
        thread: Some(ThreadId(0)),
        kind: LossKind::Clocked,
        count: 3,
    }));
    let report = report(&records);
    let calls = report.functions[0].calls;
    assert_eq!((calls.count, calls.clocked, report.quality.lost_clocked), (1_000, 1_000, 3));
    assert_eq!(Some(calls.mean.low_ns), calls.mean.high_ns);
    for (found, truth) in [(calls.p50, 500), (calls.p99, 990), (calls.p999, 999)] {
        let high = found.high_ns.expect("no call was cut");
        assert!(found.low_ns <= truth && truth <= high, "{found:?} for {truth}");
        assert!(high - found.low_ns <= truth / 50, "{found:?} for {truth}");
    }
}

/// Four functions with 6,000 places each in one caller, and then more callers than are kept apart.
#[test]
fn places_have_a_bound_of_their_own_and_cost_no_function_its_calls() {
    let Record::Call(call) = sample::call(7) else { unreachable!("it is a call") };
    let from = |function: u32, parent, site| {
        let (function, parent) = (FunctionId(function), Some(FunctionId(parent)));
        Record::Call(Call { function, parent, site, ..call })
    };
    let placed = (0..4u32).flat_map(|one| (1..=6_000u16).map(move |site| from(one, 100, site)));
    let unknown = from(2, 100, 0);
    let late = from(9, 101, 77);
    let records: Vec<Record> = placed.clone().chain([unknown, late.clone(), late]).collect();
    let found = report(&records);
    let calls = |id: usize| found.functions[id].calls.count;
    assert_eq!([0, 1, 2, 3, 4].map(calls), [6_000, 6_000, 6_001, 6_000, 2]);
    assert_eq!(found.unplaced, 24_000 - 16_384 + 2, "of these the place alone is not told");
    assert_eq!(found.quality.beyond_bounds, 0);
    let told = |id: usize| found.functions[id].callers.len();
    assert_eq!([0, 1, 2, 3, 4].map(told), [6_000, 6_000, 4_384 + 1, 1, 1]);
    // Functions do have one.
    let records: Vec<Record> =
        placed.chain((0..16_390).map(|one| from(1_000 + one, 5, 0))).collect();
    let found = report(&records);
    assert_eq!(found.quality.beyond_bounds, 4 + 16_390 - 16_384);
}

#[test]
fn looks_of_all_threads_have_one_mean_and_one_tail() {
    let looks = |thread, within, count, ticks| {
        Record::Looks(Looks { thread: ThreadId(thread), within, count, ticks })
    };
    // Two ticks are a nanosecond.
    for (late, p999) in [(10, 32), (11, 512)] {
        let report = report(&[looks(0, 64, 9_990, 199_780), looks(1, 1024, late, 10_220)]);
        let quality = &report.quality;
        assert_eq!((quality.looks, quality.look_p999_ns), (9_990 + late, p999));
        let mean = 105_000.0 / quality.looks as f64;
        assert!((quality.look_ns - mean).abs() < 1e-9, "{}", quality.look_ns);
    }
}

#[test]
fn locks_stand_behind_the_functions_that_waited() {
    let Record::Call(call) = sample::call(7) else { unreachable!("it is a call") };
    let outer = Call { thread: ThreadId(0), start: 990_000, end: 1_100_000, ..call };
    let call = |function| Record::Call(Call { function: FunctionId(function), ..outer });
    let names = [sample::function(1, "snapshot"), sample::function(2, "handle")];
    let report = report(&[&names[..], &[call(2), sample::wait(), call(3)]].concat());
    let locks: Vec<_> = report
        .functions
        .iter()
        .map(|row| (row.name.as_str(), &row.locks[0], row.locks.len()))
        .collect();
    assert_eq!(locks.len(), 2);
    for ((name, lock, count), expected) in locks.into_iter().zip(["handle", "function#3"]) {
        assert_eq!((name, count), (expected, 1));
        assert_eq!((lock.kind, lock.waits, lock.total_ns), ("mutex", 1, 15_000));
        assert_eq!(lock.holder.as_deref(), Some("snapshot"));
    }
}

/// A trace that is written while it is read: no more than a block of it exists at a time.
struct Endless {
    writer: Writer<Vec<u8>>,
    ready: Vec<u8>,
    at: usize,
    next: u64,
    count: u64,
}

impl Endless {
    fn new(count: u64) -> Self {
        let writer = Writer::new(Vec::new(), &sample::header()).expect("memory does not fail");
        Self { writer, ready: Vec::new(), at: 0, next: 0, count }
    }

    fn refill(&mut self) -> io::Result<()> {
        while self.writer.get_ref().is_empty() && self.next < self.count {
            self.writer.write(&sample::call(self.next))?;
            if self.next.is_multiple_of(50) {
                let kind = [
                    tailwater_profile::record::MarkKind::Start,
                    tailwater_profile::record::MarkKind::End,
                ];
                let at = 1_000_000 + self.next * 4_500;
                self.writer.write(&sample::mark(kind[(self.next / 50 % 2) as usize], at))?;
                self.writer.write(&sample::wait())?;
            }
            self.next += 1;
        }
        if self.next == self.count {
            self.writer.finish()?;
        }
        self.ready.clear();
        self.at = 0;
        std::mem::swap(&mut self.ready, self.writer.get_mut());
        Ok(())
    }
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            self.refill()?;
        }
        let read = (&self.ready[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

#[test]
fn ten_million_records_pass_through_in_bounded_memory() {
    let count = 10_000_000;
    let before = resident_kib();
    let mut reader = Reader::new(Endless::new(count)).expect("it is a trace");
    let mut functions = Functions::new(reader.header());
    let mut requests = Requests::new(reader.header(), 10).with_every();
    for item in &mut reader {
        let record = item.expect("it is sound");
        functions.add(&record);
        requests.add(&record);
    }
    let grown = resident_kib().saturating_sub(before);
    // The records themselves would take 800 MB.
    assert!(grown < 64 * 1024, "grew by {grown} KiB");
    let ending = reader.ending();
    let Ending::Finished(index) = &ending else { panic!("found {ending:?}") };
    assert_eq!(index.records(), reader.records());
    let report = functions.finish(&ending);
    assert_eq!(report.functions.iter().map(|row| row.calls.count).sum::<u64>(), count);
    let details = requests.finish(&ending);
    assert_eq!(details.finish().slowest.len(), 10);
}

/// Memory that this process has, or zero where the system does not say.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn what_one_look_alone_has_seen_is_short_however_wide_its_bounds_are() {
    let call = |nth: u64, function: u32, slack: u32| {
        let (start, end) = (nth * 40_000, nth * 40_000 + 20_000);
        let one = sample::call_on(nth, &[function], start, end);
        Record::Call(Call { start_slack: slack, end_slack: slack, ..one })
    };
    // 20 µs are 40,000 ticks. Bounds of as much on either side leave nothing that is sure.
    let records: Vec<Record> = (0..200)
        .flat_map(|nth| [call(2 * nth, 1, 20_000), call(2 * nth + 1, 2, 19_000)])
        .chain([sample::function(1, "glimpsed"), sample::function(2, "watched")])
        .collect();
    let names = ["glimpsed", "watched"].map(str::to_owned).into();
    let first = First::of(&report(&records));
    let mut blocks = Blocks::new(&sample::header(), &first, 100, &names, BLOCKS);
    records.iter().for_each(|record| blocks.add(record));
    let found = blocks.finish();
    let told = |name: &str| (found[name].calls, found[name].short);
    assert_eq!((told("glimpsed"), told("watched")), ((200, 200), (200, 0)));
}

/// A server that has a thread for each connection has more of them in the end than are told apart at a time.
#[test]
fn threads_that_have_ended_make_room_for_others_in_sets_and_blocks() {
    let call = |nth: u64| {
        let one = sample::call_on(nth, &[1], nth * 2_000, nth * 2_000 + 1_000);
        Record::Call(Call { thread: ThreadId(nth as u32), ..one })
    };
    let mut records = vec![sample::function(1, "serve"), sample::second_clock()];
    records.extend((0..70_000).map(call));
    let mut functions = Functions::new(&sample::header()).together(|_| true);
    records.iter().for_each(|record| functions.add(record));
    let report = functions.finish(&Ending::Unfinished);
    let together = report.together.as_ref().expect("it was asked for");
    assert_eq!((together.calls, report.quality.beyond_bounds), (70_000, 0));
    let names = ["serve"].map(str::to_owned).into();
    let mut blocks = Blocks::new(&sample::header(), &First::of(&report), 100, &names, BLOCKS);
    records.iter().for_each(|record| blocks.add(record));
    assert_eq!(blocks.finish()["serve"].calls, 70_000);
}

/// Of 100 µs, `outer` is 40 in `inner`, which is 10 of these in `other`, and 20 in one that is of no set.
#[test]
fn a_set_itself_is_without_what_others_took_though_these_call_it_again() {
    let call = |nth, path: &[u32], start: u64, end: u64| {
        Record::Call(sample::call_on(nth, path, start * 1_000, end * 1_000))
    };
    let records = [
        sample::function(1, "outer"),
        sample::function(2, "inner"),
        sample::function(3, "other"),
        call(2, &[1, 2, 3], 20, 30),
        call(1, &[1, 2], 10, 50),
        call(3, &[1, 4], 70, 90),
        call(0, &[1], 0, 100),
    ];
    for (set, calls, nested, itself_us) in [
        (&["outer"][..], 1, 0, 40),
        (&["outer", "inner"], 1, 1, 70),
        // `inner` stands between them.
        (&["outer", "other"], 1, 1, 50),
        (&["outer", "inner", "other"], 1, 2, 80),
        (&["inner", "other"], 1, 1, 40),
    ] {
        let mut functions = Functions::new(&sample::header())
            .together(move |function| set.contains(&function.name.as_str()));
        functions.add(&sample::second_clock());
        records.iter().for_each(|record| functions.add(record));
        let found = functions.finish(&Ending::Unfinished).together.expect("it was asked for");
        assert_eq!((found.calls, found.nested), (calls, nested), "{set:?}");
        assert_eq!(found.itself.low_ns, itself_us * 1_000, "{set:?}");
        assert_eq!(found.itself.high_ns, Some(itself_us * 1_000), "{set:?}");
        assert_eq!(found.mean, found.total, "of one call");
    }
}

/// Of 100 µs, `outer` is 40 in `inner`, which is 10 of these in a function of no interest, and 20 in one that was cut.
#[test]
fn a_function_itself_is_without_all_calls_that_were_seen_within() {
    let of = |nth: u64| {
        let call = |later: u64, path: &[u32], start: u64, end: u64| {
            let at = nth * 200_000;
            sample::call_on(4 * nth + later, path, at + start * 1_000, at + end * 1_000)
        };
        let cut = Call { flags: CallFlags(CallFlags::UNFINISHED), ..call(3, &[1, 4], 70, 90) };
        [call(2, &[1, 2, 3], 20, 30), call(1, &[1, 2], 10, 50), cut, call(0, &[1], 0, 100)]
    };
    let calls = (0..100).flat_map(of).map(Record::Call);
    let names = [sample::function(1, "outer"), sample::function(2, "inner")];
    let records: Vec<Record> =
        names.into_iter().chain([sample::second_clock()]).chain(calls).collect();
    let first = First::of(&report(&records));
    let names = ["outer", "inner"].map(str::to_owned).into();
    let read = |parts: usize| {
        let mut blocks = Blocks::new(&sample::header(), &first, 100, &names, parts);
        records.iter().for_each(|record| blocks.add(record));
        blocks.finish()
    };
    let mut found = read(1);
    let near = |found: &[f64], us: f64| found.iter().all(|ns| (ns / us / 1e3 - 1.0).abs() < 0.01);
    for (name, whole, itself, within) in [("outer", 100.0, 40.0, 2.0), ("inner", 40.0, 30.0, 1.0)] {
        let one = found.remove(name).expect("it was to be read");
        assert_eq!(one.calls_within, [within]);
        assert_eq!((one.calls, one.short, &one.tail_calls[..]), (100, 0, &[100][..]));
        for (quantiles, us) in [(&one.whole, whole), (&one.itself, itself)] {
            assert_eq!((quantiles.p50_ns.len(), quantiles.p99_ns.len()), (1, 1));
            assert!(near(&quantiles.p50_ns, us) && near(&quantiles.p99_ns, us), "{one:?}");
        }
        // Five calls in each of twenty parts are too few; ten in each of ten are a median.
        assert!(read(BLOCKS)[name].whole.p50_ns.is_empty());
        let mut both = read(10)[name].clone();
        assert!(both.itself.p50_ns.len() == 10 && both.whole.p99_ns.is_empty(), "{both:?}");
        both.append(one);
        assert_eq!((both.calls, both.itself.p50_ns.len(), both.whole.p99_ns.len()), (200, 11, 1));
        assert_eq!(both.calls_within, [within; 11]);
        assert!(near(&both.itself.p50_ns, itself), "{both:?}");
    }
}

/// An end that looks tell to 1 µs may be 1 µs earlier or later: of `outer` both ends are such, and of `inner` one.
#[test]
fn how_sure_a_function_itself_is_hangs_on_its_own_ends_and_on_those_within() {
    let of = |nth: u64| {
        let call = |later: u64, path: &[u32], start: u64, end: u64| {
            let at = nth * 200_000;
            sample::call_on(2 * nth + later, path, at + start * 1_000, at + end * 1_000)
        };
        // Two ticks are a nanosecond.
        let inner = Call { end_slack: 2_000, ..call(1, &[1, 2], 10, 50) };
        let outer = Call { start_slack: 2_000, end_slack: 2_000, ..call(0, &[1], 0, 100) };
        [inner, outer]
    };
    let calls = (0..100).flat_map(of).map(Record::Call);
    let names = [sample::function(1, "outer"), sample::function(2, "inner")];
    let records: Vec<Record> =
        names.into_iter().chain([sample::second_clock()]).chain(calls).collect();
    let names = ["outer", "inner"].map(str::to_owned).into();
    let mut blocks = Blocks::new(&sample::header(), &First::of(&report(&records)), 100, &names, 1);
    records.iter().for_each(|record| blocks.add(record));
    let found = blocks.finish();
    for (name, unsure_us) in [("outer", 3.0), ("inner", 1.0)] {
        let one = &found[name];
        for unsure in [&one.above_least, &one.below_most] {
            for ns in [unsure.p50_ns[0], unsure.p99_ns[0]] {
                // Either bound is known to 1 % of itself.
                assert!((ns / 1e3 - unsure_us).abs() < 0.6, "{name}: {ns}");
            }
        }
    }
}
