//! When the generation counter stood where: dates the starts of frames that were found later.

use super::Window;
use std::collections::VecDeque;
use tailwater_profile::record::Ticks;

/// Readings kept at most; when there are more, every other one is dropped, which widens windows.
const SPANS_MAX: usize = 256;

/// The counter's readings since the stack was last known as a whole.
#[derive(Debug)]
pub(crate) struct Timeline {
    spans: VecDeque<Span>,
}

/// The counter was seen at `generation`.
#[derive(Clone, Copy, Debug)]
struct Span {
    generation: u64,
    /// It had been reached by then.
    reached_by: Ticks,
    /// A look at that time found it so still.
    held_at: Ticks,
}

impl Timeline {
    /// Begins when the counter stood at `generation`.
    pub(crate) fn new(generation: u64, at: Ticks) -> Self {
        let mut spans = VecDeque::with_capacity(SPANS_MAX);
        spans.push_back(Span { generation, reached_by: at, held_at: at });
        Self { spans }
    }

    /// The counter was read between `from` and `to`.
    pub(crate) fn see(&mut self, generation: u64, from: Ticks, to: Ticks) {
        match self.spans.back_mut() {
            Some(last) if last.generation == generation => last.held_at = last.held_at.max(from),
            // A signal handler can set the counter back; what was known is then void.
            Some(last) if last.generation > generation => {
                self.spans.retain(|span| span.generation < generation);
                self.push(Span { generation, reached_by: to, held_at: from });
            }
            _ => self.push(Span { generation, reached_by: to, held_at: from }),
        }
    }

    /// When the frame that made the counter `generation` came to be seen; `None`: before the beginning.
    pub(crate) fn start_of(&self, generation: u64) -> Option<Window> {
        let after = self.spans.partition_point(|span| span.generation < generation);
        let before = self.spans.get(after.checked_sub(1)?)?;
        // A counter that was never seen that high has not been reached: the caller has read it since.
        let reached_by = self.spans.get(after).map_or(before.held_at, |span| span.reached_by);
        Some(Window::new(before.held_at, reached_by))
    }

    /// All frames up to now are known: only the last readings matter for those to come. Two, since a
    /// frame may be on its way: its thread has counted it and not yet moved its position.
    pub(crate) fn forget(&mut self) {
        let old = self.spans.len().saturating_sub(2);
        self.spans.drain(..old);
    }

    fn push(&mut self, span: Span) {
        if self.spans.len() == SPANS_MAX {
            let mut at = 0;
            self.spans.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
        self.spans.push_back(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_lies_between_the_last_lower_reading_and_the_first_that_reached_it() {
        let mut line = Timeline::new(10, 100);
        line.see(10, 150, 155);
        line.see(14, 200, 205);
        line.see(20, 300, 305);
        assert_eq!(line.start_of(10), None, "it was there before");
        assert_eq!(line.start_of(11), Some(Window { from: 150, to: 205 }));
        assert_eq!(line.start_of(14), Some(Window { from: 150, to: 205 }));
        assert_eq!(line.start_of(15), Some(Window { from: 200, to: 305 }));
        line.forget();
        assert_eq!(line.start_of(14), None);
        assert_eq!(line.start_of(20), Some(Window { from: 200, to: 305 }));
        line.see(21, 400, 405);
        assert_eq!(line.start_of(21), Some(Window { from: 300, to: 405 }));
    }

    #[test]
    fn a_full_line_gets_coarser_and_stays_true() {
        let mut line = Timeline::new(0, 0);
        for generation in 1..10_000 {
            line.see(generation, generation * 10, generation * 10 + 1);
        }
        assert!(line.spans.len() <= SPANS_MAX);
        for generation in 1..10_000 {
            let window = line.start_of(generation).expect("after the beginning");
            assert!(window.from <= (generation - 1) * 10 + 1, "{generation}: {window:?}");
            assert!(window.to > generation * 10, "{generation}: {window:?}");
        }
    }

    #[test]
    fn a_counter_that_went_back_does_not_date_what_it_had_been_before() {
        let mut line = Timeline::new(5, 0);
        line.see(9, 100, 101);
        line.see(8, 200, 201);
        assert_eq!(line.start_of(8), Some(Window { from: 0, to: 201 }));
    }
}
