//! Meetings of leaves: no request makes one, and few wait for one.

use super::super::life::{self, MEET, Meeting};
use super::super::replicas::{Known, Replicas};
use super::asking::Asking;
use super::{MidTier, Outcome};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tailwater_core::Instant;
use tailwater_rt::client::Answer;
use tailwater_rt::time::{Sleep, now, sleep};

/// A meeting under way: what the node is to forget is kept where it does not come about.
struct UnderWay {
    midtier: Arc<MidTier>,
    node: u16,
    /// `None` once it was met.
    meeting: Option<Meeting>,
}

impl Asking<'_> {
    /// Begins to meet the replicas of which that is due. They have `silence` for it: they may be slower than requests can wait.
    pub(super) fn meet(&self) {
        self.look();
        for &node in self.nodes.nodes() {
            let is_reached = self.is_reached(node);
            let due = || self.midtier.state().replicas.meeting(node, now());
            if let Some(meeting) = is_reached.then(due).flatten() {
                let payload = meeting.bytes();
                let midtier = self.midtier.clone();
                let under_way = UnderWay { midtier, node, meeting: Some(meeting) };
                let until = now() + self.midtier.silence_max;
                let fan = self.fan().call(self.shard(node), MEET.0, payload);
                fan.detach(until, move |outcomes| under_way.end(&outcomes));
            }
        }
    }

    /// Begins meetings, and waits while none of the replicas may be asked for the value and one of them is being met.
    pub(super) async fn until_one_is_met(&self) {
        self.wait_while(|replicas| {
            let (nodes, key) = (self.nodes.nodes(), self.key);
            !nodes.iter().any(|node| replicas.has_last(*node, key))
                && nodes.iter().any(|node| replicas.is_being_met(*node))
        })
        .await;
    }

    /// Begins meetings, and waits while one of the replicas is met for the first time: a write that passes it by is one that
    /// it misses.
    pub(super) async fn until_none_is_strange(&self) {
        self.wait_while(|replicas| {
            let is_met_first =
                |node: &u16| replicas.is_strange(*node) && replicas.is_being_met(*node);
            self.nodes.nodes().iter().any(is_met_first)
        })
        .await;
    }

    /// The replica that is asked next. Before there is none, those that are met for the first time are waited for: without their
    /// word nothing is a miss.
    pub(super) async fn next(&self, tried: &[u16]) -> Option<Known> {
        let next = self.choose(tried);
        if next.is_some() {
            return next;
        }
        self.until_none_is_strange().await;
        self.choose(tried)
    }

    /// For `silence` at most, or until the request's time is over: meetings may follow one another.
    async fn wait_while(&self, waits: impl Fn(&Replicas) -> bool) {
        let longest = now() + self.midtier.silence_max;
        let until = self.deadline().map_or(longest, |deadline| deadline.min(longest));
        loop {
            self.meet();
            let ended = {
                let state = self.midtier.state();
                if until <= now() || !waits(&state.replicas) {
                    return;
                }
                state.meetings.ended
            };
            NextEnd::new(self.midtier, ended, until).await;
        }
    }
}

impl UnderWay {
    fn end(mut self, outcomes: &[Outcome]) {
        if let [Ok(Answer { status: 0, payload, .. })] = outcomes
            && let Some((incarnation, is_kept)) = life::read_met(payload)
        {
            self.meeting = None;
            self.midtier.state().replicas.met(self.node, incarnation, is_kept, now());
        }
    }
}

/// However it ended: also where it was dropped, as the server ends.
impl Drop for UnderWay {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.midtier.state();
            if let Some(meeting) = self.meeting.take() {
                state.replicas.not_met(self.node, meeting, now());
            }
            state.meetings.ended += 1;
            std::mem::take(&mut state.meetings.waiting)
        };
        waiting.into_values().for_each(std::task::Waker::wake);
    }
}

/// Until a meeting ends, or the time for it does.
struct NextEnd<'a> {
    midtier: &'a MidTier,
    /// Meetings that had ended when it began.
    ended: u64,
    number: u64,
    too_late: Sleep,
}

impl<'a> NextEnd<'a> {
    fn new(midtier: &'a MidTier, ended: u64, until: Instant) -> Self {
        let number = {
            let meetings = &mut midtier.state().meetings;
            meetings.waits += 1;
            meetings.waits
        };
        Self { midtier, ended, number, too_late: sleep(until.since(now())) }
    }
}

impl Future for NextEnd<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Pin::new(&mut self.too_late).poll(context).is_ready() {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let meetings = &mut self.midtier.state().meetings;
        if meetings.ended != self.ended {
            return Poll::Ready(());
        }
        meetings.waiting.insert(self.number, waker);
        Poll::Pending
    }
}

impl Drop for NextEnd<'_> {
    fn drop(&mut self) {
        self.midtier.state().meetings.waiting.remove(&self.number);
    }
}
