//! What is served: a store, by the clock that memcached's protocol has, and what all connections to it share.

use super::buffers::{POOL_BYTES, Pool};
use crate::locks::Blocking;
use crate::store::Store;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Expiry times up to this are relative, in seconds; later ones are Unix times. memcached's rule.
const RELATIVE_MAX_S: i64 = 60 * 60 * 24 * 30;
/// The store's clock starts here, so that no time is zero, which means never.
const CLOCK_START_S: u32 = 2;

/// A store as memcached's protocol presents it, shared by all connections.
#[derive(Debug)]
pub struct Front<L: Blocking> {
    store: Store<L>,
    budget: Option<Duration>,
    started: Instant,
    started_unix_s: i64,
    pub(super) pool: Arc<Pool>,
    pub(super) connections: Connections,
}

/// What became of connections, for `stats`.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub(super) open: AtomicU64,
    pub(super) ever: AtomicU64,
    /// Turned away, because places were taken.
    pub(super) rejected: AtomicU64,
    /// Ended for idleness: at the limit, or to make place for others.
    pub(super) idle_ended: AtomicU64,
}

impl<L: Blocking> Front<L> {
    /// With a `budget`, a command that would wait longer than this for locks is answered
    /// `SERVER_ERROR busy` at once.
    #[must_use]
    pub fn new(store: Store<L>, budget: Option<Duration>) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            store,
            budget,
            started: Instant::now(),
            started_unix_s: i64::try_from(unix.as_secs()).unwrap_or(i64::MAX),
            pool: Arc::new(Pool::new(POOL_BYTES)),
            connections: Connections::default(),
        }
    }

    /// Bytes that all connections together may borrow, beyond 32 KiB of input and 128 KiB of output for
    /// each; default 64 MiB. A request that finds no room is answered `SERVER_ERROR out of memory` and ends
    /// its connection, an answer that finds none is that error. Below 4 MiB the largest commands may find
    /// no room although nothing is lent.
    #[must_use]
    pub fn with_buffers(self, bytes: usize) -> Self {
        Self { pool: Arc::new(Pool::new(bytes)), ..self }
    }

    /// The store itself.
    pub const fn store(&self) -> &Store<L> {
        &self.store
    }

    /// Seconds since the server started.
    pub(super) fn uptime_s(&self) -> u32 {
        u32::try_from(self.started.elapsed().as_secs()).unwrap_or(u32::MAX - CLOCK_START_S)
    }

    /// By the Unix clock as it was when the server started.
    pub(super) fn unix_s(&self) -> i64 {
        self.started_unix_s + i64::from(self.uptime_s())
    }

    pub(super) const fn budget(&self) -> Option<Duration> {
        self.budget
    }

    /// By the store's clock.
    pub(super) fn now(&self) -> u32 {
        self.uptime_s() + CLOCK_START_S
    }

    /// The second of the store's clock that `exptime` means; zero for never.
    pub(super) fn expires(&self, exptime: i64) -> u32 {
        let now = i64::from(self.now());
        let at = match exptime {
            0 => return 0,
            ..0 => now,
            1..=RELATIVE_MAX_S => now + exptime,
            unix => now + unix.saturating_sub(self.unix_s()),
        };
        u32::try_from(at.clamp(1, i64::from(u32::MAX))).expect("just clamped")
    }
}

/// Appends a line of an answer.
pub(super) fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}
