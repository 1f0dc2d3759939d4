//! How the threads beside the loops start: workers, and members of the crew.

use super::sleep::WorkerBell;
use crate::server::shared::Shared;
use crate::staff::Staff;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// What threads of one kind are called: by the system, and in messages for people.
pub(super) struct Names {
    pub(super) system: &'static str,
    pub(super) people: &'static str,
}

/// A bell for each of so many threads.
///
/// # Errors
/// When the system is out of descriptors.
pub(super) fn bells(count: usize, shared: &Shared) -> io::Result<Vec<WorkerBell>> {
    let bells: Result<Vec<_>, _> = (0..count).map(|_| WorkerBell::new(&shared.config)).collect();
    Ok(bells?)
}

/// Starts a thread for each bell. `prepare` makes of a thread's number and bell what it is to do, until `staff` stops. If
/// one cannot be started, those before it are stopped.
///
/// # Errors
/// Those of `prepare`, and the system's for threads.
pub(super) fn start<C, L: FnOnce() + Send + 'static>(
    names: &Names,
    bells: &[WorkerBell],
    staff: &Staff<C>,
    shared: &Arc<Shared>,
    prepare: impl Fn(usize, &WorkerBell) -> io::Result<L>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (index, bell) in bells.iter().enumerate() {
        match prepare(index, bell).and_then(|life| spawn(names, index, shared.clone(), life)) {
            Ok(thread) => {
                bell.is_of(thread.thread());
                threads.push(thread);
            }
            Err(error) => {
                staff.stop();
                threads.into_iter().for_each(|thread| drop(thread.join()));
                return Err(error);
            }
        }
    }
    Ok(threads)
}

fn spawn(
    Names { system, people }: &Names,
    index: usize,
    shared: Arc<Shared>,
    life: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let name = format!("{people} {index}");
    Builder::new().name(format!("{system}-{index}")).spawn(move || shared.guard(&name, life))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::config::ServerConfig;
    use crate::server::inbox::Inbox;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn those_before_one_that_cannot_start_are_stopped_and_waited_for() {
        let inboxes = Arc::new([Inbox::new().expect("descriptors are left")]);
        let none = Arc::new(tailwater_control::none::None);
        let shared = Arc::new(Shared::new(ServerConfig::default(), none, inboxes));
        let bells = bells(3, &shared).expect("no descriptor is needed");
        let staff = Arc::new(Staff::<()>::new(bells.clone()));
        let ended = Arc::new(AtomicUsize::new(0));
        let prepare = |index: usize, _: &WorkerBell| {
            if index == 2 {
                return Err(io::Error::other("the third has no descriptor"));
            }
            let (staff, ended) = (staff.clone(), ended.clone());
            Ok(move || {
                while !staff.is_stopped() {
                    std::thread::yield_now();
                }
                ended.fetch_add(1, SeqCst);
            })
        };
        let names = Names { system: "tailwater-test", people: "tester" };
        let error = start(&names, &bells, &staff, &shared, prepare).expect_err("the third");
        assert_eq!(error.to_string(), "the third has no descriptor");
        assert_eq!(ended.load(SeqCst), 2, "both were waited for");
    }
}
