//! Parts of one piece of work that do not depend on each other, on all cores.

use std::panic::resume_unwind;
use std::thread;

/// What `make` makes of each number below `count`, in their order. A thread has numbers one behind the other. A panic of
/// `make` goes on here.
pub(crate) fn each<T: Send>(count: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(count);
    let make = &make;
    thread::scope(|scope| {
        let start = |part: usize| {
            let (first, end) = (part * count / threads, (part + 1) * count / threads);
            scope.spawn(move || (first..end).map(make).collect::<Vec<T>>())
        };
        // All are started before one is waited for.
        let parts: Vec<_> = (0..threads).map(start).collect();
        let made = parts.into_iter().map(|part| match part.join() {
            Ok(made) => made,
            Err(panic) => resume_unwind(panic),
        });
        made.flatten().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn each_is_made_once_and_all_come_in_order() {
        for count in [0, 1, 2, 7, 1_000] {
            let times = Mutex::new(vec![0; count]);
            let squares = each(count, |number| {
                times.lock().expect("no panic")[number] += 1;
                number * number
            });
            let wanted: Vec<usize> = (0..count).map(|number| number * number).collect();
            assert_eq!(squares, wanted);
            assert_eq!(times.into_inner().expect("no panic"), vec![1; count]);
        }
    }

    #[test]
    #[should_panic(expected = "the last one")]
    fn a_panic_of_one_goes_on() {
        each(9, |number| assert!(number < 8, "the last one"));
    }
}
