//! Both ends and the leaves as the application "router" of scenario files.

use super::agreement;
use super::front::MemcachedFront;
use super::gets::Gets;
use super::keys::key_of;
use super::leaf;
use super::memcacheds::BackEnd;
use super::midtier::{LEAVES, MidTier};
use super::wire::{self, EACH, GET, SET};
use crate::choice::{Choice, Chooser};
use crate::hedging;
use crate::oracle::{REQUESTS_MAX, Registers};
use crate::placement::{NODES_MAX, Placement, Rule};
use rand_distr::{Distribution as _, Zipf};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailwater_load::Application;
use tailwater_load::application::{
    Accord, Ask, BadSetting, ForeignFront, Given, Kind, Node, Order, Place, ReplicaCounts, Setting,
};
use tailwater_rt::{Address, Router};

/// Each store holds its keys when it starts, and memcacheds are given them; nothing is prepared.
pub const KIND: Kind = Kind {
    name: "router",
    about: "µSuite's Router: each key on several stores, set to all and got from one; the tier leaf has the stores",
    settings: SETTINGS,
    build,
};

/// What holds the keys.
#[derive(Clone, Copy)]
enum Leaf {
    /// Stores of ours.
    Store,
    /// Programs that the tier's command starts.
    Memcached,
}

const LEAVES_ARE: [(&str, Leaf); 2] = [("store", Leaf::Store), ("memcached", Leaf::Memcached)];

/// Whether the front speaks memcached's protocol.
const FRONTS: [(&str, bool); 2] = [("rpc", false), ("memcached", true)];

/// MiB of a store where nothing is said.
const MEMORY: &str = "64";

const SETTINGS: &[Setting] = &[
    Setting {
        name: "leaf",
        help: "what holds the keys: store, tailwater's own, or memcached, which the tier's command starts",
        default: "store",
    },
    Setting {
        name: "front",
        help: "what clients speak: rpc, tailwater's own protocol, or memcached, its text protocol, before leaf memcached and without control",
        default: "rpc",
    },
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
        help: "a leaf that answers nothing for so long is not asked until it was met again, 1ms to 60s",
        default: "1s",
    },
    Setting {
        name: "hedge",
        help: "a get that is late is asked of a second replica, too: off, after as long as p95 of the gets took, or after 500us",
        default: "off",
    },
    Setting {
        name: "hedge_share",
        help: "second tries for each hundred gets, 0 to 100",
        default: "5",
    },
    Setting {
        name: "hedge_burst",
        help: "second tries that may come at once, and all that is saved up, 0 to 1,000,000",
        default: "10",
    },
    Setting {
        name: "memory",
        help: "of each leaf's store, in MiB, 4 to 65,536; that of memcached stands in the tier's command",
        default: MEMORY,
    },
];

const SILENCE_MIN: Duration = Duration::from_millis(1);
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What generators see to.
const FEWER: &str = "generators ask no more than requests_max";

/// Sets under way, by their numbers and by their seeds, which tell requests of all threads apart.
#[derive(Default)]
struct Sets {
    numbers: BTreeMap<u64, u32>,
    seeds: BTreeMap<u32, u64>,
}

impl Sets {
    fn add(&mut self, seed: u64, number: u32) {
        self.numbers.insert(seed, number);
        self.seeds.insert(number, seed);
    }

    fn end(&mut self, number: u32) {
        if let Some(seed) = self.seeds.remove(&number) {
            self.numbers.remove(&seed);
        }
    }

    fn end_by_seed(&mut self, seed: u64) -> Option<u32> {
        let number = self.numbers.remove(&seed)?;
        self.seeds.remove(&number);
        Some(number)
    }
}

struct Replicated {
    /// What holds for stores, too.
    back_end: BackEnd,
    leaves: u32,
    sets_percent: u32,
    popularity: Zipf<f64>,
    memory: usize,
    /// Where clients speak memcached's protocol.
    front: Option<Arc<MemcachedFront>>,
    registers: Registers,
    sets: Mutex<Sets>,
    gets: Gets,
    // Of the mid-tier, as it told last; each counts up alone: Relaxed.
    lost: AtomicU32,
    returned: AtomicU32,
}

fn build(given: &Given<'_>) -> Result<Arc<dyn Application>, BadSetting> {
    let settings = &given.settings;
    let (leaves, is_command) = given.only_tier_or_command(LEAVES, NODES_MAX as u32)?;
    match_leaf(given, is_command)?;
    let is_proxy = match_front(given, is_command)?;
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
    let after = hedging::after(settings.text("hedge"))
        .map_err(|needed| BadSetting::new("hedge", settings.text("hedge"), needed))?;
    let share = settings.number("hedge_share", 0..=100)?;
    let hedge = hedging::config(after, share, settings.number("hedge_burst", 0..=1_000_000)?);
    let silence_max = settings.duration("silence", SILENCE_MIN..=SILENCE_MAX)?;
    let choice = settings.choice("choice", &Choice::ALL)?;
    let back_end = BackEnd { placement, choice, silence_max, hedge, keys };
    Ok(Arc::new(Replicated {
        front: is_proxy.then(|| Arc::new(MemcachedFront(back_end.clone()))),
        back_end,
        leaves,
        sets_percent: settings.number("sets", 0..=100)?,
        popularity,
        memory: settings.number("memory", 4_usize..=65_536)? << 20,
        // Nothing else tells this generator's values from those of an earlier one on the same servers.
        registers: Registers::new(
            RandomState::new().hash_one(std::process::id()) as u32,
            REQUESTS_MAX,
        ),
        sets: Mutex::default(),
        gets: Gets::new(replicas),
        lost: AtomicU32::new(0),
        returned: AtomicU32::new(0),
    }))
}

/// Refuses a tier, or memory, of other leaves than those that are said.
fn match_leaf(given: &Given<'_>, is_command: bool) -> Result<(), BadSetting> {
    let (leaf, memory) = (given.settings.text("leaf"), given.settings.text("memory"));
    let wrong = |key: &str, message: String| Err(BadSetting { key: key.into(), message });
    match (given.settings.choice("leaf", &LEAVES_ARE)?, is_command) {
        (Leaf::Memcached, false) => wrong(
            "leaf",
            format!(
                "leaf is \"{leaf}\", and tier {LEAVES} has no command; one that starts it is needed there, as \
                 scenarios/router-memcached.toml has it"
            ),
        ),
        (Leaf::Store, true) => wrong(
            "leaf",
            format!(
                "leaf is \"{leaf}\", and tier {LEAVES} has a command; leaf = \"memcached\" is needed, or leave command out"
            ),
        ),
        (Leaf::Memcached, true) if memory != MEMORY => wrong(
            "memory",
            format!(
                "memory is \"{memory}\", and memcached's stands in the command of tier {LEAVES}, behind -m; leave memory out"
            ),
        ),
        _ => Ok(()),
    }
}

/// Whether clients speak memcached's protocol. Refuses that before other leaves.
fn match_front(given: &Given<'_>, is_command: bool) -> Result<bool, BadSetting> {
    let is_proxy = given.settings.choice("front", &FRONTS)?;
    if is_proxy && !is_command {
        return Err(BadSetting {
            key: "front".into(),
            message: "front is \"memcached\", and leaf is \"store\"; leaf = \"memcached\" is needed, with a command of the tier, as \
                      scenarios/router-front-memcached.toml has it"
                .into(),
        });
    }
    Ok(is_proxy)
}

impl Replicated {
    fn sets(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread keeps the order of writes on all replicas, and no meeting of a leaf comes amid a request there.
fn needs_one_thread(place: &Place) -> Result<(), String> {
    // A crew's threads take the calls of a write one by one, and so those of two writes in any order.
    if place.loops == 1 && place.workers == 0 && place.crew == 0 {
        return Ok(());
    }
    Err(format!(
        "found {} loops, {} workers and {} threads that make calls; Router needs one loop, no workers and no such \
         threads (a model that begins with s or a, and i, without +: sib, aib), for one thread keeps the order of \
         writes on all replicas",
        place.loops, place.workers, place.crew
    ))
}

impl Application for Replicated {
    fn router(&self, place: &Place) -> Result<Router, String> {
        needs_one_thread(place)?;
        let nodes = self.leaves as usize;
        let BackEnd { placement, choice, silence_max, hedge, .. } = self.back_end.clone();
        let chooser = Chooser::new(choice, nodes, 1);
        let midtier = MidTier::new(placement, chooser, (nodes, silence_max));
        Ok(hedge.into_iter().fold(midtier, MidTier::hedged).router())
    }

    /// The thread that has the connections keeps the order of writes, whatever threads handlers are of.
    fn router_over(&self, _: &Place, nodes: &[Address]) -> Result<Router, String> {
        Ok(self.back_end.stored(&self.back_end.config(nodes))?.router())
    }

    fn foreign_front(&self) -> Option<Arc<dyn ForeignFront>> {
        self.front.clone().map(|front| front as Arc<dyn ForeignFront>)
    }

    fn node(&self, at: Node<'_>, place: &Place) -> Result<Router, String> {
        needs_one_thread(place)?;
        let BackEnd { placement, keys, .. } = &self.back_end;
        leaf::router(placement, at.number, *keys, (self.memory, place))
    }

    fn requests_max(&self) -> usize {
        REQUESTS_MAX
    }

    /// Key and kind are decided by the order; a write's value also by what was asked before.
    ///
    /// # Panics
    /// Where it is asked for more than [`Application::requests_max`]: a mistake of the program.
    fn ask(&self, order: &Order) -> Ask {
        let mut rng = order.rng();
        let key = (self.popularity.sample(&mut rng) as u32 - 1).min(self.back_end.keys - 1);
        let is_set = rng.below(100) < self.sets_percent;
        let tagged = |number: u32| u64::from(number) << 32 | u64::from(order.tag);
        if is_set {
            let (number, value) = self.registers.set(key).expect(FEWER);
            self.sets().add(order.seed, number);
            return Ask { method: SET, payload: wire::set(tagged(number), &key_of(key), &value) };
        }
        let tag = tagged(self.registers.get(key).expect(FEWER));
        Ask { method: GET, payload: wire::get(tag, &key_of(key)) }
    }

    /// A get without a value is wrong: every key is stored, and none is evicted or deleted.
    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        let Some(answer) = wire::Answer::read(payload).filter(|_| status == 0) else {
            return false;
        };
        self.lost.fetch_max(answer.upheavals.lost, Relaxed);
        self.returned.fetch_max(answer.upheavals.returned, Relaxed);
        let number = (answer.tag >> 32) as u32;
        let is_right = match answer.value.is_empty() {
            true => {
                self.sets().end(number);
                self.registers.acknowledge(number)
            }
            false => {
                answer.place.into_iter().for_each(|place| self.gets.count(place));
                self.registers.check(number, Some(answer.value))
            }
        };
        answer.tag as u32 == tag && is_right.is_ok()
    }

    fn was_refused(&self, order: &Order) {
        let ended = self.sets().end_by_seed(order.seed);
        if let Some(number) = ended {
            self.registers.refuse(number).expect("it was asked, and is a set");
        }
    }

    /// The tag says the key. memcached's protocol has no such request.
    fn ask_replicas(&self) -> Vec<Ask> {
        if self.front.is_some() {
            return Vec::new();
        }
        let ask = |key: u32| Ask { method: EACH, payload: wire::get(key.into(), &key_of(key)) };
        agreement::sample(&self.registers.written()).into_iter().map(ask).collect()
    }

    fn judge_replicas(&self, asked: &Ask, status: u16, payload: &[u8]) -> Accord {
        let key = wire::read_get(&asked.payload).map_or(0, |(tag, _)| tag);
        let answer = wire::Answer::read(payload).filter(|it| status == 0 && it.tag == key);
        match answer.and_then(|answer| wire::read_each(answer.value)) {
            Some(held) => agreement::of(&self.registers, key as u32, &held),
            None => Accord::Differ(format!("key-{key}: found no answer that says what each holds")),
        }
    }

    fn replicas(&self) -> ReplicaCounts {
        let [lost, returned] = [&self.lost, &self.returned].map(|count| count.load(Relaxed).into());
        // memcached's protocol does not say which replica has answered.
        let gets = if self.front.is_some() { Vec::new() } else { self.gets.by_place() };
        ReplicaCounts { lost, returned, gets }
    }

    /// By the choice of the first that lives they are, and where a replica was lost they may be.
    fn uneven_replicas(&self) -> Option<String> {
        let is_even = self.back_end.choice != Choice::FirstAlive && self.lost.load(Relaxed) == 0;
        is_even.then(|| self.gets.uneven()).flatten()
    }
}
