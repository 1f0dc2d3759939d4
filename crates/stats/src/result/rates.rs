//! How many requests a second were asked for, sent, answered, and answered in time.

use super::yardstick::Yardstick;
use serde::{Deserialize, Serialize};

/// Requests and answers per second in the measured window, and what goodput is of the yardstick.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Rates {
    /// Requests per second that the schedule was asked to hold in the measured window; 0 when only
    /// [`Rates::offered_rps`], what it did hold, is known.
    pub asked_rps: f64,
    /// Intended requests per second in the measured window.
    pub offered_rps: f64,
    /// Answers (served, in time or late) per second.
    pub throughput_rps: f64,
    /// Answers within the SLO per second.
    pub goodput_rps: f64,
    /// Goodput ÷ capacity.
    pub goodput_of_capacity: f64,
    /// Goodput ÷ bound.
    pub goodput_of_bound: f64,
}

impl Rates {
    /// The same rates, with goodput as shares of capacity and bound; a share of nothing is 0.
    #[must_use]
    pub fn quoted(self, yardstick: &Yardstick) -> Self {
        let share = |of: f64| if of > 0.0 { self.goodput_rps / of } else { 0.0 };
        Self {
            goodput_of_capacity: share(yardstick.capacity_rps),
            goodput_of_bound: share(yardstick.bound_rps),
            ..self
        }
    }
}
