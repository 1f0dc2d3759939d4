//! `[clients]`: who asks.

use super::item::Item;
use super::pinning;
use super::retry::Retry;
use super::section::{Section, section_of};
use tailwater_core::pace::{Pace, Scheduling};

/// Logical clients and the generator that plays them.
#[derive(Clone, PartialEq, Debug)]
pub struct Clients {
    /// How many, each with a connection and control state of its own; each number is a
    /// configuration. The more share the same demand, the staler each one's view of the server, and
    /// the larger the bursts when all may send (Breakwater §5.2).
    pub counts: Vec<u32>,
    /// Cores of the generator's threads; empty: not pinned.
    pub cores: Vec<u32>,
    /// Threads of the generator. Default 1.
    pub threads: u32,
    /// How its threads wait for the next intended time, on sockets. Default spinning. What shares a core with
    /// a spinning generator starves.
    pub pace: Pace,
    /// How the kernel schedules them. Default like all others.
    pub scheduling: Scheduling,
    /// What they do when one of several replicas refuses.
    pub retry: Retry,
}

impl Clients {
    /// `replicas` are those of the server.
    pub(super) fn read(section: &Section<'_>, replicas: u32) -> Self {
        let counts: Vec<u32> = section.needed("count", |item| item.each_distinct(Item::whole));
        let threads = section.whole("threads").unwrap_or(1);
        if let (Some(&fewest), Some(item)) = (counts.iter().min(), section.item("threads"))
            && fewest < threads
        {
            item.problem(format!(
                "clients.threads is {threads}, but clients.count is {fewest}; at most a thread for \
                 each client is needed"
            ));
        }
        let pace = section.item("pace").and_then(|item| item.word()).unwrap_or_default();
        Self {
            counts,
            cores: pinning::cores(section, &[(threads, "one for each thread")]),
            threads,
            pace,
            scheduling: scheduling(section, pace),
            retry: retry(section, replicas),
        }
    }
}

fn scheduling(section: &Section<'_>, pace: Pace) -> Scheduling {
    let Some(item) = section.item("scheduling") else {
        return Scheduling::default();
    };
    let scheduling: Scheduling = item.word().unwrap_or_default();
    if let Some(why) = scheduling.conflict(pace) {
        item.problem(format!("{} is {scheduling}, and {why}", item.name));
    }
    scheduling
}

fn retry(section: &Section<'_>, replicas: u32) -> Retry {
    if let (1, Some(item)) = (replicas, section.item("retry")) {
        item.problem(format!(
            "{} is given, but server.replicas is 1; two or more are needed, or leave it out",
            item.name
        ));
    }
    Retry::read(&section_of(section, "retry"), replicas)
}
