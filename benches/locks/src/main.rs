//! `locks`: nanoseconds per acquisition of tailwater's locks and their twins, in one interleaved run.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod locks;

use locks::{CASES, Case};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let short = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--short"] => true,
        _ => {
            eprintln!("locks: found {args:?}; it takes --short or nothing");
            return ExitCode::FAILURE;
        }
    };
    let (rounds, times) = if short { (7, 20_000) } else { (51, 200_000) };
    let medians = measure(rounds, times);
    println!("{:<12} {:<28} {:>8} {:>9}", "case", "lock", "ns", "to twin");
    for (case, ns) in CASES.iter().zip(&medians) {
        let twin = CASES.iter().position(|other| other.is(case.case, case.twin));
        let ratio = twin.map_or(1.0, |twin| ns / medians[twin]);
        println!("{:<12} {:<28} {ns:>8.1} {ratio:>9.2}", case.case, case.lock);
    }
    ExitCode::SUCCESS
}

/// The median of each case. A round measures all, so that what disturbs one disturbs its twin.
fn measure(rounds: usize, times: u32) -> Vec<f64> {
    let mut samples = vec![Vec::with_capacity(rounds); CASES.len()];
    for _ in 0..rounds {
        for (case, samples) in CASES.iter().zip(&mut samples) {
            samples.push((case.run)(times));
        }
    }
    samples.iter_mut().map(|samples| median(samples)).collect()
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

impl Case {
    fn is(&self, case: &str, lock: &str) -> bool {
        self.case == case && self.lock == lock
    }
}
