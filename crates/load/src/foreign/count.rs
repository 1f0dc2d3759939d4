//! How much a memcached was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A node that does not say within this is not waited for: a generator asks.
const PATIENCE: Duration = Duration::from_millis(100);
/// What `stats` may say; memcached's has some 3 KiB.
const BYTES_MAX: u64 = 64 << 10;
/// The gets and sets that it has carried out.
const COUNTS: [&str; 2] = ["cmd_get", "cmd_set"];

/// How many gets and sets it has carried out since its start, as its `stats` say; `None` where it does not say.
#[must_use]
pub fn commands(address: SocketAddr) -> Option<u64> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(b"stats\r\n").ok()?;
    let lines = BufReader::new(stream.take(BYTES_MAX)).lines().map_while(Result::ok);
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
