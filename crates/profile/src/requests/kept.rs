//! What happened in some windows of time, kept from a second reading.

use crate::hash::Map;
use crate::record::{Call, FunctionId, Gap, Record, ThreadId, Ticks, Wait};
use crate::spans::{Lane, Span, merged};

/// Calls kept; 2²⁰ take 60 MB. Waits and gaps are bounded by a quarter of it.
const CALLS_MAX: usize = 1 << 20;

/// The calls, waits and gaps that touch one of the windows.
pub(crate) struct Kept {
    /// By time, without overlap.
    windows: Vec<(Ticks, Ticks)>,
    calls: Map<ThreadId, Vec<Span<Doing>>>,
    waits: Map<ThreadId, Vec<Span<Wait>>>,
    gaps: Map<Option<ThreadId>, Vec<Span<()>>>,
    kept: [usize; 3],
    left_out: u64,
}

/// A call, as far as blame needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Doing {
    pub(crate) function: FunctionId,
    pub(crate) depth: u32,
    /// From where it was called.
    pub(crate) from: (Option<FunctionId>, u16),
}

/// Everything kept, flattened per thread.
pub(crate) struct Scene {
    pub(crate) calls: Map<ThreadId, Lane<Doing>>,
    pub(crate) waits: Map<ThreadId, Lane<Wait>>,
    pub(crate) gaps: Map<ThreadId, Lane<()>>,
    /// Gaps of the whole scanner.
    pub(crate) blind: Lane<()>,
}

impl Kept {
    /// Of windows that may overlap.
    pub(crate) fn new(windows: Vec<(Ticks, Ticks)>) -> Self {
        Self {
            windows: merged(windows),
            calls: Map::default(),
            waits: Map::default(),
            gaps: Map::default(),
            kept: [0; 3],
            left_out: 0,
        }
    }

    /// Takes the next record of the second reading.
    pub(crate) fn add(&mut self, record: &Record) {
        match record {
            Record::Call(call) if self.touches(call.start, call.end) => self.call(call),
            Record::Wait(wait) if self.touches(wait.start, wait.end) => self.wait(wait),
            Record::Gap(gap) if self.touches(gap.start, gap.end) => self.gap(gap),
            _ => {}
        }
    }

    /// What was left out for want of room.
    pub(crate) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Concludes.
    pub(crate) fn scene(mut self) -> Scene {
        let flat = |spans: &Vec<Span<()>>| Lane::new(spans, |_| 0);
        Scene {
            calls: each(&self.calls, |spans| Lane::new(spans, |span| u64::from(span.what.depth))),
            // A wait within a wait (for a condition, then for its mutex) began later.
            waits: each(&self.waits, |spans| Lane::new(spans, |span| span.from)),
            blind: flat(self.gaps.entry(None).or_default()),
            gaps: self
                .gaps
                .iter()
                .filter_map(|(thread, spans)| Some(((*thread)?, flat(spans))))
                .collect(),
        }
    }

    fn call(&mut self, call: &Call) {
        if self.has_room(0) {
            let from = (call.parent, call.site);
            let what = Doing { function: call.function, depth: call.depth, from };
            let span = Span { from: call.start, to: call.end, what };
            self.calls.entry(call.thread).or_default().push(span);
        }
    }

    fn wait(&mut self, wait: &Wait) {
        if self.has_room(1) {
            let span = Span { from: wait.start, to: wait.end, what: *wait };
            self.waits.entry(wait.thread).or_default().push(span);
        }
    }

    fn gap(&mut self, gap: &Gap) {
        if self.has_room(2) {
            let span = Span { from: gap.start, to: gap.end, what: () };
            self.gaps.entry(gap.thread).or_default().push(span);
        }
    }

    fn touches(&self, from: Ticks, to: Ticks) -> bool {
        let next = self.windows.partition_point(|window| window.1 <= from);
        self.windows.get(next).is_some_and(|window| window.0 < to)
    }

    const fn has_room(&mut self, kind: usize) -> bool {
        let bound = if kind == 0 { CALLS_MAX } else { CALLS_MAX / 4 };
        if self.kept[kind] >= bound {
            self.left_out += 1;
            return false;
        }
        self.kept[kind] += 1;
        true
    }
}

fn each<K: Copy + Eq + std::hash::Hash, A, B>(
    map: &Map<K, Vec<A>>,
    flatten: impl Fn(&[A]) -> B,
) -> Map<K, B> {
    map.iter().map(|(key, spans)| (*key, flatten(spans))).collect()
}
