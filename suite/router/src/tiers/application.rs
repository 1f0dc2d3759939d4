//! Both ends and the leaves as the application "router" of scenario files.

use super::leaf;
use super::midtier::{LEAVES, MidTier};
use super::register::{Registers, key_of};
use super::wire::{self, GET, SET};
use crate::choice::{Choice, Chooser};
use crate::placement::{NODES_MAX, Placement, Rule};
use rand_distr::{Distribution as _, Zipf};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tailwater_load::Application;
use tailwater_load::application::{Ask, BadSetting, Given, Kind, Node, Order, Place, Setting};
use tailwater_rt::Router;

/// Each leaf stores its keys when it starts; nothing is prepared.
pub const KIND: Kind = Kind {
    name: "router",
    about: "µSuite's Router: each key on several stores, set to all and got from one; the tier leaf has the stores",
    settings: SETTINGS,
    build,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "replicas",
        help: "how many leaves hold each key, 1 to 8, and no more than there are",
        default: "3",
    },
    Setting {
        name: "placement",
        help: "how a key finds its leaves: modulo (as published), jump, rendezvous or ring",
        default: "jump",
    },
    Setting {
        name: "choice",
        help: "which replica answers a get: random, least-recently-used or first-alive",
        default: "random",
    },
    Setting { name: "keys", help: "how many there are, 1 to 1,000,000", default: "10_000" },
    Setting {
        name: "sets",
        help: "of a hundred requests, so many are sets: 0 to 100",
        default: "10",
    },
    Setting {
        name: "skew",
        help: "exponent of Zipf's law by which keys are asked for, 0 (all alike) to 2",
        default: "0.99",
    },
    Setting {
        name: "silence",
        help: "a leaf that answers nothing for so long is not asked again, 1ms to 60s",
        default: "1s",
    },
    Setting { name: "memory", help: "of each leaf's store, in MiB, 4 to 65,536", default: "64" },
];

const SILENCE_MIN: Duration = Duration::from_millis(1);
const SILENCE_MAX: Duration = Duration::from_secs(60);

struct Replicated {
    placement: Placement,
    choice: Choice,
    leaves: u32,
    keys: u32,
    sets_percent: u32,
    popularity: Zipf<f64>,
    memory: usize,
    silence_max: Duration,
    registers: Registers,
}

fn build(given: &Given<'_>) -> Result<Arc<dyn Application>, BadSetting> {
    let settings = &given.settings;
    let leaves = given.only_tier(LEAVES, NODES_MAX as u32)?;
    let rule = settings.choice("placement", &Rule::ALL)?;
    let replicas: usize = settings.number("replicas", 1..=8)?;
    let names: Vec<String> = (0..leaves).map(|leaf| format!("leaf-{leaf}")).collect();
    let placement = Placement::new(rule, &names, replicas).map_err(|_| {
        let needed = format!("at most the number of leaves, {leaves},");
        BadSetting::new("replicas", settings.text("replicas"), needed)
    })?;
    let keys = settings.number("keys", 1..=1_000_000)?;
    let skew = settings.number("skew", 0.0..=2.0)?;
    let popularity = Zipf::new(f64::from(keys), skew)
        .map_err(|_| BadSetting::new("skew", settings.text("skew"), "an exponent from 0 to 2"))?;
    Ok(Arc::new(Replicated {
        placement,
        choice: settings.choice("choice", &Choice::ALL)?,
        leaves,
        keys,
        sets_percent: settings.number("sets", 0..=100)?,
        popularity,
        memory: settings.number("memory", 4_usize..=65_536)? << 20,
        silence_max: settings.duration("silence", SILENCE_MIN..=SILENCE_MAX)?,
        // Nothing else tells this generator's values from those of an earlier one on the same servers.
        registers: Registers::new(RandomState::new().hash_one(std::process::id()) as u32),
    }))
}

impl Application for Replicated {
    fn router(&self, place: &Place) -> Result<Router, String> {
        // A crew's threads take the calls of a write one by one, and so those of two writes in any order.
        if place.loops != 1 || place.workers != 0 || place.crew != 0 {
            return Err(format!(
                "found {} loops, {} workers and {} threads that make calls; Router needs one loop, no workers and no such \
                 threads (a model that begins with s or a, and i, without +: sib, aib), for one thread keeps the order of \
                 writes on all replicas",
                place.loops, place.workers, place.crew
            ));
        }
        let nodes = self.leaves as usize;
        let chooser = Chooser::new(self.choice, nodes, 1);
        let known = (nodes, self.silence_max);
        Ok(MidTier::new(self.placement.clone(), chooser, known).router())
    }

    fn node(&self, at: Node<'_>, place: &Place) -> Result<Router, String> {
        leaf::router(&self.placement, at.number, self.keys, (self.memory, place.spinner))
    }

    /// Key and kind are decided by the order; a write's value also by what was asked before.
    fn ask(&self, order: &Order) -> Ask {
        let mut rng = order.rng();
        let key = (self.popularity.sample(&mut rng) as u32 - 1).min(self.keys - 1);
        let is_set = rng.below(100) < self.sets_percent;
        let tagged = |number: u32| u64::from(number) << 32 | u64::from(order.tag);
        if is_set {
            let (number, value) = self.registers.set(key);
            return Ask { method: SET, payload: wire::set(tagged(number), &key_of(key), &value) };
        }
        let tag = tagged(self.registers.get(key));
        Ask { method: GET, payload: wire::get(tag, &key_of(key)) }
    }

    /// A get without a value is wrong: every key is stored, and none is evicted or deleted.
    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        let Some((whole, value)) = wire::read_answer(payload).filter(|_| status == 0) else {
            return false;
        };
        let number = (whole >> 32) as u32;
        let is_right = match value.is_empty() {
            true => self.registers.acknowledge(number),
            false => self.registers.check(number, value),
        };
        whole as u32 == tag && is_right.is_ok()
    }
}
