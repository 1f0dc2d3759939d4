//! Very many connections to one server process: what each costs, and what happens when half of them
//! vanish at once. TAILWATER_CONNECTIONS says how many, 2,000 when it says nothing.

mod common;

use common::{Raw, Serving, eventually};

/// Most user-space memory for an idle connection that has made a call, in bytes.
const EACH_MAX: u64 = 8 << 10;

fn wanted() -> usize {
    let said = std::env::var("TAILWATER_CONNECTIONS").ok();
    let wanted = said.map_or(2_000, |said| said.parse().expect("a number of connections"));
    // Both ends need as many descriptors; the server raises its own limit.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let mut raised = limit;
    raised.current = limit.maximum;
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
    let most = limit.maximum.map_or(usize::MAX, |most| most as usize);
    wanted.min(most.saturating_sub(100))
}

#[test]
fn a_connection_costs_little_and_half_of_them_may_vanish_at_once() {
    let count = wanted();
    let serving = Serving::start(&["--controller", "breakwater", "--loops", "2"]);
    let mut crowd: Vec<Raw> = Vec::new();
    let connect = |crowd: &mut Vec<Raw>, upto: usize| {
        while crowd.len() < upto {
            let mut raw = Raw::connect(&serving.address);
            assert!(raw.is_welcome(), "connection {} is turned away", crowd.len());
            raw.echoes(b"hello");
            crowd.push(raw);
        }
    };
    // The first hundred pay for what is there once.
    connect(&mut crowd, 100);
    let before = serving.resident();
    connect(&mut crowd, count);
    let each = serving.resident().saturating_sub(before) / (count as u64 - 100);
    assert!(each < EACH_MAX, "{each} bytes for each of {count} connections");

    // Each has a call on its way when every second one vanishes.
    for (number, raw) in crowd.iter_mut().enumerate() {
        raw.ask(&number.to_le_bytes());
    }
    let mut survivors = Vec::new();
    for (number, raw) in crowd.into_iter().enumerate() {
        if number % 2 == 0 {
            drop(raw);
        } else {
            survivors.push((number, raw));
        }
    }
    for (number, raw) in &mut survivors {
        raw.is_answered(&number.to_le_bytes());
    }
    for (number, raw) in &mut survivors {
        raw.echoes(&number.to_be_bytes());
    }

    // Their places are free: as many come again.
    let mut newcomers = Vec::new();
    eventually("as many come again", || {
        let mut raw = Raw::connect(&serving.address);
        assert!(raw.is_welcome());
        raw.echoes(b"new");
        newcomers.push(raw);
        newcomers.len() == count / 2
    });
    let (_, last) = survivors.last_mut().expect("half of them");
    last.echoes(b"to the end");
}
