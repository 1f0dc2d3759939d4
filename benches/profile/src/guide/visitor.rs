//! The second client of a server: one connection, on which a line is asked and lines are answered.

use crate::Result;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest line that is read.
const LINE_MAX: u64 = 1 << 16;
/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// A connection, until the load is over.
pub(super) struct Visitor<'a> {
    stream: BufReader<TcpStream>,
    over: &'a AtomicBool,
}

impl<'a> Visitor<'a> {
    pub(super) fn open(address: SocketAddr, over: &'a AtomicBool) -> Result<Self> {
        let open = || {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(SILENCE))?;
            Ok(stream)
        };
        let stream = open().map_err(|error: std::io::Error| format!("{address}: {error}"))?;
        Ok(Self { stream: BufReader::new(stream), over })
    }

    /// Whether the load has ended.
    pub(super) fn is_over(&self) -> bool {
        // Nothing but the flag itself is read by whoever sees it.
        self.over.load(Ordering::Relaxed)
    }

    /// Sends a line and reads the first of the answer.
    pub(super) fn ask(&mut self, line: &str) -> Result<String> {
        let asked = format!("{line}\r\n");
        let sent = self.stream.get_mut().write_all(asked.as_bytes());
        sent.map_err(|error| format!("the server does not read: {error}"))?;
        self.line()
    }

    /// One more line of an answer, without its end.
    pub(super) fn line(&mut self) -> Result<String> {
        let mut bytes = Vec::new();
        let read = (&mut self.stream).take(LINE_MAX).read_until(b'\n', &mut bytes);
        read.map_err(|error| format!("the server does not answer: {error}"))?;
        if !bytes.ends_with(b"\n") {
            return Err("the server ended in the middle of a line".to_owned());
        }
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// Sleeps until then, or until the load has ended.
    pub(super) fn sleep_until(&self, time: Instant) {
        while !self.is_over() && Instant::now() < time {
            let left = time.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn answers_are_read_by_lines_and_a_half_one_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let over = AtomicBool::new(false);
        let mut visitor = Visitor::open(address, &over).expect("it listens");
        let (mut server, _) = listener.accept().expect("it connects");
        server.write_all(b"one\r\ntwo\r\nhal").expect("it is read");
        drop(server.shutdown(std::net::Shutdown::Write));
        assert_eq!(visitor.ask("x").as_deref(), Ok("one"));
        assert_eq!(visitor.line().as_deref(), Ok("two"));
        assert!(visitor.line().unwrap_err().contains("middle"));
    }
}
