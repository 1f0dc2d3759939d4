//! Every lock under many threads, for the thread sanitizer, which watches what they protect. A program
//! of its own that joins its threads one by one, since the sanitizer does not see into the standard
//! library's harness and scopes.

#![allow(clippy::print_stdout, reason = "it says what the harness would")]

#[cfg(loom)]
fn main() {}

#[cfg(not(loom))]
fn main() {
    let mut locks = Locks::asked();
    locks.counted("mutex", &Mutex::new([0; 2]), |mutex, _| {
        let within = budget::scope(Budget::new(MICRO), || {
            mutex.lock_within_budget().map(|mut pair| add(&mut pair))
        });
        if within.is_err() {
            add(&mut mutex.lock());
        }
    });
    locks.counted("mutex_of_tasks", &task::Mutex::new([0; 2]), |mutex, turn| {
        if turn.is_multiple_of(3) {
            // Joins the queue, perhaps, and goes away.
            let wait = pin!(mutex.lock());
            if let Poll::Ready(mut pair) = wait.poll(&mut Context::from_waker(Waker::noop())) {
                return add(&mut pair);
            }
        }
        block_on(async { add(&mut *mutex.lock().await) });
    });
    locks.counted("rwlock", &RwLock::new([0; 2]), |lock, _| {
        let [first, second] = *lock.read();
        assert_eq!(first, second, "a reader saw half of a write");
        add(&mut lock.write());
    });
    locks.counted("rwlock_of_tasks", &task::RwLock::new([0; 2]), |lock, _| {
        block_on(async {
            let [first, second] = *lock.read().await;
            assert_eq!(first, second, "a reader saw half of a write");
            add(&mut *lock.write().await);
        });
    });
    locks.counted(
        "semaphore",
        &(Semaphore::new(1), Shared::default()),
        |(semaphore, shared), _| {
            let _permit = semaphore.acquire();
            shared.add();
        },
    );
    locks.counted("condition", &(Mutex::new([0; 2]), Condvar::new()), |(mutex, filled), turn| {
        let mut pair = mutex.lock();
        // Everyone is told of every turn, so that nobody who waits does so for ever.
        if turn.is_multiple_of(2) && pair[0] % THREADS != THREADS - 1 {
            let _ = budget::scope(Budget::new(MICRO), || filled.wait_within_budget(&mut pair));
        }
        add(&mut pair);
        filled.notify_all();
    });
    locks.tell();
}

#[cfg(not(loom))]
#[path = "stress/asked.rs"]
mod asked;

#[cfg(not(loom))]
use stress::*;

#[cfg(not(loom))]
mod stress {
    use super::asked::Asked;
    pub(crate) use std::future::Future;
    pub(crate) use std::pin::pin;
    pub(crate) use std::task::{Context, Poll, Waker};
    pub(crate) use tailwater_sync::budget::{self, Budget};
    pub(crate) use tailwater_sync::{Condvar, Mutex, RwLock, Semaphore, task};

    use std::cell::UnsafeCell;
    use std::sync::Arc;
    use std::task::Wake;
    use std::thread::Thread;
    use std::time::Duration;

    pub(crate) const MICRO: Duration = Duration::from_micros(1);
    pub(crate) const THREADS: u64 = 6;
    const TURNS: u64 = 2_000;

    pub(crate) type Pair = [u64; 2];

    /// Two words that must never be seen apart.
    pub(crate) const fn add(pair: &mut Pair) {
        pair[0] += 1;
        pair[1] += 1;
    }

    /// Reads the pair once nobody else has it.
    pub(crate) trait Counter: Sync {
        fn pair(&self) -> Pair;
    }

    /// The locks by name, and which of them are meant.
    pub(crate) struct Locks {
        asked: Asked,
        known: Vec<&'static str>,
        passed: usize,
    }

    impl Locks {
        /// As they were asked for behind the program's name.
        pub(crate) fn asked() -> Self {
            let asked = Asked::read(std::env::args().skip(1));
            Self { asked, known: Vec::new(), passed: 0 }
        }

        /// Each thread takes its turns; then every turn has been counted.
        pub(crate) fn counted<L: Counter>(
            &mut self,
            name: &'static str,
            lock: &L,
            turn: impl Fn(&L, u64) + Sync,
        ) {
            self.known.push(name);
            if !self.asked.means(name) {
                return;
            }
            if self.asked.lists {
                println!("{name}: test");
                return;
            }
            std::thread::scope(|scope| {
                let turns = || (0..TURNS).for_each(|number| turn(lock, number));
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(turns)).collect();
                for thread in threads {
                    thread.join().expect("no thread panics");
                }
            });
            assert_eq!(lock.pair(), [THREADS * TURNS; 2], "{name}");
            self.passed += 1;
            println!("test {name} ... ok");
        }

        /// How many passed, as the harness says it, from which a misspelt name is known. A word may be meant for another
        /// program of the same run, so that it is no error here.
        pub(crate) fn tell(&self) {
            if self.asked.lists {
                return;
            }
            if self.passed == 0 {
                let (words, known) = (self.asked.words.join("` or `"), self.known.join(", "));
                println!("found no lock whose name contains `{words}`; there are: {known}");
            }
            let (passed, out) = (self.passed, self.known.len() - self.passed);
            println!("test result: ok. {passed} passed; 0 failed; {out} filtered out");
        }
    }

    impl Counter for Mutex<Pair> {
        fn pair(&self) -> Pair {
            *self.lock()
        }
    }

    impl Counter for task::Mutex<Pair> {
        fn pair(&self) -> Pair {
            *self.try_lock().expect("everyone let go")
        }
    }

    impl Counter for RwLock<Pair> {
        fn pair(&self) -> Pair {
            *self.read()
        }
    }

    impl Counter for task::RwLock<Pair> {
        fn pair(&self) -> Pair {
            block_on(async { *self.read().await })
        }
    }

    impl Counter for (Mutex<Pair>, Condvar) {
        fn pair(&self) -> Pair {
            *self.0.lock()
        }
    }

    impl Counter for (Semaphore, Shared) {
        fn pair(&self) -> Pair {
            // SAFETY: the threads have ended.
            unsafe { *self.1.0.get() }
        }
    }

    /// What a semaphore of one permit guards.
    #[derive(Default)]
    pub(crate) struct Shared(UnsafeCell<Pair>);

    // SAFETY: whoever adds holds the only permit.
    unsafe impl Sync for Shared {}

    impl Shared {
        pub(crate) fn add(&self) {
            // SAFETY: as above.
            add(unsafe { &mut *self.0.get() });
        }
    }

    struct Bell(Thread);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
        let waker = Waker::from(Arc::new(Bell(std::thread::current())));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}
