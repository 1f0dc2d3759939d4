//! What the operating system does to the servers of a run while it is measured.
//!
//! A thread of the generator's process opens the kernel's events and reads them. Its parts take turns in the window, an eighth
//! each: so the servers pay for one at a time, and for none in the rest. Counts of an eighth are told as those of
//! the window: by the requests that were due in both, or by time where no request causes them (`follows`). Quantiles are
//! those of their eighth. Where the right to look is lacking, the thread reads what the kernel tells everybody, and says
//! what is missing.

mod due;
mod processes;
mod follows;
mod turns;
mod calls;
mod threads;

pub(super) use due::Due;
pub(super) use processes::Processes;
pub(crate) use turns::{Part, Watching};

use calls::Calls;
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_kernel::{FUTEX_WAITS, Missing, System};
use tailwater_rt::time::now;
use tailwater_stats::traits::{TierTraits, Traits};
use threads::Threads;
use turns::Turn;

/// Where a watch looks, when, and at what.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Of the front, and of each tier.
    pub(super) processes: Vec<Processes>,
    /// The measured window.
    pub(super) from: Instant,
    pub(super) to: Instant,
    /// A core for it, which the servers' own cores are not.
    pub(super) core: Option<usize>,
    pub(super) watching: Watching,
    /// When requests are.
    pub(super) due: Due,
}

/// A watch under way.
pub(super) struct Watch(JoinHandle<Traits>);

impl Watch {
    pub(super) fn begin(place: Place) -> Self {
        Self(std::thread::spawn(move || watch(&place)))
    }

    /// What was seen, once the window has ended; `None` where the thread failed.
    pub(super) fn finish(self) -> Option<Traits> {
        self.0.join().ok()
    }
}

fn watch(place: &Place) -> Traits {
    if let Some(core) = place.core {
        // Elsewhere it would take time from the servers; what is measured is right all the same.
        let _ = tailwater_rt::cpu::pin(core);
    }
    let tiers = vec![TierTraits::default(); place.processes.len()];
    let mut seen = Traits { tiers, ..Traits::default() };
    let mut before = None;
    for turn in place.watching.turns(place.from, place.to) {
        let looked = look(place, turn, &mut seen, &mut before);
        seen.missing.extend(looked.err());
    }
    sleep_until(place.to);
    let after = System::read();
    let (began, before) = before.unwrap_or_else(|| (place.from, System::read()));
    let since = after.since(&before);
    let window = Window { length: now().since(began), scale: 1.0 };
    seen.retransmissions_per_s = since.retransmissions.map(|count| window.by_time(count));
    let softirqs = since.softirqs.into_iter().map(|(name, count)| (name, window.by_time(count)));
    seen.softirqs_per_s = softirqs.collect();
    seen
}

/// Looks at one part while its turn lasts; the error is a sentence. `machine` is what the whole machine had counted when that
/// was first read, and when that was.
fn look(
    place: &Place,
    turn: Turn,
    seen: &mut Traits,
    machine: &mut Option<(Instant, System)>,
) -> Result<(), String> {
    let opened = match turn.part {
        Part::Calls => Calls::open(&place.processes).map(Open::Calls),
        Part::Waits | Part::Softirqs => {
            Threads::open(place, turn).map(|threads| Open::Threads(Box::new(threads)))
        }
    };
    let mut opened = opened.map_err(|why| sentence(turn.part.name(), &why));
    if let Ok(Open::Threads(threads)) = &mut opened {
        threads.read_until(turn.from);
    }
    sleep_until(turn.from);
    machine.get_or_insert_with(|| (now(), System::read()));
    let began = now();
    if began >= turn.to {
        // What could not be opened is named by its own sentence.
        let what = turn.part.name();
        return opened.and(Err(format!("No {what}: the watch was late; end what else runs here.")));
    }
    // Of a part that was opened late its turn is shorter, and its counts are those of fewer requests.
    let window = Window {
        length: turn.to.since(began),
        scale: place.due.scale((place.from, place.to), (began, turn.to)),
    };
    match opened? {
        Open::Calls(calls) => {
            seen.missing.extend(calls.refused().map(|why| sentence(FUTEX_WAITS, why)));
            let all = calls.count_until(turn.to).into_iter().zip(&place.processes);
            for ((counts, processes), tier) in all.zip(&mut seen.tiers) {
                match counts {
                    Ok(counts) => {
                        tier.syscalls_per_s = follows::rates(counts, processes.spins, &window);
                    }
                    Err(why) => seen.missing.push(processes.without(turn.part.what(), &why)),
                }
            }
        }
        Open::Threads(threads) => threads.watch_until(turn, &window, seen),
    }
    Ok(())
}

/// A part that is watched.
enum Open<'a> {
    Calls(Calls<'a>),
    Threads(Box<Threads<'a>>),
}

fn sentence(what: &str, why: &Missing) -> String {
    format!("No {what}: {why}.")
}

fn sleep_until(until: Instant) {
    let left = until.since(now());
    if !left.is_zero() {
        std::thread::sleep(left);
    }
}

/// The time in which something was counted.
struct Window {
    length: Duration,
    /// By what counts of it are too few for the whole window: see [`Due::scale`].
    scale: f64,
}

impl Window {
    /// Per second, of what requests cause.
    fn by_requests(&self, count: u64) -> f64 {
        self.scale * self.by_time(count)
    }

    /// Per second, of what happens however few requests there are.
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
    fn by_time(&self, count: u64) -> f64 {
        count as f64 / self.length.as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::processes::tests::of;
    use super::*;

    /// With the right to trace or without it: what everybody may read is told, and what is missing named.
    #[test]
    fn a_watch_tells_what_it_saw_or_what_to_type() {
        let start = now();
        let processes = vec![of("", &[std::process::id()]), of("leaf", &[u32::MAX])];
        let (from, to) = (start, start + Duration::from_millis(90));
        let due = Due { start, at_ns: vec![0, 20_000_000, 70_000_000] };
        let watching = Watching::InTurn;
        let place = Place { processes, from, to, core: None, watching, due };
        let traits = Watch::begin(place).finish().expect("it ends");
        assert_eq!(traits.tiers.len(), 2);
        let told = |tier: &TierTraits| {
            [!tier.syscalls_per_s.is_empty(), tier.time.is_some(), tier.softirqs.is_some()]
        };
        // On a busy machine the watch may come late to a part, which is named, and tell others.
        let parts = told(&traits.tiers[0]).iter().filter(|is_told| **is_told).count();
        // The leaf is gone: nothing is told of it, and of each part that is told of the front a sentence says so.
        assert_eq!(told(&traits.tiers[1]), [false; 3], "{traits:?}");
        // Of a part that is told, one count may be refused.
        let is_refused = |why: &&String| why.starts_with("No futex waits");
        let refused = traits.missing.iter().filter(is_refused).count();
        let of_leaf = traits.missing.iter().filter(|why| why.contains("tier leaf")).count();
        let of_parts = traits.missing.len() - of_leaf - refused;
        assert_eq!((of_leaf, of_parts), (parts, 3 - parts), "{traits:?}");
        assert!(traits.missing.iter().all(|why| why.starts_with("No ") && why.ends_with('.')));
    }
}
