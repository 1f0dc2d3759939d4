//! What a node owes: the answers to what was sent to it, in that order.

use super::answer::Expected;

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
    /// To a command that all replicas carry out.
    Write(Ticket),
    /// To the `flush_all` with which a node begins again that has missed writes.
    Clean,
    /// To a get that nobody waits for any more.
    LateGet(Box<[u8]>),
    /// To another command, likewise.
    Late,
}

/// A get that is under way.
#[derive(Debug)]
pub(super) struct Asked {
    /// Which command.
    pub(super) ticket: Ticket,
    /// Of which key.
    pub(super) key: Box<[u8]>,
    /// `gets`.
    pub(super) with_cas: bool,
    /// Replicas that were asked, as bits by their place among the key's.
    pub(super) tried: u8,
    /// One of them has said that it has nothing.
    pub(super) missed: bool,
}

impl Owed {
    pub(super) fn expected(&self) -> Expected<'_> {
        match self {
            Self::Get(asked) => Expected::Value(&asked.key),
            Self::LateGet(key) => Expected::Value(key),
            Self::Write(_) | Self::Clean | Self::Late => Expected::Line,
        }
    }

    /// Gives up waiting: what stays is the place of the answer.
    pub(super) fn give_up(&mut self) -> Self {
        let late = match self {
            Self::Get(Asked { key, .. }) | Self::LateGet(key) => Self::LateGet(key.clone()),
            Self::Write(_) | Self::Clean | Self::Late => Self::Late,
        };
        std::mem::replace(self, late)
    }

    pub(super) const fn is_write(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Late)
    }
}
