//! The same in a whole shard, on several cores and with handlers that wait.

use super::{ID, LONG, SHORT, SLO, done, us};
use crate::breakwater::{Breakwater, Config};
use crate::server::{Admission, Arrival, Outcome, Reached, Reason, RequestEnd, Shard, Verdict};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Class, Instant, Rng, Silent};

/// Takes so long, and needs a core for it or not.
#[derive(Clone, Copy)]
struct Work {
    class: Class,
    service: Duration,
    spins: bool,
}

/// One queue before several cores; handlers that do not spin leave theirs at once.
struct Node {
    shard: Box<dyn Shard>,
    now: Instant,
    idle: u32,
    queue: VecDeque<(Instant, Work)>,
    /// By when they end, and a number.
    running: BTreeMap<(Instant, u32), (Duration, Work)>,
    begun: u32,
}

impl Node {
    fn new(cores: u32) -> Self {
        let config = Config { credits: false, classes: Some(0.36), ..Config::tuned(SLO, 1) };
        let mut shard = Arc::new(Breakwater::new(config, 1, 1).unwrap()).shard(0);
        let now = Instant::from_nanos(1_000_000_000);
        shard.on_open(now, ID, &mut Silent);
        let (queue, running) = (VecDeque::new(), BTreeMap::new());
        Self { shard, now, idle: cores, queue, running, begun: 0 }
    }

    fn start(&mut self) {
        while self.idle > 0
            && let Some((came, work)) = self.queue.pop_front()
        {
            let waited = self.now.since(came);
            assert_eq!(
                self.shard.on_start(self.now, ID, waited, None, &mut Silent),
                Verdict::Admit
            );
            self.idle -= u32::from(work.spins);
            self.begun += 1;
            self.running.insert((self.now + work.service, self.begun), (waited, work));
        }
    }

    fn advance(&mut self, until: Instant) {
        while let Some(first) = self.running.first_entry().filter(|first| first.key().0 <= until) {
            self.now = first.key().0;
            let (waited, Work { class, service, spins }) = first.remove();
            self.idle += u32::from(spins);
            self.start();
            let served = done(class, Outcome::Served, Reached::Handler);
            self.shard.on_done(self.now, ID, &RequestEnd { waited, service, ..served });
        }
        self.now = until;
    }

    fn ask(&mut self, work: Work, time_left: Option<Duration>) -> Verdict {
        let arrival = Arrival { class: work.class, time_left, ..Arrival::default() };
        let verdict = self.shard.on_request(self.now, ID, &arrival, Duration::ZERO, &mut Silent);
        if verdict == Verdict::Admit {
            self.queue.push_back((self.now, work));
            self.start();
        } else if let Verdict::Shed(reason) = verdict {
            let refused = done(work.class, Outcome::Shed(reason), Reached::Arrival);
            self.shard.on_done(self.now, ID, &refused);
        }
        verdict
    }
}

#[test]
fn handlers_that_wait_keep_nobody_out() {
    let (mut node, mut rng) = (Node::new(1), Rng::from_seed(1));
    let short = Work { class: SHORT, service: us(100), spins: true };
    let sleeper = Work { class: LONG, service: Duration::from_secs(1), spins: false };
    let (mut asked, mut refused) = (0, 0);
    let start = node.now;
    while node.now < start + Duration::from_secs(5) {
        let next = node.now + Duration::from_nanos(rng.exponential(125_000.0) as u64);
        node.advance(next);
        if rng.chance(10.0 / 8_000.0) {
            node.ask(sleeper, Some(Duration::from_secs(2)));
        } else {
            asked += 1;
            refused += u32::from(node.ask(short, Some(SLO)) != Verdict::Admit);
        }
    }
    assert!(refused < asked / 20, "{refused} of {asked}");
}

#[test]
fn a_cold_start_does_not_starve_a_method() {
    let mut node = Node::new(1);
    let work = |service| Work { class: LONG, service, spins: true };
    assert_eq!(node.ask(work(Duration::from_millis(20)), None), Verdict::Admit);
    let mut refused = 0;
    for _ in 0..9_999 {
        node.advance(node.now + Duration::from_millis(30));
        let verdict = node.ask(work(us(20)), Some(Duration::from_millis(1)));
        refused += u32::from(verdict == Verdict::Shed(Reason::Deadline));
    }
    assert_eq!(refused, 0);
}

/// The same while another method keeps the queue from being empty.
#[test]
fn a_cold_start_does_not_starve_a_method_that_lacks_its_share() {
    let mut node = Node::new(1);
    let work = |class, service| Work { class, service, spins: true };
    assert_eq!(node.ask(work(LONG, Duration::from_millis(20)), None), Verdict::Admit);
    node.advance(node.now + Duration::from_millis(20));
    let mut served = 0;
    for _ in 0..1_000 {
        node.advance(node.now + us(100));
        node.ask(work(SHORT, us(50)), None);
        node.ask(work(SHORT, us(50)), None);
        node.ask(work(SHORT, us(50)), None);
        let verdict = node.ask(work(LONG, us(20)), Some(Duration::from_millis(1)));
        served += u32::from(verdict == Verdict::Admit);
    }
    assert!(served > 50, "{served}");
}

#[test]
fn what_comes_behind_too_long_a_queue_is_refused_for_its_delay() {
    let mut node = Node::new(1);
    let short = Work { class: SHORT, service: us(50), spins: true };
    for _ in 0..1_000 {
        node.advance(node.now + us(100));
        node.ask(short, None);
        node.ask(short, None);
    }
    let verdicts: Vec<Verdict> = (0..1_000).map(|_| node.ask(short, None)).collect();
    assert_eq!(verdicts[0], Verdict::Admit);
    assert_eq!(verdicts[999], Verdict::Shed(Reason::Delay));
}
