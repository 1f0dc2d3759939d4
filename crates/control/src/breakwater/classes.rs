//! Admission by class: while more is asked than can be served, dear requests make room for cheap ones.
//!
//! Every request counts the same towards goodput, so work is best spent on those that cost least: the
//! fractional knapsack, greedy by cost. A loop learns what each class costs and how often it comes, and how
//! much work it does in a second while requests wait. Every [`REVIEW`] it gives each class its least share
//! and fills what is left from the cheapest class on. A class that fits altogether is left to the AQM. The
//! first that does not is admitted beyond its share while little waits, dearer ones while even less does: so
//! the queue decides how many there is room for, and the estimates only who comes first. Ours;
//! `docs/breakwater.md`.

mod backlog;
mod held;
mod mean;
mod pace;

use super::config::Config;
use crate::server::{Reached, RequestEnd};
use backlog::Backlog;
use held::Held;
use mean::Mean;
use pace::Pace;
use std::time::Duration;
use tailwater_core::{Class, Instant, Nanos, SessionId};

/// How often it is decided anew which classes fit.
const REVIEW: Duration = Duration::from_millis(5);

/// Over so long the rates of arrivals are smoothed.
const MEMORY: Duration = Duration::from_millis(100);

/// A sample counts as at most so many times the mean: a stall of the machine is no property of a class.
const OUTLIER: f64 = 8.0;

/// A class that comes more rarely, in requests per second, has no part in the knapsack: one request is
/// remembered for a [`MEMORY`].
const PRESENT: f64 = 3.7;

/// The most that a class may be owed, in requests: after a pause of the server it is not served for long
/// before all others.
const OWED_MAX: f64 = 256.0;

/// So much of the work that can be done is promised at most: what is owed to a dear class must find the
/// queue short enough to be in time.
const PROMISED: f64 = 0.9;

/// The first class that does not fit is admitted while less waits than this share of the target delay; each dearer
/// one at half of it. So the pool of credits grows until all that is asked for comes.
const FIRST: f64 = 0.5;

/// What one loop knows of its classes, and what it owes them.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// The least share of each class's requests that is to be served.
    least: f64,
    /// What a request counts as at most. A handler that takes longer than the longest queue waits for something
    /// else, or comes too late as it is; pace and backlog count it alike.
    most_ns: u64,
    /// The least share, or less where those of all classes together are more than can be served.
    share: f64,
    /// By number, up to the highest that was seen.
    all: Vec<Account>,
    /// Of all classes together: what one costs that has not been served yet.
    usual: Mean,
    pace: Pace,
    backlog: Backlog,
    /// By session, up to the highest that has had a request: what ends with a connection.
    held: Vec<Held>,
    reviewed: Instant,
    /// What one of the dearest class takes.
    dearest: Duration,
}

/// One class.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    cost: Mean,
    /// Since the last review.
    came: u32,
    /// Requests per second.
    rate: f64,
    /// Requests that its share lacks; negative while it has had more.
    owed: f64,
    /// How far it is admitted beyond its share.
    room: Room,
    /// Admitted and not started.
    waiting: u32,
    /// Started and not ended.
    running: u32,
    /// What each of those counts as, from one review to the next.
    counted_ns: u64,
}

/// Up to which wait a class is admitted beyond its share.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
enum Room {
    /// It fits; the AQM decides alone.
    #[default]
    Fits,
    /// It is the cheapest and does not fit: while the dearest could still be in time, which has its share.
    Cheapest,
    /// A share of the target delay.
    Dear(f64),
}

impl Classes {
    /// Each class is to have this share of its requests served at least, from 0 to 1.
    pub(super) fn new(least: f64, config: &Config) -> Self {
        Self {
            least,
            most_ns: config.drop_threshold.unwrap_or(config.target_delay).nanos(),
            share: least,
            all: Vec::new(),
            usual: Mean::default(),
            pace: Pace::default(),
            backlog: Backlog::default(),
            held: Vec::new(),
            reviewed: Instant::ZERO,
            dearest: Duration::ZERO,
        }
    }

    /// A request of the class came.
    pub(super) fn on_request(&mut self, now: Instant, class: Class) {
        self.backlog.advance(now, self.pace.cores());
        let share = self.share;
        let account = self.account(class);
        account.came = account.came.saturating_add(1);
        account.owed = (account.owed + share).min(OWED_MAX);
        if now.since(self.reviewed) >= REVIEW {
            self.review(now);
        }
    }

    /// How long a request that comes now will wait, as of the last [`Classes::on_request`].
    pub(super) fn wait(&self) -> Duration {
        Duration::from_nanos((self.backlog.left_ns() / self.pace.cores()) as u64)
    }

    /// Whether the class's share lacks a request.
    pub(super) fn is_owed(&self, class: Class) -> bool {
        self.all.get(class.index()).is_some_and(|account| account.owed >= 1.0)
    }

    /// What one of the class takes to be served.
    pub(super) fn cost(&self, class: Class) -> Duration {
        let cost = self.all.get(class.index()).map_or(self.usual, |account| account.cost);
        Duration::from_nanos(cost.or(self.usual).ns())
    }

    /// Whether one of the class must make room for others: its share is not lacking, and more waits than it
    /// may find before it.
    pub(super) fn gives_way(&self, class: Class, config: &Config) -> bool {
        let Some(account) = self.all.get(class.index()).filter(|_| !self.is_owed(class)) else {
            return false;
        };
        let room = match account.room {
            Room::Fits => return false,
            Room::Cheapest => {
                let Some(threshold) = config.drop_threshold else { return false };
                let least = config.target_delay.mul_f64(FIRST);
                threshold.saturating_sub(self.dearest).max(least)
            }
            Room::Dear(share) => config.target_delay.mul_f64(share),
        };
        self.wait() > room
    }

    pub(super) fn on_admitted(&mut self, id: SessionId, class: Class) {
        let account = self.account(class);
        account.owed -= 1.0;
        account.waiting += 1;
        let counted_ns = account.counted_ns;
        self.backlog.join(counted_ns);
        if self.held.len() <= id.index() {
            self.held.resize_with(id.index() + 1, Held::default);
        }
        self.held[id.index()].join(class);
    }

    /// A request of the session starts. Those of one session start in the order in which they came.
    pub(super) fn on_start(&mut self, now: Instant, id: SessionId) {
        self.backlog.advance(now, self.pace.cores());
        if let Some(class) = self.held.get_mut(id.index()).and_then(Held::start) {
            let account = self.account(class);
            account.waiting -= 1;
            account.running += 1;
            let counted_ns = account.counted_ns;
            self.backlog.start(counted_ns, self.pace.cores());
        }
    }

    /// A request ended, while so many wait to be started. Whatever ran is charged and tells the cost of its
    /// class, however it ended: a caller who gives up late has used the server.
    pub(super) fn on_done(&mut self, now: Instant, id: SessionId, done: &RequestEnd, waiting: u32) {
        self.backlog.advance(now, self.pace.cores());
        if done.reached == Reached::Handler {
            let counted_ns = self.learn(done);
            self.pace.learn(now, counted_ns, waiting > 0);
        } else if done.reached != Reached::Arrival {
            // It had been counted as one that is served.
            self.account(done.class).owed += 1.0;
        }
        // What a guard let in although we refused it is held by nobody.
        if done.reached != Reached::Arrival
            && let Some(held) = self.held.get_mut(id.index())
        {
            match held.end(done.class, done.reached) {
                Some(Reached::Queue) => self.leave(done.class),
                Some(_) => self.end(done.class),
                None => {}
            }
        }
    }

    /// All of a session's requests ended with its connection.
    pub(super) fn on_close(&mut self, id: SessionId) {
        let Some(held) = self.held.get_mut(id.index()) else {
            return;
        };
        let held = std::mem::take(held);
        held.waiting().for_each(|class| self.leave(class));
        held.running().for_each(|class| self.end(class));
        self.trim();
    }

    /// What a request counts as, from what this one took.
    fn learn(&mut self, done: &RequestEnd) -> u64 {
        let service_ns = done.service.nanos();
        self.usual.learn(service_ns);
        let most_ns = self.most_ns;
        let account = self.account(done.class);
        account.cost.learn(service_ns);
        if account.counted_ns == 0 {
            // The first of its class: those behind it count from now on.
            account.counted_ns = account.cost.ns().min(most_ns);
            let (counted_ns, waiting) = (account.counted_ns, u64::from(account.waiting));
            let running = u64::from(account.running);
            self.backlog.count(waiting * counted_ns, running * counted_ns);
            return counted_ns;
        }
        account.counted_ns
    }

    /// One that waited ended there.
    fn leave(&mut self, class: Class) {
        let account = self.account(class);
        account.waiting -= 1;
        let counted_ns = account.counted_ns;
        self.backlog.leave(counted_ns);
    }

    /// One that had started ended.
    fn end(&mut self, class: Class) {
        let account = self.account(class);
        account.running -= 1;
        let counted_ns = account.counted_ns;
        self.backlog.end(counted_ns);
    }

    /// What is unused at the end is given back, as with the sessions themselves.
    fn trim(&mut self) {
        while self.held.last().is_some_and(Held::is_empty) {
            self.held.pop();
        }
        // Below 64 places it would be allocated anew for every few requests.
        if self.held.capacity() > 4 * self.held.len().max(16) {
            self.held.shrink_to(2 * self.held.len());
        }
    }

    fn account(&mut self, class: Class) -> &mut Account {
        if self.all.len() <= class.index() {
            self.all.resize(class.index() + 1, Account::default());
        }
        &mut self.all[class.index()]
    }

    /// Decides anew which classes fit.
    fn review(&mut self, now: Instant) {
        let elapsed = now.since(self.reviewed);
        self.reviewed = now;
        let weight = (elapsed.as_secs_f64() / MEMORY.as_secs_f64()).min(1.0);
        let usual = self.usual;
        self.backlog.recount();
        for account in &mut self.all {
            let rate = f64::from(std::mem::take(&mut account.came)) / elapsed.as_secs_f64();
            account.rate += weight * (rate - account.rate);
            if account.rate < PRESENT {
                (account.rate, account.room) = (0.0, Room::Fits);
            }
            // What a class had beyond its share while there was room is soon forgotten: it is to have it
            // in every second.
            account.owed = account.owed.max(account.owed / 2.0);
            account.counted_ns = account.cost.or(usual).ns().min(self.most_ns);
            let (waiting, running) = (u64::from(account.waiting), u64::from(account.running));
            self.backlog.count(waiting * account.counted_ns, running * account.counted_ns);
        }
        self.rank();
    }

    /// The knapsack: each class's share first, then the rest from the cheapest on.
    fn rank(&mut self) {
        let work = |account: &Account| account.rate * account.counted_ns as f64 / 1e9;
        let mut order: Vec<usize> =
            (0..self.all.len()).filter(|&class| self.all[class].rate > 0.0).collect();
        order.sort_by_key(|&class| self.all[class].counted_ns);
        let whole: f64 = order.iter().map(|&class| work(&self.all[class])).sum();
        let cores = self.pace.cores();
        self.share =
            if whole > 0.0 { self.least.min(PROMISED * cores / whole) } else { self.least };
        let mut left = cores - self.share * whole;
        let dearest = order.last().map_or(0, |&class| self.all[class].counted_ns);
        self.dearest = Duration::from_nanos(dearest);
        let (mut room, alone) = (Room::Fits, order.len() == 1);
        for (place, class) in order.into_iter().enumerate() {
            left -= (1.0 - self.share) * work(&self.all[class]);
            if left < 0.0 && !alone {
                room = match room {
                    Room::Fits if place == 0 => Room::Cheapest,
                    Room::Fits | Room::Cheapest => Room::Dear(FIRST),
                    Room::Dear(share) => Room::Dear(share / 2.0),
                };
            }
            self.all[class].room = room;
        }
    }
}

#[cfg(test)]
mod tests;
