//! One thread's stack, followed from glimpse to glimpse.
//!
//! Three facts carry all conclusions. They hold because a thread stores its counter, then the frame,
//! then the position, in this order, and a scanner loads in this order too. Stores come to be seen in this order, each up to
//! [`ThreadScan::delay`] late: windows of starts and ends begin so much before the look that found neither.
//!
//! - *No push, no change*: while the counter stands where it stood when the whole stack was known, the stack is a
//!   prefix of that one. The position says which.
//! - *One generation, one frame*: an entry below the position that has a known frame's generation is
//!   that frame, and so is everything below it.
//! - *A torn walk has a sound prefix*: take an entry below the position before and after, whose generation is no
//!   later than a counter loaded before the first position. If it is the same when read again after the second
//!   position, it was on the stack all the while.

use super::looks::Counts;
use super::timeline::Timeline;
use super::{DEPTH_MAX, Ended, Gaps, Glimpse, Head, Probe, Window};
use crate::memory::abi::What;
use tailwater_profile::record::{CallFlags, Looks, ThreadId, Ticks};

/// Unknown frames that one walk reads, from the lowest up: a very deep stack is learnt in pieces, so
/// that the walk of one thread does not blind the scanner to the others.
const WALK_MAX: u32 = 4096;

/// Frames to a cache line.
const FRAMES_PER_LINE: u64 = 4;

/// What is known of one thread.
#[derive(Debug)]
pub(crate) struct ThreadScan {
    /// Frames that were on the stack at `alive`, lowest first.
    frames: Vec<Frame>,
    /// They are the whole stack, as of `last`.
    whole: bool,
    /// A time, as late as is known, at which all of them were on the stack.
    alive: Ticks,
    last: Head,
    timeline: Timeline,
    /// Frames from here up were seen in torn walks only.
    torn_from: usize,
    first_generation: u64,
    /// Frames found that were pushed after `first_generation`.
    found: u64,
    reported: u64,
    /// Walks that found what no one stack can hold.
    mixed: u64,
    looks: Counts,
    began: Window,
    /// From a store of the thread to the first look that finds it, at most.
    delay: Ticks,
    read: Vec<(u32, Glimpse)>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    what: What,
    generation: u64,
    start: Window,
    flags: u8,
}

/// What a glimpse showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// What was known already.
    Nothing,
    /// As at the last glimpse, with frames that are not known yet: a good moment to walk.
    Quiet,
    /// Frames have ended, and all others are known.
    Fewer,
    /// Frames have come.
    Changed,
}

impl ThreadScan {
    /// Begins to follow a thread whose counter stood at `generation` between `began.from` and
    /// `began.to`. Frames up to then count as started before. A look may miss what the thread stored up to `delay` before it.
    pub(crate) fn new(generation: u64, began: Window, delay: Ticks) -> Self {
        Self {
            frames: Vec::with_capacity(64),
            whole: false,
            alive: began.from,
            last: Head { depth: 0, generation },
            timeline: Timeline::new(generation, began.from),
            torn_from: usize::MAX,
            first_generation: generation,
            found: 0,
            reported: 0,
            mixed: 0,
            looks: Counts::new(began.from),
            began,
            delay,
            read: Vec::with_capacity(64),
        }
    }

    /// Looks at the head. `before` is the clock's last reading; returns the next.
    #[inline]
    pub(crate) fn glimpse(
        &mut self,
        before: Ticks,
        probe: &mut impl Probe,
        gaps: &mut Gaps,
        out: &mut Vec<Ended>,
    ) -> (Ticks, Seen) {
        let head = probe.head();
        let after = probe.now();
        gaps.note(before, after);
        if head == self.last {
            self.timeline.see(head.generation, before, after);
            if self.whole {
                self.alive = before;
                self.looks.note(after);
            }
            return (after, if self.whole { Seen::Nothing } else { Seen::Quiet });
        }
        (after, self.changed(head, before, after, gaps, out))
    }

    fn changed(
        &mut self,
        head: Head,
        before: Ticks,
        after: Ticks,
        gaps: &Gaps,
        out: &mut Vec<Ended>,
    ) -> Seen {
        let pops = head.generation == self.last.generation && head.depth <= self.last.depth;
        self.timeline.see(head.generation, before, after);
        self.truncate(head.depth as usize, after, gaps, out);
        self.last = head;
        if self.whole && pops {
            self.alive = before;
            self.looks.note(after);
            return Seen::Fewer;
        }
        self.whole = false;
        Seen::Changed
    }

    /// Reads the frames that are not known, as of the last glimpse. Returns the clock's last reading
    /// and how many lines of the stack were read.
    pub(crate) fn walk(
        &mut self,
        before: Ticks,
        probe: &mut impl Probe,
        gaps: &mut Gaps,
        out: &mut Vec<Ended>,
    ) -> (Ticks, u64) {
        // A head is a position and a later counter: in between the thread may have returned and
        // called again. The next one's position is younger than the counter of the last.
        let counted = self.last.generation;
        let first = probe.head();
        let began = probe.now();
        gaps.note(before, began);
        if first != self.last {
            self.changed(first, before, began, gaps, out);
        }
        let top = first.depth.min(DEPTH_MAX);
        let (known, complete) = self.read_down(top, probe);
        let lines = (self.read.len() as u64 + 1).div_ceil(FRAMES_PER_LINE);
        let middle = probe.now();
        let head = probe.head();
        let after = probe.now();
        gaps.note(began, middle);
        gaps.note(middle, after);
        let pushed = head.generation != counted || head.depth > first.depth;
        let shallowest = first.depth.min(head.depth);
        if pushed && !self.still_there(known, shallowest, probe) {
            self.give_up(head, middle, after, gaps, out);
            return (after, lines);
        }
        // The first head's own counter is loaded after its position: a frame that it counts may have been half written
        // when its entry was read. A signal handler can set the counter back; then the first head's is the lower one.
        let generation = first.generation.min(counted);
        let sound =
            self.sound_prefix(known, Head { generation, ..first }, shallowest, pushed, probe);
        if !pushed && self.is_out_of_order(known, sound) {
            self.mixed += 1;
        }
        self.replace(known, sound, pushed, (middle, after), gaps, out);
        self.timeline.see(head.generation, middle, after);
        self.truncate(head.depth as usize, after, gaps, out);
        self.alive = middle;
        self.last = head;
        self.whole = !pushed && complete && sound == self.read.len();
        if self.whole {
            self.torn_from = usize::MAX;
            self.timeline.forget();
            self.looks.note(after);
        }
        (after, lines)
    }

    /// Looks, and walks if there is anything to find, whatever that costs the thread.
    pub(crate) fn catch_up(
        &mut self,
        before: Ticks,
        probe: &mut impl Probe,
        gaps: &mut Gaps,
        out: &mut Vec<Ended>,
    ) -> Ticks {
        let (now, _) = self.glimpse(before, probe, gaps, out);
        if self.whole { now } else { self.walk(now, probe, gaps, out).0 }
    }

    /// Whether all of the stack was known, as of the last look.
    pub(crate) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Of the calls that are under way, as far as is known: their functions.
    pub(crate) fn descs(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().map(|frame| frame.what.desc)
    }

    /// The thread went at `at`, and left `last` behind.
    pub(crate) fn end(&mut self, at: Ticks, last: Head, gaps: &Gaps, out: &mut Vec<Ended>) {
        self.last = last;
        self.truncate(0, at, gaps, out);
    }

    /// Recording ends while the thread runs.
    pub(crate) fn stop(&mut self, now: Ticks, out: &mut Vec<Ended>) {
        while let Some(ended) = self.pop(Window { from: now, to: now }) {
            out.push(Ended { flags: ended.flags | CallFlags::UNFINISHED, ..ended });
        }
    }

    /// Frames that came and went unseen since this was last asked: an upper bound.
    pub(crate) fn take_lost(&mut self) -> u64 {
        let pushed = self.last.generation.saturating_sub(self.first_generation);
        let lost = pushed.saturating_sub(self.found).saturating_sub(self.reported);
        self.reported += lost;
        lost
    }

    /// Looks that found out all frames, since this was last asked.
    pub(crate) fn take_looks(&mut self, thread: ThreadId) -> impl Iterator<Item = Looks> {
        self.looks.take(thread)
    }

    /// Looks that found the frames of several machine stacks, since this was last asked.
    pub(crate) const fn take_mixed(&mut self) -> u64 {
        std::mem::replace(&mut self.mixed, 0)
    }

    /// Reads entries from the top down until one is known. Returns how many of the known frames are
    /// still there, by what was read, and whether all entries up to `top` were in reach.
    fn read_down(&mut self, top: u32, probe: &mut impl Probe) -> (usize, bool) {
        self.read.clear();
        let ceiling = top.min(self.frames.len() as u32 + WALK_MAX);
        for index in (0..ceiling).rev() {
            let glimpse = probe.frame(index);
            let known = self.frames.get(index as usize);
            if known.is_some_and(|frame| frame.generation == glimpse.generation) {
                return (index as usize + 1, ceiling == top);
            }
            self.read.push((index, glimpse));
        }
        (0, ceiling == top)
    }

    /// Whether the topmost known frame was there throughout.
    fn still_there(&self, known: usize, shallowest: u32, probe: &mut impl Probe) -> bool {
        let Some(top) = known.checked_sub(1) else { return true };
        top < shallowest as usize && probe.generation(top as u32) == self.frames[top].generation
    }

    /// The walk found nothing to stand on: only what the depth says is sure.
    fn give_up(
        &mut self,
        head: Head,
        before: Ticks,
        after: Ticks,
        gaps: &Gaps,
        out: &mut Vec<Ended>,
    ) {
        self.timeline.see(head.generation, before, after);
        self.truncate(head.depth as usize, after, gaps, out);
        self.last = head;
        self.whole = false;
    }

    /// How many of the entries read, from the lowest up, were on the stack throughout. The counter of `first` was
    /// reached before its position was loaded.
    fn sound_prefix(
        &self,
        known: usize,
        first: Head,
        shallowest: u32,
        torn: bool,
        probe: &mut impl Probe,
    ) -> usize {
        let mut below = known.checked_sub(1).map_or(0, |top| self.frames[top].generation);
        let mut sound = 0;
        for (index, glimpse) in self.read.iter().rev() {
            let plausible = *index < first.depth
                && glimpse.what.desc != 0
                && glimpse.generation > below
                && glimpse.generation <= first.generation;
            let certain =
                !torn || (*index < shallowest && probe.generation(*index) == glimpse.generation);
            if !plausible || !certain {
                break;
            }
            below = glimpse.generation;
            sound += 1;
        }
        sound
    }

    /// Whether the entry above the sound ones was pushed before the one below it, on another machine stack: the
    /// thread stood still while they were read.
    fn is_out_of_order(&self, known: usize, sound: usize) -> bool {
        let above = |sound: usize| self.read.len().checked_sub(sound).map(|at| self.read[at].1);
        let Some(next) = above(sound + 1) else { return false };
        let below = match sound {
            0 => known.checked_sub(1).map(|top| self.frames[top].generation),
            _ => above(sound).map(|glimpse| glimpse.generation),
        };
        next.what.desc != 0 && below.is_some_and(|below| next.generation <= below)
    }

    /// Takes the sound entries in the place of what was above the known frames.
    fn replace(
        &mut self,
        known: usize,
        sound: usize,
        torn: bool,
        (middle, after): (Ticks, Ticks),
        gaps: &Gaps,
        out: &mut Vec<Ended>,
    ) {
        let fresh = &self.read[self.read.len() - sound..];
        // What stood at these depths was gone before the lowest of the new frames began.
        let gone_by = fresh
            .last()
            .and_then(|(_, glimpse)| self.timeline.start_of(glimpse.generation))
            .map_or(after, |start| start.to.min(after));
        self.truncate(known, gone_by, gaps, out);
        if torn && sound > 0 {
            self.torn_from = self.torn_from.min(known);
        }
        for at in (self.read.len() - sound..self.read.len()).rev() {
            let (_, glimpse) = self.read[at];
            let frame = self.frame(glimpse, middle, gaps);
            self.frames.push(frame);
        }
    }

    fn frame(&mut self, glimpse: Glimpse, seen: Ticks, gaps: &Gaps) -> Frame {
        let Glimpse { what, generation } = glimpse;
        if generation <= self.first_generation {
            let flags = CallFlags::STARTED_BEFORE;
            // Windows of the frames above it reach back as far.
            let start = self.began.seen_late(self.delay);
            return Frame { what, generation, start, flags };
        }
        self.found += 1;
        let looked = self.timeline.start_of(generation).unwrap_or(Window::new(self.alive, seen));
        let start = looked.seen_late(self.delay);
        let flags = if gaps.touch(start) { CallFlags::GAP } else { 0 };
        Frame { what, generation, start, flags }
    }

    /// Frames from `depth` up were found gone between `alive` and `by`.
    fn truncate(&mut self, depth: usize, by: Ticks, gaps: &Gaps, out: &mut Vec<Ended>) {
        while self.frames.len() > depth {
            let end = Window::new(self.alive, by).seen_late(self.delay);
            let Some(ended) = self.pop(end) else { return };
            let gap = if gaps.touch(ended.end) { CallFlags::GAP } else { 0 };
            out.push(Ended { flags: ended.flags | gap, ..ended });
        }
    }

    fn pop(&mut self, end: Window) -> Option<Ended> {
        let Frame { what, generation, start, mut flags } = self.frames.pop()?;
        let depth = self.frames.len();
        if depth >= self.torn_from {
            flags |= CallFlags::SALVAGED;
        }
        // Nothing ends before it starts. Nor does it start after it has ended: a thread may have gone before it was looked at.
        let end = Window { from: end.from.max(start.from), to: end.to.max(start.from) };
        let start = Window { from: start.from, to: start.to.min(end.to) };
        let parent = self.frames.last().map_or(0, |frame| frame.what.desc);
        Some(Ended { what, parent, depth: depth as u32, generation, start, end, flags })
    }
}
