//! A ring and the visit that it brings, many times on one thread: for counts of instructions, which are the same on a busy
//! machine. Two lengths, whose difference is that of so many repetitions:
//!
//! ```sh
//! cargo build --release --example instructions
//! for n in 1000 3000; do
//!     valgrind --tool=callgrind --callgrind-out-file=counts.$n target/release/examples/instructions 1000 hot $n
//!     grep summary counts.$n
//! done
//! ```

#![forbid(unsafe_code)]

use tailwater_core::Rng;
use tailwater_sync::ready::{ReadySet, VisitPolicy};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize| args.get(at).and_then(|text| text.parse::<usize>().ok());
    let (Some(queues), Some(pattern), Some(times)) = (number(1), args.get(2), number(3)) else {
        panic!(
            "found {} arguments; type: instructions QUEUES light|hot|empty TIMES",
            args.len() - 1
        );
    };
    let (set, mut waiter) =
        ReadySet::new(queues, VisitPolicy::RoundRobin).expect("so many queues can be");
    let bells: Vec<_> = (0..queues).map(|queue| set.doorbell(queue).expect("it is one")).collect();
    let mut rng = Rng::from_seed(1);
    let hot = queues / 2;
    bells[hot].ring();
    for _ in 0..times {
        match pattern.as_str() {
            "light" => {
                let queue = rng.below(queues as u32) as usize;
                waiter.take();
                bells[queue].ring();
            }
            "hot" => {
                bells[hot].ring();
                let queue = waiter.take().expect("it is ready");
                waiter.again(queue);
            }
            _ => assert!(waiter.take().is_none_or(|queue| queue.index() == hot)),
        }
    }
}
