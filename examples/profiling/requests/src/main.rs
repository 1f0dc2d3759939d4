//! A Rust program that says what its requests are: two at a time in one thread, and one that goes on in
//! another.
//!
//! ```sh
//! tailwater profile build -- cargo build --release --package requests
//! tailwater profile record -o out/requests.trace -- target/x86_64-unknown-linux-gnu/release/requests
//! tailwater profile requests out/requests.trace
//! ```

use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use tailwater_marks::Mark;

fn main() {
    let (to, from) = channel();
    let worker = thread::spawn(move || {
        for request in from {
            serve(request);
        }
    });
    let pairs =
        std::env::args().nth(1).map_or(5, |pairs| pairs.parse().expect("a number of pairs"));
    for _ in 0..pairs {
        // One batch serves both; the second goes on to the worker.
        let [mut first, mut second] = [Mark::new(), Mark::new()];
        first.works();
        second.works();
        parse(Duration::from_millis(2));
        second.queues();
        to.send(second).expect("the worker listens");
        drop(first);
    }
    drop(to);
    worker.join().expect("the worker ends by itself");
}

/// The request is answered when its mark is dropped.
fn serve(mut request: Mark) {
    request.works();
    compute(Duration::from_millis(5));
}

#[inline(never)]
fn parse(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        black_box(());
    }
}

#[inline(never)]
fn compute(time: Duration) {
    // std's, and a part of this function unless std is profiled too.
    thread::sleep(time);
}
