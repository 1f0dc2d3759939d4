//! What must hold for any bytes whatever; shared by `fuzz/` and by the tests.

use tailwater_profile::blocks::{BLOCKS, Blocks, First};
use tailwater_profile::functions::Functions;
use tailwater_profile::history::History;
use tailwater_profile::record::Record;
use tailwater_profile::requests::Requests;
use tailwater_profile::slowest::Slowest;
use tailwater_profile::stacks::{Choice, Stacks, Tail};
use tailwater_profile::trace::{Ending, Reader, TraceError, Writer};

/// What a trace told.
pub(crate) struct Told {
    pub(crate) records: Vec<Record>,
    pub(crate) errors: Vec<TraceError>,
    pub(crate) ending: Ending,
}

/// Reads `bytes` as a trace, analyses what is in it, and panics when a promise is broken. `None`
/// where it does not even begin as a trace does.
pub(crate) fn trace(bytes: &[u8]) -> Option<Told> {
    let told = read(bytes)?;
    let mut before = 0;
    for error in &told.errors {
        assert!(error.to_string().contains(&error.offset.to_string()), "{error}");
        assert!(error.offset >= before && error.offset + error.skipped <= bytes.len() as u64);
        before = error.offset;
    }
    // Each record takes two bytes at least.
    assert!(told.records.len() <= bytes.len() / 2);
    writing_again_changes_nothing(bytes, &told.records);
    analyse(bytes);
    Some(told)
}

fn read(bytes: &[u8]) -> Option<Told> {
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    let (mut records, mut errors) = (Vec::new(), Vec::new());
    for item in &mut reader {
        match item {
            Ok(record) => records.push(record),
            Err(error) => errors.push(error),
        }
    }
    assert_eq!(reader.offset(), bytes.len() as u64, "it reads to the end");
    assert_eq!(reader.records(), records.len() as u64);
    Some(Told { records, errors, ending: reader.ending() })
}

/// Records that came from a trace go into another and come back; only names move ahead of events.
fn writing_again_changes_nothing(bytes: &[u8], records: &[Record]) {
    let header = Reader::new(bytes).expect("it was read before").header().clone();
    let mut again = Vec::new();
    let mut writer = Writer::new(&mut again, &header).expect("memory does not fail");
    for record in records {
        writer.write(record).expect("memory does not fail");
    }
    writer.finish().expect("memory does not fail");
    drop(writer);
    let told = read(&again).expect("our own bytes are a trace");
    assert!(told.errors.is_empty() && matches!(told.ending, Ending::Finished(_)));
    let split = |records: &[Record]| {
        let (names, events): (Vec<_>, Vec<_>) = records.iter().cloned().partition(is_name);
        (names, events)
    };
    assert_eq!(split(&told.records), split(records));
}

pub(crate) fn is_name(record: &Record) -> bool {
    matches!(
        record,
        Record::Function(_)
            | Record::Thread(_)
            | Record::Clock(_)
            | Record::Module(_)
            | Record::Figure(_)
    )
}

/// The analyses come to an end and keep their sums.
fn analyse(bytes: &[u8]) {
    let mut reader = Reader::new(bytes).expect("it was read before");
    let mut functions = Functions::new(reader.header());
    let mut requests = Requests::new(reader.header(), 10).with_every();
    for item in &mut reader {
        match item {
            Ok(record) => {
                functions.add(&record);
                requests.add(&record);
            }
            Err(error) => {
                functions.damaged(&error);
                requests.damaged(&error);
            }
        }
    }
    let report = functions.finish(&reader.ending());
    for row in &report.functions {
        let calls = &row.calls;
        let ascending = [calls.p50, calls.p99, calls.p999, calls.p9999, calls.max];
        for bounds in ascending.iter().chain([&calls.total]) {
            assert!(bounds.high_ns.is_none_or(|high_ns| bounds.low_ns <= high_ns), "{bounds:?}");
        }
        assert!(ascending.is_sorted_by_key(|bounds| bounds.low_ns), "{calls:?}");
        assert_eq!(calls.count, row.callers.iter().map(|caller| caller.calls.count).sum::<u64>());
    }
    let mut details = requests.finish(&reader.ending());
    Reader::new(bytes)
        .expect("it was read before")
        .flatten()
        .for_each(|record| details.add(&record));
    blocks_and_paths(bytes, &report, &reader.ending());
    for row in &details.finish().slowest {
        let parts = row.parts;
        let sum = parts.running_ns
            + parts.waiting_ns
            + parts.queued_ns
            + parts.pending_ns
            + parts.unknown_ns;
        assert_eq!(sum, row.total_ns, "request {}", row.request);
    }
}

/// Those that follow calls within others, and blocks of time.
fn blocks_and_paths(bytes: &[u8], report: &tailwater_profile::functions::Report, ending: &Ending) {
    let reader = || Reader::new(bytes).expect("it was read before");
    let header = reader().header().clone();
    let mut slowest = Slowest::new(&header, 10, |_| true);
    let (mut tail, mut history) = (Tail::new(Some(0.5), |_| true), History::new(&header));
    let names = report.functions.iter().map(|row| row.name.clone()).collect();
    let mut blocks = Blocks::new(&header, &First::of(report), 100, &names, BLOCKS);
    let mut all = Stacks::new(&header, Choice::All);
    for record in reader().flatten() {
        slowest.add(&record);
        tail.add(&record);
        history.add(&record);
        blocks.add(&record);
        all.add(&record);
    }
    let mut within = slowest.finish(ending);
    let mut chosen = Stacks::new(&header, tail.finish());
    for record in reader().flatten() {
        within.add(&record);
        chosen.add(&record);
    }
    let rows = within.finish().slowest;
    assert!(rows.iter().is_sorted_by_key(|row| std::cmp::Reverse(row.took.low_ns)));
    for row in &rows {
        assert!(row.took.high_ns.is_none_or(|high_ns| row.took.low_ns <= high_ns), "{row:?}");
    }
    for stacks in [all.finish(ending), chosen.finish(ending)] {
        let known = stacks.frames.len() as u32;
        assert!(stacks.stacks.iter().flat_map(|one| &one.frames).all(|at| *at < known));
    }
    let history = history.finish(ending);
    assert!(history.calls.is_sorted_by_key(|one| (one.thread, one.start_ns)));
    for one in blocks.finish().values() {
        assert!(one.short <= one.calls, "{one:?}");
        for (itself, whole) in
            [(&one.itself.p50_ns, &one.whole.p50_ns), (&one.itself.p99_ns, &one.whole.p99_ns)]
        {
            assert_eq!(itself.len(), whole.len());
            assert!(itself.iter().zip(whole).all(|(itself, whole)| itself <= whole), "{one:?}");
        }
        assert!(one.whole.p99_ns.len() <= one.whole.p50_ns.len(), "{one:?}");
    }
}
