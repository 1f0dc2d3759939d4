//! Bytes to records. Twin of `encode.rs`.

use super::error::Trouble;
use super::header::decode_clock;
use super::kernel;
use super::shape::{FIRST_HOP, Memory, Shape, WITH_SITE, entry, event};
use super::slack;
use super::varint::Cursor;
use crate::record::{
    COUNTERS_MAX, Call, CallFlags, Counted, Counters, Counts, Figure, Function, FunctionId, Gap,
    Hold, Hop, HopKind, Looks, Loss, LossKind, Mark, MarkKind, Measured, Module, Record, Sample,
    Thread, ThreadId, Wait, WaitKind,
};

type Result<T> = std::result::Result<T, Trouble>;

/// Reads a record of an events block.
pub(super) fn event(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<Record> {
    let first = cursor.byte()?;
    if first & event::MASK == event::CALL && first < event::SAME_END * 2 {
        return call(cursor, memory, first).map(Record::Call);
    }
    match first {
        event::WAIT => wait(cursor, memory).map(Record::Wait),
        event::MARK => mark(cursor, memory),
        event::GAP => gap(cursor, memory).map(Record::Gap),
        event::LOSS => loss(cursor).map(Record::Loss),
        event::LOOKS => looks(cursor).map(Record::Looks),
        event::STATE => kernel::state(cursor, memory).map(Record::State),
        event::INTERRUPTION => kernel::interruption(cursor, memory).map(Record::Interruption),
        event::SAMPLE => sample(cursor, memory).map(Record::Sample),
        event::HOLD => hold(cursor, memory).map(Record::Hold),
        event::COUNTED => counted(cursor, memory).map(Record::Counted),
        other => Err(Trouble::Tag(other)),
    }
}

/// Reads a record of a tables block.
pub(super) fn entry(cursor: &mut Cursor<'_>) -> Result<Record> {
    match cursor.byte()? {
        entry::FUNCTION => function(cursor).map(Record::Function),
        entry::THREAD => thread(cursor).map(Record::Thread),
        entry::CLOCK => decode_clock(cursor).map(Record::Clock),
        entry::MODULE => module(cursor).map(Record::Module),
        entry::FIGURE => figure(cursor).map(Record::Figure),
        other => Err(Trouble::Tag(other)),
    }
}

fn call(cursor: &mut Cursor<'_>, memory: &mut Memory, first: u8) -> Result<Call> {
    let slot = cursor.byte()?;
    if first & event::NEW_SHAPE != 0 {
        *memory.shape(slot) = Some(shape(cursor)?);
    }
    let shape = memory.shape(slot).ok_or(Trouble::Slot(slot))?;
    let generation = memory.generation(shape.thread);
    *generation = cursor.delta(*generation)?;
    let generation = *generation;
    let (mut start, mut start_slack, mut end, mut end_slack) = memory.call;
    if first & event::SAME_END == 0 {
        end = cursor.delta(memory.last)?;
        end_slack = cursor.byte()?;
    }
    if first & event::SAME_START == 0 {
        start = end.wrapping_sub(cursor.number()?);
        start_slack = cursor.byte()?;
    }
    memory.call = (start, start_slack, end, end_slack);
    memory.last = end;
    let Shape { thread, function, parent, depth, flags, site } = shape;
    let start_slack = slack::decode(start_slack).ok_or(Trouble::Slack(start_slack))?;
    let end_slack = slack::decode(end_slack).ok_or(Trouble::Slack(end_slack))?;
    Ok(Call {
        thread,
        function,
        parent,
        depth,
        generation,
        start,
        start_slack,
        end,
        end_slack,
        flags,
        site,
    })
}

fn counted(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<Counted> {
    let thread = ThreadId(cursor.small()?);
    let function = FunctionId(cursor.small()?);
    let generation = memory.generation(thread);
    *generation = cursor.delta(*generation)?;
    let generation = *generation;
    let end = cursor.delta(memory.last)?;
    let start = end.wrapping_sub(cursor.number()?);
    memory.last = end;
    let mask = cursor.number()?;
    let known = u16::try_from(mask).ok().and_then(Counters::of_mask);
    let of = known.ok_or(Trouble::Kind(mask as u8))?;
    let mut values = [0; COUNTERS_MAX];
    for (value, _) in values.iter_mut().zip(of.iter()) {
        *value = cursor.number()?;
    }
    let mut values = values.into_iter();
    let counts = Counts::new(of, |_| values.next().unwrap_or(0));
    Ok(Counted { thread, function, generation, start, end, counts })
}

fn shape(cursor: &mut Cursor<'_>) -> Result<Shape> {
    let thread = ThreadId(cursor.small()?);
    let function = FunctionId(cursor.small()?);
    let parent = cursor.optional()?.map(FunctionId);
    let depth = cursor.small()?;
    let flags = cursor.byte()?;
    let site = site(cursor, flags)?;
    Ok(Shape { thread, function, parent, depth, flags: CallFlags(flags & !WITH_SITE), site })
}

/// The bytes that `flags` says follow; zero where none do.
fn site(cursor: &mut Cursor<'_>, flags: u8) -> Result<u16> {
    if flags & WITH_SITE == 0 {
        return Ok(0);
    }
    Ok(u16::from_le_bytes([cursor.byte()?, cursor.byte()?]))
}

fn wait(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<Wait> {
    let thread = ThreadId(cursor.small()?);
    let first = cursor.byte()?;
    let kind = wait_kind(first & !WITH_SITE)?;
    let object = cursor.delta(memory.object)?;
    let end = cursor.delta(memory.last)?;
    let start = end.wrapping_sub(cursor.number()?);
    let released = end.wrapping_add(cursor.number()?);
    let holder = cursor.optional()?.map(ThreadId);
    let function = cursor.optional()?.map(FunctionId);
    let holder_function = cursor.optional()?.map(FunctionId);
    let site = cursor.delta(memory.site)?;
    let holder_site = self::site(cursor, first)?;
    (memory.object, memory.last, memory.site) = (object, end, site);
    Ok(Wait {
        thread,
        kind,
        object,
        start,
        end,
        released,
        holder,
        function,
        holder_function,
        holder_site,
        site,
    })
}

fn hold(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<Hold> {
    let thread = ThreadId(cursor.small()?);
    let kind = wait_kind(cursor.byte()?)?;
    let object = cursor.delta(memory.object)?;
    let end = cursor.delta(memory.last)?;
    let start = end.wrapping_sub(cursor.number()?);
    let function = cursor.optional()?.map(FunctionId);
    let site = cursor.delta(memory.site)?;
    (memory.object, memory.last, memory.site) = (object, end, site);
    Ok(Hold { thread, kind, object, start, end, function, site })
}

fn wait_kind(byte: u8) -> Result<WaitKind> {
    Ok(match byte {
        0 => WaitKind::Mutex,
        1 => WaitKind::Read,
        2 => WaitKind::Write,
        3 => WaitKind::Condition,
        4 => WaitKind::Join,
        other => return Err(Trouble::Kind(other)),
    })
}

fn mark(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<Record> {
    let thread = ThreadId(cursor.small()?);
    let kind = cursor.byte()?;
    let kind = match kind {
        0 => MarkKind::Start,
        1 => MarkKind::Block,
        2 => MarkKind::End,
        3 => MarkKind::EndAll,
        4 => MarkKind::Enqueue,
        5 => MarkKind::Size,
        FIRST_HOP.. => return hop(cursor, memory, thread, kind).map(Record::Hop),
    };
    let request = cursor.delta(memory.request)?;
    let at = cursor.delta(memory.last)?;
    (memory.request, memory.last) = (request, at);
    Ok(Record::Mark(Mark { thread, request, kind, at }))
}

fn hop(cursor: &mut Cursor<'_>, memory: &mut Memory, thread: ThreadId, kind: u8) -> Result<Hop> {
    let kind = match kind - FIRST_HOP {
        0 => HopKind::Called,
        1 => HopKind::Sent,
        2 => HopKind::Answered,
        3 => HopKind::Dequeued,
        _ => return Err(Trouble::Kind(kind)),
    };
    let request = cursor.delta(memory.request)?;
    let call = cursor.delta(memory.named)?;
    let at = cursor.delta(memory.last)?;
    (memory.request, memory.named, memory.last) = (request, call, at);
    Ok(Hop { thread, request, kind, call, at })
}

fn sample(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<Sample> {
    let thread = ThreadId(cursor.small()?);
    let address = cursor.delta(memory.address)?;
    let at = cursor.delta(memory.last)?;
    (memory.address, memory.last) = (address, at);
    Ok(Sample { thread, at, address })
}

fn gap(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<Gap> {
    let thread = cursor.optional()?.map(ThreadId);
    let end = cursor.delta(memory.last)?;
    let start = end.wrapping_sub(cursor.number()?);
    memory.last = end;
    Ok(Gap { thread, start, end })
}

fn loss(cursor: &mut Cursor<'_>) -> Result<Loss> {
    let thread = cursor.optional()?.map(ThreadId);
    let kind = match cursor.byte()? {
        0 => LossKind::Calls,
        1 => LossKind::Waits,
        2 => LossKind::Marks,
        3 => LossKind::Overflow,
        4 => LossKind::Threads,
        5 => LossKind::Mixed,
        6 => LossKind::Children,
        7 => LossKind::Events,
        8 => LossKind::Clocked,
        other => return Err(Trouble::Kind(other)),
    };
    Ok(Loss { thread, kind, count: cursor.number()? })
}

fn looks(cursor: &mut Cursor<'_>) -> Result<Looks> {
    let thread = ThreadId(cursor.small()?);
    let code = cursor.byte()?;
    let within = slack::decode(code).ok_or(Trouble::Slack(code))?;
    Ok(Looks { thread, within, count: cursor.number()?, ticks: cursor.number()? })
}

fn function(cursor: &mut Cursor<'_>) -> Result<Function> {
    Ok(Function {
        id: FunctionId(cursor.small()?),
        address: cursor.number()?,
        name: cursor.text()?,
        file: cursor.text()?,
        line: cursor.small()?,
    })
}

fn thread(cursor: &mut Cursor<'_>) -> Result<Thread> {
    Ok(Thread { id: ThreadId(cursor.small()?), tid: cursor.small()?, name: cursor.text()? })
}

fn figure(cursor: &mut Cursor<'_>) -> Result<Figure> {
    let what = match cursor.byte()? {
        0 => Measured::Throttlings,
        1 => Measured::FirstTouchNs,
        2 => Measured::Requests,
        3 => Measured::RequestsAboveNs,
        4 => Measured::RequestsIncomplete,
        5 => Measured::RequestsP50Ns,
        6 => Measured::RequestsP99Ns,
        7 => Measured::RequestsP999Ns,
        8 => Measured::RequestsP9999Ns,
        9 => Measured::Unscanned,
        10 => Measured::OutsideKernel,
        11 => Measured::HoldTicks,
        12 => Measured::SeenLateTicks,
        13 => Measured::SampledEveryNs,
        other => return Err(Trouble::Kind(other)),
    };
    Ok(Figure { what, value: cursor.number()? })
}

fn module(cursor: &mut Cursor<'_>) -> Result<Module> {
    Ok(Module {
        start: cursor.number()?,
        end: cursor.number()?,
        bias: cursor.number()?,
        path: cursor.text()?,
        build_id: cursor.bytes()?.to_vec(),
    })
}
