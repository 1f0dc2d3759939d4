//! Whether the shadow stack follows panics and futures: built by `tailwater profile build -- cargo`.

#![forbid(unsafe_code)]

use std::future::Future;
use std::panic::catch_unwind;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Frames on this thread's shadow stack: what the test's C library answers.
#[inline(always)]
fn depth() -> u32 {
    std::process::id()
}

#[inline(never)]
fn panics(levels: u32) -> u32 {
    let _dropped = String::from("something to clean up").into_boxed_str();
    assert!(levels > 0, "at the bottom");
    std::hint::black_box(panics(levels - 1)) + 1
}

#[inline(never)]
fn catches() {
    let before = depth();
    assert!(catch_unwind(|| panics(10)).is_err());
    assert_eq!(depth(), before, "after a panic was caught");
}

#[inline(never)]
fn deepest(levels: u32) -> u32 {
    if levels == 0 { depth() } else { std::hint::black_box(deepest(levels - 1)) }
}

struct Later(u32);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0 -= 1;
        if self.0 == 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[inline(never)]
async fn waits(levels: u32) {
    Later(3).await;
    if levels > 0 {
        Box::pin(waits(levels - 1)).await;
    }
}

#[inline(never)]
fn polls() {
    let mut future = pin!(waits(5));
    let mut context = Context::from_waker(Waker::noop());
    let before = depth();
    while future.as_mut().poll(&mut context).is_pending() {
        assert_eq!(depth(), before, "after a poll");
    }
}

fn all() {
    let before = deepest(0);
    assert!(deepest(50) >= before + 50, "recursion is on the stack");
    catches();
    polls();
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    all();
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(all)).collect();
    for thread in threads {
        assert!(thread.join().is_ok(), "a thread's depths differ");
    }
    println!("all depths as they should be");
}
