//! What threads push into their rings, as words.

use crate::memory::abi::What;
use crate::memory::lease::Term;
use crate::memory::ring::Ring;
use tailwater_profile::record::{
    COUNTERS_MAX, Counters, Counts, HopKind, MarkKind, Ticks, WaitKind,
};

/// Words of an event at most.
pub(crate) const WORDS: usize = CALL_WORDS + COUNTERS_MAX;
/// Of a call without what was counted in it.
const CALL_WORDS: usize = 6;
/// Of a wait.
pub(crate) const WAIT_WORDS: usize = 8;

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
    /// What its thread counted in it.
    pub(crate) counts: Counts,
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
const COUNTERS_SHIFT: u32 = 16;
const DEPTH_SHIFT: u32 = 32;
const HOLDER_SHIFT: u32 = 32;

impl Event {
    pub(crate) fn to_words(self) -> [u64; WORDS] {
        match self {
            Self::Wait(wait) => padded([
                wait.kind as u64 | u64::from(wait.holder) << HOLDER_SHIFT,
                wait.object,
                wait.start,
                wait.end,
                wait.released,
                wait.function,
                wait.held_in.to_word(),
                wait.site,
            ]),
            Self::Mark { kind, request, at } => padded([MARK | kind as u64, request, at]),
            Self::Hop { kind, request, call, at } => padded([HOP | kind as u64, request, at, call]),
            Self::Call(call) => {
                let mut words = padded([
                    CALL | (u64::from(call.is_found_gone) * FOUND_GONE)
                        | u64::from(call.counts.counters().mask()) << COUNTERS_SHIFT
                        | u64::from(call.depth) << DEPTH_SHIFT,
                    call.what.to_word(),
                    call.start,
                    call.end,
                    call.generation,
                    call.parent,
                ]);
                let counts = call.counts.iter();
                words[CALL_WORDS..].iter_mut().zip(counts).for_each(|(to, (_, count))| *to = count);
                words
            }
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
        let [tag, subject, at, end, released, function, held_in, site, ..] = *words;
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
                counts: {
                    let mut counts = words[CALL_WORDS..].iter();
                    Counts::new(counters(tag)?, |_| counts.next().copied().unwrap_or(0))
                },
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
        match counters(tag) {
            Some(counted) => CALL_WORDS + counted.mask().count_ones() as usize,
            None => CALL_WORDS,
        }
    } else {
        WAIT_WORDS
    }
}

/// Those that were read in a call; `None`: there are no such.
const fn counters(tag: u64) -> Option<Counters> {
    Counters::of_mask((tag >> COUNTERS_SHIFT) as u16)
}

fn padded<const N: usize>(words: [u64; N]) -> [u64; WORDS] {
    std::array::from_fn(|at| words.get(at).copied().unwrap_or(0))
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
                counts: Counts::new(
                    Counters::of_mask([0, 1, 1 << 8, 0b1111][usize::from(number) % 4])
                        .expect("counters"),
                    |one| u64::MAX - one as u64,
                ),
            });
            for event in [Event::Wait(wait), mark, hop, call] {
                assert_eq!(Event::from_words(&event.to_words()), Some(event));
            }
        }
        assert_eq!(Event::from_words(&[200; WORDS]), None);
        assert_eq!(Event::from_words(&[MARK | 6; WORDS]), None);
        assert_eq!(Event::from_words(&[HOP | 4; WORDS]), None);
        assert_eq!(Event::from_words(&[CALL | 0b1_1111 << COUNTERS_SHIFT; WORDS]), None);
    }
}
