//! The server's half of every controller: what a driver tells it and what it answers.

use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Class, Instant, Observer, Pause, SessionId, Stamp};

/// A server's controller, shared by all of its loops. Holds what must be common: a few atomics.
pub trait Admission: Send + Sync {
    /// The name in the catalog.
    fn name(&self) -> &'static str;

    /// How many loops it was built for; `None` if that makes no difference to it.
    fn shards(&self) -> Option<usize> {
        None
    }

    /// The half that the loop numbered `index` will own. `index` is below the shard count the
    /// controller was built for; each index is asked for once.
    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard>;

    /// A reading for metrics and plots. May be torn between fields; never blocks.
    fn gauges(&self) -> Gauges;
}

/// One loop's half: owns the sessions of the loop's connections and decides about their requests.
///
/// A request's life is `on_request`, `on_start`, `on_done`, in this order, at most once each:
///
/// - `on_request` did not admit it: `on_done` follows with [`Reached::Arrival`] and the reason given.
/// - It was admitted and the driver ended it before `on_start`: `on_done` follows with
///   [`Reached::Queue`]. The driver may do so with [`Reason::QueueFull`] (no room for it),
///   [`Reason::Draining`], [`Reason::Deadline`] (it has passed) or [`Reason::Cancelled`], and with no
///   other reason.
/// - `on_start` was asked, and no handler began: `on_done` follows with [`Reached::Start`], and the reason that
///   `on_start` gave, [`Reason::Deadline`] or [`Reason::Cancelled`].
/// - Its handler began: `on_done` follows with [`Reached::Handler`], served or shed, for one of the handler's
///   reasons or with [`Reason::Cancelled`].
///
/// A controller takes what it counted for a request off by what the request reached, never by the
/// reason. `on_close` ends all requests of its session: none of them is spoken of again. Before a loop
/// sleeps it ticks with its true delay, or its last one would hold the pool down for every other loop.
///
/// A controller must judge what arrives; by default the rest admits, keeps no account of sessions, leaves
/// clients open and wishes nothing. A shard around another passes everything on.
pub trait Shard: Send {
    /// A connection is there. Returns what the client may do before it has heard anything else.
    fn on_open(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) -> Offer {
        Offer::OPEN
    }

    /// The connection is gone: its credits return to the pool, and the id may be reused.
    fn on_close(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) {}

    /// The client gave its credits back; the connection stays.
    fn on_deregister(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) {}

    /// The client sent its demand in a message of its own (demand synchronisation, Fig. 8).
    fn on_demand(&mut self, _: Instant, _: SessionId, _demand: u32, _acked: u32) {}

    /// A request was parsed. `delay` is this loop's queueing delay now: the age of its oldest
    /// waiting request plus whatever waits unseen.
    fn on_request(
        &mut self,
        now: Instant,
        session: SessionId,
        arrival: &Arrival,
        delay: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict;

    /// An admitted request leaves the queue, having waited `waited`, with `time_left` of its
    /// deadline. The last moment to refuse it.
    fn on_start(
        &mut self,
        _: Instant,
        _: SessionId,
        _waited: Duration,
        _time_left: Option<Duration>,
        _: &mut dyn Observer,
    ) -> Verdict {
        Verdict::Admit
    }

    /// A message with an offer leaves for the session, stamped `now.stamp()`: a welcome, an answer, a
    /// credit. Only stamps told here are believed when they come back in [`Arrival::echo`], each once.
    fn on_sent(&mut self, _: Instant, _: SessionId) {}

    /// A response or a reject is about to leave; the returned offer rides on it.
    fn on_done(&mut self, _: Instant, _: SessionId, _: &RequestEnd) -> Offer {
        Offer::OPEN
    }

    /// The delay signal, refreshed whether or not anything completes. Extra calls do no harm: a
    /// regulator acts once per its own interval, however often or late it is called.
    fn on_tick(&mut self, _: Instant, _delay: Duration, _: &mut dyn Observer) {}

    /// When `on_tick` must be called at the latest although nothing else happens; `None` while the
    /// shard wishes nothing. Changed by every `on_*`.
    fn next_deadline(&self, _: Instant) -> Option<Instant> {
        None
    }

    /// A message that no response can carry. Call until `None` after `on_tick`.
    fn poll_wish(&mut self, _: Instant, _: &mut dyn Observer) -> Option<Wish> {
        None
    }
}

/// What a request's header and the driver's clocks say when it has been parsed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// Requests that wait in the client's queue behind this one.
    pub demand: u32,
    /// The newest window sequence the client knew when it sent this.
    pub acked: u32,
    /// The client was not registered when it sent this: registration rides on the request.
    pub register: bool,
    /// Smaller is more important; 128 is the middle.
    pub priority: u8,
    /// How much of the request's deadline was left when it was sent; `None` without a deadline.
    pub time_left: Option<Duration>,
    /// The server's own stamp, coming back.
    pub echo: Option<Echo>,
    /// How long the driver believes it waited before it was parsed.
    pub hidden: Duration,
    /// What it costs it has in common with others of this class.
    pub class: Class,
}

/// A server stamp that a client returns, with the time it kept it: RTT = now − stamp − hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// As it was sent by the server.
    pub stamp: Stamp,
    /// How long the client held it before it sent it back.
    pub hold: Duration,
}

impl Echo {
    /// The network's share of a round trip; `None` when the numbers cannot be true.
    #[must_use]
    pub fn rtt(&self, now: Instant) -> Option<Duration> {
        let elapsed = Duration::from_nanos(u64::from(now.stamp().nanos_since(self.stamp)));
        // Above a second the 32-bit stamp may have wrapped, and a hold longer than the whole
        // elapsed time is a lie or a wrap; either would poison the average.
        let rtt = elapsed.checked_sub(self.hold)?;
        (rtt < Duration::from_secs(1)).then_some(rtt)
    }
}

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Serve it.
    Admit,
    /// Answer with a reject frame. Shedding is an answer, not an error.
    Shed(Reason),
    /// The client keeps breaking the protocol: say goodbye and close.
    Close(Reason),
}

/// Why a server did not serve a request. The discriminants are the wire's reason codes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// Queueing delay above the threshold (AQM).
    Delay = 1,
    /// Its deadline cannot be met any more.
    Deadline = 2,
    /// Sent without credit.
    NoCredit = 3,
    /// Below the priority threshold of the moment.
    Priority = 4,
    /// Above the concurrency limit.
    Limit = 5,
    /// A lock's queue does not fit its budget.
    Lock = 6,
    /// The server's run queue is full.
    QueueFull = 7,
    /// The server is shutting down.
    Draining = 8,
    /// The caller gave the call up; it was ended before its answer.
    Cancelled = 9,
    /// Its class costs too much for what the server can do now: others fit in its place.
    Cost = 10,
    /// A server that it needs cannot be reached or goes away; this one stays. Whether the other has carried it out is unknown.
    Unavailable = 11,
}

impl Reason {
    /// Every reason, in order of code.
    pub const ALL: [Self; 11] = [
        Self::Delay,
        Self::Deadline,
        Self::NoCredit,
        Self::Priority,
        Self::Limit,
        Self::Lock,
        Self::QueueFull,
        Self::Draining,
        Self::Cancelled,
        Self::Cost,
        Self::Unavailable,
    ];

    /// A stable word for reports and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Deadline => "deadline",
            Self::NoCredit => "no-credit",
            Self::Priority => "priority",
            Self::Limit => "limit",
            Self::Lock => "lock",
            Self::QueueFull => "queue-full",
            Self::Draining => "draining",
            Self::Cancelled => "cancelled",
            Self::Cost => "cost",
            Self::Unavailable => "unavailable",
        }
    }

    /// The reason behind a wire code; `None` for codes this version does not know.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| *reason as u8 == code)
    }
}

/// What the client may do from now on: absolute, so that applying it twice changes nothing but the pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The most requests the client may have outstanding (unused plus pending).
    pub window: u32,
    /// Numbers the offers of a session, wrapping; requests echo the newest they know.
    pub seq: u32,
    /// A threshold for controllers that shed by priority at the client; zero admits all.
    pub level: u16,
    /// For so long, counted from its arrival, the client is asked to send no request. A client that does not
    /// listen loses nothing.
    pub pause: Pause,
}

/// Whether an offer of number `seq` is older than one of number `known`. Numbers wrap: of those that are half of all away,
/// each is older than the other, as `docs/protocol.md` has it.
#[must_use]
pub const fn is_older(seq: u32, known: u32) -> bool {
    seq.wrapping_sub(known) >= 1 << 31
}

impl Offer {
    /// No limit: what controllers without credits offer.
    pub const OPEN: Self = Self { window: u32::MAX, seq: 0, level: 0, pause: Pause::NONE };
}

/// How a request ended at the server.
#[derive(Clone, Copy, Debug)]
pub struct RequestEnd {
    /// Served or shed.
    pub outcome: Outcome,
    /// How far it had come.
    pub reached: Reached,
    /// From arrival to start of service; where no handler began, to the reject. A request that was parked, as its connection had as
    /// many under way as it may, begins to wait anew when it is recalled.
    pub waited: Duration,
    /// Time in the handler, lock and downstream waits included; zero where none ran, or none that the clock could tell.
    pub service: Duration,
    /// As its [`Arrival::class`].
    pub class: Class,
}

/// How far a request had come when it ended; see [`Shard`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// `on_request` did not admit it.
    Arrival,
    /// It was admitted and never told to `on_start`.
    Queue,
    /// It was told to `on_start`, whatever that answered, and its handler did not begin.
    Start,
    /// Its handler began, if only to refuse it.
    Handler,
}

/// See [`RequestEnd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The handler answered.
    Served,
    /// Refused on arrival, at start, or in the handler.
    Shed(Reason),
}

/// A message that the controller wants sent although no response goes that way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Send this offer in a credit frame.
    Credit(SessionId, Offer),
}

/// A controller's state for people: metrics, plots, introspection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gauges {
    /// Size of the pool, `C_total`, or a controller's limit; zero where there is neither.
    pub pool: u32,
    /// Credits out, `C_issued`, or requests that count against the limit.
    pub issued: u32,
    /// Registered clients, `n_c`.
    pub sessions: u32,
    /// Those of them that are idle: the one credit of each counts neither in `pool` nor in `issued`.
    pub idle: u32,
    /// The queueing delay the last update saw; the longest, where each loop has a pool of its own.
    pub delay: Duration,
    /// The network round-trip time that paces the updates; the longest, as above.
    pub rtt: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Silent;

    #[test]
    fn a_round_trip_is_what_the_client_did_not_hold_up_to_a_second() {
        let (sent, ms) = (Instant::from_nanos(5_000_000_000), Duration::from_millis);
        let rtt = |elapsed, hold| Echo { stamp: sent.stamp(), hold }.rtt(sent + elapsed);
        assert_eq!(rtt(ms(30), ms(10)), Some(ms(20)));
        assert_eq!(rtt(ms(30), ms(30)), Some(ms(0)));
        assert_eq!(rtt(ms(30), ms(31)), None, "it held it for longer than it was away");
        let second = ms(1_000) - Duration::from_nanos(1);
        assert_eq!(rtt(ms(1_500), ms(500) + Duration::from_nanos(1)), Some(second));
        assert_eq!(rtt(ms(1_500), ms(500)), None, "the stamp may have wrapped");
    }

    #[test]
    fn half_of_all_numbers_are_older_and_the_one_in_the_middle_is_both_ways() {
        let half = 1 << 31;
        assert!(is_older(u32::MAX, 0) && !is_older(0, u32::MAX) && !is_older(7, 7));
        assert!(is_older(5, 5 + half - 1) && !is_older(5 + half - 1, 5));
        assert!(is_older(5, 5 + half) && is_older(5 + half, 5));
    }

    #[test]
    fn every_reason_has_a_code_and_a_word_of_its_own() {
        let mut words: Vec<&str> = Reason::ALL.map(Reason::name).to_vec();
        for (code, reason) in (1..).zip(Reason::ALL) {
            assert_eq!((reason as u8, Reason::from_code(code)), (code, Some(reason)));
            assert!(reason.name().len() > 3, "{reason:?}");
        }
        assert_eq!([Reason::from_code(0), Reason::from_code(12)], [None; 2]);
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Reason::ALL.len());
    }

    /// What a shard need not say it says as one without wishes.
    #[test]
    fn by_default_a_shard_wishes_nothing() {
        let admission: Arc<dyn Admission> = Arc::new(crate::none::None);
        assert_eq!(admission.shards(), None);
        let mut shard = admission.shard(0);
        let now = Instant::ZERO;
        assert_eq!((shard.next_deadline(now), shard.poll_wish(now, &mut Silent)), (None, None));
    }
}
