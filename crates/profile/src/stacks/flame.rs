//! The stacks of slow calls beside those of all: one tree, and which share of the time each frame has in either.

use super::{Frame, Report};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Where calls of some functions spent their time, the slow ones beside all.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Flame {
    /// The slow calls.
    pub tail: Whole,
    /// All calls, the slow ones among them.
    pub all: Whole,
    /// Each path once: a caller before its callees, of which those with the most time in slow calls come first.
    pub frames: Vec<FlameFrame>,
}

/// The calls or requests that a flame graph is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Whole {
    /// How many: calls that were chosen and not within others that were, or requests.
    pub calls: u64,
    /// The time of all of them in calls, in nanoseconds: threads add up.
    pub total_ns: u64,
}

/// A function as called on one path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlameFrame {
    /// The function.
    #[serde(flatten)]
    pub frame: Frame,
    /// Frames around it. The nearest earlier frame that is one less deep is its caller.
    pub depth: usize,
    /// Its part in slow calls.
    pub tail: Spent,
    /// Its part in all calls.
    pub all: Spent,
    /// Its share in slow calls less its share in all, from −1 to 1.
    pub grown: f64,
    /// The same of its own time alone, without its callees'.
    pub self_grown: f64,
}

/// The part of a frame in the time of some calls.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Spent {
    /// Calls on this path that were seen.
    pub calls: u64,
    /// Time in it, callees included, in nanoseconds.
    pub ns: u64,
    /// Time in it and in no call of it that was seen, in nanoseconds.
    pub self_ns: u64,
    /// `ns` as a share of all time, from 0 to 1.
    pub share: f64,
    /// `self_ns` as a share of all time, from 0 to 1.
    pub self_share: f64,
    /// `ns` by the number of chosen calls or requests, however many of them came here: the mean, in nanoseconds.
    pub per_call_ns: f64,
    /// `self_ns` likewise.
    pub self_per_call_ns: f64,
}

impl Flame {
    /// Joins the stacks of slow calls and those of all calls of the same functions.
    #[must_use]
    pub fn of(tail: &Report, all: &Report) -> Self {
        let mut root = Node::default();
        root.add(tail, |node| &mut node.tail);
        root.add(all, |node| &mut node.all);
        let wholes = [Whole::of(tail), Whole::of(all)];
        let mut frames = vec![];
        root.tell(0, wholes, &mut frames);
        let [tail, all] = wholes;
        Self { tail, all, frames }
    }
}

impl Whole {
    const fn of(report: &Report) -> Self {
        Self { calls: report.calls, total_ns: report.total_ns }
    }

    fn spent(self, time: Time) -> Spent {
        let part = |ns: u64, of: u64| if of == 0 { 0.0 } else { ns as f64 / of as f64 };
        Spent {
            calls: time.calls,
            ns: time.ns,
            self_ns: time.self_ns,
            share: part(time.ns, self.total_ns),
            self_share: part(time.self_ns, self.total_ns),
            per_call_ns: part(time.ns, self.calls),
            self_per_call_ns: part(time.self_ns, self.calls),
        }
    }
}

/// A path in the making. Two functions of one name, file and line are one.
#[derive(Default)]
struct Node<'a> {
    tail: Time,
    all: Time,
    callees: BTreeMap<&'a Frame, Node<'a>>,
}

#[derive(Clone, Copy, Default)]
struct Time {
    calls: u64,
    ns: u64,
    self_ns: u64,
}

impl<'a> Node<'a> {
    /// Adds all stacks of a report on one side.
    fn add(&mut self, report: &'a Report, side: impl for<'n> Fn(&'n mut Self) -> &'n mut Time) {
        for stack in &report.stacks {
            let mut at = &mut *self;
            for place in &stack.frames {
                at = at.callees.entry(&report.frames[*place as usize]).or_default();
                side(at).ns += stack.ns;
            }
            let own = side(at);
            own.self_ns += stack.ns;
            own.calls += stack.calls;
        }
    }

    /// Tells of its callees and of theirs. Trees are some hundred branches deep at most.
    fn tell(&self, depth: usize, wholes: [Whole; 2], frames: &mut Vec<FlameFrame>) {
        // Pictures of time have no place for what took none.
        let took_time = |node: &Self| node.tail.ns > 0 || node.all.ns > 0;
        let mut callees: Vec<_> = self.callees.iter().filter(|(_, node)| took_time(node)).collect();
        callees.sort_by_key(|(_, node)| Reverse((node.tail.ns, node.all.ns)));
        for (frame, node) in callees {
            let (tail, all) = (wholes[0].spent(node.tail), wholes[1].spent(node.all));
            frames.push(FlameFrame {
                frame: Frame::clone(frame),
                depth,
                tail,
                all,
                grown: tail.share - all.share,
                self_grown: tail.self_share - all.self_share,
            });
            node.tell(depth + 1, wholes, frames);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stack;
    use super::*;
    use crate::clock::TickRate;
    use crate::quality::Quality;

    /// Of functions by their names, and of stacks by places in these, calls and time.
    fn report(calls: u64, names: &[&str], stacks: &[(&[u32], u64, u64)]) -> Report {
        let frame = |name: &&str| Frame { name: (*name).into(), file: "x.c".into(), line: 7 };
        let stack = |(frames, calls, ns): &(&[u32], u64, u64)| Stack {
            frames: frames.to_vec(),
            calls: *calls,
            ns: *ns,
        };
        let stacks: Vec<Stack> = stacks.iter().map(stack).collect();
        Report {
            records: 0,
            rate: TickRate { ns_per_tick: 1.0, measured: true },
            quality: Quality::default(),
            calls,
            total_ns: stacks.iter().map(|one| one.ns).sum(),
            frames: names.iter().map(frame).collect(),
            stacks,
        }
    }

    /// Ten calls of 16 ns of which one took 64: most of that in `lock`, where others have a quarter.
    fn flame() -> Flame {
        let all: [(&[u32], u64, u64); 5] = [
            (&[0], 0, 0),
            (&[0, 1], 10, 40),
            (&[0, 1, 2], 10, 80),
            (&[0, 1, 3], 5, 40),
            (&[0, 1, 4], 1, 0),
        ];
        let all = report(10, &["main", "handle", "parse", "lock", "none"], &all);
        // Numbered in another order, as by another walk.
        let tail: [(&[u32], u64, u64); 3] =
            [(&[2, 0], 1, 8), (&[2, 0, 1], 1, 48), (&[2, 0, 3], 1, 8)];
        let tail = report(1, &["handle", "lock", "main", "parse"], &tail);
        Flame::of(&tail, &all)
    }

    #[test]
    fn each_path_has_its_time_in_slow_calls_and_in_all() {
        let flame = flame();
        assert_eq!(flame.tail, Whole { calls: 1, total_ns: 64 });
        assert_eq!(flame.all, Whole { calls: 10, total_ns: 160 });
        let told: Vec<_> = flame
            .frames
            .iter()
            .map(|one| {
                let of = |spent: Spent| (spent.calls, spent.ns, spent.self_ns);
                (one.frame.name.as_str(), one.depth, of(one.tail), of(one.all))
            })
            .collect();
        let expected = [
            ("main", 0, (0, 64, 0), (0, 160, 0)),
            ("handle", 1, (1, 64, 8), (10, 160, 40)),
            ("lock", 2, (1, 48, 48), (5, 40, 40)),
            ("parse", 2, (1, 8, 8), (10, 80, 80)),
        ];
        assert_eq!(told, expected);
    }

    /// All are fractions that have no rounding.
    #[test]
    fn a_frame_grows_by_its_share_of_slow_calls_over_that_of_all() {
        let told: Vec<String> = flame()
            .frames
            .iter()
            .map(|one| {
                let (tail, all) = (one.tail.per_call_ns, one.all.per_call_ns);
                format!("{} {tail} {all} {} {}", one.frame.name, one.grown, one.self_grown)
            })
            .collect();
        let expected = [
            "main 64 16 0 0",
            "handle 64 16 0 -0.125",
            "lock 48 4 0.5 0.5",
            "parse 8 8 -0.375 -0.375",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn no_calls_are_no_frames_and_no_division() {
        let none = report(0, &["main"], &[(&[0], 0, 0)]);
        let flame = Flame::of(&none, &none);
        assert!(flame.frames.is_empty());
        assert_eq!(flame.tail, Whole { calls: 0, total_ns: 0 });
    }
}
