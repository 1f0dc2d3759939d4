//! What servers count, asked at the looks of a window: the front, and the nodes of tiers.

use crate::meter::Look;
use std::time::Duration;
use tailwater_rt::client::End;
use tailwater_rt::counts::Counts;

/// The answers of every server that is asked, by its number; the front is 0.
pub(crate) struct Census {
    servers: Vec<Answers>,
}

#[derive(Default)]
struct Answers {
    first: Option<Counts>,
    last: Option<Counts>,
    /// Queueing delays as told, added up, and how many.
    delays: Duration,
    looks: u32,
    /// A question was not answered: its counts are incomplete whatever comes.
    failed: bool,
}

/// What one server counted in the window.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// `None` where it did not say.
    pub counts: Option<Counts>,
    /// The queueing delay that its controller acts on, in the mean over all looks.
    pub delay: Duration,
}

impl Counted {
    /// Of several replicas together; the worst delay.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let counts = self.counts.as_ref().zip(other.counts.as_ref());
        Self {
            counts: counts.map(|(one, other)| one.and(other)),
            delay: self.delay.max(other.delay),
        }
    }
}

impl Answers {
    fn note(&mut self, look: Look, counts: Counts) {
        self.delays += Duration::from_nanos(counts.delay_ns);
        self.looks += 1;
        match look {
            Look::First => self.first = Some(counts),
            Look::Between => {}
            Look::Last => self.last = Some(counts),
        }
    }

    const fn are_open(&self) -> bool {
        !self.failed && (self.first.is_none() || self.last.is_none())
    }
}

impl Look {
    /// What marks a question of this look among requests, whose tokens are indices.
    pub(crate) const fn token(self) -> u64 {
        match self {
            Self::First => u64::MAX,
            Self::Between => u64::MAX - 1,
            Self::Last => u64::MAX - 2,
        }
    }

    fn of_token(token: u64) -> Option<Self> {
        [Self::First, Self::Between, Self::Last].into_iter().find(|look| look.token() == token)
    }
}

impl Census {
    pub(crate) fn new(servers: usize) -> Self {
        Self { servers: (0..servers).map(|_| Answers::default()).collect() }
    }

    /// Notes the end of a question; false where it is none.
    pub(crate) fn note(&mut self, server: Option<usize>, token: u64, end: &End) -> bool {
        let Some(look) = Look::of_token(token) else {
            return false;
        };
        let counts = match end {
            End::Response { payload, .. } => Counts::parse(payload).ok(),
            _ => None,
        };
        let answers = server.and_then(|server| self.servers.get_mut(server));
        match (answers, counts) {
            (Some(answers), Some(counts)) => answers.note(look, counts),
            (Some(answers), None) => answers.failed |= look != Look::Between,
            (None, _) => {}
        }
        true
    }

    /// Whether some server may still tell its counts at both ends.
    pub(crate) fn awaits(&self) -> bool {
        self.servers.iter().any(Answers::are_open)
    }

    /// What was counted, the front first.
    pub(crate) fn finish(self) -> Vec<Counted> {
        let counted = |answers: Answers| Counted {
            counts: answers.last.zip(answers.first).map(|(last, first)| last.since(&first)),
            delay: answers.delays.checked_div(answers.looks).unwrap_or_default(),
        };
        self.servers.into_iter().map(counted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_control::client::Reply;
    use tailwater_control::{Offer, Outcome};
    use tailwater_core::Instant;

    fn answer(received: u64, delay_ns: u64) -> End {
        let reply = Reply {
            outcome: Outcome::Served,
            offer: Offer::OPEN,
            stamp: Instant::ZERO.stamp(),
            elapsed: Duration::ZERO,
            sojourn: Duration::ZERO,
            waited: Duration::ZERO,
        };
        let json = format!("{{\"received\":{received},\"delay_ns\":{delay_ns}}}");
        End::Response { status: 0, payload: json.into(), reply }
    }

    #[test]
    fn counts_are_those_between_the_first_look_and_the_last_and_delays_the_mean_of_all() {
        let mut census = Census::new(2);
        let looks = [(Look::First, 10, 4_000), (Look::Between, 20, 8_000), (Look::Last, 35, 0)];
        for (look, received, delay_ns) in looks {
            assert!(census.awaits());
            assert!(census.note(Some(1), look.token(), &answer(received, delay_ns)));
        }
        assert!(!census.note(Some(1), 7, &End::Lost), "the token of a request");
        assert!(census.awaits(), "the front said nothing");
        assert!(census.note(Some(0), Look::Between.token(), &End::Lost));
        assert!(census.awaits(), "nor has it failed to at an end");
        assert!(census.note(Some(0), Look::Last.token(), &End::Lost));
        assert!(!census.awaits(), "the front is gone, and nothing more is waited for");
        let counted = census.finish();
        assert!(counted[0].counts.is_none());
        let counts = counted[1].counts.as_ref().unwrap();
        assert_eq!((counts.totals.received, counted[1].delay), (25, Duration::from_micros(4)));
    }

    #[test]
    fn an_event_of_a_client_is_no_answer_of_a_server() {
        let mut census = Census::new(1);
        assert!(census.note(None, Look::First.token(), &End::Lost));
        assert!(census.awaits());
    }
}
