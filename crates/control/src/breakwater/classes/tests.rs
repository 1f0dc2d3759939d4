use super::*;
use crate::server::{Outcome, Reason};
use tailwater_core::{MethodId, Rng};

const SLO: Duration = Duration::from_micros(1_300);
const ID: SessionId = SessionId(0);
const SHORT: Class = Class::of(MethodId(1));
const LONG: Class = Class::of(MethodId(2));
const SHORT_US: u64 = 25;
const LONG_US: u64 = 400;

fn config() -> Config {
    Config { credits: false, ..Config::tuned(SLO, 1) }
}

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn done(class: Class, outcome: Outcome, reached: Reached) -> RequestEnd {
    let service = match outcome {
        Outcome::Served => us(if class == LONG { LONG_US } else { SHORT_US }),
        Outcome::Shed(_) => Duration::ZERO,
    };
    RequestEnd { outcome, reached, waited: Duration::ZERO, service, class }
}

/// One core, first come first served, whose work arrives at random; all it knows are its classes.
struct Server {
    classes: Classes,
    now: Instant,
    free_at: Instant,
    /// When each ends, and whether another waits behind it then.
    queue: std::collections::VecDeque<(Instant, Class)>,
    /// Asked and served in time, of each class.
    short: (u32, u32),
    long: (u32, u32),
}

impl Server {
    fn new(least: f64) -> Self {
        let (classes, queue) = (Classes::new(least, &config()), std::collections::VecDeque::new());
        let start = Instant::from_nanos(1_000_000_000);
        Self { classes, now: start, free_at: start, queue, short: (0, 0), long: (0, 0) }
    }

    fn finish_until(&mut self, now: Instant) {
        while let Some(&(ends, class)) = self.queue.front().filter(|(ends, _)| *ends <= now) {
            self.queue.pop_front();
            let waiting = self.queue.len().saturating_sub(1) as u32;
            let served = done(class, Outcome::Served, Reached::Handler);
            self.classes.on_done(ends, ID, &served, waiting);
            if !self.queue.is_empty() {
                self.classes.on_start(ends, ID);
            }
        }
    }

    fn ask(&mut self, class: Class) {
        self.finish_until(self.now);
        self.classes.on_request(self.now, class);
        let cost = us(if class == LONG { LONG_US } else { SHORT_US });
        let count = if class == LONG { &mut self.long } else { &mut self.short };
        count.0 += 1;
        let wait = self.classes.wait();
        let late = wait + cost > SLO || Some(wait) >= config().drop_threshold;
        if late || self.classes.gives_way(class, &config()) {
            return;
        }
        self.classes.on_admitted(ID, class);
        if self.queue.is_empty() {
            self.classes.on_start(self.now, ID);
        }
        self.free_at = self.free_at.max(self.now) + cost;
        let in_time = self.free_at <= self.now + SLO;
        let count = if class == LONG { &mut self.long } else { &mut self.short };
        count.1 += u32::from(in_time);
        self.queue.push_back((self.free_at, class));
    }

    /// Plays as much time at this demand, in multiples of what the core serves of the mixture.
    fn play(&mut self, demand: f64, length: Duration, rng: &mut Rng) {
        let ends = self.now + length;
        while self.now < ends {
            let gap = rng.exponential(100_000.0 / demand);
            self.now = self.now + Duration::from_nanos(gap as u64);
            self.ask(if rng.chance(0.2) { LONG } else { SHORT });
        }
    }
}

fn share((asked, served): (u32, u32)) -> f64 {
    f64::from(served) / f64::from(asked)
}

/// After a second in which it learns; goodput in multiples of the capacity for the mixture.
fn settled(least: f64, demand: f64) -> (f64, Server) {
    let mut rng = Rng::from_seed(1);
    let mut server = Server::new(least);
    server.play(demand, Duration::from_secs(1), &mut rng);
    (server.short, server.long) = ((0, 0), (0, 0));
    server.play(demand, Duration::from_secs(4), &mut rng);
    (f64::from(server.short.1 + server.long.1) / 40_000.0, server)
}

#[test]
fn below_capacity_nobody_gives_way() {
    let (_, server) = settled(0.3, 0.8);
    assert!(server.classes.all.iter().all(|account| account.room == Room::Fits));
}

/// The knapsack at twice the capacity: all that is short, 1.6, and 0.15 of what is long.
#[test]
fn the_dear_make_room_for_the_cheap() {
    let (goodput, server) = settled(0.0, 2.0);
    assert!(share(server.short) > 0.99, "{:?}", server.short);
    assert!((1.65..1.78).contains(&goodput), "{goodput}");
    assert!(share(server.long) > 0.25, "the core is not left idle: {:?}", server.long);
}

#[test]
fn no_class_has_less_than_its_share() {
    for demand in [1.5, 2.0] {
        let (_, server) = settled(0.36, demand);
        assert!(share(server.long) > 0.35, "at {demand}: {:?}", server.long);
    }
}

/// At four times the capacity a third of everything would be more than can be served.
#[test]
fn where_the_shares_do_not_fit_all_classes_have_less() {
    let (_, server) = settled(0.36, 4.0);
    assert!((0.2..0.25).contains(&server.classes.share), "{}", server.classes.share);
    assert!(share(server.long) > 0.8 * server.classes.share, "{:?}", server.long);
}

#[test]
fn a_class_alone_makes_room_for_nobody() {
    let mut server = Server::new(0.0);
    for _ in 0..20_000 {
        server.now = server.now + us(10);
        server.ask(SHORT);
    }
    assert_eq!(server.classes.all[SHORT.index()].room, Room::Fits);
    assert!(share(server.short) > 0.39, "{:?}", server.short);
}

/// The shares of fits and of room, by class, for so many requests per second of each and these costs.
fn rooms(least: f64, asked: &[(f64, u64)]) -> Vec<Room> {
    let mut classes = Classes::new(least, &config());
    for (number, &(rate, cost_us)) in (0..).zip(asked) {
        let account = classes.account(Class::of(MethodId(number)));
        (account.rate, account.counted_ns) = (rate, cost_us * 1_000);
    }
    classes.rank();
    classes.all.iter().map(|account| account.room).collect()
}

#[test]
fn the_knapsack_is_filled_by_cost_and_not_by_number() {
    // 0.4, 0.3 and 0.8 of the core.
    let asked = [(1_000.0, 400), (6_000.0, 50), (4_000.0, 200)];
    assert_eq!(rooms(0.0, &asked), [Room::Dear(FIRST / 2.0), Room::Fits, Room::Dear(FIRST)]);
    // The shares of the others, 0.6, leave less than the cheapest needs.
    let found = rooms(0.5, &asked);
    assert_eq!(found, [Room::Dear(FIRST / 2.0), Room::Fits, Room::Dear(FIRST)]);
    let found = rooms(0.3, &[(4_000.0, 400), (20_000.0, 50)]);
    assert_eq!(found, [Room::Dear(FIRST), Room::Cheapest]);
}

#[test]
fn what_was_admitted_and_not_served_is_owed_again() {
    let mut classes = Classes::new(0.5, &config());
    let now = Instant::from_nanos(1_000_000_000);
    classes.on_request(now, LONG);
    classes.on_request(now, LONG);
    classes.on_admitted(ID, LONG);
    assert!(classes.all[LONG.index()].owed.abs() < 1e-9);
    let shed = done(LONG, Outcome::Shed(Reason::Deadline), Reached::Queue);
    classes.on_done(now, ID, &shed, 0);
    assert!((classes.all[LONG.index()].owed - 1.0).abs() < 1e-9);
}

/// In the server, waiting and running.
fn held(classes: &Classes, class: Class) -> (u32, u32) {
    let account = &classes.all[class.index()];
    (account.waiting, account.running)
}

#[test]
fn a_connection_takes_its_requests_along() {
    let mut classes = Classes::new(0.5, &config());
    let now = Instant::from_nanos(1_000_000_000);
    for class in [LONG, SHORT, LONG] {
        classes.on_request(now, class);
        classes.on_admitted(ID, class);
    }
    classes.on_start(now, ID);
    classes.on_admitted(SessionId(1), LONG);
    classes.on_close(ID);
    assert_eq!((held(&classes, LONG), held(&classes, SHORT)), ((1, 0), (0, 0)));
}

/// What a guard lets in although it was refused was never counted.
#[test]
fn the_end_of_a_request_that_was_not_admitted_takes_nothing_off() {
    let mut classes = Classes::new(0.5, &config());
    let now = Instant::from_nanos(1_000_000_000);
    classes.on_request(now, LONG);
    classes.on_start(now, ID);
    classes.on_done(now, ID, &done(LONG, Outcome::Served, Reached::Handler), 0);
    assert_eq!(held(&classes, LONG), (0, 0));
}

#[test]
fn a_request_that_a_guard_let_in_takes_the_place_of_another_until_both_ended() {
    let mut classes = Classes::new(0.5, &config());
    let now = Instant::from_nanos(1_000_000_000);
    classes.on_request(now, SHORT);
    classes.on_admitted(ID, SHORT);
    // The other was admitted by a guard, and starts first.
    classes.on_start(now, ID);
    classes.on_done(now, ID, &done(LONG, Outcome::Served, Reached::Handler), 1);
    classes.on_start(now, ID);
    classes.on_done(now, ID, &done(SHORT, Outcome::Served, Reached::Handler), 0);
    assert_eq!(held(&classes, SHORT), (0, 0));
    assert!(classes.backlog.left_ns().abs() < 1e-9);
}

#[test]
fn sessions_that_have_gone_take_no_memory() {
    let mut classes = Classes::new(0.5, &config());
    for session in 0..1_000 {
        classes.on_admitted(SessionId(session), SHORT);
    }
    (0..1_000).rev().for_each(|session| classes.on_close(SessionId(session)));
    assert!(classes.held.is_empty());
    assert!(classes.held.capacity() <= 64, "{}", classes.held.capacity());
}

#[test]
fn a_caller_who_gives_up_late_is_charged_and_heard() {
    let mut classes = Classes::new(0.5, &config());
    let now = Instant::from_nanos(1_000_000_000);
    classes.on_request(now, LONG);
    classes.on_admitted(ID, LONG);
    classes.on_start(now, ID);
    let cancelled = done(LONG, Outcome::Shed(Reason::Cancelled), Reached::Handler);
    let ran = RequestEnd { service: us(LONG_US), ..cancelled };
    classes.on_done(now + us(LONG_US), ID, &ran, 0);
    assert!((classes.all[LONG.index()].owed + 0.5).abs() < 1e-9);
    assert_eq!(classes.cost(LONG), us(LONG_US));
}

#[test]
fn a_class_that_was_called_once_is_forgotten() {
    let mut classes = Classes::new(0.0, &config());
    let start = Instant::from_nanos(1_000_000_000);
    classes.on_request(start, LONG);
    classes.on_done(start, ID, &done(LONG, Outcome::Served, Reached::Handler), 0);
    for round in 1..=40_000 {
        classes.on_request(start + round * us(10), SHORT);
        classes.on_done(start, ID, &done(SHORT, Outcome::Served, Reached::Handler), 0);
    }
    assert!(classes.all[LONG.index()].rate.abs() < 1e-9);
    assert_eq!(classes.all[SHORT.index()].room, Room::Fits, "it is alone");
}

#[test]
fn a_mean_of_nanoseconds_grows_again() {
    let mut mean = Mean::default();
    mean.learn(0);
    (0..1_000).for_each(|_| mean.learn(1_000));
    assert!((990..=1_000).contains(&mean.ns()), "{mean:?}");
}

/// Four workers, of which the loop hears every 20 µs, all at once.
#[test]
fn what_ends_at_one_moment_is_one_sample_of_the_pace() {
    let mut pace = Pace::default();
    for look in 1..=1_000_u32 {
        let now = Instant::ZERO + look * us(20);
        (0..4).for_each(|_| pace.learn(now, 20_000, true));
    }
    assert!((3.8..4.2).contains(&pace.cores()), "{}", pace.cores());
}

/// The wait that is told for ten requests. Eight workers have served these for a while, 98 of 100 in 10 µs and the
/// others in 2 ms. One takes 49.8 µs on average, so that it should be 62 µs.
fn told_of_ten(dear: Class) -> Duration {
    let (mut classes, mut rng) = (Classes::new(0.0, &config()), Rng::from_seed(1));
    let start = Instant::from_nanos(1_000_000_000);
    let mut free_at = [start; 8];
    let mut ends = std::collections::BTreeSet::new();
    let mut drawn = |number| match rng.chance(0.02) {
        true => (number, dear, us(2_000)),
        false => (number, SHORT, us(10)),
    };
    for number in 0..20_000 {
        let (number, class, service) = drawn(number);
        let worker = free_at.iter_mut().min().expect("there are eight");
        *worker = *worker + service;
        ends.insert((*worker, number, class, service));
    }
    let (mut told, mut looks) = (Duration::ZERO, 0);
    for (now, number, class, service) in ends {
        classes.on_request(now, class);
        let served = done(class, Outcome::Served, Reached::Handler);
        classes.on_done(now, ID, &RequestEnd { service, ..served }, 1);
        if number > 10_000 && number % 100 == 0 {
            let mut full = classes.clone();
            let mean_ns = [SHORT, dear].map(|class| full.all[class.index()].counted_ns as f64);
            let ten_ns = 10.0 * (0.98 * mean_ns[0] + 0.02 * mean_ns[1]);
            full.backlog = Backlog::default();
            full.backlog.join(ten_ns as u64);
            told += full.wait();
            looks += 1;
        }
    }
    told / looks
}

#[test]
fn the_pace_of_workers_is_as_true_as_the_costs() {
    for dear in [LONG, SHORT] {
        let told = told_of_ten(dear);
        assert!((us(50)..us(75)).contains(&told), "{dear:?}: {told:?}");
    }
}

mod knapsack;
mod ledger;
mod shards;
