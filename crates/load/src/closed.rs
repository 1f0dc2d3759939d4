//! Closed loop: a fixed number of requests in flight, each answer starting the next. For capacity.

use crate::application::{Application, Order};
use crate::early_end::{EarlyEnd, look_by};
use crate::fleet::{self, Fleet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::pace::Pace;
use tailwater_core::{Instant, Rng};
use tailwater_rt::client::{End, Event};
use tailwater_rt::time::now;
use tailwater_workload::Service;

/// What to ask.
#[derive(Clone)]
pub struct ClosedPlan {
    /// What is asked for.
    pub application: Arc<dyn Application>,
    /// The service times.
    pub service: Service,
    /// Requests in flight, one point each.
    pub in_flight: Vec<u32>,
    /// Time before each point is measured.
    pub settle: Duration,
    /// Length of each point.
    pub measure: Duration,
    /// How this thread waits for answers.
    pub pace: Pace,
    /// Decides the service times and all else about the requests.
    pub seed: u64,
    /// What may end it early: between points, or in one, which then is none.
    pub cut: Arc<EarlyEnd>,
}

impl fmt::Debug for ClosedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosedPlan").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

/// Why there is no capacity to be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClosedError {
    /// So many answers were not what was asked for, or never came.
    WrongAnswers(u64),
    /// The server refused so many requests: it runs a controller.
    Refused(u64),
    /// More than so many were to be asked, which is all that the application's oracle can hold.
    TooMany(usize),
}

impl fmt::Display for ClosedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongAnswers(count) => write!(
                f,
                "{count} answers were wrong or missing; no capacity can be told from them"
            ),
            Self::Refused(count) => write!(
                f,
                "the server refused {count} requests; capacity is measured without control \
                 (tailwater serve --controller none)"
            ),
            Self::TooMany(most) => write!(
                f,
                "the sweep is longer than the {most} requests that this application's oracle holds; a shorter duration \
                 of its points is needed (capacity.duration, or --duration)"
            ),
        }
    }
}

impl std::error::Error for ClosedError {}

/// Sweeps on this thread, which waits as the plan's pace says: requests in flight and answers per second of each point.
/// The fleet must be one without control. A sweep that is cut short has the points before.
///
/// # Errors
/// When the server answers wrongly, refuses, or breaks connections; when there are more requests than the application's
/// oracle can hold.
pub fn run(fleet: &mut Fleet, plan: &ClosedPlan) -> Result<Vec<(u32, f64)>, ClosedError> {
    let rng = Rng::from_seed(plan.seed).split("capacity");
    let mut draws = Draws { rng, left: plan.application.requests_max() };
    let mut points = Vec::new();
    for &in_flight in &plan.in_flight {
        let Some(rate) = point(fleet, plan, in_flight, &mut draws)? else { break };
        points.push((in_flight, rate));
    }
    Ok(points)
}

/// What decides the requests of all points, and how many more of them there may be.
struct Draws {
    rng: Rng,
    left: usize,
}

/// `None` where it was cut short.
fn point(
    fleet: &mut Fleet,
    plan: &ClosedPlan,
    in_flight: u32,
    draws: &mut Draws,
) -> Result<Option<f64>, ClosedError> {
    let mut turns = Turns { next: 0, clients: fleet.clients(), tag: 0 };
    let mut round = Round::new(plan);
    for _ in 0..in_flight {
        turns.call(fleet, plan, draws)?;
    }
    let mut window = Window::after(now() + plan.settle, plan.measure);
    let mut is_cut = false;
    loop {
        let at = now();
        window.look(at, round.right);
        if is_cut || window.is_over(at) {
            break;
        }
        is_cut = plan.cut.at().is_some();
        fleet.wait(plan.pace, look_by(plan.pace, window.next_look()));
        for _ in 0..round.take_events(fleet) {
            turns.call(fleet, plan, draws)?;
        }
    }
    let rate = window.rate(now(), round.right);
    let limit = now() + Duration::from_secs(5);
    while fleet.unfinished() > 0 && now() < limit {
        fleet.wait(plan.pace, limit);
        round.take_events(fleet);
    }
    let missing = fleet.unfinished() as u64;
    match round {
        Round { refused: 1.., .. } => return Err(ClosedError::Refused(round.refused)),
        _ if round.wrong + missing > 0 => {
            return Err(ClosedError::WrongAnswers(round.wrong + missing));
        }
        _ => {}
    }
    Ok(rate.filter(|_| !is_cut))
}

/// The time in which the answers of a point count.
///
/// It begins with the first look behind the settling time, however late that is, and has its whole length from then on. One
/// that ended by the clock alone could be slept through. All answers of the settling time were then those of the point.
struct Window {
    /// End of the settling time.
    settled: Instant,
    length: Duration,
    /// When it began, and how many answers there were by then.
    began: Option<(Instant, u64)>,
}

impl Window {
    const fn after(settled: Instant, length: Duration) -> Self {
        Self { settled, length, began: None }
    }

    /// So many answers there are by now.
    fn look(&mut self, now: Instant, right: u64) {
        if self.began.is_none() && now >= self.settled {
            self.began = Some((now, right));
        }
    }

    /// When it begins; once it has, when it is over.
    fn next_look(&self) -> Instant {
        self.began.map_or(self.settled, |(at, _)| at + self.length)
    }

    fn is_over(&self, now: Instant) -> bool {
        self.began.is_some() && now >= self.next_look()
    }

    /// Answers per second since it began; `None` where it did not.
    fn rate(&self, now: Instant, right: u64) -> Option<f64> {
        let (began, before) = self.began?;
        #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
        let answers = (right - before) as f64;
        Some(answers / now.since(began).as_secs_f64())
    }
}

/// Goes round the clients, so that every connection is used.
struct Turns {
    next: usize,
    clients: usize,
    tag: u32,
}

impl Turns {
    fn call(
        &mut self,
        fleet: &mut Fleet,
        plan: &ClosedPlan,
        Draws { rng, left }: &mut Draws,
    ) -> Result<(), ClosedError> {
        let too_many = || ClosedError::TooMany(plan.application.requests_max());
        *left = left.checked_sub(1).ok_or_else(too_many)?;
        let service = Duration::from_nanos(u64::from(plan.service.draw_ns(rng)));
        let order = Order { seed: rng.u64(), service, tag: self.tag };
        let call = fleet::call(plan.application.ask(&order), None);
        let token = u64::from(self.tag);
        self.tag = self.tag.wrapping_add(1);
        let client = self.next;
        self.next = (self.next + 1) % self.clients;
        fleet.submit(client, now(), token, call);
        Ok(())
    }
}

struct Round<'a> {
    application: &'a dyn Application,
    right: u64,
    wrong: u64,
    refused: u64,
}

impl<'a> Round<'a> {
    fn new(plan: &'a ClosedPlan) -> Self {
        Self { application: &*plan.application, right: 0, wrong: 0, refused: 0 }
    }

    /// Takes what has ended. How much that is.
    fn take_events(&mut self, fleet: &mut Fleet) -> usize {
        let mut count = 0;
        while let Some((_, event)) = fleet.poll_event() {
            self.on_event(&event);
            count += 1;
        }
        count
    }

    fn on_event(&mut self, event: &Event) {
        match &event.end {
            #[expect(clippy::cast_possible_truncation, reason = "tokens are tags here")]
            End::Response { status, payload, .. }
                if self.application.is_answer(*status, payload, event.token as u32) =>
            {
                // What lacks a part is no capacity.
                self.right += u64::from(!self.application.is_partial(payload));
            }
            End::Rejected { .. } => self.refused += 1,
            _ => self.wrong += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLED: Instant = Instant::from_nanos(1_000_000_000);

    fn at_ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn answers_count_from_the_first_look_behind_the_settling_time() {
        let mut window = Window::after(SETTLED, Duration::from_millis(500));
        window.look(at_ms(0), 0);
        assert_eq!((window.next_look(), window.rate(at_ms(999), 70)), (SETTLED, None));
        window.look(at_ms(1_000), 80);
        window.look(at_ms(1_200), 90);
        assert_eq!(window.next_look(), at_ms(1_500));
        assert!(!window.is_over(at_ms(1_499)) && window.is_over(at_ms(1_500)));
        assert_eq!(window.rate(at_ms(1_500), 130), Some(100.0));
    }

    /// All answers of the settling time were counted as those of the point.
    #[test]
    fn a_point_that_its_thread_slept_through_is_measured_afterwards() {
        let mut window = Window::after(SETTLED, Duration::from_millis(500));
        window.look(at_ms(500), 4_000);
        assert!(!window.is_over(at_ms(2_000)), "it has not begun");
        window.look(at_ms(2_000), 5_000);
        assert!(!window.is_over(at_ms(2_000)) && window.is_over(at_ms(2_500)));
        assert_eq!(window.rate(at_ms(2_500), 5_050), Some(100.0));
    }
}
