use super::*;
use crate::fabric::Fabric;
use crate::space::Space;
use crate::world::Link;
use std::time::Duration;
use tailwater_control::{Gauges, Offer, Reason, Verdict};
use tailwater_core::Rng;

const NOW: Instant = Instant::ZERO;

/// What a node says and does for one client.
#[derive(Clone, Copy)]
struct Story {
    verdict: Verdict,
    /// Of each offer.
    window: u32,
    /// What its pool counts.
    issued: u32,
    /// After the first request, which registers.
    requests: u32,
}

const HONEST: Story = Story { verdict: Verdict::Admit, window: 2, issued: 2, requests: 2 };

fn gauges_of(issued: u32) -> Gauges {
    Gauges { pool: 10, issued, sessions: 1, ..Gauges::default() }
}

fn facts(story: Story) -> Vec<Fact> {
    let Story { verdict, window, issued, requests } = story;
    let (connection, gauges) = (Connection(0), gauges_of(issued));
    let offer = |window, seq| Offer { window, seq, ..Offer::OPEN };
    let (first, later) = (offer(1, 0), offer(window, 1));
    let mut facts = vec![Fact::Accepted { connection, offer: first, gauges }];
    for (registers, count) in [(true, 1), (false, requests as usize)] {
        let judged = Fact::Judged { connection, registers, verdict, idle: true };
        facts.extend(std::iter::repeat_n(judged, count));
        for _ in 0..count {
            facts.push(Fact::Answered { connection, again: false });
            facts.push(Fact::Offered { connection, offer: later, gauges });
        }
    }
    facts.push(Fact::Ticked { node: 0, at: 0, gauges });
    facts
}

fn finding(facts: &[Fact], gauges: Gauges) -> Option<(Rule, String)> {
    let mut referee = Referee::new(&World { clients: 1, ..World::paper(1) });
    facts.iter().for_each(|fact| referee.hear(NOW, fact));
    let link = Link { delay: Duration::ZERO, jitter: Duration::ZERO };
    let space = Space::new(Fabric::new(link, 1, &Rng::from_seed(1)));
    let gauges = vec![gauges];
    let (at_nodes, locks) = (Vec::new(), Vec::new());
    referee
        .conclude(
            NOW,
            &Standing { space: &space, waiting: 0, at_nodes, locks, threads: Vec::new(), gauges },
        )
        .0
}

fn of_story(story: Story) -> Option<(Rule, String)> {
    finding(&facts(story), gauges_of(story.issued))
}

#[test]
fn an_honest_controller_passes_every_check() {
    assert_eq!(of_story(HONEST), None);
}

#[test]
fn each_broken_promise_is_noticed() {
    let accused = Story { verdict: Verdict::Shed(Reason::NoCredit), requests: 1, ..HONEST };
    for (story, rule, words) in [
        (accused, Rule::Honest, "kept to its window"),
        (Story { requests: 3, ..HONEST }, Rule::Windows, "never exceeded 2"),
        (Story { issued: 3, requests: 1, ..HONEST }, Rule::Credits, "3 credits count as issued"),
        (Story { issued: 1, requests: 1, ..HONEST }, Rule::Credits, "at rest 1 credits"),
    ] {
        let (found, what) = of_story(story).expect("a broken rule");
        assert!(found == rule && what.contains(words), "{found:?}: {what}");
    }
}

/// The end of a run finds what no single fact shows.
#[test]
fn fates_and_calls_are_counted() {
    let lost = [Fact::Intended, Fact::Intended, Fact::Ended { request: 1 }];
    let (rule, what) = finding(&lost, Gauges::default()).expect("a broken rule");
    assert!(rule == Rule::Fates && what.contains("2 requests"), "{what}");
    assert_eq!(
        finding(&[lost.as_slice(), &[Fact::Ended { request: 2 }]].concat(), Gauges::default()),
        None
    );
}

#[test]
fn the_first_finding_stands() {
    let astray = |thing, what: &str| Fact::Astray(thing, what.into());
    let facts = [astray(Thing::Lock, "first"), astray(Thing::Call, "second")];
    assert_eq!(finding(&facts, Gauges::default()), Some((Rule::Locks, "first".into())));
}

/// What the referee says of a request that leaves the first of two replicas behind these facts.
fn left_untried(facts: &[Fact]) -> Option<(Rule, String)> {
    let mut referee = Referee::new(&World { clients: 1, replicas: 2, ..World::paper(1) });
    let (request, connection, deadline) = (1, Connection(0), Instant::FAR_FUTURE);
    let tried = Fact::Tried { request, connection, now: NOW, deadline };
    let left = Fact::Untried { request, connection };
    for fact in [Fact::Intended, tried].iter().chain(facts).chain([&left]) {
        referee.hear(NOW, fact);
    }
    referee.ruling.0
}

/// It was believed, whatever had become of the request.
#[test]
fn that_a_request_had_no_try_is_believed_of_a_lost_connection_to_which_it_was_not_sent() {
    let connection = Connection(0);
    let sent = |request| Fact::Sent { request, connection, registers: true };
    let (lost, crashed) = (Fact::Disconnected { connection }, Fact::Crashed { connection });
    let back = Fact::Heard { connection, offer: Offer::OPEN, answers: false };
    let other = Fact::Disconnected { connection: Connection(1) };
    for sound in [vec![lost.clone()], vec![crashed], vec![sent(2), lost.clone()]] {
        assert_eq!(left_untried(&sound), None, "{sound:?}");
    }
    for (facts, words) in [
        (vec![], "whose connection stands"),
        (vec![other], "whose connection stands"),
        (vec![lost.clone(), back], "whose connection stands"),
        (vec![sent(1), lost], "was sent there"),
    ] {
        let (rule, what) = left_untried(&facts).expect("a broken rule");
        assert!(rule == Rule::Retries && what.contains(words), "{facts:?}: {what}");
    }
}
