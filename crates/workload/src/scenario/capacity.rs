//! `[capacity]`: the closed-loop sweep whose plateau demand is quoted against.

use super::item::Item;
use super::section::Section;
use std::time::Duration;
use tailwater_core::Rate;

/// How capacity is found. By default a sweep with sizes derived from the number of clients.
#[derive(Clone, PartialEq, Debug)]
pub struct Capacity {
    /// Requests in flight over all clients, one measurement each; empty: see [`Capacity::sweep`]. Too
    /// few leave the server idle during round trips, so the plateau is what counts.
    pub in_flight: Vec<u32>,
    /// How long each is measured. Default 300 ms.
    pub duration: Duration,
    /// On a machine that drifts: runs between two measurements, which all these are quoted against. Default
    /// those of one repetition.
    pub every: Option<u32>,
    /// Taken for granted instead of measured, to simulate a known testbed.
    pub fixed: Option<Rate>,
}

/// How long each point is measured where nothing else is said.
const DURATION: Duration = Duration::from_millis(300);

impl Default for Capacity {
    fn default() -> Self {
        Self { in_flight: Vec::new(), duration: DURATION, every: None, fixed: None }
    }
}

impl Capacity {
    /// Requests in flight to measure with: as said, or a quarter, one and four for each client. Below 16 a single
    /// loop idles, and beyond 4,096 only queues grow: these are the limits.
    #[must_use]
    pub fn sweep(&self, clients: u32) -> Vec<u32> {
        if !self.in_flight.is_empty() {
            return self.in_flight.clone();
        }
        let mut sizes: Vec<u32> = [clients / 4, clients, clients.saturating_mul(4)]
            .map(|size| size.clamp(16, 4_096))
            .into();
        sizes.dedup();
        sizes
    }

    pub(super) fn read(section: &Section<'_>) -> Self {
        let fixed = section.item("fixed_rps");
        if fixed.is_some() {
            for item in
                ["in_flight", "duration", "every"].iter().filter_map(|key| section.item(key))
            {
                item.problem(format!(
                    "{} contradicts capacity.fixed_rps, which measures nothing; leave one of them out",
                    item.name
                ));
            }
        }
        let in_flight = section.item("in_flight").map(|item| item.each_distinct(Item::whole));
        Self {
            in_flight: in_flight.unwrap_or_default(),
            duration: section.duration("duration").unwrap_or(DURATION),
            every: section.whole("every"),
            fixed: fixed.and_then(|item| item.number()).map(Rate),
        }
    }
}
