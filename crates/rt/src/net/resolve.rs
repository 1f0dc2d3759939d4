//! Names become addresses: on threads of its own, since the system's resolver blocks.

use crate::bell::Bell as _;
use crate::poll::EventBell;
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Threads that resolve at once, in the whole process: a name whose server does not answer holds one of
/// them for some seconds. They end when there is nothing to resolve.
const THREADS_MAX: usize = 4;
/// Names that wait for such a thread; beyond it resolving fails, and is tried again as any failure is.
const QUEUE_MAX: usize = 1_024;
/// Addresses of one name that are tried; further ones are left out.
const ADDRESSES_MAX: usize = 16;

/// A name's addresses in the order in which they are to be tried. Blocks, for seconds if the name's server
/// does not answer.
///
/// # Errors
/// What the system's resolver says, or that there is no address.
pub(super) fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = interleaved((host, port).to_socket_addrs()?.collect());
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    }
    Ok(found)
}

/// The two families by turns, as happy eyeballs has it (RFC 8305, 4): the system has sorted each. Were one
/// family broken, every other attempt would still succeed.
fn interleaved(mut found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    found.dedup();
    let first_is_v6 = found.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut mixed = Vec::new();
    while mixed.len() < ADDRESSES_MAX {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            break;
        }
        mixed.extend(pair.into_iter().flatten());
    }
    mixed.truncate(ADDRESSES_MAX);
    mixed
}

/// A name that is being resolved. Readable, for a poller, when the answer is there.
#[derive(Debug)]
pub(super) struct Resolving {
    question: Arc<Question>,
}

#[derive(Debug)]
struct Question {
    host: String,
    port: u16,
    answer: Mutex<Option<io::Result<Vec<SocketAddr>>>>,
    bell: EventBell,
}

impl Resolving {
    /// Begins to resolve.
    ///
    /// # Errors
    /// When too many names wait, or the system is out of descriptors or threads.
    pub(super) fn begin(host: &str, port: u16) -> io::Result<Self> {
        let (host, answer) = (host.to_owned(), Mutex::new(None));
        let question = Arc::new(Question { host, port, answer, bell: EventBell::new()? });
        ask(question.clone())?;
        Ok(Self { question })
    }

    /// The answer, once.
    pub(super) fn take(&self) -> Option<io::Result<Vec<SocketAddr>>> {
        lock(&self.question.answer).take()
    }
}

impl AsFd for Resolving {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.question.bell.as_fd()
    }
}

/// Of the process.
static DESK: Mutex<Desk> = Mutex::new(Desk { waiting: VecDeque::new(), threads: 0 });

struct Desk {
    waiting: VecDeque<Arc<Question>>,
    threads: usize,
}

fn ask(question: Arc<Question>) -> io::Result<()> {
    let mut desk = lock(&DESK);
    if desk.waiting.len() >= QUEUE_MAX {
        let message = format!("{QUEUE_MAX} names wait to be resolved already");
        return Err(io::Error::new(io::ErrorKind::WouldBlock, message));
    }
    if desk.threads < THREADS_MAX {
        std::thread::Builder::new().name("tailwater-names".into()).spawn(answer_all)?;
        desk.threads += 1;
    }
    desk.waiting.push_back(question);
    Ok(())
}

fn answer_all() {
    loop {
        let mut desk = lock(&DESK);
        let Some(question) = desk.waiting.pop_front() else {
            // Under the lock: a question that comes now finds room for a thread.
            desk.threads -= 1;
            return;
        };
        drop(desk);
        // Its asker may have given up meanwhile; then this is the last clone.
        if Arc::strong_count(&question) > 1 {
            let answer = resolve(&question.host, question.port);
            *lock(&question.answer) = Some(answer);
            question.bell.ring();
        }
    }
}

/// No code panics under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    #[test]
    fn families_take_turns_and_the_systems_first_stays_first() {
        let parse = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let sorted = parse(&["[::1]:1", "[::2]:1", "[::3]:1", "127.0.0.1:1"]);
        assert_eq!(interleaved(sorted), parse(&["[::1]:1", "127.0.0.1:1", "[::2]:1", "[::3]:1"]));
        let many = (0..100).map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
        assert_eq!(interleaved(many).len(), ADDRESSES_MAX);
    }

    #[test]
    fn more_names_than_threads_are_all_answered() {
        let asked: Vec<_> = (1..40).map(|port| Resolving::begin("localhost", port)).collect();
        for (port, resolving) in (1..40).zip(asked) {
            let resolving = resolving.unwrap();
            poll(&mut [PollFd::new(&resolving, PollFlags::IN)], None).unwrap();
            let found = resolving.take().expect("the bell rang").unwrap();
            assert!(found.iter().all(|one| one.ip().is_loopback() && one.port() == port));
        }
    }

    #[test]
    fn a_name_that_does_not_exist_is_an_error() {
        // Reserved for this (RFC 6761, 6.4).
        let resolving = Resolving::begin("nothing.invalid", 1).unwrap();
        poll(&mut [PollFd::new(&resolving, PollFlags::IN)], None).unwrap();
        assert!(resolving.take().expect("the bell rang").is_err());
    }
}
