//! One account, added up.

use super::account::{Account, Behind, Cause, Interrupts, Kept, Sleeps, Stretch};
use super::state::{Did, Interrupting, Interruption, WaitedBehind, Waker, softirq};
use crate::names::Names;
use crate::record::ThreadId;
use crate::requests::{Lane, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of each kind that are told.
const ROWS_MAX: usize = 5;

/// Sums in the making.
#[derive(Default)]
pub(super) struct Tally {
    account: Account,
    behind: BTreeMap<Who, Had>,
    sleeps: BTreeMap<(Option<String>, bool), (u64, u64)>,
    interrupts: BTreeMap<String, (u64, u64)>,
}

/// What had a core.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// Threads of one name, which are those of one program mostly; nameless ones each for itself.
    Threads(String),
    Idle,
    Others,
}

/// For how long, and which threads.
#[derive(Default)]
struct Had {
    ns: u64,
    threads: BTreeSet<ThreadId>,
}

impl Tally {
    /// Adds a time of a thread, of which all that is known is given.
    pub(super) fn add(
        &mut self,
        stretch: &Stretch,
        of: Option<(&Kept, &Lane<Option<usize>>)>,
        names: &Names,
    ) {
        let (from, to) = (stretch.from_ns, stretch.to_ns.max(stretch.from_ns));
        self.account.total_ns += to - from;
        let Some((kept, lane)) = of else {
            self.account.unknown_ns += to - from;
            return;
        };
        let mut told = 0;
        let mut on_core: Vec<Span<()>> = Vec::new();
        for span in lane.within(from, to) {
            let ns = span.to - span.from;
            told += ns;
            let Some(state) = span.what.map(|nth| &kept.states[nth]) else {
                self.account.unknown_ns += ns;
                continue;
            };
            match &state.did {
                Did::Running { .. } => {
                    self.account.running_ns += ns;
                    on_core.push(Span { from: span.from, to: span.to, what: () });
                }
                Did::Runnable { behind, .. } => {
                    self.account.runnable_ns += ns;
                    let share = ns as f64 / (state.end - state.start).max(1) as f64;
                    self.behind(behind, share, names);
                }
                Did::Asleep { is_uninterruptible, woken } => {
                    self.account.asleep_ns += ns;
                    let key = (waker(*woken, names), *is_uninterruptible);
                    let sleeps = self.sleeps.entry(key).or_default();
                    *sleeps = (sleeps.0 + 1, sleeps.1 + ns);
                }
                Did::Unknown => self.account.unknown_ns += ns,
            }
        }
        self.account.unknown_ns += (to - from).saturating_sub(told);
        let in_time = |one: &&Interruption| one.start < to && one.end >= from;
        let within: Vec<&Interruption> = kept.interruptions.iter().filter(in_time).collect();
        self.interrupted(&within, &on_core);
    }

    fn behind(&mut self, behind: &WaitedBehind, share: f64, names: &Names) {
        let part = |time: u64| (time as f64 * share).round() as u64;
        for one in &behind.occupants {
            let name = match names.own_name(one.thread) {
                "" => names.of_thread(one.thread),
                name => name.to_owned(),
            };
            let had = self.behind.entry(Who::Threads(name)).or_default();
            had.ns += part(one.time);
            had.threads.insert(one.thread);
        }
        for (who, time) in [(Who::Others, behind.others), (Who::Idle, behind.idle)] {
            if time > 0 {
                self.behind.entry(who).or_default().ns += part(time);
            }
        }
    }

    /// Interruptions take from the time on a core; where one lies within another, the inner one has the time.
    fn interrupted(&mut self, all: &[&Interruption], on_core: &[Span<()>]) {
        let is_fault = |one: &Interruption| matches!(one.by, Interrupting::Fault(_));
        for one in all {
            if is_fault(one) {
                self.account.faults += 1;
            } else {
                self.interrupts.entry(one.by.name()).or_default().0 += 1;
            }
        }
        let spans: Vec<Span<Interrupting>> = all
            .iter()
            .filter(|one| !is_fault(one))
            .map(|one| Span { from: one.start, to: one.end, what: one.by })
            .collect();
        let lane = Lane::new(&spans, |span| span.from);
        for core in on_core {
            for span in lane.within(core.from, core.to) {
                let ns = span.to - span.from;
                self.account.running_ns -= ns;
                self.account.interrupts_ns += ns;
                self.interrupts.entry(span.what.name()).or_default().1 += ns;
            }
        }
    }

    pub(super) fn conclude(self, names: &Names) -> Account {
        let mut account = self.account;
        account.behind = self.behind.into_iter().map(|(who, had)| who.told(&had, names)).collect();
        // What cannot be named comes last, however long it was.
        account.behind.sort_by_key(|one| (one.thread.is_none() && !one.idle, Reverse(one.ns)));
        account.behind.truncate(ROWS_MAX);
        let sleep = |((woken_by, uninterruptible), (sleeps, ns))| Sleeps {
            woken_by,
            uninterruptible,
            sleeps,
            ns,
        };
        account.sleeps = self.sleeps.into_iter().map(sleep).collect();
        account.sleeps.sort_by_key(|one| Reverse(one.ns));
        account.sleeps.truncate(ROWS_MAX);
        let interrupt = |(name, (count, ns))| Interrupts { name, count, ns };
        account.interrupts = self.interrupts.into_iter().map(interrupt).collect();
        account.interrupts.sort_by_key(|one| Reverse(one.ns));
        account.interrupts.truncate(ROWS_MAX);
        account.cause = cause(&account);
        account
    }
}

/// What was most of it.
fn cause(account: &Account) -> Cause {
    let parts = [
        (account.unknown_ns, Cause::Unknown),
        (account.interrupts_ns, Cause::Interrupts),
        (account.asleep_ns, Cause::Asleep),
        (account.runnable_ns, Cause::Runnable),
        (account.running_ns, Cause::Running),
    ];
    // Of equals the last.
    parts.into_iter().max_by_key(|(ns, _)| *ns).map_or(Cause::Unknown, |(_, cause)| cause)
}

impl Who {
    fn told(self, had: &Had, names: &Names) -> Behind {
        let idle = self == Self::Idle;
        let thread = match (self, had.threads.first()) {
            (Self::Threads(_), Some(only)) if had.threads.len() == 1 => {
                Some(names.of_thread(*only))
            }
            (Self::Threads(name), _) => Some(format!("{name} ({} threads)", had.threads.len())),
            (Self::Others | Self::Idle, _) => None,
        };
        Behind { thread, idle, ns: had.ns }
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
