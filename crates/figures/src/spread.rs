//! The same work for many tasks, on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// `work` of every task on so many threads; the results in the order of the tasks.
///
/// # Errors
/// The first failure in that order; no task is begun after one failed.
pub fn spread<T: Sync, R: Send, E: Send>(
    threads: usize,
    tasks: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Result<R, E>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..threads.min(tasks.len()) {
            scope.spawn(|| {
                while let Some((index, task)) = claim(&next, tasks) {
                    let result = work(task);
                    if result.is_err() {
                        next.store(tasks.len(), Ordering::Relaxed);
                    }
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, result)| result).collect()
}

fn claim<'a, T>(next: &AtomicUsize, tasks: &'a [T]) -> Option<(usize, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, tasks.get(index)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_tasks_and_the_first_failure_wins() {
        let tasks: Vec<u32> = (0..100).collect();
        let doubled = spread(4, &tasks, |task| Ok::<_, ()>(task * 2)).expect("nothing fails");
        assert_eq!(doubled, (0..100).map(|task| task * 2).collect::<Vec<_>>());
        let failed = spread(1, &tasks, |&task| match task {
            7 => Err("seven"),
            8.. => panic!("nothing is begun after a failure"),
            task => Ok(task),
        });
        assert_eq!(failed, Err("seven"));
    }
}
