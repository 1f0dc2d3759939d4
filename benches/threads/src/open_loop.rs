//! Requests at times that were fixed beforehand, whatever becomes of those before.

use crate::front::{Failure, Front, check, payload};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tailwater::{Answer, CallError, CallFuture, Instant, now};
use tailwater_core::Rng;

/// When an answer came, in nanoseconds; zero before.
#[derive(Default)]
struct Stamp(AtomicU64);

impl Wake for Stamp {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Relaxed: read after the call's end was, which comes after this.
        self.0.store(now().as_nanos(), Relaxed);
    }
}

struct Asked {
    number: usize,
    intended: Instant,
    outcome: Outcome,
    stamp: Arc<Stamp>,
}

enum Outcome {
    There(Result<Answer, CallError>),
    Awaited(CallFuture),
}

/// Asks for these numbers, `rate` in a second in the mean, with gaps of an exponential distribution. `between` is
/// called ahead of each. Latencies in nanoseconds from the intended times.
pub(crate) fn ask(
    front: &Front,
    numbers: Range<usize>,
    rate: f64,
    rng: &mut Rng,
    mut between: impl FnMut(usize) -> Result<(), Failure>,
) -> Result<Vec<u64>, Failure> {
    let mut intended = now();
    let mut asked = Vec::with_capacity(numbers.len());
    for number in numbers {
        between(number)?;
        intended = intended + Duration::from_secs_f64(rng.exponential(1.0 / rate));
        let early = intended.since(now());
        if !early.is_zero() {
            std::thread::sleep(early);
        }
        asked.push(begin(front, number, intended));
    }
    asked.into_iter().map(end).collect()
}

fn begin(front: &Front, number: usize, intended: Instant) -> Asked {
    let mut call = front.client.call(1, payload(number));
    let stamp = Arc::new(Stamp::default());
    let waker = Waker::from(stamp.clone());
    let outcome = match Pin::new(&mut call).poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(outcome) => {
            stamp.wake_by_ref();
            Outcome::There(outcome)
        }
        Poll::Pending => Outcome::Awaited(call),
    };
    Asked { number, intended, outcome, stamp }
}

fn end(asked: Asked) -> Result<u64, Failure> {
    let Asked { number, intended, outcome, stamp } = asked;
    let outcome = match outcome {
        Outcome::There(outcome) => outcome,
        Outcome::Awaited(call) => call.wait(),
    };
    check(number, outcome)?;
    // The answer is there a moment before it is stamped.
    let at = stamp.0.load(Relaxed);
    let at = if at == 0 { now() } else { Instant::from_nanos(at) };
    Ok(at.since(intended).as_nanos() as u64)
}
