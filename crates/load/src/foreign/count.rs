//! How much a memcached was asked.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_rt::time::now;

/// A node that has not said all within this is not waited for: a generator asks. An idle one says it in 0.1 ms.
const PATIENCE: Duration = Duration::from_millis(50);
/// What `stats` may say; memcached's has some 3 KiB.
const BYTES_MAX: u64 = 64 << 10;
/// The gets and sets that it has carried out.
const COUNTS: [&str; 2] = ["cmd_get", "cmd_set"];

/// A stream that is read until a time, however little comes at once.
struct Until(TcpStream, Instant);

impl Read for Until {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let left = self.1.since(now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        self.0.set_read_timeout(Some(left))?;
        self.0.read(bytes)
    }
}

/// How many gets and sets it has carried out since its start, as its `stats` say; `None` where it does not say.
#[must_use]
pub fn commands(address: SocketAddr) -> Option<u64> {
    let until = now() + PATIENCE;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.write_all(b"stats\r\n").ok()?;
    let lines = BufReader::new(Until(stream, until).take(BYTES_MAX)).lines().map_while(Result::ok);
    sum(lines.take_while(|line| line != "END"))
}

/// `None` where one of the counts is missing.
fn sum(lines: impl Iterator<Item = String>) -> Option<u64> {
    let count = |line: String| {
        let (name, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
        COUNTS.contains(&name).then(|| value.parse::<u64>().ok())?
    };
    let counts: Vec<u64> = lines.filter_map(count).collect();
    (counts.len() == COUNTS.len()).then(|| counts.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_not_read_past_its_time() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        listener.accept().unwrap().0.write_all(b"STAT cmd_get 1\r\n").unwrap();
        let mut late = Until(stream, now());
        let error = late.read(&mut [0; 64]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    }

    #[test]
    fn gets_and_sets_are_counted_together_and_half_a_count_is_none() {
        let lines = |text: &str| sum(text.lines().map(ToOwned::to_owned));
        assert_eq!(
            lines("STAT pid 7\nSTAT cmd_get 40\nSTAT cmd_set 2\nSTAT cmd_flush 9"),
            Some(42)
        );
        assert_eq!(lines("STAT cmd_get 40\nSTAT cmd_set x"), None);
        assert_eq!(lines("ERROR"), None);
    }
}
