//! Panics of code that others wrote, such as handlers and wakers, must not unwind into ours.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The code panicked; the panic hook has said where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Panicked;

/// Runs `work`. A panic in it ends here, also if dropping the panic's payload panics in turn.
///
/// # Errors
///
/// [`Panicked`] instead of the result. What `work` had borrowed is as it left it.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(discard)
}

fn discard(payload: Box<dyn Any + Send>) -> Panicked {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Its drop may panic with a third, and so on: it is leaked instead.
        std::mem::forget(second);
    }
    Panicked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics with another of its kind when it is dropped.
    struct Endless;

    impl Drop for Endless {
        fn drop(&mut self) {
            std::panic::panic_any(Self);
        }
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_caught_too() {
        assert_eq!(caught(|| 7), Ok(7));
        assert_eq!(caught(|| std::panic::panic_any(Endless)), Err::<(), _>(Panicked));
    }
}
