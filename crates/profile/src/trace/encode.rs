//! Records to bytes. Twin of `decode.rs`.

use super::header::encode_clock;
use super::kernel::{put_interruption, put_state};
use super::shape::{FIRST_HOP, Memory, Shape, WITH_SITE, entry, event};
use super::slack;
use super::varint::{put, put_bytes, put_delta, put_optional, put_text};
use crate::record::{
    Call, Counted, Function, Gap, Hold, Hop, Looks, Loss, Mark, Module, Record, Sample, Thread,
    Wait,
};

/// Appends a record of an events block.
pub(super) fn event(out: &mut Vec<u8>, memory: &mut Memory, record: &Record) {
    match record {
        Record::Call(call) => self::call(out, memory, call),
        Record::Wait(wait) => self::wait(out, memory, wait),
        Record::Mark(mark) => self::mark(out, memory, mark),
        Record::Hop(hop) => self::hop(out, memory, hop),
        Record::Gap(gap) => self::gap(out, memory, gap),
        Record::Loss(loss) => self::loss(out, loss),
        Record::Looks(looks) => self::looks(out, looks),
        Record::State(state) => put_state(out, memory, state),
        Record::Interruption(one) => put_interruption(out, memory, one),
        Record::Sample(sample) => self::sample(out, memory, sample),
        Record::Hold(hold) => self::hold(out, memory, hold),
        Record::Counted(counted) => self::counted(out, memory, counted),
        Record::Function(_)
        | Record::Thread(_)
        | Record::Clock(_)
        | Record::Module(_)
        | Record::Figure(_) => {
            unreachable!("the writer puts it into a tables block")
        }
    }
}

/// Appends a record of a tables block. False: it is one of an events block.
pub(super) fn entry(out: &mut Vec<u8>, record: &Record) -> bool {
    match record {
        Record::Function(function) => self::function(out, function),
        Record::Thread(thread) => self::thread(out, thread),
        Record::Module(module) => self::module(out, module),
        Record::Figure(figure) => {
            out.extend([entry::FIGURE, figure.what as u8]);
            put(out, figure.value);
        }
        Record::Clock(clock) => {
            out.push(entry::CLOCK);
            encode_clock(out, clock);
        }
        _ => return false,
    }
    true
}

fn call(out: &mut Vec<u8>, memory: &mut Memory, call: &Call) {
    let shape = Shape::of(call);
    let slot = shape.slot();
    let (start_slack, end_slack) = (slack::encode(call.start_slack), slack::encode(call.end_slack));
    let known = *memory.shape(slot) == Some(shape);
    let same_start = (memory.call.0, memory.call.1) == (call.start, start_slack);
    let same_end = (memory.call.2, memory.call.3) == (call.end, end_slack);
    let bit = |bit: u8, set: bool| if set { bit } else { 0 };
    out.push(
        event::CALL
            | bit(event::NEW_SHAPE, !known)
            | bit(event::SAME_START, same_start)
            | bit(event::SAME_END, same_end),
    );
    out.push(slot);
    if !known {
        self::shape(out, &shape);
        *memory.shape(slot) = Some(shape);
    }
    let generation = memory.generation(call.thread);
    put_delta(out, call.generation, *generation);
    *generation = call.generation;
    if !same_end {
        put_delta(out, call.end, memory.last);
        out.push(end_slack);
    }
    if !same_start {
        put(out, call.end.wrapping_sub(call.start));
        out.push(start_slack);
    }
    memory.call = (call.start, start_slack, call.end, end_slack);
    memory.last = call.end;
}

fn counted(out: &mut Vec<u8>, memory: &mut Memory, counted: &Counted) {
    out.push(event::COUNTED);
    put(out, u64::from(counted.thread.0));
    put(out, u64::from(counted.function.0));
    let generation = memory.generation(counted.thread);
    put_delta(out, counted.generation, *generation);
    *generation = counted.generation;
    put_delta(out, counted.end, memory.last);
    put(out, counted.end.wrapping_sub(counted.start));
    memory.last = counted.end;
    put(out, counted.counts.counters().mask().into());
    counted.counts.iter().for_each(|(_, count)| put(out, count));
}

fn shape(out: &mut Vec<u8>, shape: &Shape) {
    put(out, u64::from(shape.thread.0));
    put(out, u64::from(shape.function.0));
    put_optional(out, shape.parent.map(|id| id.0));
    put(out, u64::from(shape.depth));
    out.push(shape.flags.0 | with(shape.site));
    site(out, shape.site);
}

const fn with(site: u16) -> u8 {
    if site == 0 { 0 } else { WITH_SITE }
}

fn site(out: &mut Vec<u8>, site: u16) {
    if site != 0 {
        out.extend(site.to_le_bytes());
    }
}

fn wait(out: &mut Vec<u8>, memory: &mut Memory, wait: &Wait) {
    out.push(event::WAIT);
    put(out, u64::from(wait.thread.0));
    out.push(wait.kind as u8 | with(wait.holder_site));
    put_delta(out, wait.object, memory.object);
    put_delta(out, wait.end, memory.last);
    put(out, wait.end.wrapping_sub(wait.start));
    put(out, wait.released.wrapping_sub(wait.end));
    put_optional(out, wait.holder.map(|id| id.0));
    put_optional(out, wait.function.map(|id| id.0));
    put_optional(out, wait.holder_function.map(|id| id.0));
    put_delta(out, wait.site, memory.site);
    site(out, wait.holder_site);
    (memory.object, memory.last, memory.site) = (wait.object, wait.end, wait.site);
}

fn hold(out: &mut Vec<u8>, memory: &mut Memory, hold: &Hold) {
    out.push(event::HOLD);
    put(out, u64::from(hold.thread.0));
    out.push(hold.kind as u8);
    put_delta(out, hold.object, memory.object);
    put_delta(out, hold.end, memory.last);
    put(out, hold.end.wrapping_sub(hold.start));
    put_optional(out, hold.function.map(|id| id.0));
    put_delta(out, hold.site, memory.site);
    (memory.object, memory.last, memory.site) = (hold.object, hold.end, hold.site);
}

fn mark(out: &mut Vec<u8>, memory: &mut Memory, mark: &Mark) {
    out.push(event::MARK);
    put(out, u64::from(mark.thread.0));
    out.push(mark.kind as u8);
    put_delta(out, mark.request, memory.request);
    put_delta(out, mark.at, memory.last);
    (memory.request, memory.last) = (mark.request, mark.at);
}

/// A mark of a kind that tells of a call as well.
fn hop(out: &mut Vec<u8>, memory: &mut Memory, hop: &Hop) {
    out.push(event::MARK);
    put(out, u64::from(hop.thread.0));
    out.push(FIRST_HOP + hop.kind as u8);
    put_delta(out, hop.request, memory.request);
    put_delta(out, hop.call, memory.named);
    put_delta(out, hop.at, memory.last);
    (memory.request, memory.named, memory.last) = (hop.request, hop.call, hop.at);
}

fn sample(out: &mut Vec<u8>, memory: &mut Memory, sample: &Sample) {
    out.push(event::SAMPLE);
    put(out, u64::from(sample.thread.0));
    put_delta(out, sample.address, memory.address);
    put_delta(out, sample.at, memory.last);
    (memory.address, memory.last) = (sample.address, sample.at);
}

fn gap(out: &mut Vec<u8>, memory: &mut Memory, gap: &Gap) {
    out.push(event::GAP);
    put_optional(out, gap.thread.map(|id| id.0));
    put_delta(out, gap.end, memory.last);
    put(out, gap.end.wrapping_sub(gap.start));
    memory.last = gap.end;
}

fn loss(out: &mut Vec<u8>, loss: &Loss) {
    out.push(event::LOSS);
    put_optional(out, loss.thread.map(|id| id.0));
    out.push(loss.kind as u8);
    put(out, loss.count);
}

fn looks(out: &mut Vec<u8>, looks: &Looks) {
    out.push(event::LOOKS);
    put(out, u64::from(looks.thread.0));
    out.push(slack::encode(looks.within));
    put(out, looks.count);
    put(out, looks.ticks);
}

fn function(out: &mut Vec<u8>, function: &Function) {
    out.push(entry::FUNCTION);
    put(out, u64::from(function.id.0));
    put(out, function.address);
    put_text(out, &function.name);
    put_text(out, &function.file);
    put(out, u64::from(function.line));
}

fn thread(out: &mut Vec<u8>, thread: &Thread) {
    out.push(entry::THREAD);
    put(out, u64::from(thread.id.0));
    put(out, u64::from(thread.tid));
    put_text(out, &thread.name);
}

fn module(out: &mut Vec<u8>, module: &Module) {
    out.push(entry::MODULE);
    put(out, module.start);
    put(out, module.end);
    put(out, module.bias);
    put_text(out, &module.path);
    put_bytes(out, &module.build_id);
}
