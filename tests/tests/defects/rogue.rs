//! Servers that answer what they were not asked.

use super::support::{Fake, Side, within};
use std::time::Duration;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_tests::controller;

const WAITING: u64 = 19;

/// What the numbers of calls may be that were made `offset` calls after another, as clients count: a
/// sequence, alone or beside a slot.
fn later(id: u64, offset: u64) -> [u64; 3] {
    [id + offset, id + (offset << 32), id + (offset << 32 | offset)]
}

fn client_of(fake: &Fake) -> Client {
    let breakwater = controller("breakwater", &[]);
    let config = ChannelConfig::new(fake.address());
    Client::connect_with(config, &breakwater).expect("a client starts")
}

/// Takes a client, and lets it send the first of its calls only.
fn with_one_call_sent(fake: &Fake) -> (Side, u64) {
    let mut side = fake.accept();
    let first = side.request().expect("the first call comes with HELLO");
    side.welcome(1);
    (side, first)
}

#[test]
fn a_call_that_was_not_sent_is_not_answered() {
    let fake = Fake::listen();
    let client = client_of(&fake);
    let options = within(Duration::from_secs(3));
    let calls: Vec<_> = (0..=WAITING).map(|_| client.call_with(1, "mine", options)).collect();
    let (mut side, first) = with_one_call_sent(&fake);
    for offset in 1..=WAITING {
        for guess in later(first, offset) {
            side.respond(guess, 1, 0, b"forged");
        }
    }
    // Were they taken for answers, their callers would have them before this one.
    side.respond(first, 1, 0, b"honest");
    drop(side);
    let answers: Vec<_> = calls.into_iter().map(tailwater_rt::client::CallFuture::wait).collect();
    let forged = |answer: &&Result<tailwater_rt::client::Answer, _>| {
        answer.as_ref().is_ok_and(|answer| answer.payload == b"forged")
    };
    let forged = answers.iter().filter(forged).count();
    assert_eq!(forged, 0, "forged answers to calls that were not sent");
}

/// The protocol's words: an answer with an id that the client does not know is dropped, but its window
/// applies.
#[test]
fn the_window_of_an_answer_to_nothing_applies() {
    let fake = Fake::listen();
    let client = client_of(&fake);
    let options = within(Duration::from_secs(60));
    let calls: Vec<_> = (0..8).map(|_| client.call_with(1, "mine", options)).collect();
    let (mut side, first) = with_one_call_sent(&fake);
    side.respond(first ^ 1 << 63, 8, 1, b"to nobody");
    let mut sent = vec![first];
    for _ in 0..7 {
        let next = side.request();
        sent.push(next.unwrap_or_else(|| panic!("a window of 8, and {} calls came", sent.len())));
    }
    for id in sent {
        side.respond(id, 8, 1, b"answer");
    }
    assert!(calls.into_iter().all(|call| call.wait().is_ok()));
}
