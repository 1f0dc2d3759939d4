//! Which waits lay within which calls.
//!
//! Calls come when they end, waits when the ring of their thread is emptied: either may be first. Each looks at the
//! other kind's recent past on its thread. So every pair is found once, by the one that came second, as long as
//! neither came more than [`RECENT`] of the other's late. What may be missing beyond that is counted.

use crate::hash::Map;
use crate::record::{Call, FunctionId, ThreadId, Ticks, Wait, WaitKind};
use std::collections::VecDeque;

/// Calls and waits of one thread that are looked back on.
const RECENT: usize = 1024;
/// Threads looked back on at a time.
const THREADS_MAX: usize = 4096;
/// Looks at other calls that each record of a thread saves up. Where a thousand waits, each in a call of its own, lie in ten
/// calls around them all, a record costs 2,500. Waits without end, as a damaged trace may have them, would cost each call
/// a million.
const LOOKS: usize = 4096;
/// Looks that are saved at most. One call takes up to a million, where it lies around all that is looked back on.
const LOOKS_MAX: usize = 32 * RECENT * RECENT;
/// Sums of (function, lock, holder's function) kept.
const SUMS_MAX: usize = 65_536;

/// Waits behind calls, summed up.
#[derive(Default)]
pub(super) struct Locks {
    lanes: Lanes,
    sums: Map<Key, Sum>,
    beyond: u64,
}

/// What a sum is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key {
    pub(super) function: FunctionId,
    pub(super) kind: WaitKind,
    pub(super) object: u64,
    pub(super) holder: Option<FunctionId>,
}

/// Waits of one [`Key`], as far as they lay within calls of its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    pub(super) waits: u64,
    pub(super) total: u64,
    pub(super) longest: u64,
    /// Of the longest.
    pub(super) site: u64,
    /// Where its holder went on with the lock; zero when unknown.
    pub(super) holder_site: u16,
}

/// The recent past of threads.
#[derive(Default)]
struct Lanes {
    by_thread: Map<ThreadId, Lane>,
    /// Records so far.
    told: u64,
    /// Waits of threads that were let go in a call: it may have lain around them.
    forgotten: u64,
}

/// That of one.
#[derive(Default)]
struct Lane {
    /// The number of its last record.
    told: u64,
    /// That was an outermost call, or a wait that was over within it: nothing that comes lies around what is remembered.
    is_outside: bool,
    /// The end of the last outermost call.
    outside_from: Ticks,
    calls: VecDeque<Span>,
    waits: VecDeque<Wait>,
    /// When the last wait remembered was over: most calls start later.
    waited_until: Ticks,
    /// Waits that are remembered no more, though calls may yet turn out to lie around them; and when the last of them was over.
    gone: (u64, Ticks),
    /// When the last call that is remembered no more was over.
    calls_until: Ticks,
    /// Looks that are saved. Without one, a wait does not count for a call around it.
    looks: usize,
}

/// When a call took place.
#[derive(Clone, Copy)]
struct Span {
    function: FunctionId,
    start: Ticks,
    end: Ticks,
    /// It was under way all the time between these.
    surely: (Ticks, Ticks),
}

impl From<&Call> for Span {
    fn from(call: &Call) -> Self {
        let surely = (
            call.start.saturating_add(u64::from(call.start_slack)),
            call.end.saturating_sub(u64::from(call.end_slack)),
        );
        Self { function: call.function, start: call.start, end: call.end, surely }
    }
}

impl Locks {
    pub(super) fn call(&mut self, call: &Call) {
        let lane = self.lanes.of(call.thread);
        lane.is_outside = call.depth == 0;
        if lane.is_outside {
            lane.outside_from = call.end;
        }
        let span = Span::from(call);
        lane.looks = LOOKS_MAX.min(lane.looks + LOOKS);
        if lane.waited_until > call.start {
            for wait in &lane.waits {
                let known = Known { calls: lane.calls.iter().rev(), looks: &mut lane.looks };
                note(&mut self.sums, &mut self.beyond, &span, wait, known);
            }
        }
        if lane.gone.1 > call.start {
            // Each counts once, however many calls lack it.
            self.beyond += std::mem::take(&mut lane.gone.0);
        }
        if lane.is_outside {
            lane.gone = (0, 0);
        }
        if let Some(first) = push(&mut lane.calls, span) {
            lane.calls_until = lane.calls_until.max(first.end);
        }
    }

    pub(super) fn wait(&mut self, wait: &Wait) {
        let lane = self.lanes.of(wait.thread);
        lane.is_outside &= wait.end <= lane.outside_from;
        lane.looks = LOOKS_MAX.min(lane.looks + LOOKS);
        // It may have lain within one of them.
        self.beyond += u64::from(wait.start < lane.calls_until);
        // A thread's calls come in the order of their ends.
        for (nth, span) in lane.calls.iter().rev().enumerate() {
            if span.end <= wait.start {
                break;
            }
            let calls = lane.calls.iter().rev().take(nth);
            let known = Known { calls, looks: &mut lane.looks };
            note(&mut self.sums, &mut self.beyond, span, wait, known);
        }
        lane.waited_until = lane.waited_until.max(wait.end);
        let first = push(&mut lane.waits, *wait).filter(|one| one.end > lane.outside_from);
        if let Some(first) = first {
            lane.gone = (lane.gone.0 + 1, lane.gone.1.max(first.end));
        }
    }

    pub(super) fn sums(self) -> impl Iterator<Item = (Key, Sum)> {
        self.sums.into_iter()
    }

    /// Waits and calls beyond the bounds.
    pub(super) const fn beyond(&self) -> u64 {
        self.beyond + self.lanes.forgotten
    }
}

impl Lanes {
    /// That of a thread. Where there are too many, others make room for a new one.
    fn of(&mut self, thread: ThreadId) -> &mut Lane {
        self.told += 1;
        if self.by_thread.len() >= THREADS_MAX && !self.by_thread.contains_key(&thread) {
            self.sweep();
        }
        let lane = self.by_thread.entry(thread).or_default();
        lane.told = self.told;
        lane
    }

    /// Lets go of threads that were silent the longest, as a program may make new ones all the time: of those that are in no call, and of
    /// all where these are few. Where a filter leaves out outermost calls, or a thread waited in none, its end is never told. All
    /// threads are looked through for that. It leaves room for a thousand threads, so as many records lie between two of it.
    fn sweep(&mut self) {
        const HALF: usize = THREADS_MAX / 2;
        let mut told: Vec<u64> = self.by_thread.values().map(|lane| lane.told).collect();
        let (_, &mut middle, _) = told.select_nth_unstable(HALF);
        self.by_thread.retain(|_, lane| !lane.is_outside || lane.told > middle);
        if self.by_thread.len() > THREADS_MAX - HALF / 2 {
            let forgotten = &mut self.forgotten;
            self.by_thread.retain(|_, lane| {
                let stays = lane.told > middle;
                *forgotten += if stays { 0 } else { lane.waits.len() as u64 + lane.gone.0 };
                stays
            });
        }
    }
}

/// Remembers one more. Gives back the one that has to go for it.
fn push<T>(recent: &mut VecDeque<T>, item: T) -> Option<T> {
    let first = if recent.len() == RECENT { recent.pop_front() } else { None };
    recent.push_back(item);
    first
}

/// The part of `wait` that lies within a call. One that the call's bounds only may have reached counts
/// when the wait itself names this function: uncertain overlaps are not charged.
fn within(span: &Span, wait: &Wait) -> Ticks {
    let overlap =
        |(start, end): (Ticks, Ticks)| wait.end.min(end).saturating_sub(wait.start.max(start));
    let is_certain = wait.function == Some(span.function) || overlap(span.surely) > 0;
    if is_certain { overlap((span.start, span.end)) } else { 0 }
}

/// The calls that a wait was added for already, the latest first, and the looks at them that are left.
struct Known<'l, I> {
    calls: I,
    looks: &'l mut usize,
}

/// Adds the part of `wait` that lies within a call. A function has it once, by the call that it lies in
/// the most. (Calls that recurse all have it within them, and of calls whose bounds are vague more than one may.)
fn note<'a>(
    sums: &mut Map<Key, Sum>,
    beyond: &mut u64,
    span: &Span,
    wait: &Wait,
    known: Known<'_, impl Iterator<Item = &'a Span>>,
) {
    let function = span.function;
    let within = within(span, wait);
    if within == 0 {
        return;
    }
    if *known.looks == 0 {
        *beyond += 1;
        return;
    }
    let looks = known.looks;
    let counted = known
        .calls
        .take_while(|known| known.end > wait.start)
        .inspect(|_| *looks = looks.saturating_sub(1))
        .filter(|known| known.function == function)
        .map(|known| self::within(known, wait))
        .max()
        .unwrap_or(0);
    let holder = wait.holder_function;
    let key = Key { function, kind: wait.kind, object: wait.object, holder };
    if sums.len() >= SUMS_MAX && !sums.contains_key(&key) {
        *beyond += 1;
        return;
    }
    let sum = sums.entry(key).or_default();
    sum.waits += u64::from(counted == 0);
    sum.total = sum.total.saturating_add(within.saturating_sub(counted));
    if within > sum.longest {
        (sum.longest, sum.site, sum.holder_site) = (within, wait.site, wait.holder_site);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CallFlags;

    fn call(thread: u32, function: u32, start: Ticks, end: Ticks) -> Call {
        Call {
            thread: ThreadId(thread),
            function: FunctionId(function),
            parent: None,
            depth: 0,
            generation: 0,
            start,
            start_slack: 0,
            end,
            end_slack: 0,
            flags: CallFlags::default(),
            site: 0,
        }
    }

    fn wait(thread: u32, start: Ticks, end: Ticks) -> Wait {
        Wait {
            thread: ThreadId(thread),
            kind: WaitKind::Mutex,
            object: 64,
            start,
            end,
            released: end,
            holder: None,
            function: None,
            holder_function: Some(FunctionId(9)),
            holder_site: 0,
            site: end,
        }
    }

    #[test]
    fn a_wait_counts_for_every_call_around_it_in_either_order() {
        let calls =
            [call(1, 1, 0, 100), call(1, 2, 40, 60), call(1, 3, 70, 80), call(2, 4, 0, 100)];
        let waits = [wait(1, 50, 65), wait(1, 100, 110)];
        let mut first = Locks::default();
        calls.iter().for_each(|call| first.call(call));
        waits.iter().for_each(|wait| first.wait(wait));
        let mut second = Locks::default();
        waits.iter().for_each(|wait| second.wait(wait));
        calls.iter().for_each(|call| second.call(call));
        let sorted = |locks: Locks| {
            let mut sums: Vec<_> = locks.sums().collect();
            sums.sort_unstable_by_key(|(key, _)| *key);
            sums
        };
        let sums = sorted(first);
        assert_eq!(sums, sorted(second));
        let brief: Vec<_> = sums
            .iter()
            .map(|(key, sum)| (key.function.0, sum.waits, sum.total, sum.site))
            .collect();
        assert_eq!(brief, [(1, 1, 15, 65), (2, 1, 10, 65)]);
    }

    #[test]
    fn a_call_whose_start_is_uncertain_has_no_wait_of_before() {
        let mut locks = Locks::default();
        // Seen first at 90, after a gap of the scanner that began at 10.
        let vague = Call { start_slack: 40, ..call(1, 1, 50, 200) };
        locks.call(&vague);
        locks.wait(&wait(1, 20, 80));
        assert_eq!(locks.sums.len(), 0);
        locks.wait(&Wait { function: Some(FunctionId(1)), ..wait(1, 20, 80) });
        locks.wait(&wait(1, 20, 95));
        assert_eq!(
            locks.sums.into_values().map(|sum| (sum.waits, sum.total)).next(),
            Some((2, 75))
        );
    }

    #[test]
    fn a_function_has_a_wait_once() {
        // Two vague calls, of which either may be the one that waited, and one in the other.
        let vague = |start, end| Call { start_slack: 50, end_slack: 50, ..call(1, 1, start, end) };
        let calls = [vague(0, 55), vague(45, 90), call(1, 2, 52, 58), call(1, 2, 40, 95)];
        let own = Wait { function: Some(FunctionId(1)), ..wait(1, 50, 60) };
        for waits_at in 0..=calls.len() {
            let mut locks = Locks::default();
            calls[..waits_at].iter().for_each(|call| locks.call(call));
            locks.wait(&own);
            calls[waits_at..].iter().for_each(|call| locks.call(call));
            let mut sums: Vec<_> = locks.sums().collect();
            sums.sort_unstable_by_key(|(key, _)| *key);
            let brief: Vec<_> =
                sums.iter().map(|(_, sum)| (sum.waits, sum.total, sum.longest)).collect();
            assert_eq!(brief, [(1, 10, 10), (1, 10, 10)], "the wait came as number {waits_at}");
        }
    }

    /// Each call looked at a million others.
    #[test]
    fn waits_without_end_cost_no_more_than_others() {
        let mut locks = Locks::default();
        (0..RECENT).for_each(|_| locks.wait(&wait(1, 0, Ticks::MAX)));
        for n in 0..10_000 {
            locks.call(&call(1, n % 7, 10 * u64::from(n), 10 * u64::from(n) + 5));
        }
        // All that was saved is spent.
        assert_eq!(locks.lanes.by_thread[&ThreadId(1)].looks, 0);
        assert!(locks.beyond() > 0);
        for _ in 0..10_000 {
            locks.wait(&wait(1, 0, Ticks::MAX));
            assert_eq!(locks.lanes.by_thread[&ThreadId(1)].looks, 0);
        }
    }

    #[test]
    fn a_thousand_waits_count_for_each_of_ten_calls_around_them_all() {
        let mut locks = Locks::default();
        for request in 0..3 {
            let began = request * 100_000;
            for nth in 0..1_000 {
                let at = began + 50 * nth;
                locks.wait(&wait(1, at + 10, at + 20));
                locks.call(&call(1, 1, at + 5, at + 25));
            }
            (0..10).for_each(|depth| locks.call(&call(1, 2 + depth, began, began + 60_000)));
        }
        assert_eq!(locks.beyond(), 0);
        let sums: Vec<u64> = locks.sums().map(|(_, sum)| sum.waits).collect();
        assert_eq!(sums, [3_000; 11]);
    }

    /// The loop of a thread has the last thousand of its waits, and was told to have no more.
    #[test]
    fn waits_that_a_long_call_lacks_are_counted() {
        let mut locks = Locks::default();
        for nth in 0..3_000 {
            let at = 100 * nth;
            locks.wait(&wait(1, at + 10, at + 20));
            locks.call(&Call { depth: 1, ..call(1, 1, at + 5, at + 25) });
        }
        assert_eq!(locks.beyond(), 0, "each of the calls within has its own");
        locks.call(&Call { depth: 1, ..call(1, 3, 0, 390_000) });
        assert_eq!(locks.beyond(), 3_000 - RECENT as u64);
        // They count once, though what is around that call lacks them, too.
        locks.call(&call(1, 2, 0, 400_000));
        assert_eq!(locks.beyond(), 3_000 - RECENT as u64);
        let mut sums: Vec<_> = locks.sums().map(|(key, sum)| (key.function.0, sum.waits)).collect();
        sums.sort_unstable();
        assert_eq!(sums, [(1, 3_000), (2, RECENT as u64), (3, RECENT as u64)]);
    }

    #[test]
    fn a_wait_told_later_than_the_calls_remembered_is_counted() {
        let mut locks = Locks::default();
        locks.call(&call(1, 1, 0, 100));
        (1..=RECENT as u64).for_each(|nth| locks.call(&call(1, 2, 100 * nth, 100 * nth + 50)));
        locks.wait(&wait(1, 10, 20));
        assert_eq!((locks.sums.len(), locks.beyond()), (0, 1), "it lay in the first call");
        locks.wait(&wait(1, 310, 320));
        assert_eq!((locks.sums.len(), locks.beyond()), (1, 1));
    }

    #[test]
    fn the_past_is_bounded() {
        let mut locks = Locks::default();
        // Live threads: more of their calls may come.
        for n in 0..5_000 {
            locks.call(&Call { depth: 1, ..call(n, 1, 0, 100) });
            assert!(locks.lanes.by_thread.len() <= THREADS_MAX);
        }
        assert_eq!(locks.beyond(), 0, "no wait was forgotten");
        for n in 0..100_000 {
            locks.wait(&Wait { object: n, ..wait(4_999, 10, 20) });
        }
        assert_eq!(locks.sums.len(), SUMS_MAX);
        assert_eq!(locks.beyond(), 100_000 - SUMS_MAX as u64);
        assert!(locks.lanes.by_thread.values().all(|lane| lane.waits.len() <= RECENT));
    }

    #[test]
    fn threads_that_have_ended_make_room_for_others() {
        let mut locks = Locks::default();
        for n in 0..10_000 {
            locks.wait(&wait(n, 10, 20));
            locks.call(&call(n, n, 0, 100));
        }
        assert!(locks.lanes.by_thread.len() <= THREADS_MAX);
        assert_eq!((locks.sums.len(), locks.beyond()), (10_000, 0), "each has its wait");
    }

    /// A ring is emptied after its thread's last call was told of.
    #[test]
    fn threads_whose_last_wait_was_told_late_make_room_for_others() {
        let mut locks = Locks::default();
        for n in 0..10_000 {
            locks.call(&call(n, n, 0, 100));
            locks.wait(&wait(n, 10, 20));
        }
        assert!(locks.lanes.by_thread.len() <= THREADS_MAX);
        assert_eq!((locks.sums.len(), locks.beyond()), (10_000, 0), "each has its wait");
    }

    /// A filter leaves out their outermost calls, or they waited in none.
    #[test]
    fn threads_of_which_no_outermost_call_is_told_make_room_and_what_is_forgotten_is_counted() {
        let mut locks = Locks::default();
        for n in 0..10_000 {
            locks.call(&Call { depth: 1, ..call(n, n, 0, 100) });
            locks.wait(&wait(n, 10, 20));
        }
        let kept = locks.lanes.by_thread.len();
        assert!(kept <= THREADS_MAX);
        assert_eq!(locks.sums.len(), 10_000, "each has its wait");
        assert_eq!(locks.beyond(), 10_000 - kept as u64, "another call may have lain around each");
    }

    /// Threads that are in a call for long leave less room, and that was taken for none.
    #[test]
    fn each_new_thread_has_room_beside_those_that_stay() {
        let mut locks = Locks::default();
        for n in 0..800 {
            locks.wait(&wait(n, 10, 20));
        }
        for n in 800..20_000 {
            locks.call(&call(n, 1, 0, 100));
            assert!(locks.lanes.by_thread.contains_key(&ThreadId(n)), "thread {n}");
            assert!(locks.lanes.by_thread.len() <= THREADS_MAX);
        }
        for n in 0..800 {
            locks.call(&call(n, 2, 0, 1_000_000));
        }
        assert_eq!(locks.beyond(), 0);
        let waits: Vec<_> = locks.sums().map(|(key, sum)| (key.function.0, sum.waits)).collect();
        assert_eq!(waits, [(2, 800)]);
    }

    #[test]
    fn a_thread_in_a_call_outlasts_others_that_have_ended() {
        let mut locks = Locks::default();
        locks.wait(&wait(0, 10, 20));
        for n in 1..10_000 {
            locks.call(&call(n, 1, 0, 100));
        }
        locks.call(&call(0, 2, 0, 1_000_000));
        assert_eq!(locks.sums().map(|(key, _)| key.function).collect::<Vec<_>>(), [FunctionId(2)]);
    }
}
