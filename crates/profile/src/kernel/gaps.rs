//! Times of which nothing is known of any thread, in bounded memory, and what states they leave.

use crate::record::ThreadState;
use crate::record::Ticks;
use crate::spans::{Lane, Span, merged};

/// Gaps kept apart. What comes then widens the last one: more is unknown, and nothing void counts as known.
const GAPS_MAX: usize = 1 << 16;

/// Gaps in the making.
#[derive(Default)]
pub(super) struct Gaps {
    all: Vec<(Ticks, Ticks)>,
}

/// Gaps by time, without overlap.
pub(super) struct Void(Vec<(Ticks, Ticks)>);

impl Gaps {
    pub(super) fn add(&mut self, from: Ticks, to: Ticks) {
        let is_full = self.all.len() >= GAPS_MAX;
        match self.all.last_mut().filter(|_| is_full) {
            Some(last) => *last = (last.0.min(from), last.1.max(to)),
            None => self.all.push((from, to)),
        }
    }

    pub(super) fn finish(self) -> Void {
        Void(merged(self.all))
    }
}

impl Void {
    /// Those that touch a time.
    fn within(&self, from: Ticks, to: Ticks) -> impl Iterator<Item = (Ticks, Ticks)> + '_ {
        let first = self.0.partition_point(|gap| gap.1 <= from);
        self.0[first..].iter().copied().take_while(move |gap| gap.0 < to)
    }

    /// Whether one touches a time, which may be a point.
    pub(super) fn touches(&self, from: Ticks, to: Ticks) -> bool {
        self.within(from, to.max(from.saturating_add(1))).next().is_some()
    }

    /// A thread's states by time, as their places in the list; what lies in a gap is none of them. Gaps beyond all of its
    /// states say nothing of it.
    pub(super) fn lane(&self, states: &[ThreadState]) -> Lane<Option<usize>> {
        let from = states.iter().map(|one| one.start).min().unwrap_or(0);
        let to = states.iter().map(|one| one.end).max().unwrap_or(0);
        let of_states = states.iter().enumerate();
        let of_states =
            of_states.map(|(nth, one)| Span { from: one.start, to: one.end, what: Some(nth) });
        let void = self.within(from, to);
        let void = void.map(|gap| Span { from: gap.0.max(from), to: gap.1.min(to), what: None });
        let spans: Vec<_> = of_states.chain(void).collect();
        Lane::new(&spans, |span| u64::from(span.what.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_more_gaps_than_are_kept_none_is_forgotten() {
        let mut gaps = Gaps::default();
        let many = 2 * GAPS_MAX as u64;
        (0..many).for_each(|nth| gaps.add(nth * 10, nth * 10 + 1));
        let void = gaps.finish();
        assert_eq!(void.0.len(), GAPS_MAX);
        assert!((0..many).all(|nth| void.touches(nth * 10, nth * 10)));
        assert!(!void.touches(5, 9), "the first ones are kept apart");
    }
}
