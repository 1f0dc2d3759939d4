//! tokio's channels in one stream: `SelectAll` of futures-util, whose wakers put a channel on a list of those to look at.
//! Polled by the thread itself, which is woken by `unpark`: the thinnest executor there is, without tokio's timers.

use super::{Pop, Push};
use futures_util::stream::{SelectAll, Stream, StreamExt};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// More than are ever outstanding.
const ROOM: usize = 64;

pub(super) fn ends(count: usize) -> (impl Push, impl Pop) {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| channel(ROOM)).unzip();
    let items = receivers.into_iter().enumerate().map(|(queue, items)| Items { queue, items });
    (Producer(senders), Consumer { all: items.collect(), waker: None })
}

struct Producer(Vec<Sender<u64>>);

impl Push for Producer {
    fn push(&mut self, queue: usize, item: u64) {
        self.0[queue].try_send(item).expect("it has room for all that are outstanding");
    }
}

/// A channel whose items carry its number.
struct Items {
    queue: usize,
    items: Receiver<u64>,
}

impl Stream for Items {
    type Item = (usize, u64);

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<(usize, u64)>> {
        let queue = self.queue;
        self.items.poll_recv(context).map(|item| item.map(|item| (queue, item)))
    }
}

struct Consumer {
    all: SelectAll<Items>,
    /// Of the thread that pops, from its first pop on.
    waker: Option<Waker>,
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Pop for Consumer {
    fn pop(&mut self) -> Option<(usize, u64)> {
        let here = || Waker::from(Arc::new(Unpark(std::thread::current())));
        let waker = self.waker.get_or_insert_with(here);
        match self.all.poll_next_unpin(&mut Context::from_waker(waker)) {
            Poll::Ready(item) => item,
            Poll::Pending => {
                std::thread::park_timeout(Duration::from_millis(1));
                None
            }
        }
    }
}
