//! Times in which the scanner itself did not run: what touches them is nobody's fault.

use super::Window;
use std::collections::VecDeque;
use tailwater_profile::record::{Gap, Ticks};

/// Gaps remembered for the calls that are still to end, and gaps not yet written, at most each. When
/// there are more, the oldest two become one, which flags more calls and never fewer.
const GAPS_MAX: usize = 64;

/// The scanner's absences.
#[derive(Debug)]
pub(crate) struct Gaps {
    shortest: Ticks,
    recent: VecDeque<Window>,
    unwritten: VecDeque<Window>,
}

impl Gaps {
    /// Absences longer than `shortest` count.
    pub(crate) fn new(shortest: Ticks) -> Self {
        let room = || VecDeque::with_capacity(GAPS_MAX);
        Self { shortest, recent: room(), unwritten: room() }
    }

    /// The clock read `before`, and then `after`, with no more than a few loads in between.
    #[inline]
    pub(crate) fn note(&mut self, before: Ticks, after: Ticks) {
        if after.saturating_sub(before) > self.shortest {
            self.add(Window::new(before, after));
        }
    }

    /// Whether an instant may lie in a gap.
    pub(crate) fn touch(&self, window: Window) -> bool {
        window.to - window.from > self.shortest
            && self.recent.iter().any(|gap| gap.from < window.to && window.from < gap.to)
    }

    /// The oldest gap that was not taken yet.
    pub(crate) fn take(&mut self) -> Option<Gap> {
        let gap = self.unwritten.pop_front()?;
        Some(Gap { thread: None, start: gap.from, end: gap.to })
    }

    #[cold]
    fn add(&mut self, gap: Window) {
        for list in [&mut self.recent, &mut self.unwritten] {
            if list.len() == GAPS_MAX
                && let Some(first) = list.pop_front()
                && let Some(second) = list.front_mut()
            {
                second.from = first.from;
            }
            list.push_back(gap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_absences_count_and_touch_what_may_lie_in_them() {
        let mut gaps = Gaps::new(100);
        gaps.note(0, 100);
        assert_eq!(gaps.take(), None);
        gaps.note(1000, 1200);
        assert!(gaps.touch(Window { from: 900, to: 1250 }));
        assert!(!gaps.touch(Window { from: 1200, to: 1400 }));
        assert!(!gaps.touch(Window { from: 500, to: 1000 }));
        assert_eq!(gaps.take(), Some(Gap { thread: None, start: 1000, end: 1200 }));
        assert_eq!(gaps.take(), None);
    }

    #[test]
    fn too_many_gaps_flag_more_and_none_is_forgotten_between() {
        let mut gaps = Gaps::new(1);
        for at in 0..1000 {
            gaps.note(at * 10, at * 10 + 5);
        }
        for at in 0..1000 {
            assert!(gaps.touch(Window { from: at * 10 + 1, to: at * 10 + 4 }), "{at}");
        }
        assert_eq!(std::iter::from_fn(|| gaps.take()).count(), GAPS_MAX);
    }
}
