//! What keeps processors busy beside tests, as other programs of a machine do.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Builder;

/// Does `work` beside so many threads that always compute. They end with this program, however it ends: a process would
/// stay behind where the program is killed.
pub(super) fn beside<T>(count: usize, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also where the work panics, or a thread cannot be started: the scope would wait for ever.
        let _ends = Ends(&over);
        for _ in 0..count {
            let computes = || {
                // The flag says nothing of other memory.
                while !over.load(Relaxed) {
                    // No hint to rest: a hypervisor would take the core away.
                    std::hint::black_box(());
                }
            };
            Builder::new().name(NAME.into()).spawn_scoped(scope, computes).expect("a thread");
        }
        work()
    })
}

/// As the system lists them.
const NAME: &str = "busy";

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::panic::catch_unwind;
    use std::time::Duration;

    /// Ticks of CPU that each of them has had.
    fn ticks() -> Vec<u64> {
        let threads = fs::read_dir("/proc/self/task").expect("this is Linux").flatten();
        let of_one = |stat: String| {
            let (name, rest) = stat.rsplit_once(") ")?;
            name.ends_with(&format!("({NAME}")).then(|| rest.split(' ').nth(11)?.parse().ok())?
        };
        threads
            .filter_map(|thread| of_one(fs::read_to_string(thread.path().join("stat")).ok()?))
            .collect()
    }

    #[test]
    fn threads_compute_meanwhile_and_end_with_the_work() {
        let soon = |holds: fn(&[u64]) -> bool| {
            let nap = || std::thread::park_timeout(Duration::from_millis(1));
            (0..20_000).any(|_| {
                nap();
                holds(&ticks())
            })
        };
        let all_compute = |ticks: &[u64]| ticks.len() == 2 && ticks.iter().all(|ticks| *ticks > 0);
        assert!(beside(2, || soon(all_compute)), "they rest");
        assert!(catch_unwind(|| beside(2, || panic!("planted"))).is_err(), "it came back");
        // A thread that has been joined is listed a moment longer.
        assert!(soon(<[u64]>::is_empty), "they go on");
    }
}
