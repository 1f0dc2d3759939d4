//! The host's end: a connection for each of its threads, used as each design does.

use super::super::accelerator::{Accelerator, Body, LANES, Offloads, Stamp, Work};
use super::super::kernels::INPUTS;
use super::frame::{self, ANSWER};
use super::serve::{STAMP, heard};
use crate::failure::Failure;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tailwater_tune::accelerator::Threading;

/// Offloads of a lane without an answer at most: a thread that has as many takes answers first, or waits until another has
/// taken some.
const OPEN_MAX: u64 = 64;

/// The way to a leaf.
pub(in super::super) struct Link {
    control: Mutex<TcpStream>,
    lanes: Vec<Lane>,
    is_over: AtomicBool,
}

/// A thread's connection.
struct Lane {
    stream: TcpStream,
    /// Offloads, of this block and all before it. The thread's own.
    sent: AtomicU64,
    /// Answers that were taken.
    answered: AtomicU64,
}

impl Link {
    pub(in super::super) fn new(control: TcpStream, lanes: Vec<TcpStream>) -> io::Result<Self> {
        debug_assert_eq!(lanes.len(), LANES);
        for stream in lanes.iter().chain([&control]) {
            stream.set_nodelay(true)?;
        }
        let lane = |stream| Lane { stream, sent: AtomicU64::new(0), answered: AtomicU64::new(0) };
        Ok(Self {
            control: Mutex::new(control),
            lanes: lanes.into_iter().map(lane).collect(),
            is_over: AtomicBool::new(false),
        })
    }

    fn ask(&self) -> io::Result<Stamp> {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        control.write_all(&[0])?;
        let mut bytes = [0; STAMP];
        control.read_exact(&mut bytes)?;
        Ok(heard(&bytes))
    }

    fn trip<'b>(&'b self, of: Offloads<'b>) -> Trip<'b> {
        let lane = &self.lanes[of.lane];
        let before = lane.answered.load(Ordering::Relaxed);
        Trip { link: self, lane, of, before, part: [0; PART], filled: 0, wrong: 0 }
    }
}

impl Accelerator for Link {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// A thread that waits for an answer is told that none will come.
    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        for lane in &self.lanes {
            // It may be closed.
            let _ = lane.stream.shutdown(Shutdown::Both);
        }
    }

    /// A leaf has one host.
    fn share_with_others(&self, percent: u32) {
        debug_assert_eq!(percent, 0);
    }

    fn stamp(&self) -> Result<Stamp, Failure> {
        self.ask().map_err(|error| Failure::work(format!("the leaf has ended early: {error}")))
    }

    fn requests<'b>(&'b self, offloads: Offloads<'b>, work: Work<'b>) -> Body<'b> {
        let (frames, mut trip) = (frames(&offloads), self.trip(offloads));
        Box::new(move || {
            trip.requests(&frames, &*work);
            trip.wrong
        })
    }

    fn respond<'b>(&'b self, offloads: Offloads<'b>) -> Body<'b> {
        let mut trip = self.trip(offloads);
        let until = trip.lane.sent.load(Ordering::Relaxed) + offloads.count as u64;
        Box::new(move || {
            trip.until(until, RecvFlags::empty());
            trip.wrong
        })
    }

    /// All that the host does for an offload, without a wait: the answer comes while it works.
    fn described<'b>(&'b self, offloads: Offloads<'b>, work: Work<'b>) -> Body<'b> {
        let (frames, mut trip) = (frames(&offloads), self.trip(offloads));
        Box::new(move || {
            for number in 0..trip.of.count {
                let sent = trip.send(&frames, number);
                work();
                trip.until(sent, RecvFlags::DONTWAIT);
            }
            trip.wrong
        })
    }
}

/// All inputs of a size as they are sent.
fn frames(of: &Offloads<'_>) -> Vec<Vec<u8>> {
    let input = |number| &of.pool.get(of.size, number).bytes;
    (0..INPUTS).map(|number| frame::offload(input(number), of.offloaded.is_empty)).collect()
}

/// Bytes of answers that are read at once: all that can be open.
const PART: usize = ANSWER * OPEN_MAX as usize;

/// A thread on its connection.
struct Trip<'b> {
    link: &'b Link,
    lane: &'b Lane,
    of: Offloads<'b>,
    /// Answers of the lane before this block.
    before: u64,
    part: [u8; PART],
    filled: usize,
    wrong: u64,
}

impl Trip<'_> {
    fn requests(&mut self, frames: &[Vec<u8>], work: &dyn Fn()) {
        for number in 0..self.of.count {
            work();
            let sent = self.send(frames, number);
            // So many answers leave room for the next offload.
            let least = (sent + 1).saturating_sub(OPEN_MAX);
            match self.of.threading {
                Threading::Sync => self.until(sent, RecvFlags::DONTWAIT),
                Threading::SyncOs => self.until(sent, RecvFlags::empty()),
                Threading::Async => {
                    self.take(RecvFlags::DONTWAIT);
                    self.until(least, RecvFlags::DONTWAIT);
                }
                Threading::AsyncDistinct => self.until_answered(least),
                Threading::AsyncNoResponse => unreachable!("a leaf answers"),
            }
        }
        if self.of.threading == Threading::Async {
            let sent = self.lane.sent.load(Ordering::Relaxed);
            self.until(sent, RecvFlags::DONTWAIT);
        }
    }

    /// Sends the block's `number`th offload; how many the lane has sent.
    fn send(&self, frames: &[Vec<u8>], number: usize) -> u64 {
        let frame = &frames[(self.of.first + number) % INPUTS];
        if (&self.lane.stream).write_all(frame).is_err() {
            self.link.end();
        }
        self.lane.sent.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes answers until that many have been taken of the lane.
    fn until(&mut self, answers: u64, flags: RecvFlags) {
        while self.lane.answered.load(Ordering::Relaxed) < answers && !self.link.is_over() {
            self.take(flags);
        }
    }

    /// Waits until another thread has taken that many.
    fn until_answered(&self, answers: u64) {
        while self.lane.answered.load(Ordering::Relaxed) < answers && !self.link.is_over() {
            // It may need this core.
            std::thread::yield_now();
        }
    }

    /// Reads once, and takes the answers that are whole.
    fn take(&mut self, flags: RecvFlags) {
        match recv(&self.lane.stream, &mut self.part[self.filled..], flags) {
            Ok((_, read @ 1..)) => self.filled += read,
            Err(Errno::AGAIN | Errno::INTR) => return,
            // The leaf is gone.
            Ok(_) | Err(_) => return self.link.end(),
        }
        let taken = self.lane.answered.load(Ordering::Relaxed);
        let first = self.of.first + (taken - self.before) as usize;
        let answers = self.part[..self.filled].as_chunks::<ANSWER>().0;
        let is_wrong = |(nth, answer): &(usize, &[u8; ANSWER])| {
            u64::from_le_bytes(**answer) != self.of.right(first + nth)
        };
        let wrong = answers.iter().enumerate().filter(is_wrong).count();
        let count = answers.len();
        self.wrong += wrong as u64;
        self.part.copy_within(count * ANSWER..self.filled, 0);
        self.filled -= count * ANSWER;
        self.lane.answered.store(taken + count as u64, Ordering::Relaxed);
    }
}
