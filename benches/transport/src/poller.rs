//! Level-triggered epoll and the ways to wait for it, the same for the raw server and the generator.

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How a loop waits for input; spelt as `tailwater serve --reception` spells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reception {
    /// Sleep at once.
    Block,
    /// Look for this long, then sleep.
    Spin(Duration),
    /// Never sleep.
    Poll,
}

impl FromStr for Reception {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let spin = |text: &str| text.strip_prefix("spin:")?.strip_suffix("us")?.parse().ok();
        match text {
            "block" => Ok(Self::Block),
            "poll" => Ok(Self::Poll),
            _ => spin(text)
                .map(|micros| Self::Spin(Duration::from_micros(micros)))
                .ok_or_else(|| format!("found '{text}', needed block, spin:50us or poll")),
        }
    }
}

impl fmt::Display for Reception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block => f.write_str("block"),
            Self::Spin(budget) => write!(f, "spin:{}us", budget.as_micros()),
            Self::Poll => f.write_str("poll"),
        }
    }
}

/// An epoll instance with room for the events of one turn.
pub(crate) struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
    reception: Reception,
    nap: Option<Timespec>,
}

/// Events taken at once: few enough that the last socket is still hot, enough to amortise the call.
const BATCH: usize = 64;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

impl Poller {
    /// One that sleeps for `nap` at most, so that the caller can look at the clock; `None`: until there
    /// is input.
    pub(crate) fn new(reception: Reception, nap: Option<Duration>) -> Result<Self, Errno> {
        let nap = nap.map(|nap| Timespec {
            tv_sec: nap.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: nap.subsec_nanos().into(),
        });
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(BATCH),
            reception,
            nap,
        })
    }

    /// Watches for input, or for the end of it.
    pub(crate) fn watch(&self, source: impl AsFd, key: usize) -> Result<(), Errno> {
        epoll::add(&self.epoll, source, EventData::new_u64(key as u64), EventFlags::IN)
    }

    /// Waits in the chosen way and says how many sources are ready; may be none.
    pub(crate) fn wait(&mut self) -> Result<usize, Errno> {
        match self.reception {
            Reception::Poll => self.look(Some(AT_ONCE)),
            Reception::Block => self.look(self.nap),
            Reception::Spin(budget) => {
                let started = Instant::now();
                loop {
                    let ready = self.look(Some(AT_ONCE))?;
                    if ready > 0 {
                        return Ok(ready);
                    }
                    if started.elapsed() >= budget {
                        return self.look(self.nap);
                    }
                }
            }
        }
    }

    /// The key of the `index`th source that the last wait found ready.
    pub(crate) fn key(&self, index: usize) -> usize {
        self.events[index].data.u64() as usize
    }

    fn look(&mut self, timeout: Option<Timespec>) -> Result<usize, Errno> {
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref()) {
            Err(Errno::INTR) => Ok(0),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receptions_read_as_they_are_written() {
        for text in ["block", "poll", "spin:50us"] {
            assert_eq!(text.parse::<Reception>().unwrap().to_string(), text);
        }
        for text in ["", "spin", "spin:us", "spin:5ms"] {
            let error = text.parse::<Reception>().unwrap_err();
            assert!(error.contains("spin:50us"), "{error}");
        }
    }

    #[test]
    fn every_reception_finds_input() {
        for reception in [Reception::Block, Reception::Poll, Reception::Spin(Duration::ZERO)] {
            let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
            let mut poller = Poller::new(reception, None).unwrap();
            poller.watch(&one, 7).unwrap();
            drop(other);
            assert_eq!(poller.wait(), Ok(1));
            assert_eq!(poller.key(0), 7);
        }
    }
}
