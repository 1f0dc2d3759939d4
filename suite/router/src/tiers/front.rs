//! memcached's protocol in front of the memcacheds: the proxy itself, and how a generator speaks to it.
//!
//! Requests and answers of the generator are those of the mid-tier's methods ([`wire`]), so that the oracle is the same. What
//! memcached's protocol does not say stays with the request: its tag, which the answer has again.

use super::memcacheds::BackEnd;
use super::wire::{self, GET, MISS, SET};
use crate::front::refused;
use crate::nodes::{Answer, Expected, Read, read, value_of};
use crate::{FrontConfig, Router};
use std::net::SocketAddr;
use tailwater_core::MethodId;
use tailwater_load::application::{ForeignFront, FrontPlace, Heard, ServingFront};
use tailwater_rt::Address;

/// The status of an answer that is none of the request's, as of a tier that is broken.
const WRONG: u16 = 502;

/// Both ends of the protocol.
pub(super) struct MemcachedFront(pub(super) BackEnd);

struct Serving(Router);

impl ServingFront for Serving {
    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    fn is_well(&self) -> bool {
        self.0.is_well()
    }
}

impl ForeignFront for MemcachedFront {
    /// Every key is stored first, by connections that end before the proxy has its own: one order of writes.
    fn start(&self, at: &FrontPlace<'_>) -> Result<Box<dyn ServingFront>, String> {
        if let Address::Unix(_) = at.listen {
            return Err(format!("found {}; memcached's clients need a host and a port", at.listen));
        }
        let config = self.0.config(at.nodes);
        drop(self.0.stored(&config)?);
        // A generator is silent for as long as it likes.
        let front = FrontConfig {
            connections_max: at.connections_max,
            idle_max: None,
            ..FrontConfig::default()
        };
        let listen = at.listen.to_string();
        let router = Router::placed(&config, self.0.placement.clone(), &listen[..], front);
        let router = router.map_err(|error| format!("{listen}: {error}"))?;
        Ok(Box::new(Serving(router)))
    }

    fn request(&self, asked: (MethodId, &[u8]), bytes: &mut Vec<u8>) -> bool {
        match Asked::of(asked) {
            Some(Asked { key, value: Some(value), .. }) => {
                let length = format!(" 0 0 {}\r\n", value.len());
                let parts: [&[u8]; 5] = [b"set ", key, length.as_bytes(), value, b"\r\n"];
                parts.iter().for_each(|part| bytes.extend_from_slice(part));
                true
            }
            Some(Asked { key, value: None, .. }) => {
                let parts: [&[u8]; 3] = [b"get ", key, b"\r\n"];
                parts.iter().for_each(|part| bytes.extend_from_slice(part));
                true
            }
            None => false,
        }
    }

    fn answer(&self, asked: (MethodId, &[u8]), bytes: &[u8]) -> Heard {
        let Some(asked) = Asked::of(asked) else {
            return Heard::Broken("an answer to what was not asked");
        };
        let expected =
            if asked.value.is_some() { Expected::Line } else { Expected::Value(asked.key) };
        match read(bytes, expected) {
            Read::Incomplete(_) => Heard::More,
            Read::Whole(answer, used) => asked.heard(answer, used),
            Read::Broken(why) => Heard::Broken(why),
        }
    }
}

/// A request of the generator.
struct Asked<'a> {
    tag: u64,
    key: &'a [u8],
    /// Of a set.
    value: Option<&'a [u8]>,
}

impl<'a> Asked<'a> {
    /// `None` where the protocol has no such request.
    fn of((method, payload): (MethodId, &'a [u8])) -> Option<Self> {
        match method {
            GET => wire::read_get(payload).map(|(tag, key)| Self { tag, key, value: None }),
            SET => wire::read_set(payload).map(|wire::Set { tag, key, value }| Self {
                tag,
                key,
                value: Some(value),
            }),
            _ => None,
        }
    }

    fn heard(&self, answer: Answer<'_>, used: usize) -> Heard {
        let says = |status: u16, value: &[u8]| {
            // Which replica has answered, and what befell the nodes, this protocol does not say.
            let (upheavals, place) = Default::default();
            let payload = wire::Answer { tag: self.tag, upheavals, place, value }.bytes();
            Heard::Answer { used, status, payload }
        };
        match answer {
            Answer::Value(whole) => says(0, value_of(whole).unwrap_or_default()),
            Answer::Miss => says(MISS, &[]),
            Answer::Line(b"STORED") => says(0, &[]),
            Answer::Line(line) => match refused(line) {
                Some(reason) => Heard::Refused { used, reason },
                None => says(WRONG, line),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Choice;
    use crate::placement::{Placement, Rule};
    use std::time::Duration;
    use tailwater_control::Reason;

    fn front() -> MemcachedFront {
        let names = ["leaf-0".to_owned()];
        let placement = Placement::new(Rule::Jump, &names, 1).expect("one node");
        let silence_max = Duration::from_secs(1);
        let choice = Choice::Random;
        MemcachedFront(BackEnd { placement, choice, silence_max, hedge: None, keys: 1 })
    }

    fn sent(method: MethodId, payload: &[u8]) -> Option<String> {
        let mut bytes = Vec::new();
        let is_asked = front().request((method, payload), &mut bytes);
        assert_eq!(is_asked, !bytes.is_empty());
        is_asked.then(|| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn requests_are_those_of_stock_clients() {
        assert_eq!(sent(GET, &wire::get(7, b"key-1")).as_deref(), Some("get key-1\r\n"));
        let set = sent(SET, &wire::set(7, b"key-1", b"abc"));
        assert_eq!(set.as_deref(), Some("set key-1 0 0 3\r\nabc\r\n"));
        assert_eq!(sent(wire::EACH, &wire::get(7, b"key-1")), None);
        assert_eq!(sent(GET, b"short"), None);
    }

    fn heard(method: MethodId, payload: &[u8], bytes: &[u8]) -> Heard {
        front().answer((method, payload), bytes)
    }

    #[test]
    fn an_answer_has_the_tag_of_its_request_and_the_value() {
        let whole = b"VALUE key-1 0 4\r\na\r\nb\r\nEND\r\n";
        let get = wire::get(7, b"key-1");
        for cut in 1..whole.len() {
            assert_eq!(heard(GET, &get, &whole[..cut]), Heard::More, "{cut} bytes");
        }
        let (upheavals, place) = Default::default();
        let says = |value: &[u8], used: usize, status: u16| {
            let payload = wire::Answer { tag: 7, upheavals, place, value }.bytes();
            Heard::Answer { used, status, payload }
        };
        let more = [&whole[..], b"END\r\n"].concat();
        assert_eq!(heard(GET, &get, &more), says(b"a\r\nb", whole.len(), 0));
        assert_eq!(heard(GET, &get, b"END\r\n"), says(b"", 5, MISS));
        let set = wire::set(7, b"key-1", b"abc");
        assert_eq!(heard(SET, &set, b"STORED\r\n"), says(b"", 8, 0));
        assert_eq!(heard(SET, &set, b"NOT_STORED\r\n"), says(b"NOT_STORED", 12, WRONG));
    }

    #[test]
    fn refusals_and_what_is_no_answer_are_told_apart() {
        let (get, set) = (wire::get(7, b"key-1"), wire::set(7, b"key-1", b"abc"));
        let full = b"SERVER_ERROR out of memory storing object\r\n";
        let refused = Heard::Refused { used: full.len(), reason: Reason::QueueFull };
        assert_eq!(heard(SET, &set, full), refused);
        for other in [&b"VALUE key-2 0 1\r\na\r\nEND\r\n"[..], b"STORED\r\n", b"HELLO\r\n"] {
            let heard = heard(GET, &get, other);
            assert!(matches!(heard, Heard::Broken(_)), "{}", other.escape_ascii());
        }
    }
}
