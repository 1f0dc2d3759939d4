//! What a node's death costs: memcacheds behind a router, of which one is killed amid load, again and again.
//!
//! Each answer is checked by the [oracle](crate::oracle). Answers are dated from when their requests were due, since the
//! death of the moment, and those of all deaths are looked at together. Beside each death, in an order by chance, is a round in
//! which nothing dies: [`recovery`] holds the one against the other.

pub mod curve;
pub mod recovery;
mod load;
mod node;

pub use load::Asks;

use crate::oracle::REQUESTS_MAX;
use curve::{Curve, Sample};
use load::{Ended, IsOver, Load};
use node::{Memcached, Programs, RouterProcess};
use recovery::{Pair, Recovery};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;
use tailwater_core::{Instant, Nanos as _, Rng};
use tailwater_rt::time::now;

/// The goal: so many milliseconds after a death answers are as quick as without one.
const BACK_WITHIN_MS: i64 = 50;

/// What is done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// This program, whose `main` asks [`played`](tailwater_program::stages::played) first: what it starts ends with it, however
    /// that ends.
    pub own: PathBuf,
    /// The program of a node.
    pub memcached: PathBuf,
    /// The router's program, and what it is told beside its nodes.
    pub router: PathBuf,
    /// As it would be typed.
    pub arguments: Vec<String>,
    /// How many nodes there are.
    pub nodes: usize,
    /// What is asked for.
    pub asks: Asks,
    /// How often a node dies, each in its turn.
    pub deaths: usize,
    /// Whether it stands still instead of being killed.
    pub hangs: bool,
    /// What is looked at before a death. So long is asked before that, too, which is not looked at.
    pub before: Duration,
    /// What is looked at after it.
    pub after: Duration,
    /// Milliseconds of a bin of the curve.
    pub bin_ms: i64,
}

impl Plan {
    fn programs(&self) -> Programs<'_> {
        Programs { own: &self.own, memcached: &self.memcached, router: &self.router }
    }

    /// Whether the oracle can keep its requests, before anything is started: an hour of work would be lost.
    fn check(&self) -> Result<(), String> {
        let Asks { keys, per_second, .. } = self.asks;
        let round = f64::from(keys) + per_second * (self.before * 2 + self.after).as_secs_f64();
        // Beside each death is a round without.
        let expected = 2.0 * self.deaths as f64 * round;
        // Six standard deviations of gaps by chance.
        if expected + 6.0 * expected.sqrt() <= REQUESTS_MAX as f64 {
            return Ok(());
        }
        Err(format!(
            "{} deaths take {expected:.0} requests, and the oracle keeps {REQUESTS_MAX}; fewer deaths, a lower rate or less \
             time before and after them is needed",
            self.deaths
        ))
    }
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Found {
    /// Deaths: fewer than were asked for where a signal ended it.
    pub deaths: usize,
    /// Requests, in and beside what was looked at.
    pub requests: usize,
    /// Of these, those with an error for an answer; what became of a set is not known then.
    pub failed: usize,
    /// The first of the errors.
    pub error: Option<String>,
    /// Answers that the oracle has found wrong, with their keys.
    pub wrong: Vec<String>,
    /// How late requests were sent: the 99th percentile, in microseconds.
    pub lateness_p99_us: f64,
    /// Second tries of gets: sent, answered first, and not sent for want of budget.
    pub hedges: [String; 3],
    /// How long answers took around the deaths.
    pub curve: Curve,
    /// The same around moments at which nothing died.
    pub control: Curve,
    /// What the first 50 ms after deaths are beside those without, what the next 50 ms are, and what all after the first are.
    pub recoveries: [Recovery; 3],
}

/// Kills nodes and looks what becomes of requests. `tell` hears of each death. Once `is_over`, what was found by then is told;
/// all programs that were started end in any case, with this thread at the latest.
///
/// # Errors
/// When more is asked for than the oracle can keep. When a program does not start or ends, and when the router gives what is
/// no answer. When it is over before the first death.
pub fn measure(
    plan: &Plan,
    mut tell: impl FnMut(usize),
    is_over: &dyn Fn() -> bool,
) -> Result<Found, String> {
    plan.check()?;
    let programs = plan.programs();
    let start = |_| Memcached::start(programs);
    let mut nodes = (0..plan.nodes).map(start).collect::<Result<Vec<_>, _>>()?;
    let mut router = RouterProcess::start(programs, &nodes, &plan.arguments)?;
    let mut load = Load::open(router.address, plan.asks.clone())?;
    let mut pairs = Vec::new();
    let mut found = Tally::default();
    let mut coin = Rng::from_seed(plan.asks.seed).split("order");
    for death in 0..plan.deaths {
        let node = death % nodes.len();
        let mut round = |victim: Option<&mut Memcached>| {
            load.fill(is_over)?;
            let samples = around(plan, &mut load, victim, is_over)?;
            found.add(&mut load);
            Ok::<_, String>(samples)
        };
        let is_control_first = coin.chance(0.5);
        let mut pair = || {
            let before = if is_control_first { Some(round(None)?) } else { None };
            let died = round(Some(&mut nodes[node]))?;
            nodes[node].start_again(programs)?;
            router.until_up(nodes[node].address)?;
            let control = before.map_or_else(|| round(None), Ok)?;
            Ok::<_, String>(Pair { death: died, control })
        };
        match pair() {
            Ok(pair) => pairs.push(pair),
            // Half a pair is held against nothing. What is wrong stays wrong.
            Err(_) if is_over() && !pairs.is_empty() => {
                found.add_wrong(&load.ended);
                break;
            }
            Err(why) => return Err(why),
        }
        tell(death + 1);
    }
    let hedge = |name: &str| router.stat(name).unwrap_or_default();
    let hedges = ["hedged", "hedges_won", "hedges_over_budget"].map(hedge);
    Ok(found.found(plan, hedges, &pairs))
}

/// What was due around the death of a node, or around a moment at which none dies, by when that was.
fn around(
    plan: &Plan,
    load: &mut Load,
    victim: Option<&mut Memcached>,
    is_over: IsOver<'_>,
) -> Result<Vec<Sample>, String> {
    load.begin();
    load.go_on(now() + plan.before * 2, is_over)?;
    let died = victim.map_or_else(|| Ok(now()), |node| kill(plan, node))?;
    load.go_on(died + plan.after, is_over)?;
    load.drain(is_over)?;
    Ok(load.ended.since(died))
}

fn kill(plan: &Plan, node: &mut Memcached) -> Result<Instant, String> {
    let died = now();
    if plan.hangs {
        node.stop()?;
    } else {
        node.kill();
    }
    Ok(died)
}

/// What has ended so far.
#[derive(Debug, Default)]
struct Tally {
    requests: usize,
    failed: usize,
    error: Option<String>,
    wrong: Vec<String>,
    lateness_ns: Vec<u64>,
}

impl Tally {
    fn add(&mut self, load: &mut Load) {
        let ended = std::mem::take(&mut load.ended);
        let (requests, failed) = ended.counts();
        self.requests += requests;
        self.failed += failed;
        self.add_wrong(&ended);
        self.error = self.error.take().or(ended.error);
        self.lateness_ns.extend(ended.lateness.iter().map(|late| late.nanos()));
    }

    fn add_wrong(&mut self, ended: &Ended) {
        self.wrong.extend(ended.wrong.iter().map(|(key, wrong)| format!("k{key}: {wrong:?}")));
    }

    fn found(mut self, plan: &Plan, hedges: [String; 3], pairs: &[Pair]) -> Found {
        self.lateness_ns.sort_unstable();
        let rank = (self.lateness_ns.len() * 99).div_ceil(100).max(1) - 1;
        let lateness = self.lateness_ns.get(rank).copied().unwrap_or(0);
        let Self { requests, failed, error, wrong, .. } = self;
        let lateness_p99_us = lateness as f64 / 1_000.0;
        let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let (before, after) = (ms(plan.before), ms(plan.after));
        let curve = |of: fn(&Pair) -> &[Sample]| {
            let all: Vec<Sample> = pairs.iter().flat_map(of).copied().collect();
            Curve::of(&all, plan.bin_ms, (before, after))
        };
        let within = BACK_WITHIN_MS.min(after);
        let windows = [0..within, within..after.min(2 * within), within..after];
        Found {
            deaths: pairs.len(),
            requests,
            failed,
            error,
            wrong,
            lateness_p99_us,
            hedges,
            curve: curve(|pair| &pair.death),
            control: curve(|pair| &pair.control),
            recoveries: windows.map(|ms| Recovery::of(pairs, ms, plan.asks.seed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its programs are not there: it would fail at the first of them otherwise.
    #[test]
    fn more_requests_than_the_oracle_keeps_are_refused_before_anything_starts() {
        let asks =
            Asks { connections: 1, keys: 10, sets_percent: 10, per_second: 5_000.0, seed: 1 };
        let [before, after] = [Duration::from_millis(500); 2];
        let plan = |deaths| Plan {
            own: "/nowhere/own".into(),
            memcached: "/nowhere/memcached".into(),
            router: "/nowhere/router".into(),
            arguments: Vec::new(),
            nodes: 1,
            asks: asks.clone(),
            deaths,
            hangs: false,
            before,
            after,
            bin_ms: 10,
        };
        let error = |deaths| measure(&plan(deaths), |_| {}, &|| false).expect_err("neither can be");
        assert!(error(2_000).contains("/nowhere/memcached"), "{}", error(2_000));
        let told = error(10_000);
        assert!(told.contains("the oracle keeps 33554432; fewer deaths, a lower rate"), "{told}");
    }
}
