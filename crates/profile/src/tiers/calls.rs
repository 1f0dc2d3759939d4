//! The calls between processes, by name: who sent each, and which request it is.

use super::survey::Tier;
use crate::clock::Clocks;
use crate::hash::Map;
use crate::record::Ticks;
use crate::requests::Leg;
use std::collections::BTreeSet;

/// No process's time is later, in nanoseconds: 36 years. A damaged clock's would overflow differences.
const LATEST_NS: u64 = 1 << 60;

/// The calls that the requests of all traces tell of.
pub(super) struct Calls<'a> {
    by_name: Map<u64, Ends<'a>>,
}

/// Messages by the traces of the process that sent them and of the one that read them.
pub(super) type Messages = Map<(usize, usize), Vec<Message<Ticks>>>;

/// A message, each end by the clock of its own process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message<Time> {
    pub(super) sent: Time,
    pub(super) read: Time,
}

/// Both ends of the calls of one name.
#[derive(Default)]
struct Ends<'a> {
    /// The caller's trace, and what it tells.
    client: End<(usize, &'a Leg)>,
    /// The called request's trace, and its place there.
    server: End<(usize, usize)>,
}

/// A call that both processes tell of, each once.
struct Call<'a> {
    /// The caller's trace.
    client: usize,
    leg: &'a Leg,
    /// The called request's trace, and its place there.
    server: usize,
    place: usize,
}

/// An end of a call.
#[derive(Default)]
enum End<Told> {
    #[default]
    Untold,
    Once(Told),
    /// By several of one name: which is meant is not known.
    Doubled,
}

impl<'a> Calls<'a> {
    /// Of the names in `doubled` it is known that requests beyond those of `tiers` have them, too.
    pub(super) fn new(tiers: &'a [Tier], doubled: &BTreeSet<u64>) -> Self {
        let mut by_name: Map<u64, Ends<'a>> = Map::default();
        for (tier, it) in tiers.iter().enumerate() {
            for (place, request) in it.requests.iter().enumerate() {
                for leg in &request.legs {
                    by_name.entry(leg.call).or_default().client.tell((tier, leg));
                }
                if let Some((call, _)) = request.called {
                    by_name.entry(call).or_default().server.tell((tier, place));
                }
            }
        }
        for name in doubled {
            by_name.entry(*name).or_default().client = End::Doubled;
        }
        Self { by_name }
    }

    /// The request that a call is: its trace, and its place there. `None` also where the name is doubled.
    pub(super) fn server(&self, call: u64) -> Option<(usize, usize)> {
        let call = self.by_name.get(&call)?.both()?;
        Some((call.server, call.place))
    }

    /// Names that several calls or several called requests have.
    pub(super) fn doubled(&self) -> u64 {
        self.by_name.values().filter(|ends| ends.is_doubled()).count() as u64
    }

    /// Of each call that both processes tell of wholly there are two: the call, and its answer.
    pub(super) fn messages(&self, tiers: &[Tier]) -> Messages {
        let mut messages = Messages::default();
        for Call { client, leg, server, place } in self.by_name.values().filter_map(Ends::both) {
            let request = &tiers[server].requests[place];
            let (Some((_, read)), Some(answered)) = (request.called, leg.answered) else {
                continue;
            };
            // Its own clock a process knows.
            if client != server {
                let there = Message { sent: leg.sent, read };
                let back = Message { sent: request.end, read: answered };
                messages.entry((client, server)).or_default().push(there);
                messages.entry((server, client)).or_default().push(back);
            }
        }
        messages
    }
}

impl Message<Ticks> {
    /// By the lines of the process that sent it and of the one that read it, in nanoseconds.
    pub(super) fn on(&self, sent: &Clocks, read: &Clocks) -> Message<i64> {
        Message { sent: time(sent, self.sent), read: time(read, self.read) }
    }
}

/// A time of a process by its line, in nanoseconds.
pub(super) fn time(line: &Clocks, ticks: Ticks) -> i64 {
    line.raw_ns(ticks).min(LATEST_NS) as i64
}

impl<'a> Ends<'a> {
    const fn both(&self) -> Option<Call<'a>> {
        match (&self.client, &self.server) {
            (&End::Once((client, leg)), &End::Once((server, place))) => {
                Some(Call { client, leg, server, place })
            }
            _ => None,
        }
    }

    const fn is_doubled(&self) -> bool {
        matches!((&self.client, &self.server), (End::Doubled, _) | (_, End::Doubled))
    }
}

impl<Told> End<Told> {
    fn tell(&mut self, told: Told) {
        *self = match self {
            Self::Untold => Self::Once(told),
            Self::Once(_) | Self::Doubled => Self::Doubled,
        };
    }
}
