//! One account, added up.

use super::account::{Account, Behind, Cause, HadBy, Interrupts, Sleeps, Stretch, Woken};
use super::known::Known;
use crate::names::Names;
use crate::record::{After, Did, Interrupting, Interruption, WaitedBehind, Waker, softirq};
use crate::record::{ThreadId, Ticks};
use crate::spans::{Lane, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of each kind that are told.
const ROWS_MAX: usize = 5;
/// A core that stays idle for longer than this, with a thread in its queue, does not let it run: a wake-up from the deepest
/// sleep takes some hundred microseconds (`/sys/devices/system/cpu/cpu0/cpuidle/state*/latency`).
const WAKE_UP_MAX: Ticks = 1_000_000;
/// The same of a thread that was on a core just before. Another core that takes it from there wakes up from a light
/// sleep at most. One that a quota stops leaves its core to nobody.
const TAKE_OVER_MAX: Ticks = 100_000;

/// Sums in the making.
#[derive(Default)]
pub(super) struct Tally {
    account: Account,
    behind: BTreeMap<Who, Share>,
    sleeps: BTreeMap<(Who, bool), Share>,
    interrupts: BTreeMap<String, Share>,
    /// What is counted already, by thread and place: one may lie in two stretches.
    counted: BTreeSet<(u32, Counted)>,
}

/// What counts once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Counted {
    Sleep(usize),
    Interruption(usize),
    Move(usize),
}

/// What had a core or ended a sleep.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// Threads of one name, which are those of one program mostly; nameless ones each for itself.
    Threads(String),
    /// Something else that has a name.
    Thing(String),
    /// A core without a thread.
    Core(HadBy),
    Unknown,
}

/// How much of the time was somebody's.
#[derive(Default)]
struct Share {
    ns: u64,
    count: u64,
    threads: BTreeSet<ThreadId>,
    /// Of sleeps that threads ended the longest: how long it was, and its end.
    longest: Option<(u64, Woken)>,
}

impl Tally {
    /// Adds a time of a thread, of which all that is known is given.
    pub(super) fn add(&mut self, stretch: &Stretch, known: Option<&Known>, names: &Names) {
        let (from, to) = (stretch.from_ns, stretch.to_ns.max(stretch.from_ns));
        add(&mut self.account.total_ns, to - from);
        let Some(known) = known else {
            add(&mut self.account.unknown_ns, to - from);
            return;
        };
        let mut told = 0;
        let (mut on_core, mut core): (Vec<Span<()>>, Option<u32>) = (Vec::new(), None);
        for span in known.lane.within(from, to) {
            let ns = span.to - span.from;
            told += ns;
            let Some(nth) = span.what else {
                add(&mut self.account.unknown_ns, ns);
                continue;
            };
            let state = &known.states[nth];
            match &state.did {
                Did::Running { cpu } => {
                    add(&mut self.account.running_ns, ns);
                    on_core.push(Span { from: span.from, to: span.to, what: () });
                    let is_other = core.replace(*cpu).is_some_and(|before| before != *cpu);
                    if is_other && self.counted.insert((stretch.tid, Counted::Move(nth))) {
                        self.account.moves += 1;
                    }
                }
                Did::Runnable { after, behind, .. } => {
                    add(&mut self.account.runnable_ns, ns);
                    let part = ns as f64 / state.end.saturating_sub(state.start).max(1) as f64;
                    self.behind(*after, behind, part, names);
                }
                Did::Asleep { is_uninterruptible, woken } => {
                    add(&mut self.account.asleep_ns, ns);
                    let (who, thread) = Who::woke(*woken, names);
                    let share = self.sleeps.entry((who, *is_uninterruptible)).or_default();
                    add(&mut share.ns, ns);
                    share.threads.extend(thread);
                    let by = thread.and_then(|thread| names.tid(thread));
                    let woken = by.map(|tid| Woken { tid, at_ns: state.end });
                    let length = state.end.saturating_sub(state.start);
                    share.longest = share.longest.max(woken.map(|woken| (length, woken)));
                    let is_new = self.counted.insert((stretch.tid, Counted::Sleep(nth)));
                    share.count += u64::from(is_new);
                }
                Did::Stopped { .. } => add(&mut self.account.stopped_ns, ns),
                Did::Unknown => add(&mut self.account.unknown_ns, ns),
            }
        }
        add(&mut self.account.unknown_ns, (to - from).saturating_sub(told));
        let within: Vec<(usize, &Interruption)> = known.interruptions(from, to).collect();
        self.interrupted(stretch.tid, &within, &on_core);
    }

    fn behind(&mut self, after: After, behind: &WaitedBehind, part: f64, names: &Names) {
        let part = |time: u64| (time as f64 * part).round() as u64;
        for one in &behind.occupants {
            let share = self.behind.entry(Who::of(one.thread, names)).or_default();
            add(&mut share.ns, part(one.time));
            share.threads.insert(one.thread);
        }
        let idle_max = if after == After::Preempted { TAKE_OVER_MAX } else { WAKE_UP_MAX };
        let idle = if behind.idle > idle_max { HadBy::HeldBack } else { HadBy::Idle };
        for (had_by, time) in [(HadBy::Others, behind.others), (idle, behind.idle)] {
            if time > 0 {
                add(&mut self.behind.entry(Who::Core(had_by)).or_default().ns, part(time));
            }
        }
    }

    /// Interruptions take from the time on a core; where one lies within another, the inner one has the time.
    fn interrupted(&mut self, tid: u32, all: &[(usize, &Interruption)], on_core: &[Span<()>]) {
        let is_fault = |one: &Interruption| matches!(one.by, Interrupting::Fault(_));
        for (nth, one) in all {
            if !self.counted.insert((tid, Counted::Interruption(*nth))) {
            } else if is_fault(one) {
                self.account.faults += 1;
            } else {
                self.interrupts.entry(one.by.name()).or_default().count += 1;
            }
        }
        let spans: Vec<Span<Interrupting>> = all
            .iter()
            .filter(|(_, one)| !is_fault(one))
            .map(|(_, one)| Span { from: one.start, to: one.end, what: one.by })
            .collect();
        let lane = Lane::new(&spans, |span| span.from);
        for core in on_core {
            for span in lane.within(core.from, core.to) {
                let ns = span.to - span.from;
                self.account.running_ns = self.account.running_ns.saturating_sub(ns);
                add(&mut self.account.interrupts_ns, ns);
                add(&mut self.interrupts.entry(span.what.name()).or_default().ns, ns);
            }
        }
    }

    /// `first_touch_ns`: how long a page fault may take.
    pub(super) fn conclude(self, first_touch_ns: u64, names: &Names) -> Account {
        let mut account = self.account;
        let faults_ns = account.faults.saturating_mul(first_touch_ns);
        account.faults_ns = faults_ns.min(account.running_ns);
        let behind = |(who, share): (Who, Share)| Behind {
            had_by: if let Who::Core(had_by) = who { had_by } else { HadBy::Thread },
            thread: who.told(&share, names),
            ns: share.ns,
        };
        account.behind = longest(self.behind.into_iter().map(behind), |one| one.ns);
        let sleep = |((who, uninterruptible), share): ((Who, bool), Share)| {
            let (sleeps, ns) = (share.count, share.ns);
            let woken = share.longest.map(|(_, woken)| woken);
            let woken_by = who.told(&share, names);
            Sleeps { woken_by, uninterruptible, sleeps, ns, function: None, woken }
        };
        account.sleeps = longest(self.sleeps.into_iter().map(sleep), |one| one.ns);
        let interrupt =
            |(name, Share { count, ns, .. }): (String, Share)| Interrupts { name, count, ns };
        account.interrupts = longest(self.interrupts.into_iter().map(interrupt), |one| one.ns);
        account.cause = cause(&account);
        account.named = named(&account);
        account
    }
}

/// Stretches of several threads may be as long as a damaged file says.
fn add(sum: &mut u64, ns: u64) {
    *sum = sum.saturating_add(ns);
}

/// The rows that are told, most time first.
fn longest<T>(rows: impl Iterator<Item = T>, ns: impl Fn(&T) -> u64) -> Vec<T> {
    let mut rows: Vec<T> = rows.collect();
    rows.sort_by_key(|one| Reverse(ns(one)));
    rows.truncate(ROWS_MAX);
    rows
}

/// What was more than half of it.
fn cause(account: &Account) -> Cause {
    use Cause::{Asleep, Faults, Interrupts, Runnable, Running, Stopped, Unknown};
    // Faults are a part of what ran.
    let all = [Faults, Running, Runnable, Asleep, Stopped, Interrupts, Unknown];
    let most = all.into_iter().find(|cause| account.of(*cause) > account.total_ns / 2);
    most.unwrap_or(Cause::Mixed)
}

/// The row that has more than half of the cause's time.
fn named(account: &Account) -> Option<String> {
    let half = account.of(account.cause) / 2;
    match account.cause {
        Cause::Runnable => {
            let first = account.behind.first().filter(|first| first.ns > half)?;
            Some(match first.had_by {
                HadBy::Thread => first.thread.clone()?,
                HadBy::Idle => "a core that had to wake up".into(),
                HadBy::HeldBack => "a core that did not let it run".into(),
                HadBy::Others => return None,
            })
        }
        Cause::Asleep => account.sleeps.first().filter(|first| first.ns > half)?.woken_by.clone(),
        Cause::Interrupts => {
            let first = account.interrupts.first().filter(|first| first.ns > half)?;
            Some(first.name.clone())
        }
        Cause::Running | Cause::Faults | Cause::Stopped | Cause::Unknown | Cause::Mixed => None,
    }
}

impl Who {
    fn of(thread: ThreadId, names: &Names) -> Self {
        Self::Threads(match names.own_name(thread) {
            "" => names.of_thread(thread),
            name => name.to_owned(),
        })
    }

    fn woke(by: Waker, names: &Names) -> (Self, Option<ThreadId>) {
        match (by, waker(by, names)) {
            (Waker::Thread(thread), _) => (Self::of(thread, names), Some(thread)),
            (_, Some(thing)) => (Self::Thing(thing), None),
            (_, None) => (Self::Unknown, None),
        }
    }

    fn told(self, share: &Share, names: &Names) -> Option<String> {
        match (self, share.threads.first()) {
            (Self::Threads(_), Some(only)) if share.threads.len() == 1 => {
                Some(names.of_thread(*only))
            }
            (Self::Threads(name), _) => Some(format!("{name} ({} threads)", share.threads.len())),
            (Self::Thing(name), _) => Some(name),
            (Self::Core(_) | Self::Unknown, _) => None,
        }
    }
}

pub(super) fn waker(waker: Waker, names: &Names) -> Option<String> {
    Some(match waker {
        Waker::Unknown => return None,
        Waker::Thread(thread) => names.of_thread(thread),
        Waker::Timer => "timer".into(),
        Waker::Softirq(vector) => format!("softirq {}", softirq(vector)),
        Waker::Interrupt(Some(line)) => format!("interrupt {line}"),
        Waker::Interrupt(None) => "an interrupt".into(),
    })
}
