//! After a run: whether replicas hold the same.

use crate::application::{Accord, Application, Ask};
use crate::fleet::{self, Fleet};
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_core::pace::Pace;
use tailwater_rt::client::End;
use tailwater_rt::time::now;

/// What was found of the keys that were asked for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Compared {
    /// How many there were.
    pub keys: usize,
    /// Of these, those of which nothing can be told.
    pub untold: usize,
    /// Those whose replicas differ, with why.
    pub differ: Vec<String>,
}

/// Requests under way at a time.
const AT_ONCE: usize = 32;
/// How often each is asked at most.
const ROUNDS: u32 = 4;
/// Before the second round; before each further one twice as long.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a round may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Tokens from here on are none of a load's, which are indices of its schedule.
const FIRST_TOKEN: u64 = 1 << 62;

/// Asks for the replicas of keys through a fleet whose load is over. What is not told, or is told to differ, is asked again:
/// a request of which nothing was heard may be under way still, and nothing else writes.
pub fn compare(fleet: &mut Fleet, pace: Pace, application: &dyn Application) -> Compared {
    let asks = application.ask_replicas();
    let mut found = vec![Accord::Untold; asks.len()];
    for round in 0..ROUNDS {
        let open: Vec<usize> = (0..asks.len()).filter(|at| found[*at] != Accord::Same).collect();
        if open.is_empty() {
            break;
        }
        if round > 0 {
            rest(fleet, pace, now() + PAUSE * (1 << (round - 1)));
            // What differed counts if it is told again: a server that has gone meanwhile cannot take it back.
            open.iter().for_each(|at| found[*at] = Accord::Untold);
        }
        // Late answers of an earlier round have its tokens.
        let first = FIRST_TOKEN + (u64::from(round) << 32);
        let round = Round { asks: &asks, first, pace, until: now() + PATIENCE };
        round.ask(fleet, &open, |at, status, payload| {
            found[at] = application.judge_replicas(&asks[at], status, payload);
        });
    }
    let untold = found.iter().filter(|it| **it == Accord::Untold).count();
    let differ = found.into_iter().filter_map(|it| match it {
        Accord::Differ(why) => Some(why),
        Accord::Same | Accord::Untold => None,
    });
    Compared { keys: asks.len(), untold, differ: differ.collect() }
}

/// Until then connections are served, and what ends is of no interest.
fn rest(fleet: &mut Fleet, pace: Pace, until: Instant) {
    while now() < until {
        while fleet.poll_event().is_some() {}
        fleet.wait(pace, until);
    }
}

struct Round<'a> {
    asks: &'a [Ask],
    /// The token of the first request; those of the others follow.
    first: u64,
    pace: Pace,
    until: Instant,
}

impl Round<'_> {
    /// Asks these of the requests, and hands on what is answered.
    fn ask(self, fleet: &mut Fleet, open: &[usize], mut hear: impl FnMut(usize, u16, &[u8])) {
        let Self { asks, first, pace, until } = self;
        let (mut next, mut under_way) = (open.iter(), 0);
        loop {
            while under_way < AT_ONCE
                && let Some(&at) = next.next()
            {
                let (client, call) =
                    (at % fleet.clients(), fleet::call(asks[at].clone(), Some(until)));
                fleet.submit(client, now(), first + at as u64, call);
                under_way += 1;
            }
            let mut has_ended = false;
            while let Some((channel, event)) = fleet.poll_event() {
                // Beside the clients are channels that ask for counts.
                let at = event.token.checked_sub(first).filter(|_| channel < fleet.clients());
                let Some(at) = at.map(|at| at as usize).filter(|at| *at < asks.len()) else {
                    continue;
                };
                (under_way, has_ended) = (under_way - 1, true);
                if let End::Response { status, payload, .. } = &event.end {
                    hear(at, *status, payload);
                }
            }
            if now() >= until || (under_way == 0 && next.len() == 0) {
                return;
            }
            if !has_ended {
                fleet.wait(pace, until);
            }
        }
    }
}
