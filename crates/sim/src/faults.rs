//! What a fault strikes, and what it does to links and clocks.

use crate::connection::Connection;
use std::ops::Range;
use std::time::Duration;
use tailwater_core::{Instant, Nanos, Rng};
use tailwater_workload::scenario::{Chosen, Direction, Fault, FaultKind};

/// Some of the clients. A share holds no list: with a multiplier that has no divisor in common with
/// their number, `client × multiplier + offset` visits every remainder once, and the smallest are
/// chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members {
    clients: u64,
    /// How many connections are clients': one to each replica, the clients in turn.
    connections: u64,
    chosen: u64,
    /// Those that are named instead.
    named: Option<(u64, u64)>,
    multiplier: u64,
    offset: u64,
}

impl Members {
    /// Those whom the fault numbered `index` strikes, of so many clients of so many replicas.
    pub(crate) fn of(fault: &Fault, index: usize, crowd: (u32, u32), rng: &Rng) -> Self {
        let (clients, replicas) = crowd;
        let mut rng = rng.split(&format!("fault {index}"));
        let clients = u64::from(clients.max(1));
        let connections = clients * u64::from(replicas.max(1));
        let mut multiplier = u64::from(rng.below(u32::MAX)) | 1;
        while gcd(multiplier, clients) != 1 {
            multiplier += 1;
        }
        let (share, named) = match fault.clients {
            Chosen::Share(share) => (share.0, None),
            Chosen::Numbers { first, last } => (0.0, Some((first.into(), last.into()))),
        };
        let chosen = (share.clamp(0.0, 1.0) * clients as f64).ceil() as u64;
        Self { clients, connections, chosen, named, multiplier, offset: rng.u64() >> 32 }
    }

    /// Whether a client's connection is struck; not if it is one between nodes.
    pub(crate) const fn contain(&self, connection: Connection) -> bool {
        self.know(connection)
            && match self.named {
                Some((first, last)) => {
                    let client = connection.0 as u64 % self.clients;
                    first <= client && client <= last
                }
                None => {
                    let place = connection.0 as u64 * self.multiplier + self.offset;
                    place % self.clients < self.chosen
                }
            }
    }

    /// Whether the connection is a client's. What is numbered beyond those is one between nodes.
    const fn know(&self, connection: Connection) -> bool {
        (connection.0 as u64) < self.connections
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What the faults of the moment add to a message's way.
#[derive(Debug, Default)]
pub(crate) struct Weather {
    fronts: Vec<Front>,
}

/// A fault of links.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    /// The number of the fault.
    pub(crate) index: u16,
    /// The connections that lead to the nodes that are meant; of those that are clients', some are struck.
    pub(crate) connections: Range<Connection>,
    pub(crate) members: Members,
    /// `None`: both.
    pub(crate) way: Option<Direction>,
    pub(crate) kind: FaultKind,
    /// When it ends.
    pub(crate) until: Instant,
}

/// A message that sets out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) now: Instant,
    pub(crate) connection: Connection,
    pub(crate) way: Direction,
}

impl Front {
    fn strikes(&self, message: Departure) -> bool {
        let Departure { connection, way, .. } = message;
        self.way.is_none_or(|struck| struck == way)
            && self.connections.contains(&connection)
            && (!self.members.know(connection) || self.members.contain(connection))
    }
}

impl Weather {
    pub(crate) fn begin(&mut self, front: Front) {
        self.fronts.push(front);
    }

    pub(crate) fn end(&mut self, index: u16) {
        self.fronts.retain(|front| front.index != index);
    }

    /// The delay of a message that would take `delay_ns` in calm weather, whatever the order of the fronts. It is
    /// sent again until every partition has ended and nothing loses it; what arrives then took the slow way once.
    pub(crate) fn delay(&self, message: Departure, delay_ns: u64, rng: &mut Rng) -> u64 {
        let (mut factors, mut extras_ns) = (1.0, 0_u64);
        let (mut losses_ns, mut parted_ns) = (0_u64, 0);
        for front in self.fronts.iter().filter(|front| front.strikes(message)) {
            match front.kind {
                FaultKind::SlowLink { factor, extra } => {
                    factors *= factor;
                    extras_ns = extras_ns.saturating_add(extra.nanos());
                }
                FaultKind::LossyLink { loss, timeout } => {
                    while rng.chance(loss) {
                        losses_ns = losses_ns.saturating_add(timeout.nanos());
                    }
                }
                FaultKind::Partition { timeout } => {
                    let left = front.until.since(message.now);
                    parted_ns = waits_for_link(left, timeout).nanos().max(parted_ns);
                }
                _ => {}
            }
        }
        let travels_ns = ((delay_ns as f64 * factors) as u64).saturating_add(extras_ns);
        travels_ns.saturating_add(losses_ns).saturating_add(parted_ns)
    }
}

/// How long after it was sent for the first time a message is sent that gets through, if the link is back
/// after `left`: the transport waits twice as long each time.
fn waits_for_link(left: Duration, timeout: Duration) -> Duration {
    let mut pause = timeout.max(Duration::from_nanos(1));
    let mut at = Duration::ZERO;
    while at < left {
        at = at.saturating_add(pause);
        pause = pause.saturating_mul(2);
    }
    at
}

/// The clients' clocks, as far from the server's as the world says; the same when it says nothing.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    wrong: Vec<(Members, i64, i64)>,
}

/// Clocks that may be behind start late enough never to be before their origin.
const EPOCH_NS: i128 = 3_600_000_000_000;
/// Drift is counted in billionths.
const DRIFT_UNIT: i128 = 1_000_000_000;

impl Clocks {
    pub(crate) fn new(faults: &[Fault], crowd: (u32, u32), rng: &Rng) -> Self {
        let clock = |(index, fault): (usize, &Fault)| match fault.kind {
            FaultKind::Clock { offset, drift_ppm } => {
                let members = Members::of(fault, index, crowd, rng);
                Some((members, offset.nanos() as i64, (drift_ppm * 1e3) as i64))
            }
            _ => None,
        };
        Self { wrong: faults.iter().enumerate().filter_map(clock).collect() }
    }

    /// What the clock at the asking end shows at `now`.
    pub(crate) fn local(&self, connection: Connection, now: Instant) -> Instant {
        if self.wrong.is_empty() {
            return now;
        }
        let (offset_ns, drift) = self.error(connection);
        let now_ns = i128::from(now.as_nanos());
        let local_ns = EPOCH_NS + offset_ns + now_ns + now_ns * drift / DRIFT_UNIT;
        Instant::from_nanos(local_ns.clamp(0, i128::from(u64::MAX)) as u64)
    }

    /// The first instant at which the clock at the asking end shows `local` or more.
    pub(crate) fn global(&self, connection: Connection, local: Instant) -> Instant {
        if self.wrong.is_empty() || local == Instant::FAR_FUTURE {
            return local;
        }
        let (offset_ns, drift) = self.error(connection);
        let elapsed_ns = i128::from(local.as_nanos()) - EPOCH_NS - offset_ns;
        let guess_ns = elapsed_ns * DRIFT_UNIT / (DRIFT_UNIT + drift);
        let mut found = Instant::from_nanos((guess_ns - 2).clamp(0, i128::from(u64::MAX)) as u64);
        while self.local(connection, found) < local {
            found = found + Duration::from_nanos(1);
        }
        found
    }

    /// Offset in ns and drift in billionths, each spread over the clients from minus to plus.
    fn error(&self, connection: Connection) -> (i128, i128) {
        let of_client = self.wrong.iter().filter(|wrong| wrong.0.contain(connection));
        of_client.fold((0, 0), |(offset, drift), &(members, most_ns, most_drift)| {
            // A client has one clock, whatever the replica.
            let client = u64::from(connection.0) % members.clients;
            let mut rng = Rng::from_seed(members.offset ^ client);
            let mut spread =
                |most: i64| i128::from((most as f64 * (2.0 * rng.unit() - 1.0)) as i64);
            (offset + spread(most_ns), drift + spread(most_drift))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Ratio;
    use tailwater_workload::scenario::Struck;

    fn fault(share: f64, kind: FaultKind) -> Fault {
        Fault {
            at: Duration::ZERO,
            length: Duration::ZERO,
            clients: Chosen::Share(Ratio(share)),
            nodes: Struck::default(),
            way: None,
            kind,
        }
    }

    /// Of two clients of one server.
    fn front(index: u16, fault: &Fault, rng: &Rng) -> Front {
        let members = Members::of(fault, index.into(), (2, 1), rng);
        let until = Instant::ZERO + Duration::from_millis(10);
        let connections = Connection(0)..Connection(2);
        Front { index, connections, members, way: fault.way, kind: fault.kind, until }
    }

    fn up(number: u32) -> Departure {
        let connection = Connection(number);
        Departure { now: Instant::ZERO, connection, way: Direction::Requests }
    }

    #[test]
    fn named_clients_are_struck_with_all_their_connections_and_no_others() {
        let clients = Chosen::Numbers { first: 2, last: 4 };
        let named = Fault { clients, ..fault(1.0, FaultKind::Flood) };
        let members = Members::of(&named, 0, (10, 2), &Rng::from_seed(1));
        let struck: Vec<u32> = (0..25).filter(|&it| members.contain(Connection(it))).collect();
        assert_eq!(struck, [2, 3, 4, 12, 13, 14]);
    }

    #[test]
    fn a_partition_holds_messages_until_a_retransmission_finds_the_link_back() {
        let ms = Duration::from_millis;
        // Sent again after 1, 3, 7 and 15 ms.
        for (left, waited) in [(0, 0), (1, 1), (2, 3), (3, 3), (7, 7), (8, 15)] {
            assert_eq!(waits_for_link(ms(left), ms(1)), ms(waited), "{left}");
        }
        let rng = Rng::from_seed(1);
        let kind = FaultKind::Partition { timeout: ms(4) };
        let mut weather = Weather::default();
        let one_way = Fault { way: Some(Direction::Answers), ..fault(1.0, kind) };
        weather.begin(front(0, &one_way, &rng));
        let delay = |message| weather.delay(message, 5, &mut Rng::from_seed(1));
        assert_eq!(delay(up(1)), 5, "requests are spared");
        assert_eq!(delay(Departure { way: Direction::Answers, ..up(1) }), 12_000_005);
        assert_eq!(delay(Departure { way: Direction::Answers, ..up(2) }), 5, "between nodes");
    }

    #[test]
    fn the_order_of_faults_changes_no_delay() {
        let ms = Duration::from_millis;
        let slow =
            |factor, extra| FaultKind::SlowLink { factor, extra: Duration::from_nanos(extra) };
        let kinds = [
            slow(3.0, 7),
            slow(2.0, 100),
            FaultKind::Partition { timeout: ms(4) },
            FaultKind::Partition { timeout: ms(1) },
            FaultKind::LossyLink { loss: 0.5, timeout: ms(1) },
        ];
        let rng = Rng::from_seed(1);
        let delay = |order: &[usize]| {
            let mut weather = Weather::default();
            for &at in order {
                weather.begin(front(at as u16, &fault(1.0, kinds[at]), &rng));
            }
            weather.delay(up(1), 5, &mut Rng::from_seed(9))
        };
        let orders = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [3, 1, 4, 2, 0]];
        let lost = delay(&[4]) - 5;
        // The partition that is waited for longest counts: 1, 3, 7 and 15 ms against 4 and 12.
        assert_eq!(orders.map(|order| delay(&order)), [15_000_000 + 5 * 6 + 107 + lost; 4]);
    }

    #[test]
    fn links_between_nodes_are_struck_where_a_tier_is_meant() {
        let rng = Rng::from_seed(1);
        let kind = FaultKind::SlowLink { factor: 2.0, extra: Duration::ZERO };
        let mut weather = Weather::default();
        let connections = Connection(4)..Connection(6);
        weather.begin(Front { connections, ..front(0, &fault(1.0, kind), &rng) });
        let mut delay = |number| weather.delay(up(number), 5, &mut Rng::from_seed(1));
        assert_eq!([0, 3, 4, 5, 6].map(&mut delay), [5, 5, 10, 10, 5]);
    }

    #[test]
    fn a_share_is_rounded_up_and_another_seed_strikes_others() {
        let half = fault(0.1, FaultKind::Flood);
        for clients in [1, 2, 7, 100, 1_000, 6_720] {
            let struck = |seed| -> Vec<u32> {
                let members = Members::of(&half, 0, (clients, 3), &Rng::from_seed(seed));
                (0..clients).filter(|&client| members.contain(Connection(client))).collect()
            };
            assert_eq!(struck(1).len() as u32, clients.div_ceil(10), "of {clients}");
            let members = Members::of(&half, 0, (clients, 3), &Rng::from_seed(1));
            let struck_to = |client, replica| {
                members.contain(Connection::of_client((client, replica), clients))
            };
            let same = |client| struck_to(client, 0) == struck_to(client, 2);
            assert!((0..clients).all(same), "a client is struck with all its connections");
            assert!(!members.contain(Connection(3 * clients)), "between nodes");
            assert_eq!(struck(1), struck(1));
            assert!(clients < 100 || struck(1) != struck(2));
        }
    }

    #[test]
    fn clocks_are_wrong_by_what_was_said_and_convert_both_ways() {
        let (offset, drift_ppm) = (Duration::from_secs(3), 200.0);
        let wrong = fault(1.0, FaultKind::Clock { offset, drift_ppm });
        let clocks = Clocks::new(&[wrong], (50, 1), &Rng::from_seed(3));
        let second = Duration::from_secs(1);
        let mut spread = (u64::MAX, 0);
        for connection in (0..50).map(Connection) {
            let start = clocks.local(connection, Instant::ZERO);
            spread = (spread.0.min(start.as_nanos()), spread.1.max(start.as_nanos()));
            let gained = clocks.local(connection, Instant::ZERO + second).nanos_since(start);
            assert!(gained.abs_diff(1_000_000_000) <= 200_000, "{gained} ns in a second");
            for ns in [0, 1, 999, 123_456_789, 50_000_000_000] {
                let at = Instant::from_nanos(ns);
                let local = clocks.local(connection, at);
                let back = clocks.global(connection, local);
                assert!(back <= at && clocks.local(connection, back) >= local);
            }
        }
        assert!((3_000_000_000..6_000_000_000).contains(&(spread.1 - spread.0)), "{spread:?}");
    }

    #[test]
    fn weather_slows_whom_it_strikes_until_it_ends() {
        let mut weather = Weather::default();
        let mut rng = Rng::from_seed(1);
        let kind = FaultKind::SlowLink { factor: 3.0, extra: Duration::from_nanos(5) };
        weather.begin(front(0, &fault(0.5, kind), &rng));
        let loss = FaultKind::LossyLink { loss: 0.5, timeout: Duration::from_nanos(1_000) };
        weather.begin(front(1, &fault(1.0, loss), &rng));
        let mut total = |weather: &Weather, number| -> u64 {
            (0..10_000).map(|_| weather.delay(up(number), 10, &mut rng)).sum()
        };
        // Half of the messages are lost once, half of those again: once each in the mean.
        let both = [total(&weather, 0), total(&weather, 1)];
        let (fast, slow) = (both[0].min(both[1]), both[0].max(both[1]));
        assert!((9_500_000..10_700_000).contains(&fast), "{fast}");
        assert!((9_750_000..10_950_000).contains(&slow), "{slow}");
        weather.end(1);
        let both = [total(&weather, 0), total(&weather, 1)];
        assert_eq!((both[0].min(both[1]), both[0].max(both[1])), (100_000, 350_000));
    }
}
