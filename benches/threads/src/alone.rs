//! A request's way without a server. Threads make the system calls of a client, a front, its pools and two leaves, in their
//! order, and pass a number on. What a model costs beyond this is its own code.
//!
//! There is one request at a time, so that each thread sleeps when it is rung for.

use crate::front::Failure;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use tailwater::Model;

/// As the front of `front.rs` asks.
const LEAVES: usize = 2;
/// Bytes of a message: about those of the front's frames.
const MESSAGE: usize = 64;

/// Keys of the pollers. Leaves follow the last.
const BELL: u64 = 0;
const HELD: u64 = 1;
const CLIENT: u64 = 2;
const FIRST_LEAF: u64 = 3;

/// Sleeps have an end, as in the runtime: the kernel sets a timer for each. No loop has one sooner than in some seconds, and
/// no handler holds its thread for longer than 10 ms at once.
const SLEEP: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// What one thread leaves for another.
enum Item {
    /// A request, or its calls.
    Ask(u64),
    /// It was answered.
    Done(u64),
    End,
}

/// Where a thread sleeps, and others leave items for it.
struct Desk {
    items: Mutex<VecDeque<Item>>,
    /// Ends a sleep.
    bell: OwnedFd,
    /// Ends a sleep in which a handler holds the thread.
    held: OwnedFd,
    /// All that ends a sleep, and that which ends one of the latter kind.
    whole: OwnedFd,
    part: OwnedFd,
    /// Handlers hold the thread.
    holds: bool,
    /// Answers that others have not left here yet.
    missing: AtomicUsize,
}

impl Desk {
    fn new(holds: bool) -> io::Result<Arc<Self>> {
        let file = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let poller = || epoll::create(epoll::CreateFlags::CLOEXEC);
        let desk = Self {
            items: Mutex::default(),
            bell: file()?,
            held: file()?,
            whole: poller()?,
            part: poller()?,
            holds,
            missing: AtomicUsize::new(0),
        };
        desk.add(&desk.bell, BELL, EventFlags::IN | EventFlags::ET)?;
        desk.add_to_both(&desk.held, HELD)?;
        Ok(Arc::new(desk))
    }

    fn add(&self, source: impl AsFd, key: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.whole, source, EventData::new_u64(key), flags)?)
    }

    fn add_to_both(&self, source: impl AsFd, key: u64) -> io::Result<()> {
        epoll::add(&self.part, &source, EventData::new_u64(key), EventFlags::IN)?;
        self.add(source, key, EventFlags::IN)
    }

    fn items(&self) -> MutexGuard<'_, VecDeque<Item>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Item> {
        self.items().pop_front()
    }

    fn leave(&self, item: Item) -> io::Result<()> {
        self.items().push_back(item);
        ring(&self.bell)
    }

    /// Leaves an answer. The last one that is missing ends the sleep.
    fn answer(&self, number: u64) -> io::Result<()> {
        self.items().push_back(Item::Done(number));
        // One order of all answers: the one that finds no other missing comes after theirs.
        if self.missing.fetch_sub(1, SeqCst) > 1 {
            return Ok(());
        }
        ring(if self.holds { &self.held } else { &self.bell })
    }
}

fn ring(bell: &OwnedFd) -> io::Result<()> {
    rustix::io::write(bell, &1_u64.to_ne_bytes())?;
    Ok(())
}

/// Sleeps until something can be done, and says what.
fn wait(poller: &OwnedFd, most: &Timespec, keys: &mut Vec<u64>) -> io::Result<()> {
    let mut space = [const { MaybeUninit::uninit() }; 64];
    let (events, _) = epoll::wait(poller, &mut space, Some(most))?;
    keys.clear();
    keys.extend(events.iter().map(|event| event.data.u64()));
    Ok(())
}

fn send(mut stream: &TcpStream, number: u64) -> io::Result<()> {
    let mut message = [0; MESSAGE];
    message[..8].copy_from_slice(&number.to_le_bytes());
    stream.write_all(&message)
}

/// `None` at the stream's end.
fn receive(mut stream: &TcpStream) -> io::Result<Option<u64>> {
    // A message of this size comes whole, or not yet.
    let mut message = [0; MESSAGE];
    let count = stream.read(&mut message)?;
    let number = message.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    Ok(number.filter(|_| count > 0))
}

/// A thread of the front: its loop, a worker, or one that makes calls.
struct Station {
    desk: Arc<Desk>,
    origin: Origin,
    /// The leaves that it asks itself.
    leaves: Vec<TcpStream>,
    /// Answers of these that have not come.
    left: usize,
    /// Those that go on with its requests, or ask leaves for it.
    others: Vec<Arc<Desk>>,
}

/// Where its requests come from, and their answers go.
enum Origin {
    Client(TcpStream),
    Station(Arc<Desk>),
}

impl Station {
    fn new(desk: &Arc<Desk>, origin: Origin) -> Self {
        Self { desk: desk.clone(), origin, leaves: Vec::new(), left: 0, others: Vec::new() }
    }

    fn asks(mut self, leaf: TcpStream) -> io::Result<Self> {
        self.desk.add_to_both(&leaf, FIRST_LEAF + self.leaves.len() as u64)?;
        self.leaves.push(leaf);
        Ok(self)
    }

    fn run(mut self) -> io::Result<()> {
        let mut keys = Vec::new();
        loop {
            wait(&self.desk.whole, &SLEEP, &mut keys)?;
            for &key in &keys {
                match (key, &self.origin) {
                    (BELL | HELD, _) => {}
                    (CLIENT, Origin::Client(client)) => match receive(client)? {
                        Some(number) => self.begin(number)?,
                        None => return self.end(),
                    },
                    _ => self.hear(key)?.map_or(Ok(()), |number| self.finish(number))?,
                }
            }
            while let Some(item) = self.desk.take() {
                match item {
                    Item::Ask(number) => self.begin(number)?,
                    Item::Done(number) => self.finish(number)?,
                    Item::End => return self.end(),
                }
            }
        }
    }

    fn begin(&mut self, number: u64) -> io::Result<()> {
        self.left = self.leaves.len();
        self.leaves.iter().try_for_each(|leaf| send(leaf, number))?;
        // Before any of the others hears of the request, through a lock.
        self.desk.missing.store(self.others.len(), SeqCst);
        self.others.iter().try_for_each(|other| other.leave(Item::Ask(number)))?;
        if self.desk.holds { self.hold(number) } else { Ok(()) }
    }

    /// Sleeps until all answers are there, and does nothing else.
    fn hold(&mut self, number: u64) -> io::Result<()> {
        let (mut keys, mut missing) = (Vec::new(), self.others.len());
        while self.left + missing > 0 {
            wait(&self.desk.part, &NAP, &mut keys)?;
            for &key in &keys {
                if key == HELD {
                    rustix::io::read(&self.desk.held, &mut [0_u8; 8])?;
                } else {
                    self.hear(key)?;
                }
            }
            while self.desk.take().is_some() {
                missing -= 1;
            }
        }
        self.finish(number)
    }

    /// A leaf has answered. The number, if it was the last.
    fn hear(&mut self, key: u64) -> io::Result<Option<u64>> {
        let number = receive(&self.leaves[(key - FIRST_LEAF) as usize])?;
        self.left -= 1;
        Ok(number.filter(|_| self.left == 0))
    }

    fn finish(&self, number: u64) -> io::Result<()> {
        match &self.origin {
            Origin::Client(client) => send(client, number),
            Origin::Station(desk) => desk.answer(number),
        }
    }

    fn end(&self) -> io::Result<()> {
        self.others.iter().try_for_each(|other| other.leave(Item::End))
    }
}

/// Until those that ask it have ended.
fn leaf(stream: &TcpStream) -> io::Result<()> {
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poller, stream, EventData::new_u64(CLIENT), EventFlags::IN)?;
    let mut keys = Vec::new();
    loop {
        wait(&poller, &SLEEP, &mut keys)?;
        if !keys.is_empty() {
            let Some(number) = receive(stream)? else { return Ok(()) };
            send(stream, number)?;
        }
    }
}

/// Where the client's thread leaves the answer, and its caller sleeps.
type Slot = (Mutex<Option<u64>>, Condvar);

/// The thread behind a client.
fn react(desk: &Desk, stream: &TcpStream, slot: &Slot) -> io::Result<()> {
    let mut keys = Vec::new();
    loop {
        wait(&desk.whole, &SLEEP, &mut keys)?;
        if keys.contains(&CLIENT) {
            let Some(number) = receive(stream)? else { return Ok(()) };
            *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(number);
            slot.1.notify_all();
        }
        while let Some(item) = desk.take() {
            let Item::Ask(number) = item else { return Ok(()) };
            send(stream, number)?;
        }
    }
}

/// Two ends of a connection.
fn connected() -> io::Result<[TcpStream; 2]> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    for end in [&near, &far] {
        end.set_nodelay(true)?;
        end.set_nonblocking(true)?;
    }
    Ok([near, far])
}

/// The threads of one model, and a client.
pub(crate) struct Alone {
    desk: Arc<Desk>,
    slot: Arc<Slot>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Alone {
    /// A model that blocks. With fork and join a call has a thread of its own.
    pub(crate) fn start(model: Model) -> Result<Self, Failure> {
        let (holds, crew) = (model.completion.is_sync(), model.completion.crew());
        let crew = match (crew, holds) {
            (0, _) => 0,
            (_, false) => 1,
            (_, true) => LEAVES,
        };
        let mut threads = Vec::new();
        let mut far_ends = Vec::new();
        let mut near_end = || -> io::Result<TcpStream> {
            let [near, far] = connected()?;
            far_ends.push(far);
            Ok(near)
        };
        let [client, front] = connected()?;
        let dispatches = model.workers() > 0;
        let desk = Desk::new(holds && !dispatches)?;
        desk.add(&front, CLIENT, EventFlags::IN)?;
        let mut stations = vec![Station::new(&desk, Origin::Client(front))];
        if dispatches {
            let workers = Desk::new(holds)?;
            stations[0].others.push(workers.clone());
            stations.push(Station::new(&workers, Origin::Station(desk)));
        }
        // The station that has the handler.
        let mut handler = stations.pop().ok_or("there is a front")?;
        let members: Vec<_> = (0..crew).map(|_| Desk::new(false)).collect::<Result<_, _>>()?;
        let mut askers: Vec<_> = members
            .iter()
            .map(|member| Station::new(member, Origin::Station(handler.desk.clone())))
            .collect();
        handler.others = members;
        askers.push(handler);
        // Leaf by leaf: all with the first member, one with each, or all with the handler itself.
        for number in 0..LEAVES {
            let place = if holds && crew > 0 { number } else { 0 };
            let asker = askers.remove(place).asks(near_end()?)?;
            askers.insert(place, asker);
        }
        stations.extend(askers);
        threads.extend(stations.into_iter().map(|it| std::thread::spawn(move || it.run())));
        threads.extend(far_ends.into_iter().map(|it| std::thread::spawn(move || leaf(&it))));
        let (desk, slot) = (Desk::new(false)?, Arc::<Slot>::default());
        desk.add(&client, CLIENT, EventFlags::IN)?;
        let (at, answers) = (desk.clone(), slot.clone());
        threads.push(std::thread::spawn(move || react(&at, &client, &answers)));
        Ok(Self { desk, slot, threads })
    }

    /// How long each of so many round trips took, in nanoseconds.
    pub(crate) fn one_at_a_time(&self, requests: usize) -> Result<Vec<u64>, Failure> {
        let ask = |number| -> Result<u64, Failure> {
            let began = Instant::now();
            self.desk.leave(Item::Ask(number))?;
            let found = self.answer();
            let took = began.elapsed().as_nanos() as u64;
            if found == number {
                Ok(took)
            } else {
                Err(format!("{found} came, not {number}").into())
            }
        };
        (0..requests as u64).map(ask).collect()
    }

    fn answer(&self) -> u64 {
        let mut answer = self.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(number) = answer.take() {
                return number;
            }
            answer = self.slot.1.wait(answer).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // Each end is the next one's: the client's, the front's, its pools', the leaves'.
        let _ = self.desk.leave(Item::End);
        for thread in self.threads.drain(..) {
            // One whose peer had gone first has said so.
            drop(thread.join());
        }
    }
}

/// Half of ringing a bell that nobody sleeps by and asking its poller: one system call, in nanoseconds.
pub(crate) fn calls(times: usize) -> Result<Vec<u64>, Failure> {
    let (desk, mut keys) = (Desk::new(false)?, Vec::new());
    let call = |_| -> Result<u64, Failure> {
        let began = Instant::now();
        ring(&desk.bell)?;
        wait(&desk.whole, &SLEEP, &mut keys)?;
        Ok(began.elapsed().as_nanos() as u64 / 2)
    };
    (0..times).map(call).collect()
}
