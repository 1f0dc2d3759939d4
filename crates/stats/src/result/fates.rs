//! What became of each request.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::AddAssign;

/// The fate of every intended request; the five add up to all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Fates {
    /// Served within the SLO.
    pub ok: u64,
    /// Served after it, or with a part missing.
    pub late: u64,
    /// Given up at the client before sending.
    pub expired: u64,
    /// Rejected by the server.
    pub shed: u64,
    /// Sent, never answered; or never sent because the generator could not.
    pub lost: u64,
}

impl Fates {
    /// All intended requests; of a file that claims more than can be counted, the most that can.
    #[must_use]
    pub const fn total(&self) -> u64 {
        let served = self.ok.saturating_add(self.late);
        let refused = self.expired.saturating_add(self.shed);
        served.saturating_add(refused).saturating_add(self.lost)
    }
}

impl AddAssign for Fates {
    fn add_assign(&mut self, other: Self) {
        self.ok += other.ok;
        self.late += other.late;
        self.expired += other.expired;
        self.shed += other.shed;
        self.lost += other.lost;
    }
}

impl Sum for Fates {
    fn sum<I: Iterator<Item = Self>>(fates: I) -> Self {
        let mut sum = Self::default();
        fates.for_each(|one| sum += one);
        sum
    }
}
