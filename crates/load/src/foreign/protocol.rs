//! Requests as bytes, and the answers that they must get.

use std::io::Write as _;

/// A protocol in which keys have values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// memcached's text protocol (doc/protocol.txt of its sources).
    Memcached,
    /// Redis' RESP2 (redis.io, "Redis serialization protocol specification").
    Redis,
}

/// One request, about the key of this number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForeignAsk {
    /// For its value.
    Get(u32),
    /// To keep its value, which is always the same.
    Set(u32),
}

impl ForeignAsk {
    /// The key.
    #[must_use]
    pub fn key(self) -> String {
        let (Self::Get(number) | Self::Set(number)) = self;
        format!("key{number}")
    }
}

impl Protocol {
    /// Every protocol with its name.
    pub const ALL: [(&'static str, Self); 2] =
        [("memcached", Self::Memcached), ("redis", Self::Redis)];

    /// Appends a request's bytes.
    pub fn request(self, ask: ForeignAsk, bytes: &mut Vec<u8>) {
        match (self, ask) {
            (Self::Memcached, ForeignAsk::Get(key)) => put(bytes, format_args!("get key{key}\r\n")),
            (Self::Memcached, ForeignAsk::Set(key)) => {
                put(bytes, format_args!("set key{key} 0 0 {}\r\n", length(key)));
                value(key, bytes);
            }
            (Self::Redis, ForeignAsk::Get(key)) => {
                put(bytes, format_args!("*2\r\n$3\r\nGET\r\n"));
                bulk_key(key, bytes);
            }
            (Self::Redis, ForeignAsk::Set(key)) => {
                put(bytes, format_args!("*3\r\n$3\r\nSET\r\n"));
                bulk_key(key, bytes);
                bulk_value(key, bytes);
            }
        }
    }

    /// Appends the answer that it must get, where each key was set before.
    pub fn answer(self, ask: ForeignAsk, bytes: &mut Vec<u8>) {
        match (self, ask) {
            (Self::Memcached, ForeignAsk::Get(key)) => {
                put(bytes, format_args!("VALUE key{key} 0 {}\r\n", length(key)));
                value(key, bytes);
                bytes.extend_from_slice(b"END\r\n");
            }
            (Self::Memcached, ForeignAsk::Set(_)) => bytes.extend_from_slice(b"STORED\r\n"),
            (Self::Redis, ForeignAsk::Get(key)) => bulk_value(key, bytes),
            (Self::Redis, ForeignAsk::Set(_)) => bytes.extend_from_slice(b"+OK\r\n"),
        }
    }
}

fn put(bytes: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // A vector takes everything.
    let _ = bytes.write_fmt(text);
}

fn bulk_key(key: u32, bytes: &mut Vec<u8>) {
    let digits = key.checked_ilog10().map_or(1, |digits| digits + 1);
    put(bytes, format_args!("${}\r\nkey{key}\r\n", digits + 3));
}

fn bulk_value(key: u32, bytes: &mut Vec<u8>) {
    put(bytes, format_args!("${}\r\n", length(key)));
    value(key, bytes);
}

/// Bytes of a key's value: 10 to 1,000, as most of memcached's are at Facebook (Atikoglu et al., SIGMETRICS '12, Figure
/// 2: nine of ten values of ETC have less than 1 KB). 7,919 is a prime, so that neighbours differ.
const fn length(key: u32) -> usize {
    10 + (key as usize * 7_919) % 991
}

/// The value with the line's end that both protocols put behind it.
fn value(key: u32, bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len() + length(key), b'a' + (key % 26) as u8);
    bytes.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(protocol: Protocol, ask: ForeignAsk) -> (String, String) {
        let (mut request, mut answer) = (Vec::new(), Vec::new());
        protocol.request(ask, &mut request);
        protocol.answer(ask, &mut answer);
        (String::from_utf8(request).unwrap(), String::from_utf8(answer).unwrap())
    }

    #[test]
    fn memcached_says_lines_with_lengths() {
        let (value, long) = ("a".repeat(10), length(27));
        let (get, found) = texts(Protocol::Memcached, ForeignAsk::Get(0));
        assert_eq!(get, "get key0\r\n");
        assert_eq!(found, format!("VALUE key0 0 10\r\n{value}\r\nEND\r\n"));
        let (set, stored) = texts(Protocol::Memcached, ForeignAsk::Set(27));
        assert_eq!(set, format!("set key27 0 0 {long}\r\n{}\r\n", "b".repeat(long)));
        assert_eq!(stored, "STORED\r\n");
    }

    #[test]
    fn redis_says_lengths_before_everything() {
        let value = "a".repeat(10);
        let (get, found) = texts(Protocol::Redis, ForeignAsk::Get(0));
        assert_eq!(get, "*2\r\n$3\r\nGET\r\n$4\r\nkey0\r\n");
        assert_eq!(found, format!("$10\r\n{value}\r\n"));
        let (set, done) = texts(Protocol::Redis, ForeignAsk::Set(130));
        let long = length(130);
        assert_eq!(
            set,
            format!("*3\r\n$3\r\nSET\r\n$6\r\nkey130\r\n${long}\r\n{}\r\n", "a".repeat(long))
        );
        assert_eq!(done, "+OK\r\n");
    }

    #[test]
    fn values_are_as_long_as_they_should_be() {
        assert!((0..100_000).all(|key| (10..=1_000).contains(&length(key))));
    }
}
