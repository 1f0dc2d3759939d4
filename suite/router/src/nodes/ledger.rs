//! What a node owes: the answers to what was sent to it, in that order, and since when it has moved no byte.

use super::answer::{Answer, Expected, Read, read};
use crate::standing::Forget;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Instant;

/// Answers owed at a time; further commands are refused as busy.
const OWED_MAX: usize = 1 << 16;

/// Which command of which client an answer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// The client's place and how often that was taken before.
    pub client: u64,
    /// The number of the command among the client's.
    pub command: u64,
}

/// One answer that is owed.
#[derive(Debug)]
pub(super) enum Owed {
    /// To a get, which any replica may answer.
    Get(Asked),
    /// To the write of this number, which all replicas carry out.
    Write(u32),
    /// To the router's own `delete` or `flush_all`.
    Forget(Forget),
    /// To a get that was given up, and may be asked of another replica.
    LateGet(Arc<[u8]>),
    /// To a write, likewise.
    LateWrite,
}

/// A get that is under way.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Which command.
    pub(super) ticket: Ticket,
    /// Of which key.
    pub(super) key: Arc<[u8]>,
    /// `gets`.
    pub(super) with_cas: bool,
    /// The replica that is asked, as a bit by its place among the key's.
    pub(super) asks: u8,
    /// Replicas that were asked, as such bits.
    pub(super) tried: u8,
    /// Those of them that have said that they have nothing.
    pub(super) missed: u8,
    /// Its number among those that may have a second try.
    pub(super) flight: Option<u32>,
}

impl Owed {
    fn expected(&self) -> Expected<'_> {
        match self {
            Self::Get(asked) => Expected::Value(&asked.key),
            Self::LateGet(key) => Expected::Value(key),
            Self::Write(_) | Self::Forget(_) | Self::LateWrite => Expected::Line,
        }
    }

    /// Whether carrying it out later than what comes after it does harm.
    const fn changes_something(&self) -> bool {
        !matches!(self, Self::Get(_) | Self::LateGet(_))
    }

    /// What a client waits for; its place stays.
    fn give_up(&mut self) -> Option<Self> {
        let late = match self {
            Self::Get(Asked { key, .. }) => Self::LateGet(key.clone()),
            Self::Write(_) => Self::LateWrite,
            // No client waits; it must be known all the same that it was done.
            Self::Forget(_) | Self::LateGet(_) | Self::LateWrite => return None,
        };
        Some(std::mem::replace(self, late))
    }
}

/// The answers that one connection owes.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    owed: VecDeque<Owed>,
    /// When commands were sent while it owed nothing, or when bytes came last; `None` while it owes nothing.
    silent_since: Option<Instant>,
    /// It was given time anew since bytes came last.
    was_granted: bool,
}

/// Why the answers cannot be read on.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) why: &'static str,
    /// The get to which there was no right answer. Another node would be brought down by it, too.
    pub(super) by: Option<Asked>,
}

impl From<&'static str> for Broken {
    fn from(why: &'static str) -> Self {
        Self { why, by: None }
    }
}

impl Ledger {
    pub(super) fn is_empty(&self) -> bool {
        self.owed.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.owed.len() >= OWED_MAX
    }

    pub(super) fn add(&mut self, owed: Owed) {
        self.owed.push_back(owed);
    }

    /// What was added is being sent.
    pub(super) fn on_sent(&mut self, now: Instant) {
        if !self.owed.is_empty() {
            self.silent_since.get_or_insert(now);
        }
    }

    /// Bytes came, of whatever answer: a node with a long queue is slow, and does not hang.
    pub(super) fn on_bytes(&mut self, now: Instant) {
        self.silent_since = (!self.owed.is_empty()).then_some(now);
        self.was_granted = false;
    }

    /// Gives it its time anew. False where that was done before and no byte has come since: a process that is always late
    /// would wait for ever.
    pub(super) fn grant(&mut self, now: Instant) -> bool {
        let is_first = !std::mem::replace(&mut self.was_granted, true);
        if is_first {
            self.silent_since = (!self.owed.is_empty()).then_some(now);
        }
        is_first
    }

    /// Whether it owes something, and has been silent for so long.
    pub(super) fn is_silent(&self, now: Instant, time: Duration) -> bool {
        self.silent_since.is_some_and(|since| now.since(since) >= time)
    }

    /// When it will have been silent for so long, though it owes something.
    pub(super) fn overdue(&self, timeout: Duration) -> Option<Instant> {
        self.silent_since.map(|since| since + timeout)
    }

    /// Whether something may be carried out later that changes what the node holds.
    pub(super) fn changes_something(&self) -> bool {
        self.owed.iter().any(Owed::changes_something)
    }

    /// Hands each whole answer among these bytes to `take`. How many bytes these have, and how many the next one
    /// needs from there.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        mut take: impl FnMut(Owed, Answer<'_>) -> Result<(), &'static str>,
    ) -> Result<(usize, usize), Broken> {
        let mut at = 0;
        while at < input.len() {
            let owed = self.owed.pop_front().ok_or("it answered what was not asked")?;
            match read(&input[at..], owed.expected()) {
                Read::Incomplete(needed) => {
                    self.owed.push_front(owed);
                    return Ok((at, needed));
                }
                Read::Whole(answer, used) => {
                    at += used;
                    take(owed, answer)?;
                }
                Read::Broken(why) => {
                    if let Owed::Get(asked) = owed {
                        return Err(Broken { why, by: Some(asked) });
                    }
                    self.owed.push_front(owed);
                    return Err(why.into());
                }
            }
        }
        Ok((at, 1))
    }

    /// What clients wait for; the places of the answers stay.
    pub(super) fn give_up(&mut self) -> Vec<Owed> {
        (self.silent_since, self.was_granted) = (None, false);
        self.owed.iter_mut().filter_map(Owed::give_up).collect()
    }

    /// Everything: the connection is no more.
    pub(super) fn take_all(&mut self) -> VecDeque<Owed> {
        (self.silent_since, self.was_granted) = (None, false);
        std::mem::take(&mut self.owed)
    }
}
