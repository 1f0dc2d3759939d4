//! Writer and reader, whole and damaged.

use crate::check;
use crate::sample;
use proptest::prelude::*;
use std::io::{self, Read, Write};
use tailwater_profile::record::{Looks, Record};
use tailwater_profile::trace::{BLOCK_BYTES, Ending, Reader, Trouble, Writer, slack};

fn written(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &sample::header()).expect("memory does not fail");
    records.iter().for_each(|record| writer.write(record).expect("memory does not fail"));
    writer.finish().expect("memory does not fail");
    drop(writer);
    bytes
}

/// As a trace gives it back.
fn stored(record: &Record) -> Record {
    match record {
        Record::Call(call) => {
            let mut call = *call;
            call.start_slack = slack::rounded(call.start_slack);
            call.end_slack = slack::rounded(call.end_slack);
            Record::Call(call)
        }
        Record::Looks(looks) => {
            Record::Looks(Looks { within: slack::rounded(looks.within), ..*looks })
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in prop::collection::vec(sample::any_record(), 0..300)) {
        let told = check::trace(&written(&records)).expect("it is a trace");
        prop_assert!(told.errors.is_empty(), "{:?}", told.errors);
        prop_assert!(matches!(told.ending, Ending::Finished(_)));
        let of = |names: bool, records: &[Record]| -> Vec<Record> {
            records.iter().filter(|one| check::is_name(one) == names).map(stored).collect()
        };
        prop_assert_eq!(of(true, &told.records), of(true, &records));
        prop_assert_eq!(of(false, &told.records), of(false, &records));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut after_header = written(&[]);
        after_header.extend(&bytes);
        check::trace(&bytes);
        check::trace(&after_header);
    }
}

#[test]
fn cut_anywhere_all_whole_blocks_come_back() {
    let (bytes, ends) = sample::small_trace();
    let whole = check::trace(&bytes).expect("it is a trace");
    let header_end = ends[0].0;
    for len in 0..bytes.len() {
        let Some(told) = check::trace(&bytes[..len]) else {
            assert!(len < header_end, "{len} bytes with a whole header are a trace");
            continue;
        };
        assert!(len >= header_end);
        let records = ends.iter().rev().find(|end| end.0 <= len).map_or(0, |end| end.1);
        assert_eq!(told.records, whole.records[..records], "cut to {len}");
        let at_edge = ends.iter().any(|end| end.0 == len);
        assert_eq!(told.errors.is_empty(), at_edge, "cut to {len}: {:?}", told.errors);
        assert_eq!(told.ending, if at_edge { Ending::Unfinished } else { Ending::Cut });
        if let [error] = &told.errors[..] {
            let found_needed =
                matches!(error.trouble, Trouble::Cut { found, needed } if found < needed);
            assert!(found_needed, "{error}");
        }
    }
}

/// Where the version begins.
const VERSION_AT: usize = 8;

#[test]
fn a_flipped_bit_costs_its_block_and_is_told() {
    let (bytes, ends) = sample::small_trace();
    let whole = check::trace(&bytes).expect("it is a trace");
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Some(told) = check::trace(&flipped) else {
            assert!(bit / 8 < ends[0].0, "bit {bit}");
            continue;
        };
        // The version of before: what both hold is read alike.
        if bit / 8 == VERSION_AT {
            assert_eq!(told.records, whole.records);
            continue;
        }
        assert!(!told.errors.is_empty(), "bit {bit} went unnoticed");
        let hit = ends.iter().position(|end| bit / 8 < end.0).unwrap_or(ends.len());
        let mut expected = whole.records.clone();
        if let Some(end) = ends.get(hit) {
            expected.drain(ends[hit - 1].1..end.1);
        }
        assert_eq!(told.records, expected, "bit {bit}");
    }
}

#[test]
fn a_missing_block_and_a_second_trace_behind_are_told() {
    let (bytes, ends) = sample::small_trace();
    let without = [&bytes[..ends[1].0], &bytes[ends[2].0..]].concat();
    let told = check::trace(&without).expect("it is a trace");
    assert_eq!(told.errors.len(), 1);
    assert_eq!(told.errors[0].trouble, Trouble::Missing { found: 3, needed: 2 });
    let twice = [&bytes[..], &bytes[..]].concat();
    let told = check::trace(&twice).expect("it is a trace");
    assert!(told.errors.iter().any(|error| error.trouble == Trouble::AfterEnd));
}

#[test]
fn garbage_between_blocks_is_passed_over_in_one() {
    let (bytes, ends) = sample::small_trace();
    // Longer than the reader's window, and full of markers that lead nowhere.
    let garbage = b"TWBKTWBK then nothing of the kind".repeat(40_000);
    let (head, tail) = bytes.split_at(ends[2].0);
    let told = check::trace(&[head, &garbage, tail].concat()).expect("it is a trace");
    assert_eq!(told.errors.len(), 1);
    assert_eq!(
        (told.errors[0].offset, told.errors[0].skipped),
        (ends[2].0 as u64, garbage.len() as u64)
    );
    assert_eq!(told.records, check::trace(&bytes).expect("it is a trace").records);
}

#[test]
fn another_file_or_version_is_refused_in_words() {
    let refusal = |bytes: &[u8]| Reader::new(bytes).err().expect("no trace").to_string();
    assert!(
        refusal(b"\x7fELF and so on, for more than a preamble")
            .contains("tailwater profile record")
    );
    assert!(refusal(b"").contains("at byte 0"));
    let (mut bytes, _) = sample::small_trace();
    bytes[8] = 11;
    assert!(refusal(&bytes).contains("found version 11 of the format, needed 1 to 10"));
    bytes[8] = 1;
    assert!(Reader::new(&bytes[..]).is_ok(), "an older trace is read");
}

/// Gives and takes a few bytes at a time, and fails once at a given write.
struct Fussy<'a>(&'a mut Vec<u8>, usize);

impl Write for Fussy<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1 = self.1.wrapping_sub(1);
        if self.1 == 0 {
            return Err(io::Error::other("disk full"));
        }
        let some = bytes.len().min(1000);
        self.0.extend_from_slice(&bytes[..some]);
        Ok(some)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let some = buffer.len().min(777);
        self.0.read(&mut buffer[..some])
    }
}

/// As much of a file as is written so far: who asks for more waits.
struct Growing<'a>(&'a [u8]);

impl Read for Growing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(!self.0.is_empty(), "asked for what is not written yet");
        self.0.read(buffer)
    }
}

/// A flight recorder is to hear of a slow call at once, however little the program has to tell.
#[test]
fn what_is_written_is_read_before_there_is_more() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &sample::header()).expect("memory does not fail");
    (0..100).for_each(|n| writer.write(&sample::call(n)).expect("memory does not fail"));
    writer.flush().expect("memory does not fail");
    drop(writer);
    let reader = Reader::new(Growing(&bytes)).expect("it is a trace");
    let read = reader.take(100).filter(Result::is_ok).count();
    assert_eq!(read, 100);
}

#[test]
fn a_failed_write_loses_a_block_and_readers_notice() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Fussy(&mut bytes, 100), &sample::header()).expect("not yet");
    let mut failed = 0;
    for n in 0..40_000 {
        failed += u32::from(writer.write(&sample::call(n)).is_err());
    }
    writer.finish().expect("it failed once only");
    drop(writer);
    assert_eq!(failed, 1);
    let told = check::trace(&bytes).expect("it is a trace");
    assert!(!told.errors.is_empty() && !told.records.is_empty());
    assert!(matches!(told.ending, Ending::Finished(_)));
    let slow = Reader::new(Slow(&bytes)).expect("it is a trace");
    assert_eq!(slow.filter_map(Result::ok).collect::<Vec<_>>(), told.records);
}

#[test]
fn a_writer_that_is_dropped_writes_what_it_has() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &sample::header()).expect("memory does not fail");
    writer.write(&sample::call(1)).expect("memory does not fail");
    drop(writer);
    let told = check::trace(&bytes).expect("it is a trace");
    assert_eq!((told.records.len(), told.ending), (1, Ending::Unfinished));
}

#[test]
fn a_call_takes_about_ten_bytes() {
    let records: Vec<Record> = (0..100_000).map(sample::call).collect();
    let bytes = written(&records);
    assert!(bytes.len() > BLOCK_BYTES);
    let each = bytes.len() as f64 / 1e5;
    assert!(each < 12.0, "{each} bytes a call");
}
