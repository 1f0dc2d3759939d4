//! What became of the generator's connections, and what that means for its run.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tailwater_core::duration::format_duration;

/// Connections of a run that did not all stay. Times count from the start of the run, its warm-up included, and so do
/// requests.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ConnectionReading {
    /// All that there are, one for each client and one for the counts of each server that tells them.
    pub all: u64,
    /// Those that stand at the end.
    pub up: u64,
    /// How often one that stood was lost: closed, broken off, ended by a GOODBYE, or silent for too long.
    pub lost: u64,
    /// How many of these the server ended by its GOODBYE, as when it drains.
    pub goodbyes: u64,
    /// How often one that was lost stood again.
    pub remade: u64,
    /// Attempts to make one again that failed.
    pub attempts_failed: u64,
    /// When the first was lost; 0 where none was.
    pub first_lost_us: f64,
    /// When the last stood again; 0 where none did.
    pub last_remade_us: f64,
    /// Requests that were on a connection when it was lost, and had no answer.
    pub requests_lost: u64,
    /// Requests that were given up unsent while their client had no connection.
    pub requests_given_up: u64,
}

impl ConnectionReading {
    /// With those of another of the generator's threads.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let first = match (self.lost, other.lost) {
            (0, _) => other.first_lost_us,
            (_, 0) => self.first_lost_us,
            _ => self.first_lost_us.min(other.first_lost_us),
        };
        Self {
            all: self.all + other.all,
            up: self.up + other.up,
            lost: self.lost + other.lost,
            goodbyes: self.goodbyes + other.goodbyes,
            remade: self.remade + other.remade,
            attempts_failed: self.attempts_failed + other.attempts_failed,
            first_lost_us: first,
            last_remade_us: self.last_remade_us.max(other.last_remade_us),
            requests_lost: self.requests_lost + other.requests_lost,
            requests_given_up: self.requests_given_up + other.requests_given_up,
        }
    }

    /// What happened, in one line; `None` where all stayed.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        (self.lost > 0 || self.up < self.all).then(|| {
            let parts = [Some(self.state()), Some(self.losses()), self.repair(), self.requests()];
            parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
        })
    }

    fn state(&self) -> String {
        match (self.up, self.all) {
            (0, _) => "the server is gone: no connection stands at the end".to_owned(),
            (up, all) if up < all => {
                format!("the server did not stay: {up} of {all} connections stand at the end")
            }
            (_, all) => format!("the server did not stay: all {all} connections stand again"),
        }
    }

    fn losses(&self) -> String {
        let goodbyes = match self.goodbyes {
            0 => String::new(),
            count => format!(" ({count} by its goodbye)"),
        };
        let at = after(self.first_lost_us);
        format!("lost {}{goodbyes}, the first {at} after the start", times(self.lost))
    }

    fn repair(&self) -> Option<String> {
        let remade = (self.remade > 0).then(|| {
            let at = after(self.last_remade_us);
            format!("made again {}, the last {at} after the start", times(self.remade))
        });
        let failed = (self.attempts_failed > 0)
            .then(|| format!("attempts failed {}", times(self.attempts_failed)));
        let parts: Vec<String> = remade.into_iter().chain(failed).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn requests(&self) -> Option<String> {
        let Self { requests_lost: lost, requests_given_up: given_up, .. } = self;
        (lost + given_up > 0).then(|| {
            format!("requests lost with a connection: {lost}, given up without one: {given_up}")
        })
    }
}

/// Whole milliseconds say enough of an outage.
fn after(us: f64) -> String {
    format_duration(Duration::from_millis((us / 1e3).round() as u64))
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAYED: ConnectionReading = ConnectionReading {
        all: 5,
        up: 5,
        lost: 0,
        goodbyes: 0,
        remade: 0,
        attempts_failed: 0,
        first_lost_us: 0.0,
        last_remade_us: 0.0,
        requests_lost: 0,
        requests_given_up: 0,
    };

    #[test]
    fn a_restart_is_told_with_its_times_and_requests_in_one_line() {
        assert_eq!(STAYED.trouble(), None);
        let restart = ConnectionReading {
            lost: 5,
            remade: 5,
            attempts_failed: 12,
            first_lost_us: 1_420_300.0,
            last_remade_us: 1_710_000.0,
            requests_lost: 3,
            requests_given_up: 540,
            ..STAYED
        };
        assert_eq!(
            restart.trouble().as_deref(),
            Some(
                "the server did not stay: all 5 connections stand again; lost 5 times, the first 1.42s after the start; \
                 made again 5 times, the last 1.71s after the start; attempts failed 12 times; requests lost with a \
                 connection: 3, given up without one: 540"
            )
        );
    }

    #[test]
    fn a_server_that_is_gone_is_told_apart_from_one_that_lost_some() {
        let gone = ConnectionReading { up: 0, lost: 5, goodbyes: 4, first_lost_us: 5e5, ..STAYED };
        assert_eq!(
            gone.trouble().as_deref(),
            Some(
                "the server is gone: no connection stands at the end; lost 5 times (4 by its goodbye), the first 500ms \
                 after the start"
            )
        );
        let some = ConnectionReading { up: 4, lost: 1, ..STAYED }.trouble().unwrap_or_default();
        assert!(some.contains("4 of 5 connections stand") && some.contains("lost once"), "{some}");
    }

    #[test]
    fn threads_add_up_and_only_those_that_lost_say_when() {
        let early = ConnectionReading { lost: 1, up: 4, first_lost_us: 7.0, ..STAYED };
        let late = ConnectionReading { first_lost_us: 9.0, last_remade_us: 3.0, ..early };
        let sum = STAYED.plus(late).plus(early);
        assert_eq!((sum.all, sum.up, sum.lost), (15, 13, 2));
        assert_eq!((sum.first_lost_us, sum.last_remade_us), (7.0, 3.0));
        assert_eq!(late.plus(STAYED).first_lost_us, 9.0);
    }
}
