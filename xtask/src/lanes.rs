//! Pieces of work, a few at a time, each told as soon as it is done.

use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Does `work` on each item, `at_a_time` of them beside one another, and begins them in order. Tells here, in the
/// calling thread and in the order in which they end, what came of each and how long it took.
pub(crate) fn each<T: Send, R: Send>(
    at_a_time: usize,
    items: Vec<T>,
    work: impl Fn(&T) -> R + Sync,
    mut tell: impl FnMut(T, R, Duration),
) {
    let left = Mutex::new(items.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (done, told) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.max(1) {
            let done = done.clone();
            scope.spawn(|| {
                let done = done;
                while let Some(item) = next() {
                    let start = Instant::now();
                    let outcome = work(&item);
                    // The listener lives until this thread ends.
                    let _ = done.send((item, outcome, start.elapsed()));
                }
            });
        }
        drop(done);
        told.into_iter().for_each(|(item, outcome, took)| tell(item, outcome, took));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn every_item_is_done_once() {
        for at_a_time in [1, 3, 20] {
            let mut squares = Vec::new();
            each(at_a_time, (0..10).collect(), |n| n * n, |n, square, _| squares.push((n, square)));
            squares.sort_unstable();
            assert!((0..10).map(|n| (n, n * n)).eq(squares));
        }
    }

    #[test]
    fn so_many_are_at_work_at_a_time_and_one_alone_keeps_the_order() {
        // Would wait for ever if fewer than three were at work.
        let three = Barrier::new(3);
        each(3, vec![(); 6], |()| three.wait().is_leader(), |(), _, _| ());
        let mut order = Vec::new();
        each(1, vec![3, 1, 2], |_| (), |item, (), _| order.push(item));
        assert_eq!(order, [3, 1, 2]);
    }
}
