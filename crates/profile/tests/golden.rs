//! The example in `docs/trace.md`, byte for byte.

use crate::check;
use crate::sample;
use tailwater_profile::kernel::{
    After, Did, Interrupting, Interruption, Occupant, ThreadState, WaitedBehind, Waker,
};
use tailwater_profile::record::{
    Call, CallFlags, FunctionId, Gap, HopKind, Looks, Loss, LossKind, MarkKind, Record, Sample,
    ThreadId,
};
use tailwater_profile::trace::{Ending, Writer};

/// The records of the example.
fn records() -> Vec<Record> {
    let call = |function: u32, generation, start, start_slack| {
        Record::Call(Call {
            thread: ThreadId(0),
            function: FunctionId(function),
            parent: function.checked_sub(1).map(FunctionId),
            depth: function,
            generation,
            start,
            start_slack,
            end: 1_045_000,
            end_slack: 9,
            flags: CallFlags::default(),
            site: 0,
        })
    };
    vec![
        sample::function(1, "main"),
        sample::thread(0, "w"),
        sample::module(),
        call(1, 500, 1_003_000, 100),
        call(0, 499, 1_003_000, 100),
        call(1, 900, 1_003_500, 8),
        sample::wait(),
        sample::mark(MarkKind::Start, 1_045_010),
        sample::hop(HopKind::Sent, 1_045_020),
        Record::Gap(Gap { thread: None, start: 1_046_000, end: 1_047_000 }),
        Record::Loss(Loss { thread: Some(ThreadId(0)), kind: LossKind::Calls, count: 300 }),
        Record::Looks(Looks { thread: ThreadId(0), within: 104, count: 1000, ticks: 15_900 }),
        state(1_047_000, 1_048_000, Did::Running { cpu: 1 }),
        state(
            1_048_000,
            1_058_000,
            Did::Runnable { cpu: 1, after: After::Preempted, behind: behind() },
        ),
        state(
            1_058_000,
            1_078_000,
            Did::Asleep { is_uninterruptible: false, woken: Waker::Thread(ThreadId(1)) },
        ),
        Record::Interruption(Interruption {
            thread: ThreadId(0),
            start: 1_047_100,
            end: 1_047_300,
            by: Interrupting::Softirq(3),
        }),
        Record::Sample(Sample { thread: ThreadId(0), at: 1_047_350, address: 0x40_1050 }),
    ]
}

fn state(start: u64, end: u64, did: Did) -> Record {
    Record::State(ThreadState { thread: ThreadId(0), start, end, did })
}

fn behind() -> WaitedBehind {
    let occupants = vec![Occupant { thread: ThreadId(1), time: 9_000 }];
    WaitedBehind { occupants, others: 900, idle: 100 }
}

fn written() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &sample::header()).expect("memory does not fail");
    records().iter().for_each(|record| writer.write(record).expect("memory does not fail"));
    writer.finish().expect("memory does not fail");
    drop(writer);
    bytes
}

/// The bytes of the document: in its blocks of `hex`, what stands before a semicolon.
fn documented() -> Vec<u8> {
    let text = include_str!("../../../docs/trace.md");
    let blocks = text.split("```hex\n").skip(1).filter_map(|rest| rest.split("```").next());
    let digits: String = blocks
        .flat_map(str::lines)
        .filter_map(|line| line.split(';').next())
        .flat_map(|line| line.chars().filter(|c| !c.is_whitespace()))
        .collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("pairs of hex digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[test]
fn the_document_and_the_writer_agree() {
    assert_eq!(documented(), written());
}

#[test]
fn the_documents_bytes_are_read_as_it_says() {
    let told = check::trace(&documented()).expect("it is a trace");
    assert!(told.errors.is_empty());
    let Ending::Finished(index) = &told.ending else { panic!("found {:?}", told.ending) };
    assert_eq!((index.runs.len(), index.records()), (2, 17));
    // 100 is no storable slack; the next above is 104.
    let expected: Vec<Record> = records()
        .into_iter()
        .map(|record| match record {
            Record::Call(call) if call.start_slack == 100 => {
                Record::Call(Call { start_slack: 104, ..call })
            }
            other => other,
        })
        .collect();
    assert_eq!(told.records, expected);
}
