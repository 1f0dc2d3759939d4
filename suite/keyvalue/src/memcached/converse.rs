//! One connection's reads and writes, and how long a peer may take for them.

use super::front::Front;
use super::places::Activity;
use super::session::{Flow, Session};
use crate::locks::Blocking;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Received at a time.
const READ_BYTES: usize = 16 << 10;
/// What a peer must take or send within its patience, unless less is left to take or to send: a slow peer
/// that makes progress is never cut off, and one that trickles ends.
const PROGRESS_BYTES: usize = 16 << 10;

/// How long a peer may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Patience {
    /// Between two commands; `None` for any time.
    pub(super) idle: Option<Duration>,
    /// For [`PROGRESS_BYTES`] of a command, or of answers.
    pub(super) progress: Duration,
}

/// Talks until either side ends it.
pub(super) fn converse<L: Blocking>(
    front: &Front<L>,
    stream: &TcpStream,
    activity: &Activity,
    patience: Patience,
) -> io::Result<()> {
    stream.set_write_timeout(Some(patience.progress))?;
    let mut session = front.session();
    let mut reader = Reader { stream, limit: None };
    let mut input = vec![0; READ_BYTES];
    let mut pace = None;
    loop {
        let received = if session.is_between_commands() {
            let received = reader.read(&mut input, patience.idle);
            received.inspect_err(|error| count_idle(front, error))?
        } else {
            let pace = Pace::of(&mut pace, &session, patience.progress);
            let received = reader.read(&mut input, Some(pace.left(Instant::now())?))?;
            pace.moved(received, Instant::now());
            received
        };
        // When its place was given away meanwhile, nothing of what came is begun.
        if received == 0 || !activity.wake() {
            return Ok(());
        }
        session.receive(&input[..received]);
        while let flow @ (Flow::Send | Flow::Close) = answer(front, &mut session, stream)? {
            if flow == Flow::Close {
                return Ok(());
            }
        }
        if session.is_between_commands() {
            activity.rest();
        }
    }
}

fn answer<L: Blocking>(
    front: &Front<L>,
    session: &mut Session,
    stream: &TcpStream,
) -> io::Result<Flow> {
    let flow = session.proceed(front);
    write(stream, session.output())?;
    session.sent();
    Ok(flow)
}

fn count_idle<L: Blocking>(front: &Front<L>, error: &io::Error) {
    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
        front.connections.idle_ended.fetch_add(1, Relaxed);
    }
}

/// Reads within limits of time.
struct Reader<'a> {
    stream: &'a TcpStream,
    /// The socket's, whose setting costs a system call.
    limit: Option<Duration>,
}

impl Reader<'_> {
    fn read(&mut self, input: &mut [u8], limit: Option<Duration>) -> io::Result<usize> {
        if limit != self.limit {
            self.stream.set_read_timeout(limit)?;
            self.limit = limit;
        }
        loop {
            match self.stream.read(input) {
                // A signal's handler ran on this thread.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Each call to the socket lasts for the patience at most, and says how much went by then.
fn write(mut stream: &TcpStream, mut output: &[u8]) -> io::Result<()> {
    while !output.is_empty() {
        match stream.write(output) {
            Ok(taken) if taken < output.len().min(PROGRESS_BYTES) => {
                return Err(ErrorKind::TimedOut.into());
            }
            Ok(taken) => output = &output[taken..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// When a peer must have sent more of the command that it has begun.
#[derive(Debug)]
struct Pace {
    patience: Duration,
    /// Commands finished before this one.
    finished: u64,
    until: Instant,
    moved: usize,
}

impl Pace {
    /// That of the command which `session` waits for.
    fn of<'a>(pace: &'a mut Option<Self>, session: &Session, patience: Duration) -> &'a mut Self {
        let finished = session.finished();
        if pace.as_ref().is_none_or(|pace| pace.finished != finished) {
            *pace = None;
        }
        pace.get_or_insert_with(|| Self::new(patience, finished, Instant::now()))
    }

    fn new(patience: Duration, finished: u64, now: Instant) -> Self {
        Self { patience, finished, until: now + patience, moved: 0 }
    }

    /// Time that is left.
    fn left(&self, now: Instant) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(now);
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    fn moved(&mut self, bytes: usize, now: Instant) {
        self.moved += bytes;
        if self.moved >= PROGRESS_BYTES {
            (self.moved, self.until) = (0, now + self.patience);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_trickle_does_not_renew_the_patience_and_progress_does() {
        let start = Instant::now();
        let mut pace = Pace::new(30 * SECOND, 0, start);
        for second in 1..30 {
            pace.moved(100, start + second * SECOND);
        }
        assert_eq!(pace.left(start + 29 * SECOND).expect("a second"), SECOND);
        assert!(pace.left(start + 30 * SECOND).is_err());
        pace.moved(PROGRESS_BYTES, start + 29 * SECOND);
        assert_eq!(pace.left(start + 58 * SECOND).expect("a second"), SECOND);
    }

    #[test]
    fn each_command_has_a_pace_of_its_own() {
        let store = crate::store::Store::new(crate::store::Config::default()).expect("a store");
        let front = Front::<crate::locks::Threads>::new(store, None);
        let mut session = front.session();
        let (mut pace, mut until) = (None, Vec::new());
        for piece in [b"ver", b"sio"] {
            session.receive(piece);
            session.proceed(&front);
            until.push(Pace::of(&mut pace, &session, SECOND).until);
        }
        assert_eq!(until[0], until[1], "the same command");
        session.receive(b"n\r\nver");
        session.proceed(&front);
        assert_ne!(Pace::of(&mut pace, &session, SECOND).until, until[0], "the next");
    }
}
