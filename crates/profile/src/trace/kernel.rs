//! Records of the kernel to bytes and back.

use super::error::Trouble;
use super::shape::{Memory, event};
use super::varint::{Cursor, put, put_delta};
use crate::kernel::{
    After, Did, Interrupting, Interruption, OCCUPANTS_MAX, Occupant, ThreadState, WaitedBehind,
    Waker,
};
use crate::record::{ThreadId, Ticks};

type Result<T> = std::result::Result<T, Trouble>;

const RUNNING: u8 = 0;
const WOKEN: u8 = 1;
const PREEMPTED: u8 = 2;
const MADE: u8 = 3;
const ASLEEP: u8 = 4;
const UNINTERRUPTIBLE: u8 = 5;
const UNKNOWN: u8 = 6;
const STOPPED: u8 = 7;

/// Appends a state.
pub(super) fn put_state(out: &mut Vec<u8>, memory: &mut Memory, state: &ThreadState) {
    out.push(event::STATE);
    put(out, u64::from(state.thread.0));
    out.push(match &state.did {
        Did::Running { .. } => RUNNING,
        Did::Runnable { after: After::Woken, .. } => WOKEN,
        Did::Runnable { after: After::Preempted, .. } => PREEMPTED,
        Did::Runnable { after: After::Made, .. } => MADE,
        Did::Asleep { is_uninterruptible: false, .. } => ASLEEP,
        Did::Asleep { is_uninterruptible: true, .. } => UNINTERRUPTIBLE,
        Did::Unknown => UNKNOWN,
        Did::Stopped { .. } => STOPPED,
    });
    put_span(out, memory, state.start, state.end);
    match &state.did {
        Did::Running { cpu } => put(out, u64::from(*cpu)),
        Did::Runnable { cpu, behind, .. } => {
            put(out, u64::from(*cpu));
            put_behind(out, behind);
        }
        Did::Asleep { woken, .. } | Did::Stopped { woken } => put_waker(out, *woken),
        Did::Unknown => {}
    }
}

/// Reads one, after its first byte.
pub(super) fn state(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<ThreadState> {
    let thread = ThreadId(cursor.small()?);
    let kind = cursor.byte()?;
    let (start, end) = span(cursor, memory)?;
    let runnable = |cursor: &mut Cursor<'_>, after| {
        Ok(Did::Runnable { cpu: cursor.small()?, after, behind: behind(cursor)? })
    };
    let did = match kind {
        RUNNING => Did::Running { cpu: cursor.small()? },
        WOKEN => runnable(cursor, After::Woken)?,
        PREEMPTED => runnable(cursor, After::Preempted)?,
        MADE => runnable(cursor, After::Made)?,
        ASLEEP => Did::Asleep { is_uninterruptible: false, woken: waker(cursor)? },
        UNINTERRUPTIBLE => Did::Asleep { is_uninterruptible: true, woken: waker(cursor)? },
        UNKNOWN => Did::Unknown,
        STOPPED => Did::Stopped { woken: waker(cursor)? },
        other => return Err(Trouble::Kind(other)),
    };
    Ok(ThreadState { thread, start, end, did })
}

/// Of more occupants than are told, the rest count as others.
fn put_behind(out: &mut Vec<u8>, behind: &WaitedBehind) {
    let (told, rest) = behind.occupants.split_at(behind.occupants.len().min(OCCUPANTS_MAX));
    out.push(told.len() as u8);
    for occupant in told {
        put(out, u64::from(occupant.thread.0));
        put(out, occupant.time);
    }
    let rest = rest.iter().fold(behind.others, |sum, one| sum.wrapping_add(one.time));
    put(out, rest);
    put(out, behind.idle);
}

fn behind(cursor: &mut Cursor<'_>) -> Result<WaitedBehind> {
    let told = cursor.byte()?;
    if usize::from(told) > OCCUPANTS_MAX {
        return Err(Trouble::Number(u64::from(told)));
    }
    let mut occupants = Vec::with_capacity(usize::from(told));
    for _ in 0..told {
        occupants.push(Occupant { thread: ThreadId(cursor.small()?), time: cursor.number()? });
    }
    Ok(WaitedBehind { occupants, others: cursor.number()?, idle: cursor.number()? })
}

fn put_waker(out: &mut Vec<u8>, waker: Waker) {
    let (kind, number) = match waker {
        Waker::Unknown => (0, None),
        Waker::Thread(thread) => (1, Some(thread.0)),
        Waker::Timer => (2, None),
        Waker::Softirq(vector) => (3, Some(vector)),
        Waker::Interrupt(None) => (4, None),
        Waker::Interrupt(Some(line)) => (5, Some(line)),
    };
    out.push(kind);
    if let Some(number) = number {
        put(out, u64::from(number));
    }
}

fn waker(cursor: &mut Cursor<'_>) -> Result<Waker> {
    Ok(match cursor.byte()? {
        0 => Waker::Unknown,
        1 => Waker::Thread(ThreadId(cursor.small()?)),
        2 => Waker::Timer,
        3 => Waker::Softirq(cursor.small()?),
        4 => Waker::Interrupt(None),
        5 => Waker::Interrupt(Some(cursor.small()?)),
        other => return Err(Trouble::Kind(other)),
    })
}

/// Appends an interruption.
pub(super) fn put_interruption(out: &mut Vec<u8>, memory: &mut Memory, one: &Interruption) {
    out.push(event::INTERRUPTION);
    put(out, u64::from(one.thread.0));
    let (kind, number) = match one.by {
        Interrupting::Device(line) => (0, Some(u64::from(line))),
        Interrupting::Softirq(vector) => (1, Some(u64::from(vector))),
        Interrupting::Timer => (2, None),
        Interrupting::Reschedule => (3, None),
        Interrupting::Call => (4, None),
        Interrupting::Fault(address) => (5, Some(address)),
    };
    out.push(kind);
    if let Some(number) = number {
        put(out, number);
    }
    put_span(out, memory, one.start, one.end);
}

/// Reads one, after its first byte.
pub(super) fn interruption(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<Interruption> {
    let thread = ThreadId(cursor.small()?);
    let by = match cursor.byte()? {
        0 => Interrupting::Device(cursor.small()?),
        1 => Interrupting::Softirq(cursor.small()?),
        2 => Interrupting::Timer,
        3 => Interrupting::Reschedule,
        4 => Interrupting::Call,
        5 => Interrupting::Fault(cursor.number()?),
        other => return Err(Trouble::Kind(other)),
    };
    let (start, end) = span(cursor, memory)?;
    Ok(Interruption { thread, start, end, by })
}

fn put_span(out: &mut Vec<u8>, memory: &mut Memory, start: Ticks, end: Ticks) {
    put_delta(out, end, memory.last);
    put(out, end.wrapping_sub(start));
    memory.last = end;
}

fn span(cursor: &mut Cursor<'_>, memory: &mut Memory) -> Result<(Ticks, Ticks)> {
    let end = cursor.delta(memory.last)?;
    memory.last = end;
    Ok((end.wrapping_sub(cursor.number()?), end))
}
