//! What the calling thread's counters have counted, for the calls that it clocks.

use crate::memory::notes::Reading;
use crate::system::{processor, shim};
use tailwater_profile::record::{Counter, Counters, Counts};

/// Which end of a call is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edge {
    Start,
    End,
}

/// Reads these counters. What the reading itself takes lies outside of the call, but for the last and the first moments of it: so
/// those that it moves most are nearest to the call.
pub(crate) fn read(of: Counters, edge: Edge) -> Reading {
    if of.is_empty() {
        return Reading::default();
    }
    let ((usage, cpu), processor) = match edge {
        Edge::Start => {
            let of_kernel = (usage(of), cpu(of));
            (of_kernel, processor::read(of.of_processor()))
        }
        Edge::End => {
            let processor = processor::read(of.of_processor());
            let cpu = cpu(of);
            ((usage(of), cpu), processor)
        }
    };
    let value = |counter| match counter {
        Counter::Cpu => cpu,
        Counter::Faults => usage[0],
        Counter::MajorFaults => usage[1],
        Counter::Switches => usage[2],
        Counter::Preemptions => usage[3],
        Counter::Cycles | Counter::Instructions | Counter::CacheMisses | Counter::BranchMisses => {
            processor.of(counter)
        }
    };
    let counts = Counts::new(of.without(of.of_processor()).and(processor.counters()), value);
    Reading { thread: shim::thread_pointer(), counts }
}

/// Page faults without and with a disk, switches and preemptions.
fn usage(of: Counters) -> [u64; 4] {
    let is_asked = [Counter::Faults, Counter::MajorFaults, Counter::Switches, Counter::Preemptions]
        .into_iter()
        .any(|one| of.has(one));
    if is_asked { shim::usage() } else { [0; 4] }
}

fn cpu(of: Counters) -> u64 {
    if of.has(Counter::Cpu) { shim::cpu_ns() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::time::Duration;

    fn of(counters: &[Counter]) -> Counters {
        let bits = counters.iter().map(|one| 1 << *one as u8);
        Counters::of_mask(bits.fold(0, |all, one: u16| all | one)).expect("four at most")
    }

    /// What is counted while that is done.
    fn counted(counters: Counters, work: impl FnOnce()) -> Counts {
        let before = read(counters, Edge::Start);
        work();
        before.until(&read(counters, Edge::End))
    }

    fn value(counts: &Counts, wanted: Counter) -> u64 {
        counts.iter().find(|(one, _)| *one == wanted).expect("it was counted").1
    }

    #[test]
    fn the_kernel_counts_what_a_thread_does() {
        let all = of(&[Counter::Cpu, Counter::Faults, Counter::Switches, Counter::Preemptions]);
        let slept = counted(all, || std::thread::sleep(Duration::from_millis(1)));
        assert!(value(&slept, Counter::Switches) >= 1);
        let touched = counted(all, || {
            let mut memory = vec![0u8; 64 << 20];
            memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
            black_box(&memory);
        });
        // Pages may be huge ones.
        assert!(value(&touched, Counter::Faults) >= 32);
        let ran = counted(of(&[Counter::Cpu]), || {
            let before = shim::cpu_ns();
            while shim::cpu_ns() < before + 2_000_000 {}
        });
        assert!(value(&ran, Counter::Cpu) >= 2_000_000);
        assert_eq!(ran.counters(), of(&[Counter::Cpu]));
        assert!(counted(Counters::default(), || {}).counters().is_empty());
    }

    #[test]
    fn what_the_processor_cannot_count_is_left_out() {
        let asked = of(&[Counter::Faults, Counter::Cycles]);
        let counts = counted(asked, || {
            black_box((0..10_000u64).map(black_box).sum::<u64>());
        });
        match counts.counters().has(Counter::Cycles) {
            true => assert!(value(&counts, Counter::Cycles) >= 10_000),
            false => assert_eq!(counts.counters(), of(&[Counter::Faults])),
        }
    }
}
