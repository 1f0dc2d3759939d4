//! Threads' numbers. Tracepoints tell those of the host. A process in a PID namespace of its own, as in a container, knows
//! its threads by others; of the thread that has the processor, perf tells these, too.

use crate::event::{Event, Left, What};
use std::collections::HashMap;

/// The number of the first PID namespace (`PROC_PID_INIT_INO` in the kernel's `include/linux/proc_ns.h`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// What perf tells of a thread that has ended (`perf_event_pid_type` in the kernel's `kernel/events/core.c`).
const ENDED: u32 = u32::MAX;

/// Added to the host's number of a thread that has none in the PID namespace of the recorder, or has told none yet. No
/// thread has so large a number (`PID_MAX_LIMIT` in the kernel's `include/linux/threads.h`).
pub const OUTSIDE: u32 = 1 << 31;

/// Whether this process knows threads by other numbers than tracepoints tell. Where that cannot be read, it is taken to
/// be on the host.
pub(crate) fn are_own() -> bool {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let namespace = namespace.to_str().unwrap_or_default();
    namespace.starts_with("pid:") && namespace != FIRST_PID_NAMESPACE
}

/// What threads are called here, by what tracepoints call them.
pub(crate) enum Numbers {
    /// The same.
    Host,
    /// As learned so far.
    Own(Own),
}

/// Numbers of a PID namespace. A host's number is forgotten when its thread ends, so that there are about as many as threads. Ends
/// that are lost leave some; there are never more than the host has numbers.
#[derive(Default)]
pub(crate) struct Own {
    /// By the host's, each with the time of the last event that told it.
    here: HashMap<u32, (u32, u64)>,
    /// Threads that were made, by the one that made them: its next event tells the host's number.
    made: HashMap<u32, u32>,
}

impl Numbers {
    /// Of this process.
    pub(crate) fn of_this_process() -> Self {
        if are_own() { Self::Own(Own::default()) } else { Self::Host }
    }

    /// Whether events have to tell both, and of threads that are made.
    pub(crate) const fn differ(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// Takes note of what an event tells: perf's number of the thread that has the processor.
    pub(crate) fn learn(&mut self, event: &Event, perfs: u32) {
        let Self::Own(own) = self else { return };
        own.learn(event.tid, perfs, event.at_ns);
        if let What::Fork { child } = event.what
            && let Some(here) = own.made.remove(&perfs)
        {
            own.learn(child, here, event.at_ns);
        }
    }

    /// Takes note of a thread that was made, before the event that says so comes. Both are perf's numbers.
    pub(crate) fn made(&mut self, maker: u32, child: u32) {
        if let Self::Own(own) = self {
            own.made.insert(maker, child);
        }
    }

    /// Some events are lost: the next of a maker may tell of another thread that it made.
    pub(crate) fn lost(&mut self) {
        if let Self::Own(own) = self {
            own.made.clear();
        }
    }

    /// The event with the numbers of here. Events come in order of time, each once.
    pub(crate) fn translated(&mut self, mut event: Event) -> Event {
        let Self::Own(own) = self else { return event };
        let host = event.tid;
        event.tid = own.here(host);
        match &mut event.what {
            What::Switch { next: tid, .. }
            | What::Waking { tid, .. }
            | What::Wakeup { tid, .. }
            | What::Migrate { tid, .. }
            | What::Fork { child: tid }
            | What::Rename { tid, .. } => *tid = own.here(*tid),
            What::InterruptEntry { .. }
            | What::InterruptExit
            | What::SoftirqEntry { .. }
            | What::SoftirqExit
            | What::LocalEntry(_)
            | What::LocalExit(_)
            | What::Fault { .. }
            | What::Retransmission
            | What::Blind
            | What::Late { .. } => {}
        }
        if matches!(event.what, What::Switch { left: Left::Ended, .. }) {
            own.end(host, event.at_ns);
            own.made.remove(&event.tid);
        }
        event
    }
}

impl Own {
    /// Of one processor in order of time, and not of several.
    fn learn(&mut self, host: u32, perfs: u32, at_ns: u64) {
        match perfs {
            ENDED => {}
            // It is outside, and another had its number.
            0 => drop(self.here.remove(&host)),
            here => {
                let known = self.here.entry(host).or_insert((here, at_ns));
                if known.1 <= at_ns {
                    *known = (here, at_ns);
                }
            }
        }
    }

    /// A thread has ended. What was learned since is of the one that took over its number, as one that starts a program does with
    /// that of its process.
    fn end(&mut self, host: u32, at_ns: u64) {
        if self.here.get(&host).is_some_and(|(_, told_ns)| *told_ns <= at_ns) {
            self.here.remove(&host);
        }
    }

    /// The idle thread is 0 everywhere.
    fn here(&self, host: u32) -> u32 {
        if host == 0 { 0 } else { self.here.get(&host).map_or(OUTSIDE | host, |(here, _)| *here) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, Name};

    fn event(tid: u32, what: What) -> Event {
        Event { at_ns: 0, cpu: 0, tid, what }
    }

    fn switch(tid: u32, left: Left, next: u32) -> Event {
        let names = (Name::default(), Name::default());
        event(tid, What::Switch { previous_name: names.0, left, next, next_name: names.1 })
    }

    fn own() -> Numbers {
        Numbers::Own(Own::default())
    }

    #[test]
    fn on_the_host_nothing_is_another() {
        let one = switch(700, Left::Asleep, 701);
        let mut numbers = Numbers::Host;
        numbers.learn(&one, 7);
        assert_eq!(numbers.translated(one), one);
        assert!(!numbers.differ());
    }

    #[test]
    fn who_had_a_processor_is_known_wherever_else_it_is_named() {
        let mut numbers = own();
        assert!(numbers.differ());
        let waking = event(701, What::Waking { tid: 700, cpu: 0, context: Context::Thread });
        // In the order of the processors' rings; one that had none of them is outside.
        numbers.learn(&switch(700, Left::Asleep, 0), 7);
        numbers.learn(&waking, 0);
        let waking = numbers.translated(waking);
        let what = What::Waking { tid: 7, cpu: 0, context: Context::Thread };
        assert_eq!(waking, event(OUTSIDE | 701, what));
        assert_eq!(
            numbers.translated(switch(0, Left::Runnable, 700)),
            switch(0, Left::Runnable, 7)
        );
    }

    #[test]
    fn a_thread_that_is_made_is_known_from_then_on() {
        let mut numbers = own();
        numbers.made(7, 8);
        let fork = event(700, What::Fork { child: 702 });
        numbers.learn(&fork, 7);
        assert_eq!(numbers.translated(fork), event(7, What::Fork { child: 8 }));
        let new = |tid| event(700, What::Wakeup { tid, cpu: 0, is_new: true });
        assert_eq!(numbers.translated(new(702)).what, new(8).what);
    }

    #[test]
    fn of_what_was_made_when_events_were_lost_nothing_is_guessed() {
        let mut numbers = own();
        numbers.made(7, 8);
        numbers.lost();
        let fork = event(700, What::Fork { child: 702 });
        numbers.learn(&fork, 7);
        assert_eq!(numbers.translated(fork), event(7, What::Fork { child: OUTSIDE | 702 }));
    }

    #[test]
    fn a_number_goes_with_its_thread() {
        let mut numbers = own();
        numbers.learn(&switch(700, Left::Asleep, 0), 7);
        let end = switch(700, Left::Ended, 0);
        // perf no longer knows it.
        numbers.learn(&end, ENDED);
        assert_eq!(numbers.translated(end), switch(7, Left::Ended, 0));
        assert_eq!(numbers.translated(end), switch(OUTSIDE | 700, Left::Ended, 0));
        // Its end was lost, and one outside has the number.
        numbers.learn(&switch(701, Left::Asleep, 0), 9);
        numbers.learn(&switch(701, Left::Asleep, 0), 0);
        assert_eq!(numbers.translated(event(701, What::SoftirqExit)).tid, OUTSIDE | 701);
    }

    /// A process's first thread ended, and one of its others went on under that number in another program. Both were read at once.
    #[test]
    fn a_number_stays_with_the_thread_that_has_taken_it_over() {
        let at = |at_ns, event: Event| Event { at_ns, ..event };
        let end = |at_ns| at(at_ns, switch(700, Left::Ended, 0));
        let (first, goes_on, last) = (end(10), at(20, event(700, What::SoftirqExit)), end(30));
        let mut numbers = own();
        // The processor of what was later was read before.
        numbers.learn(&goes_on, 7);
        numbers.learn(&first, 7);
        assert_eq!([first, goes_on].map(|one| numbers.translated(one).tid), [7, 7]);
        numbers.learn(&last, ENDED);
        let after = at(40, event(700, What::SoftirqExit));
        assert_eq!([last, after].map(|one| numbers.translated(one).tid), [7, OUTSIDE | 700]);
    }
}
