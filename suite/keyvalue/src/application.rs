//! Server and clients as the application "key-value" of scenario files.

use crate::locks::{Tasks, at_once};
use crate::rpc::{self, Message, Overhead};
use crate::store::{Config, Put, Store, Stored, When};
use crate::workload::{Mix, USR, VAR};
use std::sync::Arc;
use std::time::Duration;
use tailwater_load::Application;
use tailwater_load::application::{Ask, BadSetting, Given, Kind, Order, Place, Setting};
use tailwater_rt::Router;

/// The store holds every key before the first request comes.
pub const KIND: Kind = Kind {
    name: "key-value",
    about: "a store in the manner of memcached: item locks, one allocator, LRU by chunk size",
    settings: SETTINGS,
    build,
};

const SETTINGS: &[Setting] = &[
    Setting { name: "mix", help: "usr (99.8 % GET) or var (82 % SET)", default: "usr" },
    Setting { name: "keys", help: "how many keys there are, 1 to 10,000,000", default: "100_000" },
    Setting { name: "memory", help: "the store's memory in MiB, 4 to 65,536", default: "128" },
    Setting { name: "hash_power", help: "buckets as a power of two, 4 to 32", default: "17" },
    Setting {
        name: "lock_power",
        help: "item locks as a power of two, 0 to the hash power",
        default: "12",
    },
    Setting {
        name: "slabs_hold",
        help: "extra hold time at each taking of the slabs lock, which the loop's timer ends; 0s to 100ms",
        default: "0s",
    },
    Setting {
        name: "compute",
        help: "each request computes so much longer, before it looks into the store; 0s to 1ms",
        default: "0s",
    },
    Setting {
        name: "misses",
        help: "whether the memory is too small for all keys, so that a GET may find nothing: true or false",
        default: "false",
    },
];

const HOLD_MAX: Duration = Duration::from_millis(100);
const COMPUTE_MAX: Duration = Duration::from_millis(1);

struct KeyValue {
    mix: Mix,
    keys: u32,
    may_miss: bool,
    config: Config,
    slabs_hold: Duration,
    compute: Duration,
}

fn build(given: &Given<'_>) -> Result<Arc<dyn Application>, BadSetting> {
    let settings = &given.settings;
    let hash_power = settings.number("hash_power", 4..=32)?;
    let config = Config {
        memory: settings.number("memory", 4_usize..=65_536)? << 20,
        hash_power: Some(hash_power),
        lock_power: Some(settings.number("lock_power", 0..=hash_power)?),
        ..Config::default()
    };
    Ok(Arc::new(KeyValue {
        mix: settings.choice("mix", &[("usr", USR), ("var", VAR)])?,
        keys: settings.number("keys", 1..=10_000_000)?,
        may_miss: settings.truth("misses")?,
        config,
        slabs_hold: settings.duration("slabs_hold", Duration::ZERO..=HOLD_MAX)?,
        compute: settings.duration("compute", Duration::ZERO..=COMPUTE_MAX)?,
    }))
}

impl Application for KeyValue {
    fn router(&self, place: &Place) -> Result<Router, String> {
        let overhead = Overhead { spinner: place.spinner, time: self.compute };
        Ok(rpc::router(&Arc::new(self.preloaded()?), overhead))
    }

    fn ask(&self, order: &Order) -> Ask {
        let drawn = self.mix.draw(self.keys, &mut order.rng());
        let method = if drawn.is_get { rpc::GET } else { rpc::SET };
        let mut payload = rpc::request(order.tag, method, |out| self.mix.key(drawn.key, out));
        if !drawn.is_get {
            let mut key = Vec::with_capacity(64);
            self.mix.key(drawn.key, &mut key);
            payload.extend_from_slice(&order.tag.to_le_bytes());
            self.mix.value(&key, order.tag, &mut payload);
        }
        Ask { method, payload }
    }

    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        let head = |method: u16| [&tag.to_le_bytes()[..], &method.to_le_bytes()[..1]].concat();
        match status {
            0 if payload == head(rpc::SET.0) => true,
            0 => Message::read(payload).is_some_and(|hit| {
                let is_whole = hit.tag == tag && hit.method == rpc::GET.0;
                let belongs = |(flags, value)| self.mix.is_value(hit.key, flags, value);
                is_whole && hit.content.is_some_and(belongs)
            }),
            rpc::MISS => self.may_miss && payload == head(rpc::GET.0),
            rpc::OUT_OF_MEMORY => self.may_miss && payload == head(rpc::SET.0),
            _ => false,
        }
    }
}

impl KeyValue {
    /// A store with every key in it. No request contends yet, so no wait suspends.
    fn preloaded(&self) -> Result<Store<Tasks>, String> {
        let store = Store::<Tasks>::new(self.config.clone()).map_err(|error| error.to_string())?;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for number in 0..self.keys {
            key.clear();
            value.clear();
            self.mix.key(number, &mut key);
            self.mix.value(&key, number, &mut value);
            let put =
                Put { key: &key, value: &value, flags: number, expires: 0, when: When::Always };
            match at_once(store.put(put, 1)) {
                Ok(Stored::Stored) => {}
                other => return Err(format!("key {number} could not be stored: {other:?}")),
            }
        }
        let evictions = at_once(store.counts()).evictions;
        if evictions > 0 && !self.may_miss {
            return Err(format!(
                "{} MiB hold all but {evictions} of {} keys; raise server.settings.memory, or allow misses",
                self.config.memory >> 20,
                self.keys
            ));
        }
        store.hold_slabs_for(self.slabs_hold);
        Ok(store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tailwater_rt::{Reply, Request, Service as _};

    fn place() -> Place {
        let spinner = tailwater_load::Spinner::of_speed(1.0);
        Place { loops: 1, workers: 0, crew: 0, locks: None, spinner }
    }

    fn order(number: u64) -> Order {
        let tag = u32::try_from(number).expect("small") ^ 0xabc0_0000;
        Order { seed: number, service: Duration::ZERO, tag }
    }

    fn call(router: &Router, ask: &Ask) -> (u16, Vec<u8>) {
        let request = Request {
            method: ask.method,
            payload: ask.payload.clone(),
            deadline: None,
            priority: 128,
            tenant: 0,
            peer: tailwater_rt::PeerRef::default(),
        };
        match at_once(router.call(request)) {
            Reply::Response { status, payload } => (status, payload),
            other => panic!("an answer was needed, {other:?} found"),
        }
    }

    #[test]
    fn every_answer_answers_its_request_and_no_other() {
        for mix in ["usr", "var"] {
            let both =
                KIND.alone(&[("mix", mix), ("keys", "2_000"), ("memory", "16")]).expect("it");
            let router = both.router(&place()).expect("a router");
            let mut methods = BTreeSet::new();
            for number in 0..3_000 {
                let order = order(number);
                let ask = both.ask(&order);
                assert_eq!(ask, both.ask(&order), "the order decides");
                methods.insert(ask.method);
                let (status, mut payload) = call(&router, &ask);
                assert!(both.is_answer(status, &payload, order.tag), "{mix} {number}: {status}");
                assert!(!both.is_answer(status, &payload, order.tag ^ 1));
                assert!(!both.is_answer(rpc::MISS, &payload, order.tag));
                *payload.last_mut().expect("not empty") ^= 1;
                assert!(!both.is_answer(status, &payload, order.tag), "{mix} {number}");
            }
            assert_eq!(methods.len(), 2);
        }
    }

    #[test]
    fn misses_are_answers_where_the_memory_is_known_to_be_too_small() {
        let small = [("mix", "var"), ("keys", "100_000"), ("memory", "16"), ("lock_power", "8")];
        let strict = KIND.alone(&small).expect("it");
        let error = strict.router(&place()).err().expect("too small");
        assert!(error.contains("memory"), "{error}");
        let lenient = KIND.alone(&[&small[..], &[("misses", "true")]].concat()).expect("it");
        let router = lenient.router(&place()).expect("a router");
        let mut misses = 0;
        for number in 0..3_000 {
            let order = order(number);
            let (status, payload) = call(&router, &lenient.ask(&order));
            assert!(lenient.is_answer(status, &payload, order.tag), "{number}: {status}");
            misses += u32::from(status == rpc::MISS);
        }
        assert!(misses > 0);
    }

    #[test]
    fn malformed_requests_are_answered() {
        let both = KIND.alone(&[("keys", "10"), ("memory", "8")]).expect("it");
        let router = both.router(&place()).expect("a router");
        for method in [rpc::GET, rpc::SET, rpc::ADD, rpc::DELETE] {
            for payload in [&b""[..], &[0; 5], &[0; 6], &[0, 0, 0, 0, 1, 200, 7]] {
                let (status, _) = call(&router, &Ask { method, payload: payload.to_vec() });
                assert_eq!(status, rpc::MALFORMED, "{method:?} {payload:?}");
            }
        }
    }

    #[test]
    fn what_is_added_is_stored_where_nothing_is() {
        let both = KIND.alone(&[("keys", "10"), ("memory", "8")]).expect("it");
        let router = both.router(&place()).expect("a router");
        let add = |key: &[u8]| {
            let mut payload = rpc::request(9, rpc::ADD, |out| out.extend_from_slice(key));
            payload.extend_from_slice(b"\0\0\0\0value");
            call(&router, &Ask { method: rpc::ADD, payload }).0
        };
        assert_eq!([add(b"fresh"), add(b"fresh")], [0, rpc::THERE]);
        let payload = rpc::request(9, rpc::GET, |out| out.extend_from_slice(b"fresh"));
        let (status, found) = call(&router, &Ask { method: rpc::GET, payload });
        let found = Message::read(&found).and_then(|hit| hit.content);
        assert_eq!((status, found), (0, Some((0, &b"value"[..]))));
    }

    #[test]
    fn a_key_can_be_deleted_once() {
        let both = KIND.alone(&[("keys", "10"), ("memory", "8")]).expect("it");
        let router = both.router(&place()).expect("a router");
        let payload = rpc::request(9, rpc::DELETE, |out| USR.key(3, out));
        let ask = Ask { method: rpc::DELETE, payload };
        assert_eq!(call(&router, &ask).0, 0);
        assert_eq!(call(&router, &ask).0, rpc::MISS);
    }
}
