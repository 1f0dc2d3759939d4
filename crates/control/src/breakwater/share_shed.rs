//! Credits whose requests the server can only refuse.
//!
//! Where most of what comes is shed, the queue is as short as the AQM keeps it. It says little of how far the pool is
//! too large: eq. 2 then takes hundreds of updates, in which the server does little but refuse. The share that is
//! shed says it. Ours; `docs/breakwater.md`.

/// What became of the requests that credits brought in, since the last update of the pool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) served: u32,
    /// Shed because of the server's queue. A client that asks for what was hopeless when it left is not
    /// in it: it would cost all others their credits.
    pub(super) shed: u32,
    /// One was served while another waited, so that the pace is that of now.
    pub(super) paced: bool,
    /// Refused by their handlers; see `refusals`.
    pub(super) refused: u32,
}

/// The share of requests that a pool of the right size may shed: bursts do that.
const TOLERATED: f64 = 0.3;

impl Tally {
    pub(super) const fn on_served(&mut self) {
        self.served = self.served.saturating_add(1);
    }

    pub(super) const fn on_paced(&mut self, is_told: bool) {
        self.paced |= is_told;
    }

    pub(super) const fn on_shed(&mut self, by_queue: bool) {
        self.shed = self.shed.saturating_add(by_queue as u32);
    }

    pub(super) const fn on_refused(&mut self) {
        self.refused = self.refused.saturating_add(1);
    }

    fn came(self) -> f64 {
        f64::from(self.served) + f64::from(self.shed)
    }
}

/// The share that is shed, smoothed over the requests that all issued credits bring in.
pub(super) fn follow(share: f64, tally: Tally, issued: u32) -> f64 {
    let came = tally.came();
    let memory = f64::from(issued).max(came).max(1.0);
    ((memory - came) * share + f64::from(tally.shed)) / memory
}

/// Requests shed since the last update beyond what bursts explain, given the smoothed share. Their credits are not
/// issued again. So a pool that is too large by a factor shrinks by it within about the time in which every credit is
/// used once.
pub(super) fn beyond_bursts(share: f64, tally: Tally) -> f64 {
    beyond(share, TOLERATED, tally)
}

/// The same beyond another share that is tolerated.
pub(super) fn beyond(share: f64, tolerated: f64, tally: Tally) -> f64 {
    (share - tolerated).max(0.0) * tally.came()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand credits, of which a hundred could be served in each turnover.
    #[test]
    fn a_pool_ten_times_too_large_shrinks_within_a_few_turnovers() {
        let (mut pool, mut share) = (1_000.0, 0.0);
        for _ in 0..5 * 16 {
            let came = pool / 16.0;
            let tally =
                Tally { served: 6, shed: (came as u32).saturating_sub(6), ..Tally::default() };
            share = follow(share, tally, pool as u32);
            pool -= beyond_bursts(share, tally);
        }
        assert!((100.0..250.0).contains(&pool), "{pool}");
    }

    #[test]
    fn what_bursts_shed_costs_no_credit() {
        let mut share = 0.0;
        for update in 0..1_000 {
            let tally =
                Tally { served: 6, shed: if update % 8 == 0 { 8 } else { 0 }, ..Tally::default() };
            share = follow(share, tally, 100);
            assert!(beyond_bursts(share, tally) <= 0.0, "at update {update}: {share}");
        }
    }

    #[test]
    fn an_idle_server_forgets_nothing() {
        assert!((follow(0.5, Tally::default(), 0) - 0.5).abs() < f64::EPSILON);
    }

    /// Eighty credits are out, eight of which came back: a tenth of what is remembered.
    #[test]
    fn a_share_follows_by_what_came_of_what_is_out() {
        let mut tally = Tally::default();
        (0..6).for_each(|_| tally.on_served());
        (0..2).for_each(|_| tally.on_shed(true));
        (0..5).for_each(|_| tally.on_shed(false));
        assert_eq!((tally.served, tally.shed), (6, 2));
        let share = follow(0.5, tally, 80);
        assert!((share - (0.9 * 0.5 + 0.1 * 0.25)).abs() < 1e-12, "{share}");
        assert!((follow(0.5, tally, 4) - 0.25).abs() < 1e-12, "more came than is out");
    }

    #[test]
    fn one_that_tells_the_pace_is_enough_and_what_is_refused_is_not_shed() {
        let mut tally = Tally::default();
        tally.on_paced(false);
        assert!(!tally.paced);
        [true, true, false].into_iter().for_each(|is_told| tally.on_paced(is_told));
        assert!(tally.paced);
        (0..3).for_each(|_| tally.on_refused());
        assert_eq!((tally.refused, tally.shed, tally.served), (3, 0, 0));
    }

    #[test]
    fn what_is_beyond_bursts_is_the_share_above_three_tenths_of_what_came() {
        let tally = Tally { served: 6, shed: 4, ..Tally::default() };
        for (share, beyond) in [(0.25, 0.0), (0.3, 0.0), (0.5, 2.0), (1.0, 7.0)] {
            let found = beyond_bursts(share, tally);
            assert!((found - beyond).abs() < 1e-12, "{share}: {found}");
        }
    }
}
