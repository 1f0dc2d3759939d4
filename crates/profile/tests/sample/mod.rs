//! Records to try things with.
#![allow(dead_code, reason = "each test uses some")]

use proptest::prelude::*;
use tailwater_profile::kernel::{
    After, Did, Interrupting, Interruption, Occupant, ThreadState, WaitedBehind, Waker,
};
use tailwater_profile::record::{
    Call, CallFlags, Clock, Counted, Counters, Counts, Figure, Function, FunctionId, Gap, Hold,
    Hop, HopKind, Looks, Loss, LossKind, Mark, MarkKind, Measured, Module, Record, Sample, Thread,
    ThreadId, Wait, WaitKind,
};
use tailwater_profile::trace::{Header, Writer};

pub(crate) fn header() -> Header {
    Header {
        architecture: "x86_64".into(),
        pid: 4711,
        program: "bin/fig1".into(),
        build_id: vec![0xab, 0xcd],
        clock: Clock { ticks: 1_000, raw_ns: 500, real_ns: 1_700_000_000_000_000_000 },
    }
}

/// Two readings at 2 ticks a nanosecond, so that durations come out halved.
pub(crate) fn second_clock() -> Record {
    let header = header().clock;
    Record::Clock(Clock {
        ticks: header.ticks + 2_000_000_000,
        raw_ns: header.raw_ns + 1_000_000_000,
        real_ns: header.real_ns + 1_000_000_000,
    })
}

pub(crate) fn function(id: u32, name: &str) -> Record {
    Record::Function(Function {
        id: FunctionId(id),
        address: 0x40_1000 + u64::from(id) * 64,
        name: name.into(),
        file: "fig1.cc".into(),
        line: 10 * id,
    })
}

pub(crate) fn thread(id: u32, name: &str) -> Record {
    Record::Thread(Thread { id: ThreadId(id), tid: 100 + id, name: name.into() })
}

/// Ticks when the calls of [`call_on`] begin.
const BEGAN: u64 = 10_000;

/// The same by the raw clock, in ns.
pub(crate) fn began_ns() -> u64 {
    let Clock { ticks, raw_ns, .. } = header().clock;
    raw_ns + (BEGAN - ticks) / 2
}

/// A call by thread 0. Times are in ns: the sample's clock has two ticks each. `path` has its function last.
pub(crate) fn call_on(generation: u64, path: &[u32], start: u64, end: u64) -> Call {
    let (function, around) = path.split_last().expect("a function");
    Call {
        thread: ThreadId(0),
        function: FunctionId(*function),
        parent: around.last().map(|id| FunctionId(*id)),
        depth: around.len() as u32,
        generation,
        start: BEGAN + start * 2,
        start_slack: 0,
        end: BEGAN + end * 2,
        end_slack: 0,
        flags: CallFlags::default(),
        site: 0,
    }
}

/// The `n`-th of a plausible stream: four threads, some twenty functions, 14 µs apart and more, as
/// a governed scanner would see them.
pub(crate) fn call(n: u64) -> Record {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let function = (mixed % 20) as u32;
    let thread = (n / 8 % 4) as u32;
    // Every other call ends as the one before did: both were gone at the same look.
    let end = 1_000_000 + n / 2 * 9_000 + (n / 2).wrapping_mul(2_654_435_761) % 4_000;
    let length = 30_000 + mixed % 200_000;
    Record::Call(Call {
        thread: ThreadId(thread),
        function: FunctionId(function),
        parent: function.checked_sub(1).map(FunctionId),
        depth: function,
        generation: n * 900 + mixed % 500,
        start: end - length,
        start_slack: 1_000 + (mixed % 700) as u32,
        end,
        end_slack: 1_000 + (n / 2 * 37 % 900) as u32,
        flags: CallFlags(0),
        site: 0,
    })
}

/// A trace of five blocks between header and index, and where each ends: bytes, and records so far.
pub(crate) fn small_trace() -> (Vec<u8>, Vec<(usize, usize)>) {
    let mut bytes = Vec::new();
    let mut ends = Vec::new();
    let mut writer = Writer::new(&mut bytes, &header()).expect("memory does not fail");
    let mut written = 0;
    ends.push((writer.written() as usize, 0));
    let groups: [Vec<Record>; 5] = [
        vec![function(1, "main"), function(2, "_ZN4work3runEv"), thread(0, "worker")],
        (0..5).map(call).collect(),
        vec![wait(), mark(MarkKind::Start, 50), mark(MarkKind::End, 90)],
        vec![
            Record::Gap(Gap { thread: None, start: 5, end: 9 }),
            Record::Loss(Loss { thread: Some(ThreadId(0)), kind: LossKind::Calls, count: 300 }),
        ],
        vec![module(), second_clock()],
    ];
    for group in groups {
        for record in &group {
            writer.write(record).expect("memory does not fail");
        }
        writer.flush().expect("memory does not fail");
        written += group.len();
        ends.push((writer.written() as usize, written));
    }
    writer.finish().expect("memory does not fail");
    drop(writer);
    (bytes, ends)
}

pub(crate) fn wait() -> Record {
    Record::Wait(Wait {
        thread: ThreadId(0),
        kind: WaitKind::Mutex,
        object: 0x7fff_0000_1000,
        start: 1_000_000,
        end: 1_030_000,
        released: 1_031_000,
        holder: Some(ThreadId(1)),
        function: Some(FunctionId(2)),
        holder_function: Some(FunctionId(1)),
        holder_site: 0,
        site: 0x40_2000,
    })
}

pub(crate) fn mark(kind: MarkKind, at: u64) -> Record {
    Record::Mark(Mark { thread: ThreadId(0), request: 42, kind, at })
}

pub(crate) fn hop(kind: HopKind, at: u64) -> Record {
    Record::Hop(Hop { thread: ThreadId(0), request: 42, kind, call: 4_242, at })
}

pub(crate) fn module() -> Record {
    Record::Module(Module {
        start: 0x40_0000,
        end: 0x50_0000,
        bias: 0,
        path: "bin/fig1".into(),
        build_id: vec![0xab, 0xcd],
    })
}

fn id() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..50, any::<u32>()]
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![1_000_000u64..9_000_000, any::<u64>()]
}

fn maybe_thread() -> impl Strategy<Value = Option<ThreadId>> {
    prop::option::of(id().prop_map(ThreadId))
}

fn maybe_function() -> impl Strategy<Value = Option<FunctionId>> {
    prop::option::of(id().prop_map(FunctionId))
}

/// Any record, mostly plausible ones.
pub(crate) fn any_record() -> impl Strategy<Value = Record> {
    prop_oneof![
        20 => any_call(),
        3 => any_wait(),
        3 => (id(), any::<u64>(), 0usize..6, time()).prop_map(|(thread, request, kind, at)| {
            use MarkKind::{Block, End, EndAll, Enqueue, Size, Start};
            let kind = [Start, Block, End, EndAll, Enqueue, Size][kind];
            Record::Mark(Mark { thread: ThreadId(thread), request: request % 5, kind, at })
        }),
        3 => (id(), any::<u64>(), 0usize..4, any::<u64>(), time()).prop_map(
            |(thread, request, kind, call, at)| {
                use HopKind::{Answered, Called, Dequeued, Sent};
                let kind = [Called, Sent, Answered, Dequeued][kind];
                Record::Hop(Hop { thread: ThreadId(thread), request, kind, call, at })
            }
        ),
        1 => (id(), 0usize..3, any::<u64>(), time(), time()).prop_map(
            |(thread, kind, object, start, end)| {
                let kind = [WaitKind::Mutex, WaitKind::Read, WaitKind::Write][kind];
                let (thread, function) = (ThreadId(thread), (object % 2 == 0).then_some(FunctionId(3)));
                Record::Hold(Hold { thread, kind, object, start, end, function, site: !object })
            }
        ),
        1 => (id(), any::<u64>(), 0usize..9, time(), time()).prop_map(
            |(thread, generation, first, start, end)| {
                let mask = [first, (first + 3) % 9].into_iter().fold(0, |mask, one| mask | 1 << one);
                let of = Counters::of_mask(mask).expect("two at most");
                let counts = Counts::new(of, |one| generation.rotate_left(one as u32));
                let (thread, function) = (ThreadId(thread), FunctionId(first as u32));
                Record::Counted(Counted { thread, function, generation, start, end, counts })
            }
        ),
        1 => (maybe_thread(), time(), time())
            .prop_map(|(thread, start, end)| Record::Gap(Gap { thread, start, end })),
        1 => (maybe_thread(), 0usize..8, any::<u64>()).prop_map(|(thread, kind, count)| {
            use LossKind::{Calls, Clocked, Events, Marks, Mixed, Overflow, Threads, Waits};
            let kind = [Calls, Waits, Marks, Overflow, Threads, Mixed, Events, Clocked][kind];
            Record::Loss(Loss { thread, kind, count })
        }),
        1 => (id(), any::<u32>(), any::<u64>(), any::<u64>()).prop_map(
            |(thread, within, count, ticks)| {
                Record::Looks(Looks { thread: ThreadId(thread), within, count, ticks })
            }
        ),
        3 => any_state(),
        3 => any_interruption(),
        3 => any_sample(),
        1 => (id(), "\\PC{0,40}").prop_map(|(id, name)| function(id % 1000, &name)),
        1 => (id(), "\\PC{0,16}").prop_map(|(id, name)| thread(id % 1000, &name)),
        1 => Just(module()),
        1 => (0..MEASURED.len(), any::<u64>()).prop_map(|(at, value)| {
            Record::Figure(Figure { what: MEASURED[at], value })
        }),
        1 => (time(), any::<u64>(), any::<u64>())
            .prop_map(|(ticks, raw_ns, real_ns)| Record::Clock(Clock { ticks, raw_ns, real_ns })),
    ]
}

/// All that is measured of a recording.
const MEASURED: [Measured; 11] = [
    Measured::Throttlings,
    Measured::FirstTouchNs,
    Measured::Requests,
    Measured::RequestsAboveNs,
    Measured::RequestsIncomplete,
    Measured::RequestsP50Ns,
    Measured::RequestsP99Ns,
    Measured::RequestsP999Ns,
    Measured::RequestsP9999Ns,
    Measured::SeenLateTicks,
    Measured::SampledEveryNs,
];

fn any_call() -> impl Strategy<Value = Record> {
    let flags = (0u8..16, any::<bool>())
        .prop_map(|(bits, is_clocked)| if is_clocked { bits | CallFlags::CLOCKED } else { bits });
    let who = (id(), id(), maybe_function(), id(), flags, any::<u16>());
    (who, any::<u64>(), (time(), any::<u32>()), (time(), any::<u32>())).prop_map(
        |((thread, function, parent, depth, flags, site), generation, start, end)| {
            Record::Call(Call {
                thread: ThreadId(thread),
                function: FunctionId(function),
                parent,
                depth,
                generation,
                start: start.0,
                start_slack: start.1,
                end: end.0,
                end_slack: end.1,
                flags: CallFlags(flags),
                site,
            })
        },
    )
}

fn any_state() -> impl Strategy<Value = Record> {
    let behind = prop::collection::vec((id(), any::<u64>()), 0..9);
    let numbers = (id(), any::<u32>(), any::<u64>(), any::<u64>());
    (0usize..8, 0usize..6, (time(), time()), numbers, behind).prop_map(
        |(kind, waker, (start, end), (thread, number, others, idle), behind)| {
            let wakers = [
                Waker::Unknown,
                Waker::Thread(ThreadId(number)),
                Waker::Timer,
                Waker::Softirq(number),
                Waker::Interrupt(None),
                Waker::Interrupt(Some(number)),
            ];
            let woken = wakers[waker];
            let occupants = behind.iter();
            let occupants = occupants
                .map(|(thread, time)| Occupant { thread: ThreadId(*thread), time: *time })
                .collect();
            let behind = WaitedBehind { occupants, others, idle };
            let did = match kind {
                0 => Did::Running { cpu: number },
                1 => Did::Runnable { cpu: number, after: After::Woken, behind },
                2 => Did::Runnable { cpu: number, after: After::Preempted, behind },
                3 => Did::Runnable { cpu: number, after: After::Made, behind },
                4 => Did::Asleep { is_uninterruptible: false, woken },
                5 => Did::Asleep { is_uninterruptible: true, woken },
                6 => Did::Stopped { woken },
                _ => Did::Unknown,
            };
            Record::State(ThreadState { thread: ThreadId(thread), start, end, did })
        },
    )
}

fn any_sample() -> impl Strategy<Value = Record> {
    (id(), time(), any::<u64>()).prop_map(|(thread, at, address)| {
        Record::Sample(Sample { thread: ThreadId(thread), at, address })
    })
}

fn any_interruption() -> impl Strategy<Value = Record> {
    (id(), 0usize..6, any::<u32>(), any::<u64>(), (time(), time())).prop_map(
        |(thread, kind, number, address, (start, end))| {
            let kinds = [
                Interrupting::Device(number),
                Interrupting::Softirq(number),
                Interrupting::Timer,
                Interrupting::Reschedule,
                Interrupting::Call,
                Interrupting::Fault(address),
            ];
            let by = kinds[kind];
            Record::Interruption(Interruption { thread: ThreadId(thread), start, end, by })
        },
    )
}

fn any_wait() -> impl Strategy<Value = Record> {
    let who = (id(), maybe_thread(), maybe_function(), maybe_function(), any::<u16>());
    (who, 0usize..5, any::<u64>(), (time(), time(), time()), any::<u64>()).prop_map(
        |((thread, holder, function, holder_function, holder_site), kind, object, times, site)| {
            use WaitKind::{Condition, Join, Mutex, Read, Write};
            Record::Wait(Wait {
                thread: ThreadId(thread),
                kind: [Mutex, Read, Write, Condition, Join][kind],
                object,
                start: times.0,
                end: times.1,
                released: times.2,
                holder,
                function,
                holder_function,
                holder_site,
                site,
            })
        },
    )
}
