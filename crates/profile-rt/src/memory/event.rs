//! What threads push into their rings, as words.

use crate::memory::abi::What;
use crate::memory::lease::Term;
use crate::memory::ring::Ring;
use tailwater_profile::record::{HopKind, MarkKind, Ticks, WaitKind};

/// Words of an event.
pub(crate) const WORDS: usize = 8;

/// A wait as its thread saw it; functions are addresses of descriptors, zero when unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waited {
    pub(crate) kind: WaitKind,
    pub(crate) object: u64,
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    pub(crate) released: Ticks,
    /// The kernel's number of the thread that held the lock; zero when unknown.
    pub(crate) holder: u32,
    pub(crate) function: u64,
    /// The function in which the holder took the lock, and where it went on there.
    pub(crate) held_in: What,
    pub(crate) site: u64,
}

impl Waited {
    /// It had the lock at once, and is told for how long it held that.
    pub(crate) const fn is_hold(&self) -> bool {
        self.start == self.end
    }
}

/// A call that its thread has clocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clocked {
    pub(crate) what: What,
    /// The descriptor of the frame below; zero for the lowest.
    pub(crate) parent: u64,
    pub(crate) depth: u32,
    pub(crate) generation: u64,
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    /// It did not return: by `end` its frame was gone.
    pub(crate) is_found_gone: bool,
}

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Wait(Waited),
    Mark {
        kind: MarkKind,
        request: u64,
        at: Ticks,
    },
    /// A request and its call to or from another process.
    Hop {
        kind: HopKind,
        request: u64,
        call: u64,
        at: Ticks,
    },
    Call(Clocked),
}

/// Words of ring that hold what a thread tells of a million clocked calls a second in 20 ms, five naps of the output.
pub(crate) const CALLS_ROOM: usize = 1 << 17;

const MARK: u64 = 1 << 8;
const HOP: u64 = 1 << 9;
const CALL: u64 = 1 << 10;
/// Of a call.
const FOUND_GONE: u64 = 1;
const DEPTH_SHIFT: u32 = 32;
const HOLDER_SHIFT: u32 = 32;

impl Event {
    pub(crate) const fn to_words(self) -> [u64; WORDS] {
        match self {
            Self::Wait(wait) => [
                wait.kind as u64 | (wait.holder as u64) << HOLDER_SHIFT,
                wait.object,
                wait.start,
                wait.end,
                wait.released,
                wait.function,
                wait.held_in.to_word(),
                wait.site,
            ],
            Self::Mark { kind, request, at } => [MARK | kind as u64, request, at, 0, 0, 0, 0, 0],
            Self::Hop { kind, request, call, at } => {
                [HOP | kind as u64, request, at, call, 0, 0, 0, 0]
            }
            Self::Call(call) => [
                CALL | (call.is_found_gone as u64 * FOUND_GONE)
                    | (call.depth as u64) << DEPTH_SHIFT,
                call.what.to_word(),
                call.start,
                call.end,
                call.generation,
                call.parent,
                0,
                0,
            ],
        }
    }

    /// As they go through a ring: without the words that the event has no use for.
    pub(crate) fn push(self, ring: Ring<'_>) -> bool {
        let words = self.to_words();
        let words = &words[..length(words[0])];
        match self {
            // Before the ring is found full: it would grow only once something is lost.
            Self::Call(_) => ring.push_with_room(words, CALLS_ROOM),
            _ => ring.push(words),
        }
    }

    /// The oldest event in a ring, for the recorder of that term; `Some(None)` when what lies there is none.
    pub(crate) fn pop(ring: Ring<'_>, by: Term) -> Option<Option<Self>> {
        Some(Self::from_words(&ring.pop(by, length)?))
    }

    /// `None` when the words are no event.
    pub(crate) fn from_words(words: &[u64; WORDS]) -> Option<Self> {
        let [tag, subject, at, end, released, function, held_in, site] = *words;
        if tag & MARK != 0 {
            return Some(Self::Mark { kind: mark_kind(tag as u8)?, request: subject, at });
        }
        if tag & HOP != 0 {
            return Some(Self::Hop { kind: hop_kind(tag as u8)?, request: subject, call: end, at });
        }
        if tag & CALL != 0 {
            return Some(Self::Call(Clocked {
                what: What::from(subject),
                parent: function,
                depth: (tag >> DEPTH_SHIFT) as u32,
                generation: released,
                start: at,
                end,
                is_found_gone: tag & FOUND_GONE != 0,
            }));
        }
        let holder = (tag >> HOLDER_SHIFT) as u32;
        let kind = wait_kind(tag as u8)?;
        let object = subject;
        let wait = Waited {
            kind,
            object,
            start: at,
            end,
            released,
            holder,
            function,
            held_in: What::from(held_in),
            site,
        };
        Some(Self::Wait(wait))
    }
}

/// Words of the event that begins so.
const fn length(tag: u64) -> usize {
    if tag & MARK != 0 {
        3
    } else if tag & HOP != 0 {
        4
    } else if tag & CALL != 0 {
        6
    } else {
        WORDS
    }
}

/// The kind that C numbers so.
pub(crate) const fn wait_kind(number: u8) -> Option<WaitKind> {
    Some(match number {
        0 => WaitKind::Mutex,
        1 => WaitKind::Read,
        2 => WaitKind::Write,
        3 => WaitKind::Condition,
        4 => WaitKind::Join,
        _ => return None,
    })
}

const fn mark_kind(number: u8) -> Option<MarkKind> {
    Some(match number {
        0 => MarkKind::Start,
        1 => MarkKind::Block,
        2 => MarkKind::End,
        3 => MarkKind::EndAll,
        4 => MarkKind::Enqueue,
        5 => MarkKind::Size,
        _ => return None,
    })
}

const fn hop_kind(number: u8) -> Option<HopKind> {
    Some(match number {
        0 => HopKind::Called,
        1 => HopKind::Sent,
        2 => HopKind::Answered,
        3 => HopKind::Dequeued,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_back_as_they_went() {
        for number in 0..6 {
            let wait = Waited {
                kind: wait_kind(number % 5).expect("five kinds"),
                object: 1 << 63,
                start: 2,
                end: 3,
                released: 4,
                holder: u32::MAX,
                function: 5,
                held_in: What { desc: 8, site: 0xfedc, is_clocked: false },
                site: 7,
            };
            let mark = Event::Mark {
                kind: mark_kind(number).expect("six kinds"),
                request: u64::MAX,
                at: u64::MAX,
            };
            let hop = Event::Hop {
                kind: hop_kind(number % 4).expect("four kinds"),
                request: 8,
                call: u64::MAX,
                at: 9,
            };
            let call = Event::Call(Clocked {
                what: What { desc: 8, site: 0xfedc, is_clocked: true },
                parent: 16,
                depth: u32::MAX,
                generation: u64::MAX,
                start: 10,
                end: 11,
                is_found_gone: number % 2 == 1,
            });
            for event in [Event::Wait(wait), mark, hop, call] {
                assert_eq!(Event::from_words(&event.to_words()), Some(event));
            }
        }
        assert_eq!(Event::from_words(&[200; WORDS]), None);
        assert_eq!(Event::from_words(&[MARK | 6; WORDS]), None);
        assert_eq!(Event::from_words(&[HOP | 4; WORDS]), None);
    }
}
