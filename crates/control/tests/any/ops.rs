//! What can happen, drawn by chance.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tailwater_control::Reason;
use tailwater_control::guard::Mode;

/// One thing that happens. Numbers choose among what is there, modulo its count.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Client, calls, priority.
    Submit(usize, u32, u8),
    /// The server takes a client's next message.
    Up(usize),
    /// A client takes its next message.
    Down(usize),
    /// A loop takes its oldest waiting request.
    Start(usize),
    /// A handler of a loop returns.
    Finish(usize, usize),
    /// A loop ends a waiting request before it starts, for a reason that is its own affair.
    End(usize, usize, Reason),
    /// The caller of a running request gives it up.
    Abort(usize, usize),
    /// A loop measures this delay, in µs.
    Tick(usize, u64),
    /// This many ns pass.
    Pass(u64),
    Connect(usize),
    Disconnect(usize),
    Switch(Mode),
}

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 1..200)
}

fn op() -> impl Strategy<Value = Op> {
    let any_of = || 0..64_usize;
    let delay_us = select(vec![0_u64, 10, 60, 100, 160, 2_000]);
    let reason =
        select(vec![Reason::QueueFull, Reason::Draining, Reason::Deadline, Reason::Cancelled]);
    prop_oneof![
        10 => (any_of(), 1..6_u32, any::<u8>()).prop_map(|(w, n, p)| Op::Submit(w, n, p)),
        24 => any_of().prop_map(Op::Up),
        24 => any_of().prop_map(Op::Down),
        12 => any_of().prop_map(Op::Start),
        12 => (any_of(), any_of()).prop_map(|(server, work)| Op::Finish(server, work)),
        4 => (any_of(), any_of(), reason).prop_map(|(at, pick, why)| Op::End(at, pick, why)),
        2 => (any_of(), any_of()).prop_map(|(at, pick)| Op::Abort(at, pick)),
        8 => (any_of(), delay_us).prop_map(|(server, us)| Op::Tick(server, us)),
        6 => prop_oneof![1..50_000_u64, 1..3_000_000_u64].prop_map(Op::Pass),
        3 => any_of().prop_map(Op::Connect),
        1 => any_of().prop_map(Op::Disconnect),
        1 => select(vec![Mode::Enforce, Mode::DryRun, Mode::Off]).prop_map(Op::Switch),
    ]
}
