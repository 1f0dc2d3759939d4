//! What the calling thread's counters have counted, for the calls that it clocks.

use crate::system::processor::{self, Missing};
use crate::system::shim;
use tailwater_profile::record::{Counter, Counters, Counts};

/// Which end of a call is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edge {
    Start,
    End,
}

/// What the kernel counts. `None`: it was not asked, or did not answer.
#[derive(Clone, Copy, Default)]
struct Kernel {
    cpu_ns: Option<u64>,
    usage: Option<[u64; 4]>,
}

impl Kernel {
    /// Asks for each of them at the moment that is nearer to the call for what asking moves most.
    fn read(of: Counters, edge: Edge) -> Self {
        let is_of_usage =
            [Counter::Faults, Counter::MajorFaults, Counter::Switches, Counter::Preemptions];
        let wants_usage = is_of_usage.into_iter().any(|one| of.has(one));
        let usage = || wants_usage.then(shim::usage).flatten();
        let cpu_ns = || of.has(Counter::Cpu).then(shim::cpu_ns).flatten();
        if edge == Edge::Start {
            let usage = usage();
            return Self { cpu_ns: cpu_ns(), usage };
        }
        Self { cpu_ns: cpu_ns(), usage: usage() }
    }

    /// `None` of the processor's.
    fn of(&self, counter: Counter) -> Option<u64> {
        let used = |at: usize| self.usage.map(|counts| counts[at]);
        match counter {
            Counter::Cpu => self.cpu_ns,
            Counter::Faults => used(0),
            Counter::MajorFaults => used(1),
            Counter::Switches => used(2),
            Counter::Preemptions => used(3),
            Counter::Cycles
            | Counter::Instructions
            | Counter::CacheMisses
            | Counter::BranchMisses => None,
        }
    }
}

/// Reads these counters; what cannot be read is left out. What the reading itself takes lies outside of the call, but for the last
/// and the first moments of it.
pub(crate) fn read(of: Counters, edge: Edge) -> Counts {
    if of.is_empty() {
        return Counts::default();
    }
    let (kernel, processor) = match edge {
        Edge::Start => {
            let kernel = Kernel::read(of, edge);
            (kernel, processor::read(of.of_processor(), Missing::Open))
        }
        Edge::End => {
            let processor = processor::read(of.of_processor(), Missing::LeaveOut);
            (Kernel::read(of, edge), processor)
        }
    };
    let value = |counter| kernel.of(counter).or_else(|| processor.of(counter));
    Counts::of_known(of, value)
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
        read(counters, Edge::End).since(&before)
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
            while shim::cpu_ns() < before.map(|ns| ns + 2_000_000) {}
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
        assert_eq!(
            counts.counters().has(Counter::Cycles),
            processor::tests::can_read(Counter::Cycles)
        );
        assert!(counts.counters().has(Counter::Faults));
        if counts.counters().has(Counter::Cycles) {
            assert!(value(&counts, Counter::Cycles) >= 10_000);
        }
    }
}
