//! A get's second try at another replica, where the first is late.
//!
//! When that is, and what it may cost, [`Hedges`] and [`Lateness`] say, as for the tiers of the runtime. Which replica has the
//! key is known here alone.

use super::super::replicas::Known;
use super::asking::Asking;
use super::{Outcome, State};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tailwater_control::retry::{HedgeCounts, Hedges, Lateness};
use tailwater_rt::client::Answer;
use tailwater_rt::time::{now, sleep};

const NONE: HedgeCounts = HedgeCounts { sent: 0, won: 0, over_budget: 0 };

impl Asking<'_> {
    /// What a replica says of the key, and a second one where that is late: those that have ended. With a value one is
    /// enough. A second one is noted as tried.
    pub(super) async fn get(
        &self,
        first: Known,
        payload: &[u8],
        tried: &mut Vec<u16>,
    ) -> Vec<(Known, Outcome)> {
        let Some(after) = self.hedge_after() else {
            let patience = self.midtier.silence_max / 10;
            return vec![(first, self.ask(first, payload, patience).await)];
        };
        let made = now();
        let mut call = pin!(self.ask(first, payload, after));
        let late = Lateness::new(made, after);
        let outcomes = if let Some(outcome) = unless_late(call.as_mut(), late).await {
            vec![(first, outcome)]
        } else if let Some(second) = self.second(tried) {
            let besides = pin!(self.ask(second, payload, after));
            self.first_of((first, call), (second, besides)).await
        } else {
            vec![(first, call.await)]
        };
        if let Some(hedges) = &mut self.midtier.state().hedges {
            hedges.on_end(now().since(made));
        }
        outcomes
    }

    /// How long the first try is waited for, if there may be a second.
    fn hedge_after(&self) -> Option<Duration> {
        self.midtier.state().hedges.as_mut()?.on_call()
    }

    /// Where the second try goes, best to a replica that answers; `None` where there is no other, or the budget is spent.
    fn second(&self, tried: &mut Vec<u16>) -> Option<Known> {
        if self.deadline().is_some_and(|deadline| deadline <= now()) {
            return None;
        }
        self.look();
        let has_budget = {
            let State { replicas, hedges, .. } = &mut *self.midtier.state();
            let may = |node: &u16| !tried.contains(node) && replicas.has_last(*node, self.key);
            // The budget first: to be chosen counts as to be asked.
            self.nodes.nodes().iter().any(may).then(|| hedges.as_mut().map(Hedges::take))??
        };
        self.tier.count_hedges(match has_budget {
            true => HedgeCounts { sent: 1, ..NONE },
            false => HedgeCounts { over_budget: 1, ..NONE },
        });
        // All others may have been late for a moment: one of them is asked rather than the first waited for.
        let second = has_budget.then(|| self.choose(tried))??;
        tried.push(second.0);
        Some(second)
    }

    /// Until one of two calls has a value, or both have ended.
    async fn first_of<F: Future<Output = Outcome>, G: Future<Output = Outcome>>(
        &self,
        (first, mut call): (Known, Pin<&mut F>),
        (second, mut besides): (Known, Pin<&mut G>),
    ) -> Vec<(Known, Outcome)> {
        let (mut one, mut other) = (None, None);
        poll_fn(|context| {
            poll_once(&mut one, || call.as_mut().poll(context));
            poll_once(&mut other, || besides.as_mut().poll(context));
            let is_over = one.is_some() && other.is_some();
            let found = [&one, &other].into_iter().flatten().any(has_value);
            if is_over || found { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        if one.is_none() {
            if let Some(hedges) = &mut self.midtier.state().hedges {
                hedges.on_won();
            }
            self.tier.count_hedges(HedgeCounts { won: 1, ..NONE });
        }
        let ended = [(first, one), (second, other)].into_iter();
        ended.filter_map(|(known, outcome)| Some((known, outcome?))).collect()
    }
}

fn poll_once(ended: &mut Option<Outcome>, poll: impl FnOnce() -> Poll<Outcome>) {
    if ended.is_none()
        && let Poll::Ready(outcome) = poll()
    {
        *ended = Some(outcome);
    }
}

const fn has_value(outcome: &Outcome) -> bool {
    matches!(outcome, Ok(Answer { status: 0, .. }))
}

/// The future's output, unless it is late before it has one.
async fn unless_late<F: Future>(mut future: Pin<&mut F>, mut late: Lateness) -> Option<F::Output> {
    let mut alarm = sleep(late.at().since(now()));
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        while Pin::new(&mut alarm).poll(context).is_ready() {
            let time = now();
            match late.look(time) {
                Some(again) => alarm = sleep(again.since(time)),
                None => return Poll::Ready(None),
            }
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;
    use tailwater_core::Instant;
    use tailwater_rt::client::{ChannelConfig, Client};
    use tailwater_rt::time::yield_now;
    use tailwater_rt::{Reply, Request, Server, ServerConfig};

    /// The mid-tier stood still for hours: its answer is there in the next turn.
    #[test]
    fn a_get_that_is_looked_at_too_late_is_waited_for_anew_once() {
        let site = Site::one_loop(Duration::from_secs(10), 1);
        let controller = Spec::named("none").build(&site).expect("built");
        let service = |_: Request| async {
            let late = Lateness::new(Instant::ZERO, Duration::from_millis(1));
            let next_turn = unless_late(pin!(yield_now()), late).await;
            let never = unless_late(pin!(pending::<()>()), late).await;
            Reply::ok(vec![next_turn.is_some().into(), never.is_some().into()])
        };
        let server = Server::start(ServerConfig::default(), controller.admission.clone(), service);
        let server = server.expect("it starts");
        let channel = ChannelConfig::new(server.address().clone());
        let client = Client::connect_with(channel, &controller).expect("a client");
        let answer = client.call(1, b"".to_vec()).wait().expect("an answer");
        assert_eq!(answer.payload, [1, 0]);
    }
}
