//! A ready set across processes: what opens and what does not, hostile bytes, and either side killed at any moment.
//! `cargo test -p tailwater-sync --release --test ready_processes -- --ignored` kills each side a thousand times.

#![cfg(not(loom))]

mod record;
#[path = "processes/table.rs"]
mod table;

use proptest::prelude::*;
use record::record;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use table::Table;
use tailwater_sync::ready::{
    Error, QUEUES_MAX, QueueId, ShareError, SharedSet, SharedWaiter, VisitPolicy,
};

fn copy_of(set: &SharedSet) -> OwnedFd {
    set.as_fd().try_clone_to_owned().unwrap()
}

fn refusal(file: OwnedFd) -> ShareError {
    SharedSet::open(file).expect_err("it is refused")
}

/// The first line of the file: magic, version, queues, layout.
fn with_word(set: &SharedSet, at: u64, value: u64) -> ShareError {
    let file = copy_of(set);
    let mut before = [0; 8];
    pread(&file, &mut before, at * 8).unwrap();
    pwrite(&file, &value.to_ne_bytes(), at * 8).unwrap();
    let refused = refusal(copy_of(set));
    pwrite(&file, &before, at * 8).unwrap();
    refused
}

#[test]
fn what_is_no_set_is_refused_with_its_reason() {
    let set = SharedSet::create(1_000).unwrap();
    assert!(matches!(with_word(&set, 0, 7), ShareError::NoSet));
    assert!(matches!(with_word(&set, 1, 9), ShareError::Version { found: 9 }));
    for queues in [0, QUEUES_MAX as u64 + 1, u64::MAX] {
        assert!(
            matches!(with_word(&set, 2, queues), ShareError::Queues { found } if found == queues)
        );
    }
    assert!(matches!(with_word(&set, 2, 100_000), ShareError::Size { found: 1_152, .. }));
    assert!(matches!(with_word(&set, 3, 2), ShareError::NoSet));
    assert_eq!(SharedSet::open(copy_of(&set)).unwrap().queues(), 1_000);

    let plain = std::fs::File::open("/proc/self/exe").unwrap();
    assert!(matches!(refusal(plain.into()), ShareError::NoSet));
    let empty = memfd_create("empty", MemfdFlags::ALLOW_SEALING).unwrap();
    assert!(matches!(refusal(empty.try_clone().unwrap()), ShareError::MayShrink));
    fcntl_add_seals(&empty, SealFlags::SHRINK).unwrap();
    assert!(matches!(refusal(empty), ShareError::NoSet));
    assert!(matches!(SharedSet::create(0), Err(ShareError::Settings(Error::Queues { found: 0 }))));
}

#[test]
fn its_file_keeps_its_size() {
    let set = SharedSet::create(QUEUES_MAX).unwrap();
    let size = fstat(set.as_fd()).unwrap().st_size as u64;
    assert!(ftruncate(set.as_fd(), size - 1).is_err() && ftruncate(set.as_fd(), size + 1).is_err());
    assert!(fcntl_add_seals(set.as_fd(), SealFlags::FUTURE_WRITE).is_err());
}

#[test]
fn one_consumes_at_a_time_and_the_next_finds_all() {
    let set = SharedSet::create(100).unwrap();
    let other = SharedSet::open(copy_of(&set)).unwrap();
    let mut first = set.waiter(VisitPolicy::RoundRobin, Duration::ZERO).unwrap();
    assert_eq!(std::iter::from_fn(|| first.take()).count(), 100);
    for set in [&set, &other] {
        let second = set.waiter(VisitPolicy::Strict, Duration::ZERO);
        assert!(matches!(second, Err(ShareError::Consumed)));
    }
    other.doorbell(42).unwrap().ring();
    assert_eq!(first.take(), Some(QueueId(42)));
    assert_eq!(first.wait_for(Duration::from_micros(10)), None);
    assert_eq!((first.stats().visits, first.stats().sleeps), (101, 1));
    drop(first);
    let weights = VisitPolicy::Weighted(vec![1; 99].into());
    assert!(matches!(other.waiter(weights, Duration::ZERO), Err(ShareError::Settings(_))));
    let mut second = successor(&other, &VisitPolicy::Strict);
    assert!(std::iter::from_fn(|| second.take()).map(|queue| queue.0).eq(0..100));
    assert!(matches!(set.doorbell(100), Err(Error::NoSuchQueue { queue: 100, room: 100 })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever others write behind the header: no panic, no number out of range, and an end.
    #[test]
    fn hostile_bytes_cost_visits_and_nothing_else(
        queues in prop_oneof![1_usize..200, Just(4_097), Just(20_000)],
        policy in 0..5,
        bytes in prop::collection::vec(any::<u8>(), 1..600),
        at in any::<prop::sample::Index>(),
    ) {
        let set = SharedSet::create(queues).unwrap();
        let policy = match policy {
            0 => VisitPolicy::RoundRobin,
            1 => VisitPolicy::Weighted(vec![2; queues].into()),
            2 => VisitPolicy::Strict,
            3 => VisitPolicy::Aged { strict_for: 1 },
            _ => VisitPolicy::Deficit(vec![3; queues].into()),
        };
        let mut waiter = set.waiter(policy, Duration::ZERO).unwrap();
        let size = fstat(set.as_fd()).unwrap().st_size as usize;
        for round in 0..3 {
            let offset = if round == 0 { 64 } else { 64 + at.index(size - 64) };
            let bytes = &bytes[..bytes.len().min(size - offset)];
            pwrite(set.as_fd(), bytes, offset as u64).unwrap();
            set.doorbell(queues / 2).unwrap().ring();
            let (mut visits, mut heard) = (0, false);
            while let Some(queue) = waiter.take() {
                prop_assert!(queue.index() < queues);
                heard |= queue.index() == queues / 2;
                visits += 1;
                prop_assert!(visits <= 2 * queues, "it ends");
            }
            prop_assert!(heard, "a ring after the hostile bytes is heard");
            waiter.wait_for(Duration::from_micros(1));
        }
    }
}

/// Where the file has which consumers sleep, and how often one was to be woken.
const ASLEEP: u64 = 64 + 8;
const RINGS: u64 = 64 + 16;

fn word(set: &SharedSet, offset: u64) -> u64 {
    let mut bytes = [0; 8];
    pread(set.as_fd(), &mut bytes, offset).unwrap();
    u64::from_ne_bytes(bytes)
}

#[test]
fn hostile_sleepers_cost_rings_nothing_once_the_consumer_has_slept() {
    let set = SharedSet::create(100).unwrap();
    let mut waiter = set.waiter(VisitPolicy::RoundRobin, Duration::ZERO).unwrap();
    assert_eq!(std::iter::from_fn(|| waiter.take()).count(), 100);
    let bell = set.doorbell(42).unwrap();
    // Bits of no consumer are not looked at.
    pwrite(set.as_fd(), &(!1_u64).to_ne_bytes(), ASLEEP).unwrap();
    assert!(!bell.ring());
    assert_eq!((word(&set, RINGS), waiter.take()), (0, Some(QueueId(42))));
    // That of the consumer is believed until it has slept itself.
    pwrite(set.as_fd(), &u64::MAX.to_ne_bytes(), ASLEEP).unwrap();
    assert!(!bell.ring());
    assert_eq!((word(&set, RINGS), waiter.take()), (1, Some(QueueId(42))));
    assert_eq!(waiter.wait_for(Duration::from_micros(10)), None);
    assert_eq!(waiter.take(), None);
    assert_eq!(word(&set, ASLEEP), 0);
    assert!(!bell.ring());
    assert_eq!((word(&set, RINGS), waiter.take()), (1, Some(QueueId(42))));
}

/// The next consumer. A child that another test has just forked keeps the last one's place until it execs.
fn successor(set: &SharedSet, policy: &VisitPolicy) -> SharedWaiter {
    let mut found = None;
    until("the place is free", || {
        found = match set.waiter(policy.clone(), Duration::ZERO) {
            Err(ShareError::Consumed) => None,
            other => Some(other.unwrap()),
        };
        found.is_some()
    });
    found.unwrap()
}

/// Each consumer ends at its visit of queue 0. Were turns to begin there, no other would ever be visited.
#[test]
fn an_item_that_ends_each_consumer_starves_no_other_queue() {
    let set = SharedSet::create(8).unwrap();
    for policy in [
        VisitPolicy::RoundRobin,
        VisitPolicy::Weighted(vec![2; 8].into()),
        VisitPolicy::Aged { strict_for: 0 },
        VisitPolicy::Deficit(vec![3; 8].into()),
    ] {
        let mut visited = [false; 8];
        // The least likely queue is visited by one consumer in eight, so all of these miss it once in 10^58.
        for _ in 0..1_000 {
            let mut waiter = successor(&set, &policy);
            while let Some(queue) = waiter.take() {
                visited[queue.index()] = true;
                if queue.index() == 0 {
                    break;
                }
            }
        }
        assert_eq!(visited, [true; 8], "{policy:?}");
    }
}

/// Queues of the processes below; two words of bells, and some of a third.
const QUEUES: usize = 150;
const PRODUCERS: usize = 2;
/// Says which part a process of this program has, and where the files are.
const ROLE: &str = "TAILWATER_READY_ROLE";

/// Not a test: what the killed processes do. One that nobody gave a part ends at once.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let open = |path: &str| std::fs::File::options().read(true).write(true).open(path).unwrap();
    let set = SharedSet::open(open(words[1]).into()).unwrap();
    let table = Table::open(&open(words[2]), QUEUES);
    match words[0] {
        "consumer" => consume(&set, &table),
        number => produce(&set, &table, number.parse().unwrap()),
    }
}

/// Pushes to its share of the queues for ever. Now and then it waits until all of them are empty, so that the
/// consumer goes to sleep: that wait ends only if nothing that was announced is missed.
fn produce(set: &SharedSet, table: &Table, number: usize) {
    let mine: Vec<usize> = (number..QUEUES).step_by(PRODUCERS).collect();
    let bells: Vec<_> = mine.iter().map(|queue| set.doorbell(*queue).unwrap()).collect();
    // What its forerunner has pushed and not announced.
    for (queue, bell) in mine.iter().zip(&bells) {
        let pushed = table.pushed(*queue);
        bell.ring();
        table.announce(*queue, pushed);
    }
    let mut state = u64::from(std::process::id());
    loop {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        for turn in 0..(state >> 60) {
            let at = ((state >> 20) as usize).wrapping_mul(turn as usize + 1) % mine.len();
            let pushed = table.push(mine[at]);
            bells[at].ring();
            table.announce(mine[at], pushed);
        }
        while !mine.iter().all(|queue| table.is_done(*queue)) {
            std::thread::yield_now();
        }
    }
}

fn consume(set: &SharedSet, table: &Table) {
    let mut waiter = set.waiter(VisitPolicy::RoundRobin, Duration::ZERO).unwrap();
    loop {
        table.visit(waiter.wait().index());
    }
}

/// Kills and restarts either side so often, each time after some more items.
fn kill_either_side(times: usize) {
    let set = SharedSet::create(QUEUES).unwrap();
    let (table, file) = Table::create(QUEUES);
    let path = |fd: &OwnedFd| {
        format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(fd))
    };
    let set_file = copy_of(&set);
    let start = |role: &str| {
        let role = format!("{role} {} {}", path(&set_file), path(&file));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture"]).env(ROLE, role);
        Killed(command.stdout(std::process::Stdio::null()).spawn().unwrap())
    };
    let mut consumer = start("consumer");
    let mut producers: Vec<_> = (0..PRODUCERS).map(|number| start(&number.to_string())).collect();
    let mut state = 1_u64;
    for kill in 0..2 * times {
        // So that the moments differ, and by items instead of time.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        progress(&table, 1 + (state >> 58), kill);
        if kill % 2 == 0 {
            drop(consumer);
            consumer = start("consumer");
        } else {
            let at = kill / 2 % PRODUCERS;
            drop(producers.remove(at));
            producers.insert(at, start(&at.to_string()));
        }
    }
    progress(&table, 100, 2 * times);
    drop(producers);
    // The consumer is still there: what was announced is visited without another ring.
    let announced: Vec<u64> = (0..QUEUES).map(|queue| table.announced(queue)).collect();
    until("everything announced is visited", || {
        (0..QUEUES).all(|queue| table.visited(queue) >= announced[queue])
    });
    drop(consumer);
    for queue in 0..QUEUES {
        assert!(table.visited(queue) <= table.pushed(queue), "nothing is made up");
    }
    let all = |count: fn(&Table, usize) -> u64| (0..QUEUES).map(|queue| count(&table, queue)).sum();
    let numbers = [
        ("queues", QUEUES as u64),
        ("producers", PRODUCERS as u64),
        ("consumers", 1),
        ("consumers_killed", times as u64),
        ("producers_killed", times as u64),
        ("pushed", all(Table::pushed)),
        ("announced", all(Table::announced)),
        ("found", all(Table::visited)),
    ];
    record("killed", &numbers);
}

/// Waits for so many visited items more, and for some of each producer.
fn progress(table: &Table, items: u64, kill: usize) {
    let count = |producer: usize| -> u64 {
        (producer..QUEUES).step_by(PRODUCERS).map(|queue| table.visited(queue)).sum()
    };
    let before: Vec<u64> = (0..PRODUCERS).map(count).collect();
    until(&format!("items pass after {kill} kills"), || {
        (0..PRODUCERS).all(|producer| count(producer) >= before[producer] + items)
    });
}

/// Fails where it hangs; nothing takes a thousandth of this.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < patience, "it hangs; waited for: {what}");
        std::thread::yield_now();
    }
}

/// A process that dies here, at whatever it does.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn either_side_may_be_killed() {
    kill_either_side(40);
}

#[test]
#[ignore = "half a minute; run with --ignored"]
fn either_side_may_be_killed_a_thousand_times() {
    kill_either_side(1_000);
}
