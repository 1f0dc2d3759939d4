//! What a run is made of: a controller, who is connected, and the operations, all drawn by chance.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::guard::Mode;

/// The objective all runs share; the target delay is 40 % of it, the drop threshold 80 %.
pub(crate) const SLO: Duration = Duration::from_micros(200);
pub(crate) const TARGET: Duration = Duration::from_micros(80);
pub(crate) const THRESHOLD: Duration = Duration::from_micros(160);
/// Short, so that runs need not pass a quarter of a second in steps of 20 µs.
pub(crate) const STARVATION_LIMIT: Duration = Duration::from_millis(1);
/// The artifact's α of 0.001 would need thousands of updates for one credit to few clients.
pub(crate) const ARTIFACT_ALPHA: f64 = 0.05;
/// The cap of [`Guard::Cap`], and the burst it lets pass.
pub(crate) const SHED_CAP: f64 = 0.1;
pub(crate) const SHED_BURST: f64 = 64.0;

/// What stands between the controller and the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    Enforce,
    DryRun,
    Off,
    Cap,
}

/// A controller and its clients.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) controller: &'static str,
    pub(crate) profile: &'static str,
    pub(crate) synchronised: bool,
    pub(crate) guard: Guard,
    pub(crate) shards: usize,
    pub(crate) clients: usize,
    pub(crate) window_max: Option<u32>,
    pub(crate) expiry: &'static str,
    pub(crate) deregister_after: &'static str,
    pub(crate) seed: u64,
}

impl Setup {
    /// A profile as it is, enforced at one loop, whose clients wait for ever.
    pub(crate) const fn plain(profile: &'static str, clients: usize) -> Self {
        Self {
            controller: "breakwater",
            profile,
            synchronised: false,
            guard: Guard::Enforce,
            shards: 1,
            clients,
            window_max: None,
            expiry: "never",
            deregister_after: "never",
            seed: 1,
        }
    }

    pub(crate) fn build(&self) -> Controller {
        let mode = match self.guard {
            Guard::Enforce | Guard::Cap => "enforce",
            Guard::DryRun => "dry-run",
            Guard::Off => "off",
        };
        let mut overrides = vec![
            ("mode", mode.to_string()),
            ("queue_max", "6".into()),
            ("expiry", self.expiry.into()),
            ("deregister_after", self.deregister_after.into()),
        ];
        if self.synchronised {
            overrides.push(("demand", "synchronised".into()));
        }
        if self.guard == Guard::Cap {
            overrides.push(("shed_cap", SHED_CAP.to_string()));
        }
        if let Some(most) = self.window_max {
            overrides.push(("window_max", most.to_string()));
        }
        match self.profile {
            "paper" | "artifact" if self.controller == "efficiency" => {
                overrides.push(("drop_threshold", format!("{}us", THRESHOLD.as_micros())));
            }
            "artifact" => overrides.push(("alpha", ARTIFACT_ALPHA.to_string())),
            "default" => {
                overrides.push(("starvation_limit", "1ms".into()));
                // The harness tells delays; the wait that the profile predicts instead has tests
                // of its own.
                overrides.push(("signal", "oldest-age".into()));
                overrides.push(("target_delay", format!("{}us", TARGET.as_micros())));
                overrides.push(("drop_threshold", format!("{}us", THRESHOLD.as_micros())));
            }
            _ => {}
        }
        let spec = Spec {
            name: self.controller.into(),
            profile: self.profile.into(),
            overrides: overrides.into_iter().map(|(key, value)| (key.into(), value)).collect(),
        };
        spec.build(&Site::of_loops(SLO, self.shards, self.seed))
            .expect("every drawn setup is a sound one")
    }
}

/// One thing that happens. Numbers choose among what is there, modulo its count.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Client, calls, deadline in µs.
    Submit(usize, u64, Option<u64>),
    /// The server takes the next message of a link.
    Up(usize),
    /// The client takes the next message of a link.
    Down(usize),
    Start(usize),
    Finish(usize, usize),
    /// A loop measures this delay, in µs.
    Tick(usize, u64),
    /// This many ns pass.
    Pass(u64),
    Connect(usize),
    Disconnect(usize),
    /// A client hears an earlier offer once more.
    Repeat(usize, usize),
    Rogue(Mischief),
    Switch(Mode),
}

/// What an ill-behaved client sends.
#[derive(Clone, Debug)]
pub(crate) enum Mischief {
    Connect,
    Vanish,
    Flood {
        count: u64,
        acked: Lie,
        demand: u32,
        register: bool,
    },
    /// As many requests as its window lets it, with all the demand there is.
    Greed,
    Demand(u32, Lie),
    Deregister,
}

/// Which offer it claims to know.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lie {
    Truth,
    Nothing,
    Future(u32),
}

pub(crate) fn setups(
    controller: &'static str,
    profile: &'static str,
) -> impl Strategy<Value = Setup> {
    let guards = [Guard::Enforce, Guard::Enforce, Guard::DryRun, Guard::Off, Guard::Cap];
    (
        any::<bool>(),
        select(guards.to_vec()),
        1..=3_usize,
        1..=4_usize,
        option::of(1..6_u32),
        select(vec!["never", "30us"]),
        select(vec!["never", "50us"]),
        any::<u64>(),
    )
        .prop_map(
            move |(
                synchronised,
                guard,
                shards,
                clients,
                window_max,
                expiry,
                deregister_after,
                seed,
            )| Setup {
                controller,
                profile,
                synchronised,
                guard,
                shards,
                clients,
                window_max,
                expiry,
                deregister_after,
                seed,
            },
        )
}

pub(crate) fn sequences() -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 1..160)
}

fn op() -> impl Strategy<Value = Op> {
    let any_of = || 0..64_usize;
    let delay_us = select(vec![0_u64, 10, 79, 80, 81, 120, 160, 2_000]);
    prop_oneof![
        10 => (any_of(), 1..6_u64, option::weighted(0.2, 0..400_u64))
            .prop_map(|(who, calls, deadline)| Op::Submit(who, calls, deadline)),
        24 => any_of().prop_map(Op::Up),
        24 => any_of().prop_map(Op::Down),
        12 => any_of().prop_map(Op::Start),
        12 => (any_of(), any_of()).prop_map(|(server, work)| Op::Finish(server, work)),
        8 => (any_of(), delay_us).prop_map(|(server, us)| Op::Tick(server, us)),
        6 => prop_oneof![1..20_000_u64, 1..2_000_000_u64].prop_map(Op::Pass),
        3 => any_of().prop_map(Op::Connect),
        1 => any_of().prop_map(Op::Disconnect),
        3 => (any_of(), any_of()).prop_map(|(who, which)| Op::Repeat(who, which)),
        6 => mischief().prop_map(Op::Rogue),
        1 => select(vec![Mode::Enforce, Mode::DryRun, Mode::Off]).prop_map(Op::Switch),
    ]
}

fn mischief() -> impl Strategy<Value = Mischief> {
    let lie =
        || prop_oneof![Just(Lie::Truth), Just(Lie::Nothing), (1..5_000_u32).prop_map(Lie::Future)];
    let demand = || select(vec![0, 1, 1_000, u32::MAX]);
    prop_oneof![
        2 => Just(Mischief::Connect),
        1 => Just(Mischief::Vanish),
        6 => (1..24_u64, lie(), demand(), any::<bool>()).prop_map(
            |(count, acked, demand, register)| Mischief::Flood { count, acked, demand, register }
        ),
        2 => Just(Mischief::Greed),
        1 => (demand(), lie()).prop_map(|(demand, lie)| Mischief::Demand(demand, lie)),
        1 => Just(Mischief::Deregister),
    ]
}
