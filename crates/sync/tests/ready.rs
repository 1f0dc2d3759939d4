//! The ready set as its users see it.

#![cfg(not(loom))]

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tailwater_sync::ready::{
    CONSUMERS_MAX, Error, Layout, QUEUES_MAX, QueueId, ReadySet, Stats, VisitPolicy, Waiter,
};

const SIZES: [usize; 9] = [1, 2, 63, 64, 65, 4_095, 4_097, 20_000, QUEUES_MAX];

fn take_all(waiter: &mut Waiter) -> Vec<usize> {
    std::iter::from_fn(|| waiter.take()).map(QueueId::index).collect()
}

fn ring(set: &ReadySet, queues: &[usize]) {
    for queue in queues {
        set.doorbell(*queue).unwrap().ring();
    }
}

#[test]
fn every_bell_is_found_once_at_every_size_and_layout() {
    for size in SIZES {
        for layout in [Layout::Padded, Layout::Packed] {
            let (set, mut waiter) = ReadySet::builder(size).layout(layout).build().unwrap();
            let rung: BTreeSet<usize> =
                [0, 1, 62, 63, 64, 65, 127, 4_095, 4_096, 4_097, size / 2, size - 1]
                    .into_iter()
                    .filter(|queue| *queue < size)
                    .collect();
            // Twice: the second ring finds the bell set.
            (0..2).for_each(|_| ring(&set, &rung.iter().copied().collect::<Vec<_>>()));
            assert!(take_all(&mut waiter).into_iter().eq(rung), "{size} queues");
            assert_eq!(waiter.take(), None);
        }
    }
}

/// What was pushed before the push panicked waited for the next ring of its queue.
#[test]
fn a_push_that_panics_has_rung() {
    /// A sender that panics when it is dropped.
    struct Faulty;
    impl Drop for Faulty {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "a test wants this panic where a sender is dropped");
        }
    }
    let (set, mut waiter) = ReadySet::new(2, VisitPolicy::RoundRobin).unwrap();
    let (bell, pushed) = (set.doorbell(0).unwrap(), AtomicUsize::new(0));
    let push = || {
        let before = pushed.fetch_add(1, Ordering::SeqCst);
        assert_eq!(before, 7, "a test wants this panic behind a push");
    };
    assert!(catch_unwind(AssertUnwindSafe(|| bell.after(push))).is_err());
    assert_eq!(take_all(&mut waiter), [0]);
    let sender = set.doorbell(1).unwrap().with(Faulty);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(sender))).is_err());
    assert_eq!(take_all(&mut waiter), [1]);
}

#[test]
fn all_queues_at_once_come_in_order() {
    let (set, mut waiter) = ReadySet::new(5_000, VisitPolicy::RoundRobin).unwrap();
    ring(&set, &(0..5_000).rev().collect::<Vec<_>>());
    assert!(take_all(&mut waiter).into_iter().eq(0..5_000));
}

/// What a user may do to a set with one consumer.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ring(usize),
    Take,
    /// Takes, and leaves something behind.
    Keep,
    Remove(usize),
}

fn steps(queues: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..queues).prop_map(Step::Ring),
        4 => Just(Step::Take),
        2 => Just(Step::Keep),
        1 => (0..queues).prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 1..400)
}

/// A vector of flags, looked at one by one.
struct Naive {
    flags: Vec<bool>,
    policy: VisitPolicy,
    last: usize,
    left: u32,
    by_number: u32,
    credit: Vec<i64>,
}

impl Naive {
    fn new(queues: usize, policy: VisitPolicy) -> Self {
        let last = queues - 1;
        Self {
            flags: vec![false; queues],
            policy,
            last,
            left: 0,
            by_number: 0,
            credit: vec![0; queues],
        }
    }

    fn after(&self, last: usize) -> Option<usize> {
        let count = self.flags.len();
        (1..=count).map(|step| (last + step) % count).find(|queue| self.flags[*queue])
    }

    fn take(&mut self) -> Option<usize> {
        let first = self.flags.iter().position(|flag| *flag)?;
        let queue = match self.policy.clone() {
            VisitPolicy::RoundRobin => self.after(self.last)?,
            VisitPolicy::Strict => first,
            VisitPolicy::Weighted(weights) => {
                if self.left > 0 && self.flags[self.last] {
                    self.left -= 1;
                    self.last
                } else {
                    let queue = self.after(self.last)?;
                    self.left = u32::from(weights[queue]) - 1;
                    queue
                }
            }
            VisitPolicy::Aged { strict_for } if self.by_number < strict_for => {
                self.by_number += 1;
                self.flags[first] = false;
                return Some(first);
            }
            VisitPolicy::Aged { .. } => {
                self.by_number = 0;
                self.after(self.last)?
            }
            VisitPolicy::Deficit(quanta) => {
                if !(self.flags[self.last] && self.credit[self.last] > 0) {
                    self.credit[self.last] = self.credit[self.last].min(0);
                    loop {
                        self.last = self.after(self.last)?;
                        self.credit[self.last] += i64::from(quanta[self.last]);
                        if self.credit[self.last] > 0 {
                            break;
                        }
                    }
                }
                self.credit[self.last] -= 1;
                self.last
            }
        };
        self.last = queue;
        self.flags[queue] = false;
        Some(queue)
    }
}

fn policies(queues: usize) -> impl Strategy<Value = VisitPolicy> {
    prop_oneof![
        Just(VisitPolicy::RoundRobin),
        Just(VisitPolicy::Strict),
        (0_u32..4).prop_map(|strict_for| VisitPolicy::Aged { strict_for }),
        prop::collection::vec(1_u16..5, queues)
            .prop_map(|weights| VisitPolicy::Weighted(weights.into())),
        prop::collection::vec(1_u32..5, queues)
            .prop_map(|quanta| VisitPolicy::Deficit(quanta.into())),
    ]
}

fn scripts() -> impl Strategy<Value = (usize, VisitPolicy, Vec<Step>)> {
    prop_oneof![1_usize..10, 60_usize..70, 4_090_usize..4_200]
        .prop_flat_map(|queues| (Just(queues), policies(queues), steps(queues)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_set_does_what_a_vector_of_flags_does((queues, policy, script) in scripts()) {
        let (set, mut waiter) = ReadySet::new(queues, policy.clone()).unwrap();
        let mut naive = Naive::new(queues, policy);
        for step in script {
            match step {
                // A bell that rings again while its queue waits for its turn may bring one more visit. That visit
                // finds nothing, and flags know nothing of it.
                Step::Ring(queue) if naive.flags[queue] => {}
                Step::Ring(queue) => {
                    let Ok(bell) = set.doorbell(queue) else { continue };
                    bell.ring();
                    naive.flags[queue] = true;
                }
                Step::Take => {
                    prop_assert_eq!(waiter.take().map(QueueId::index), naive.take());
                }
                Step::Keep => {
                    let taken = waiter.take();
                    prop_assert_eq!(taken.map(QueueId::index), naive.take());
                    if let Some(queue) = taken {
                        waiter.again(queue);
                        naive.flags[queue.index()] = true;
                    }
                }
                // Policies may spend a turn on a queue that was removed while its bell was set, so it is
                // silent here.
                Step::Remove(queue) if !naive.flags[queue] => {
                    let _ = set.remove(QueueId(queue as u32));
                }
                Step::Remove(_) => {}
            }
        }
        let rest = std::iter::from_fn(|| naive.take()).collect::<Vec<_>>();
        prop_assert_eq!(take_all(&mut waiter), rest);
    }
}

proptest! {
    #[test]
    fn every_ring_is_followed_by_a_visit_and_brings_at_most_one(
        (queues, policy, script) in scripts(),
    ) {
        let (set, mut waiter) = ReadySet::new(queues, policy).unwrap();
        let mut items = vec![0; queues];
        let (mut rings, mut visits) = (0, 0);
        let visit = |items: &mut Vec<u32>, queue: QueueId| items[queue.index()] = 0;
        for step in script {
            match step {
                Step::Ring(queue) => {
                    items[queue] += 1;
                    rings += 1;
                    set.doorbell(queue).unwrap().ring();
                }
                Step::Take | Step::Keep | Step::Remove(_) => {
                    if let Some(queue) = waiter.take() {
                        visits += 1;
                        visit(&mut items, queue);
                    }
                }
            }
        }
        while let Some(queue) = waiter.take() {
            visits += 1;
            visit(&mut items, queue);
        }
        prop_assert!(items.iter().all(|item| *item == 0), "a queue was forgotten");
        prop_assert!(visits <= rings);
    }
}

#[test]
fn a_charge_is_paid_in_later_rounds() {
    let (set, mut waiter) = ReadySet::new(2, VisitPolicy::Deficit([100, 100].into())).unwrap();
    ring(&set, &[0, 1]);
    let mut visits = [0, 0];
    for _ in 0..80 {
        let queue = waiter.take().unwrap();
        visits[queue.index()] += 1;
        waiter.charge(queue, if queue.0 == 0 { 299 } else { 99 });
        waiter.again(queue);
    }
    assert_eq!(visits, [20, 60], "three times the cost, a third of the visits");
}

#[test]
fn a_removed_queue_is_not_handed_out_and_its_number_comes_again() {
    let (set, mut waiter) = ReadySet::builder(3).empty().build().unwrap();
    assert_eq!(set.doorbell(0).unwrap_err(), Error::NoSuchQueue { queue: 0, room: 3 });
    let bells: Vec<_> = (0..3).map(|_| set.add().unwrap()).collect();
    assert_eq!(bells.iter().map(|bell| bell.queue().0).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(set.add().unwrap_err(), Error::Full { room: 3 });
    bells.iter().for_each(|bell| assert!(!bell.ring()));
    // Taken by the waiter already, and not handed out yet.
    assert_eq!(waiter.take(), Some(QueueId(0)));
    set.remove(QueueId(1)).unwrap();
    assert!(set.remove(QueueId(1)).is_err(), "it is gone");
    assert_eq!(take_all(&mut waiter), [2]);
    bells[1].ring();
    assert_eq!(waiter.take(), None, "an old bell is not heard");
    assert_eq!(set.add().unwrap().queue(), QueueId(1));
    assert_eq!(waiter.take(), None, "a new queue's bell is silent");
    bells[1].ring();
    assert_eq!(waiter.take(), Some(QueueId(1)), "an old bell is a hint for the new queue");
}

#[test]
fn what_cannot_be_is_refused_and_says_what_can() {
    let refused = |result: Result<(ReadySet, Waiter), Error>| result.unwrap_err().to_string();
    assert!(refused(ReadySet::new(0, VisitPolicy::Strict)).contains("1 to 262144"));
    assert!(refused(ReadySet::new(QUEUES_MAX + 1, VisitPolicy::Strict)).contains("1 to 262144"));
    assert!(
        refused(ReadySet::new(3, VisitPolicy::Weighted([1, 1].into()))).contains("for 3 queues")
    );
    assert!(refused(ReadySet::new(2, VisitPolicy::Deficit([1, 0].into()))).contains("queue 1"));
    let many = ReadySet::builder(1).build_for(CONSUMERS_MAX + 1).unwrap_err();
    assert_eq!(many, Error::Consumers { found: 65 });
}

#[test]
#[should_panic(expected = "queue 9 is not of this ready set")]
fn a_foreign_number_is_told() {
    let (_set, mut waiter) = ReadySet::new(9, VisitPolicy::RoundRobin).unwrap();
    waiter.again(QueueId(9));
}

#[test]
fn a_sleeper_is_woken_and_a_deadline_ends() {
    for spin in [Duration::ZERO, Duration::from_micros(50)] {
        let (set, mut waiter) = ReadySet::builder(100).spin(spin).build().unwrap();
        assert_eq!(waiter.wait_for(Duration::from_millis(1)), None);
        let bell = set.doorbell(99).unwrap();
        let consumer = std::thread::spawn(move || (waiter.wait(), waiter));
        // Until it sleeps, and no ring is needed for it to do so.
        while set.stats().sleeps < 2 {
            std::thread::yield_now();
        }
        bell.ring();
        let (queue, mut waiter) = consumer.join().unwrap();
        assert_eq!(queue, QueueId(99));
        // Another thread than the last: its waker is another.
        bell.ring();
        assert_eq!(waiter.wait(), QueueId(99));
        assert_eq!(waiter.wait_for(Duration::ZERO), None);
    }
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_task_is_woken_once_for_many_rings() {
    let (set, mut waiter) = ReadySet::new(10, VisitPolicy::RoundRobin).unwrap();
    let count = Arc::new(Count::default());
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    {
        let mut ready = pin!(waiter.ready());
        assert!(ready.as_mut().poll(&mut context).is_pending());
        ring(&set, &[3, 4, 3]);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(ready.as_mut().poll(&mut context), Poll::Ready(QueueId(3)));
    }
    assert_eq!(waiter.take(), Some(QueueId(4)));
    ring(&set, &[5]);
    assert_eq!(count.0.load(Ordering::SeqCst), 1, "a consumer that does not sleep is not woken");
    let Stats { taken, visits, wakes, .. } = {
        drop(waiter);
        set.stats()
    };
    assert_eq!((taken, visits, wakes), (2, 2, 1));
}

#[test]
fn a_waker_that_panics_hinders_nobody() {
    struct Trap;
    impl Wake for Trap {
        fn wake(self: Arc<Self>) {
            panic!("a test wants this panic in a waker");
        }
    }
    let (set, mut waiters) = ReadySet::builder(10).build_for(2).unwrap();
    let [first, second] = &mut waiters[..] else { unreachable!() };
    let count = Arc::new(Count::default());
    let (trap, waker) = (Waker::from(Arc::new(Trap)), Waker::from(count.clone()));
    assert!(first.poll_ready(&mut Context::from_waker(&trap)).is_pending());
    assert!(second.poll_ready(&mut Context::from_waker(&waker)).is_pending());
    assert!(set.doorbell(1).unwrap().ring());
    assert_eq!(count.0.load(Ordering::SeqCst), 1, "the other consumer is woken");
    assert_eq!(first.take(), Some(QueueId(1)), "and nothing is lost");
}

#[test]
fn several_consumers_share_what_is_ready() {
    let (set, mut waiters) = ReadySet::builder(1_000).build_for(4).unwrap();
    ring(&set, &(0..1_000).collect::<Vec<_>>());
    // Each begins at a quarter of its own, so that they seldom reach for the same word.
    let first: Vec<_> =
        waiters.iter_mut().map(|waiter| waiter.take().expect("one is left")).collect();
    assert_eq!(first, [0, 250, 500, 750].map(QueueId));
    let mut all = BTreeSet::from_iter(first);
    for turn in all.len()..1_000 {
        let queue = waiters[turn % 4].take().expect("one is left");
        assert!(all.insert(queue), "{queue} was handed out twice");
    }
    assert!(waiters.iter_mut().all(|waiter| waiter.take().is_none()));
}

#[test]
fn a_consumer_that_does_not_look_passes_on_what_woke_it() {
    let (set, mut waiters) = ReadySet::builder(10).build_for(2).unwrap();
    let [first, second] = &mut waiters[..] else { unreachable!() };
    let (one, two) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let wakers = [&one, &two].map(|count| Waker::from(count.clone()));
    assert!(first.poll_ready(&mut Context::from_waker(&wakers[0])).is_pending());
    assert!(second.poll_ready(&mut Context::from_waker(&wakers[1])).is_pending());
    assert!(set.doorbell(1).unwrap().ring());
    let woken = || (one.0.load(Ordering::SeqCst), two.0.load(Ordering::SeqCst));
    assert_eq!(woken(), (1, 0));
    first.disarm();
    assert_eq!(woken(), (1, 1), "the other looks in its place");
    assert_eq!(second.take(), Some(QueueId(1)));
    // What nobody rang for is passed on to nobody.
    assert!(first.arm().unwrap() && second.arm().unwrap());
    first.disarm();
    assert_eq!((set.stats().wakes, second.take()), (2, None));
    // Nor does a second look at the same sleep keep it.
    assert!(first.arm().unwrap() && second.arm().unwrap());
    assert!(set.doorbell(2).unwrap().ring());
    assert!(!first.arm().unwrap(), "a queue is ready");
    assert_eq!(set.stats().wakes, 4, "the other looks, whether the first takes it or not");
}

#[test]
fn what_a_dropped_consumer_kept_is_another_ones() {
    let (set, mut waiters) = ReadySet::builder(100).build_for(2).unwrap();
    ring(&set, &[10]);
    let mut leaves = waiters.pop().unwrap();
    let queue = leaves.take().unwrap();
    leaves.again(queue);
    assert_eq!(waiters[0].take(), None, "it is with the other");
    drop(leaves);
    assert_eq!(waiters[0].take(), Some(queue));
}

#[test]
fn an_event_file_is_readable_when_a_queue_is_ready_and_only_then() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let is_readable = |waiter: &mut Waiter| {
        let event = waiter.event_fd().unwrap();
        poll(&mut [PollFd::new(&event, PollFlags::IN)], Some(&Timespec::default())).unwrap() == 1
    };
    let (set, mut waiter) = ReadySet::new(100, VisitPolicy::RoundRobin).unwrap();
    let bell = set.doorbell(70).unwrap();
    for _ in 0..3 {
        assert!(waiter.arm().unwrap(), "nothing is ready");
        assert!(!is_readable(&mut waiter));
        assert!(bell.ring());
        assert!(!bell.ring(), "one ring of many writes to the file");
        assert!(is_readable(&mut waiter));
        assert_eq!(waiter.take(), Some(QueueId(70)));
        bell.ring();
        assert!(!waiter.arm().unwrap(), "a queue is ready");
        assert_eq!(waiter.take(), Some(QueueId(70)));
    }
    assert!(waiter.arm().unwrap());
    assert!(!is_readable(&mut waiter), "what was rung for before is no reason to wake");
}

/// The ring comes after the send, which would wait for the consumer that waits for the ring.
#[cfg(all(feature = "crossbeam-channel", feature = "flume"))]
#[test]
fn a_channel_without_room_is_refused_and_does_not_wait_for_ever() {
    let (set, _waiter) = ReadySet::new(2, VisitPolicy::Strict).unwrap();
    let one = set.doorbell(0).unwrap().with(crossbeam_channel::bounded(0).0);
    let two = set.doorbell(1).unwrap().with(flume::bounded(0).0);
    for refused in [
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| one.send(1).is_ok())),
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| two.send(1).is_ok())),
    ] {
        let told = refused.expect_err("it panics");
        let told = told.downcast_ref::<String>().expect("with a message");
        assert!(told.contains("found a channel of capacity 0 for queue"), "{told}");
    }
}

#[cfg(all(feature = "crossbeam-channel", feature = "flume", feature = "rtrb"))]
#[test]
fn senders_of_other_crates_ring() {
    let (set, mut waiter) = ReadySet::new(3, VisitPolicy::Strict).unwrap();
    let bell = |queue| set.doorbell(queue).unwrap();
    let (one, first) = crossbeam_channel::bounded(1);
    let (two, second) = flume::bounded(1);
    let (three, mut third) = rtrb::RingBuffer::new(1);
    let (one, two, mut three) = (bell(0).with(one), bell(1).with(two), bell(2).with(three));
    one.try_send(1).unwrap();
    assert!(one.clone().try_send(1).is_err(), "it is full");
    two.send(2).unwrap();
    three.send(3).unwrap();
    assert_eq!(take_all(&mut waiter), [0, 1, 2]);
    assert_eq!((first.recv(), second.recv(), third.pop()), (Ok(1), Ok(2), Ok(3)));
    drop((one, two, three));
    assert_eq!(take_all(&mut waiter), [0, 1, 2], "each says that it is closed");
    assert!(first.recv().is_err() && second.recv().is_err() && third.is_abandoned());
}
