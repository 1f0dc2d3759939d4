//! crossbeam's channels and `Select`, as its documentation would have them for a list that does not change: the
//! selection is built once.

use super::{Pop, Push, Task};
use crossbeam_channel::{Receiver, Select, Sender, bounded};
use std::time::Duration;

/// More than are ever outstanding.
const ROOM: usize = 64;

pub(super) fn with<T: Task>(count: usize, task: T) -> T::Output {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| bounded(ROOM)).unzip();
    let mut select = Select::new();
    for receiver in &receivers {
        select.recv(receiver);
    }
    task.run(Producer(senders), Consumer { receivers: &receivers, select })
}

struct Producer(Vec<Sender<u64>>);

impl Push for Producer {
    fn push(&mut self, queue: usize, item: u64) {
        self.0[queue].try_send(item).expect("it has room for all that are outstanding");
    }
}

struct Consumer<'a> {
    receivers: &'a [Receiver<u64>],
    select: Select<'a>,
}

impl Pop for Consumer<'_> {
    fn pop(&mut self) -> Option<(usize, u64)> {
        let chosen = self.select.select_timeout(Duration::from_millis(1)).ok()?;
        let queue = chosen.index();
        chosen.recv(&self.receivers[queue]).ok().map(|item| (queue, item))
    }
}
