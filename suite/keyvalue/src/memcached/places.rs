//! Which connections there may be: in all, for each client address, and which gives its place to another.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Of [`Activity`]: a command is under way.
const BUSY: u64 = u64::MAX;
/// Of [`Activity`]: the place was given to another connection.
const ENDED: u64 = u64::MAX - 1;

/// The open connections. Holds at most `connections_max`.
#[derive(Debug)]
pub(super) struct Places {
    limits: Limits,
    started: Instant,
    open: Mutex<BTreeMap<u64, Place>>,
}

/// See [`super::TcpConfig`], whose fields these are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limits {
    pub(super) connections_max: usize,
    pub(super) per_address_max: usize,
    pub(super) idle_spared: Duration,
}

#[derive(Debug)]
struct Place {
    origin: IpAddr,
    stream: Arc<TcpStream>,
    activity: Arc<Activity>,
}

/// Since when a connection is between two commands, in nanoseconds since the server's start.
///
/// The connection's thread and the acceptor agree by an atomic exchange on which was first: a command that
/// arrives after the place was given away is not begun. Nothing else depends on the value: Relaxed.
#[derive(Debug)]
pub(super) struct Activity {
    started: Instant,
    idle_since_ns: AtomicU64,
}

/// Whether a further connection may come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    Free,
    /// The idle connection of this number was ended for it.
    InsteadOf(u64),
    /// No, and this is what the peer is told.
    None(&'static str),
}

impl Activity {
    fn new(started: Instant) -> Self {
        let activity = Self { started, idle_since_ns: AtomicU64::new(BUSY) };
        activity.rest();
        activity
    }

    /// The peer has been answered, and has begun nothing else.
    pub(super) fn rest(&self) {
        self.idle_since_ns.store(self.now_ns(), Relaxed);
    }

    /// The peer has sent something. Whether the connection still has its place.
    #[must_use]
    pub(super) fn wake(&self) -> bool {
        self.idle_since_ns.swap(BUSY, Relaxed) != ENDED
    }

    fn now_ns(&self) -> u64 {
        // 584 years fit; the two marks are beyond them.
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(ENDED - 1).min(ENDED - 1)
    }

    /// Since when it is idle, if it has been for `spared`.
    fn idle_since_ns(&self, spared: Duration) -> Option<u64> {
        let since = self.idle_since_ns.load(Relaxed);
        let idle = self.now_ns().checked_sub(since)?;
        (u128::from(idle) >= spared.as_nanos()).then_some(since)
    }

    fn end(&self, since_ns: u64) -> bool {
        self.idle_since_ns.compare_exchange(since_ns, ENDED, Relaxed, Relaxed).is_ok()
    }
}

impl Places {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, started: Instant::now(), open: Mutex::default() }
    }

    /// Whether a connection from `address` may come. When all places, or all of its address, are taken, the one of
    /// these that has been idle longest is ended. It stays if it was idle for less than `idle_spared`.
    pub(super) fn room_for(&self, address: IpAddr) -> Room {
        let origin = origin(address);
        let mut open = self.open();
        let of_address = open.values().filter(|place| place.origin == origin).count();
        let (only, refusal) = if of_address >= self.limits.per_address_max {
            (Some(origin), "ERROR Too many open connections from your address\r\n")
        } else if open.len() >= self.limits.connections_max {
            (None, "ERROR Too many open connections\r\n")
        } else {
            return Room::Free;
        };
        loop {
            let idle = open
                .iter()
                .filter(|(_, place)| only.is_none_or(|only| place.origin == only))
                .filter_map(|(number, place)| {
                    Some((place.activity.idle_since_ns(self.limits.idle_spared)?, *number))
                });
            let Some((since_ns, number)) = idle.min() else { return Room::None(refusal) };
            // One that has woken up meanwhile is not idle any more: at most each is tried once.
            if open[&number].activity.end(since_ns) {
                let ended = open.remove(&number).expect("it was found there");
                let _ = ended.stream.shutdown(Shutdown::Both);
                return Room::InsteadOf(number);
            }
        }
    }

    pub(super) fn take(
        &self,
        number: u64,
        address: IpAddr,
        stream: Arc<TcpStream>,
    ) -> Arc<Activity> {
        let activity = Arc::new(Activity::new(self.started));
        let place = Place { origin: origin(address), stream, activity: activity.clone() };
        self.open().insert(number, place);
        activity
    }

    pub(super) fn leave(&self, number: u64) {
        self.open().remove(&number);
    }

    /// Ends all that are open.
    pub(super) fn end_all(&self) {
        for place in self.open().values() {
            let _ = place.stream.shutdown(Shutdown::Both);
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Place>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What counts as one address. A host of IPv6 has all addresses of its /64 network.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const FIRST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const SECOND: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn places(connections_max: usize, per_address_max: usize, idle_spared: Duration) -> Places {
        Places::new(Limits { connections_max, per_address_max, idle_spared })
    }

    fn stream() -> Arc<TcpStream> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        Arc::new(TcpStream::connect(address).expect("connected"))
    }

    #[test]
    fn the_connection_that_is_idle_longest_gives_its_place() {
        let places = places(3, 3, Duration::ZERO);
        let [first, second, third] = [0, 1, 2].map(|number| places.take(number, FIRST, stream()));
        // The first spoke last, the second speaks.
        assert!(first.wake() && second.wake());
        first.rest();
        assert_eq!(places.room_for(FIRST), Room::InsteadOf(2));
        assert!(!third.wake(), "what arrives after that is not begun");
        assert_eq!(places.room_for(FIRST), Room::Free);
        places.take(3, FIRST, stream()).wake().then_some(()).expect("it has its place");
        assert_eq!(places.room_for(FIRST), Room::InsteadOf(0));
    }

    #[test]
    fn a_connection_that_is_busy_or_was_lately_keeps_its_place() {
        let refused = Room::None("ERROR Too many open connections\r\n");
        let busy = places(1, 2, Duration::ZERO);
        assert!(busy.take(0, FIRST, stream()).wake());
        assert_eq!(busy.room_for(SECOND), refused);
        let lately = places(1, 2, Duration::from_secs(3_600));
        lately.take(0, FIRST, stream());
        assert_eq!(lately.room_for(SECOND), refused);
    }

    #[test]
    fn a_full_address_makes_room_among_its_own() {
        let places = places(9, 1, Duration::ZERO);
        places.take(0, SECOND, stream());
        let first = places.take(1, FIRST, stream());
        assert_eq!(places.room_for(FIRST), Room::InsteadOf(1));
        assert!(!first.wake());
        assert!(places.take(2, FIRST, stream()).wake());
        let refusal = "ERROR Too many open connections from your address\r\n";
        assert_eq!(places.room_for(FIRST), Room::None(refusal));
        places.leave(2);
        assert_eq!(places.room_for(FIRST), Room::Free);
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let [one, other, elsewhere] = ["2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"]
            .map(|text| origin(text.parse().expect("an address")));
        assert_eq!(one, other);
        assert_ne!(one, elsewhere);
        assert_eq!(origin("::ffff:192.0.2.1".parse().expect("an address")), FIRST);
    }
}
