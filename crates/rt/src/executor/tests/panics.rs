//! Panics in every place where an executor runs a handler's code; none may reach its loop.

use super::*;
use std::cell::Cell;
use std::pin::Pin;

#[test]
fn a_panic_ends_one_task_only() {
    let mut executor = executor(4);
    let task = async |panics: bool| {
        crate::time::yield_now().await;
        assert!(!panics, "a test wants this panic");
    };
    start(&mut executor, 1_u32, || task(true));
    start(&mut executor, 2, || task(false));
    assert_eq!(run(&mut executor), [(1, Err(Panicked)), (2, Ok(()))]);
    assert_eq!(executor.live(), 0);
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a test wants this panic in a destructor");
    }
}

fn explode() -> ! {
    std::panic::panic_any(Bomb)
}

/// Defect B9: a payload whose own drop panics got past the executor and ended the loop.
#[test]
fn a_payload_that_panics_when_dropped_ends_one_task_only() {
    let mut executor = executor(4);
    let make = |waits: u32| async move {
        rounds(waits).await;
        explode()
    };
    assert_eq!(executor.start(1_u32, || make(0)), Started::Finished(1, Err::<u32, _>(Panicked)));
    start(&mut executor, 2, || make(1));
    assert_eq!(run(&mut executor), [(2, Err(Panicked))]);
    // Before there is a future.
    assert_eq!(executor.start(3, || explode()), Started::Finished(3, Err(Panicked)));
    assert_eq!(executor.live(), 0);
}

/// Waits for ever or not at all, and panics when it is dropped.
struct Trap(bool, Bomb);

impl Future for Trap {
    type Output = u32;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        if self.0 { Poll::Pending } else { Poll::Ready(7) }
    }
}

#[test]
fn a_future_that_panics_when_dropped_is_gone_nevertheless() {
    let mut executor = executor(1);
    assert_eq!(executor.start(1_u32, || Trap(false, Bomb)), Started::Finished(1, Ok(7)));
    let key = start(&mut executor, 2, || Trap(true, Bomb));
    assert_eq!(executor.cancel(key), Some(2));
    assert_eq!((executor.live(), executor.has_room()), (0, true));
    // The box is empty: the next future is put into it, and nothing is dropped then.
    assert_eq!(executor.start(3, || Trap(false, Bomb)), Started::Finished(3, Ok(7)));
}

#[test]
fn an_executor_is_dropped_whatever_its_tasks_do() {
    let dropped = Cell::new(0);
    let mut executor = executor(3);
    let make = || {
        let counted = Counted(&dropped);
        async move {
            let _counted = counted;
            let _bomb = Bomb;
            std::future::pending::<()>().await;
        }
    };
    for id in 0..3_u32 {
        start(&mut executor, id, make);
    }
    drop(executor);
    assert_eq!(dropped.get(), 3);
}

struct Counted<'a>(&'a Cell<u32>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}
