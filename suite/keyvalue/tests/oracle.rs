//! The store against a map, the bound on memory, and many threads at once.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_keyvalue::locks::{Blocking, Plain, Threads, at_once};
use tailwater_keyvalue::store::{Arithmetic, Config, Failure, Put, Store, Stored, When};

#[derive(Clone, Debug)]
enum Step {
    Get(u8),
    Put(u8, When, usize, u32),
    Delete(u8),
    Touch(u8, u32),
    Add(u8, u64, bool),
    Extend(u8, bool),
    Flush,
    FlushIn(u32),
    Wait(u32),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Known {
    value: Vec<u8>,
    flags: u32,
    expires: u32,
    stored: u32,
    /// As the store gave it, to be used in a later `Unchanged`.
    cas: u64,
}

/// What the store should be: a map with a clock.
#[derive(Default)]
struct Model {
    now: u32,
    flush_at: u32,
    items: BTreeMap<u8, Known>,
}

impl Model {
    fn bury(&mut self) {
        let (now, flush_at) = (self.now, self.flush_at);
        self.items.retain(|_, known| {
            let expired = known.expires != 0 && known.expires <= now;
            let flushed = flush_at != 0 && flush_at <= now && known.stored < flush_at;
            !expired && !flushed
        });
    }

    fn judge(&self, key: u8, when: When) -> Stored {
        match (when, self.items.get(&key)) {
            (When::Always, _) | (When::Absent, None) | (When::Present, Some(_)) => Stored::Stored,
            (When::Absent, Some(_)) | (When::Present, None) => Stored::NotStored,
            (When::Unchanged(_) | When::Same(_), None) => Stored::NotFound,
            (When::Unchanged(cas) | When::Same(cas), Some(known)) if known.cas == cas => {
                Stored::Stored
            }
            (When::Unchanged(_) | When::Same(_), Some(_)) => Stored::Changed,
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..12_u8;
    let when = prop_oneof![
        3 => Just(When::Always),
        1 => Just(When::Absent),
        1 => Just(When::Present),
        // Replaced by the CAS unique that the model knows, unless it is zero.
        1 => (0..2_u64).prop_map(When::Unchanged),
    ];
    let life = prop_oneof![2 => Just(0_u32), 1 => 1..5_u32];
    prop_oneof![
        6 => key.clone().prop_map(Step::Get),
        6 => (key.clone(), when, 0..3_000_usize, life.clone())
            .prop_map(|(key, when, len, life)| Step::Put(key, when, len, life)),
        2 => key.clone().prop_map(Step::Delete),
        1 => (key.clone(), life).prop_map(|(key, life)| Step::Touch(key, life)),
        2 => (key.clone(), any::<u64>(), any::<bool>()).prop_map(|(key, n, up)| Step::Add(key, n, up)),
        1 => (key, any::<bool>()).prop_map(|(key, before)| Step::Extend(key, before)),
        1 => Just(Step::Flush),
        1 => (1..4_u32).prop_map(Step::FlushIn),
        2 => (1..70_u32).prop_map(Step::Wait),
    ]
}

fn name(key: u8) -> Vec<u8> {
    format!("key-{key}").into_bytes()
}

/// Some values are numbers, so that adding to them succeeds.
fn content(key: u8, len: usize) -> Vec<u8> {
    if len.is_multiple_of(3) {
        len.to_string().into_bytes()
    } else {
        (0..len).map(|at| key.wrapping_mul(31).wrapping_add(at as u8)).collect()
    }
}

fn follow(store: &Store<Threads>, model: &mut Model, step: &Step) {
    let now = model.now;
    let life = |life: u32| if life == 0 { 0 } else { now + life };
    match *step {
        Step::Get(key) => compare(store, model, key),
        Step::Put(key, when, len, lives) => {
            let when = match when {
                When::Unchanged(1) => {
                    When::Unchanged(model.items.get(&key).map_or(7, |known| known.cas))
                }
                when => when,
            };
            let (value, flags, expires) = (content(key, len), len as u32, life(lives));
            let put = Put { key: &name(key), value: &value, flags, expires, when };
            let verdict = model.judge(key, when);
            assert_eq!(at_once(store.put(put, now)), Ok(verdict));
            if verdict == Stored::Stored {
                renew(store, model, key, Known { value, flags, expires, stored: now, cas: 0 });
            }
        }
        Step::Delete(key) => {
            let deleted = at_once(store.delete(&name(key), now));
            assert_eq!(deleted, Ok(model.items.remove(&key).is_some()));
        }
        Step::Touch(key, lives) => {
            let touched = at_once(store.touch(&name(key), life(lives), now));
            let known = model.items.get_mut(&key).map(|known| known.expires = life(lives));
            assert_eq!(touched, Ok(known.is_some()));
        }
        Step::Add(key, delta, up) => add(store, model, key, delta, up),
        Step::Extend(key, before) => {
            let extended = at_once(store.extend(&name(key), b"12", before, now));
            assert_eq!(extended, Ok(model.items.contains_key(&key)));
            if let Some(mut known) = model.items.get(&key).cloned() {
                let at = if before { 0 } else { known.value.len() };
                known.value.splice(at..at, *b"12");
                renew(store, model, key, Known { stored: now, ..known });
            }
        }
        Step::Flush => {
            store.flush();
            model.flush_at = 0;
            model.items.clear();
        }
        Step::FlushIn(after) => {
            store.flush_at(now + after, now);
            model.flush_at = now + after;
        }
        Step::Wait(time) => model.now += time,
    }
    model.bury();
}

fn add(store: &Store<Threads>, model: &mut Model, key: u8, delta: u64, up: bool) {
    let now = model.now;
    let known = model.items.get(&key).cloned();
    let number =
        known.as_ref().and_then(|known| std::str::from_utf8(&known.value).ok()?.parse().ok());
    let expected = match (&known, number) {
        (None, _) => Arithmetic::NotFound,
        (Some(_), None) => Arithmetic::NotANumber,
        (Some(_), Some(old)) if up => Arithmetic::Is(u64::wrapping_add(old, delta)),
        (Some(_), Some(old)) => Arithmetic::Is(u64::saturating_sub(old, delta)),
    };
    assert_eq!(at_once(store.add(&name(key), delta, up, now)), Ok(expected));
    if let (Some(known), Arithmetic::Is(number)) = (known, expected) {
        let value = number.to_string().into_bytes();
        renew(store, model, key, Known { value, stored: now, ..known });
    }
}

/// What the store holds now is `known`; its CAS unique is new.
fn renew(store: &Store<Threads>, model: &mut Model, key: u8, known: Known) {
    let before = model.items.remove(&key).map(|known| known.cas);
    let cas = at_once(store.get(&name(key), model.now, |found| found.cas)).expect("no budget");
    assert_ne!(cas, before, "every store has a CAS unique of its own");
    model.items.insert(key, Known { cas: cas.unwrap_or(0), ..known });
    model.bury();
    compare(store, model, key);
}

fn compare(store: &Store<Threads>, model: &Model, key: u8) {
    let found = at_once(store.get(&name(key), model.now, |found| {
        (found.value.to_vec(), found.flags, found.expires, found.cas)
    }));
    let known = model.items.get(&key).cloned();
    let known = known.map(|known| (known.value, known.flags, known.expires, known.cas));
    assert_eq!(found, Ok(known));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    /// With memory enough for all items the store is a map. A handful of buckets makes long chains.
    #[test]
    fn without_eviction_it_is_a_map(steps in prop::collection::vec(step(), 1..300)) {
        let config = Config { hash_power: Some(4), lock_power: Some(2), memory: 16 << 20, ..Config::default() };
        let store = Store::<Threads>::new(config).expect("a store");
        let mut model = Model { now: 2, ..Model::default() };
        steps.iter().for_each(|step| follow(&store, &mut model, step));
        (0..12).for_each(|key| compare(&store, &model, key));
        let counts = at_once(store.counts());
        let living = model.items.values().map(|known| known.value.len() as u64).sum::<u64>();
        prop_assert!(counts.items >= model.items.len() as u64, "the dead may lie about");
        prop_assert!(counts.bytes >= living);
        prop_assert_eq!(counts.evictions, 0);
        let used: u64 = at_once(store.classes()).iter().map(|class| u64::from(class.used_chunks)).sum();
        prop_assert_eq!(used, counts.items, "no chunk is lost");
    }
}

/// Twice what fits: a key gives its last value or nothing, and the memory keeps to its limit.
#[test]
fn with_eviction_a_key_gives_its_last_value_or_none() {
    let store =
        Store::<Threads>::new(Config { memory: 6 << 20, ..Config::default() }).expect("a store");
    let mut misses = 0;
    for round in 0..4_u32 {
        for key in 100_000..124_000_u32 {
            set(&store, &key.to_string(), &[round as u8; 300], 10 + round);
        }
        assert!(at_once(store.memory()) <= 6 << 20);
        for key in 100_000..124_000_u32 {
            let value = at_once(store.get(key.to_string().as_bytes(), 10 + round, |found| {
                assert!(found.value.iter().all(|byte| *byte == round as u8));
            }));
            misses += u32::from(value == Ok(None));
            // The newest must be there: what goes is what was used least recently.
            assert!(key < 123_000 || value == Ok(Some(())), "key {key} of round {round} is gone");
        }
    }
    let counts = at_once(store.counts());
    assert!(misses > 0 && counts.evictions > 0, "{misses} misses: too small a test");
    assert_eq!(counts.get_misses, u64::from(misses));
}

#[test]
fn an_item_in_use_outlives_others() {
    let store =
        Store::<Threads>::new(Config { memory: 5 << 20, ..Config::default() }).expect("a store");
    set(&store, "hot", &[7; 100], 999);
    for key in 10_000..90_000_u32 {
        // Once a minute at most it moves to the front.
        let now = key / 10;
        set(&store, &key.to_string(), &[0; 100], now);
        let found = at_once(store.get(b"hot", now, |found| found.value == [7; 100]));
        assert_eq!(found, Ok(Some(true)), "after {key} others");
    }
    assert!(at_once(store.counts()).evictions > 0);
}

#[test]
fn small_items_always_find_room_and_huge_ones_that_come_late_are_refused() {
    let store =
        Store::<Threads>::new(Config { memory: 5 << 20, ..Config::default() }).expect("a store");
    for key in 0..200_u32 {
        set(&store, &key.to_string(), &[1; 30_000], 10);
    }
    set(&store, "small", b"x", 10);
    assert_eq!(at_once(store.get(b"small", 10, |found| found.value.len())), Ok(Some(1)));
    let put = Put { key: b"huge", value: &[2; 1 << 20], flags: 0, expires: 0, when: When::Always };
    assert_eq!(at_once(store.put(put, 10)), Err(Failure::OutOfMemory));
    assert!(at_once(store.memory()) <= 5 << 20);
}

#[test]
fn threads_with_budgeted_locks_see_whole_values_of_their_key() {
    stress::<Threads>();
}

#[test]
fn threads_with_plain_locks_see_whole_values_of_their_key() {
    stress::<Plain>();
}

/// Four threads over keys of three classes, in memory that does not suffice.
fn stress<L: Blocking>() {
    let config =
        Config { memory: 10 << 20, lock_power: Some(3), hash_power: Some(6), ..Config::default() };
    let store = Store::<L>::new(config).expect("a store");
    let hits = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (store, hits) = (&store, &hits);
            scope.spawn(move || {
                let mut chance = tailwater_core::rng::Rng::from_seed(thread);
                for _ in 0..8_000 {
                    one_of_many(store, &mut chance, hits);
                }
            });
        }
    });
    let counts = at_once(store.counts());
    let used: u64 = at_once(store.classes()).iter().map(|class| u64::from(class.used_chunks)).sum();
    assert_eq!(used, counts.items, "no chunk is lost or held twice");
    assert!(at_once(store.memory()) <= 10 << 20);
    assert!(hits.load(Relaxed) > 0 && counts.evictions > 0);
}

fn one_of_many<L: Blocking>(
    store: &Store<L>,
    chance: &mut tailwater_core::rng::Rng,
    hits: &AtomicU64,
) {
    let key = chance.below(6_000);
    let name = format!("{key:06}");
    match chance.below(10) {
        0..5 => {
            let found = at_once(store.get(name.as_bytes(), 5, |found| {
                assert_eq!(&found.value[..6], name.as_bytes());
                assert!(found.value[6..].iter().all(|byte| *byte == found.flags as u8), "torn");
            }));
            hits.fetch_add(u64::from(matches!(found, Ok(Some(())))), Relaxed);
        }
        5..9 => {
            let tag = chance.below(256);
            let mut value = name.clone().into_bytes();
            value.resize([100, 1_000, 6_000][chance.below(3) as usize], tag as u8);
            let put = Put {
                key: name.as_bytes(),
                value: &value,
                flags: tag,
                expires: 0,
                when: When::Always,
            };
            assert!(matches!(
                at_once(store.put(put, 5)),
                Ok(Stored::Stored) | Err(Failure::OutOfMemory)
            ));
        }
        _ => {
            assert!(at_once(store.delete(name.as_bytes(), 5)).is_ok());
        }
    }
}

fn set(store: &Store<Threads>, key: &str, value: &[u8], now: u32) {
    let put = Put { key: key.as_bytes(), value, flags: 0, expires: 0, when: When::Always };
    assert_eq!(at_once(store.put(put, now)), Ok(Stored::Stored));
}
