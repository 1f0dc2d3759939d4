//! Memory for what was received and what is to be sent: a share for each connection, and a pool for all.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of the pool unless [`super::Front::with_buffers`] says otherwise.
pub(super) const POOL_BYTES: usize = 64 << 20;

/// The pool: bytes that connections borrow when a command or its answer exceeds their own share.
#[derive(Debug)]
pub struct Pool {
    bytes: usize,
    // A count that nothing else depends on: Relaxed everywhere.
    lent: AtomicUsize,
}

impl Pool {
    /// Of so many bytes.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self { bytes, lent: AtomicUsize::new(0) }
    }

    /// All of it.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What connections have borrowed.
    #[must_use]
    pub fn lent(&self) -> usize {
        self.lent.load(Relaxed)
    }

    fn lend(&self, bytes: usize) -> bool {
        let fits = |lent: usize| lent.checked_add(bytes).filter(|lent| *lent <= self.bytes);
        self.lent.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    fn take_back(&self, bytes: usize) {
        self.lent.fetch_sub(bytes, Relaxed);
    }
}

/// The pool has lent out what it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom;

/// What one connection may hold: its own bytes, and what it borrows from the pool. What is borrowed goes back when
/// less is held, or when this is dropped.
#[derive(Debug)]
pub struct Share {
    own: usize,
    held: usize,
    pool: Arc<Pool>,
}

impl Share {
    /// Nothing is held; so many bytes are not borrowed.
    #[must_use]
    pub const fn new(own: usize, pool: Arc<Pool>) -> Self {
        Self { own, held: 0, pool }
    }

    /// So many bytes more are held.
    ///
    /// # Errors
    /// When the pool has not got what exceeds the connection's own; nothing has changed then.
    pub fn take(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let before = self.borrowed();
        self.held = self.held.saturating_add(bytes);
        let more = self.borrowed() - before;
        if more > 0 && !self.pool.lend(more) {
            self.held -= bytes;
            return Err(NoRoom);
        }
        Ok(())
    }

    /// So many bytes of these are held no longer.
    pub fn give(&mut self, bytes: usize) {
        let before = self.borrowed();
        self.held -= bytes;
        self.pool.take_back(before - self.borrowed());
    }

    const fn borrowed(&self) -> usize {
        self.held.saturating_sub(self.own)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.take_back(self.borrowed());
    }
}

/// Makes room for `more` bytes, and has the share hold what the capacity grows by, which is returned.
///
/// # Errors
/// When that needs more than the pool has left; nothing has changed then.
pub fn reserve(bytes: &mut Vec<u8>, more: usize, share: &mut Share) -> Result<usize, NoRoom> {
    let (needed, capacity) = (bytes.len().saturating_add(more), bytes.capacity());
    if needed <= capacity {
        return Ok(0);
    }
    // Twice as much, because growing by a little each time would copy everything each time.
    let wanted = [needed.max(capacity.saturating_mul(2)), needed]
        .into_iter()
        .find(|wanted| share.take(wanted - capacity).is_ok())
        .ok_or(NoRoom)?;
    bytes.reserve_exact(wanted - bytes.len());
    Ok(wanted - capacity)
}

/// Bytes of one connection. What its capacity exceeds the connection's own share by is borrowed from the
/// pool, and goes back with [`Buffer::trim`] or when this is dropped.
#[derive(Debug)]
pub struct Buffer {
    /// What is held. [`Buffer::reserve`] comes before whatever makes it longer.
    pub bytes: Vec<u8>,
    /// Holds the capacity, also while the bytes are elsewhere.
    share: Share,
}

impl Buffer {
    /// Empty, with so many bytes that are not borrowed.
    #[must_use]
    pub const fn new(own: usize, pool: Arc<Pool>) -> Self {
        Self { bytes: Vec::new(), share: Share::new(own, pool) }
    }

    /// Makes room for `more` bytes.
    ///
    /// # Errors
    /// When that needs more than the pool has left; nothing has changed then.
    pub fn reserve(&mut self, more: usize) -> Result<(), NoRoom> {
        // Short answers are written without asking, and may have made it longer than is known.
        self.share.take(self.bytes.capacity().saturating_sub(self.share.held))?;
        reserve(&mut self.bytes, more, &mut self.share).map(|_| ())
    }

    /// Takes bytes as they are in place of none, which saves copying them.
    ///
    /// # Errors
    /// When their capacity needs more than the pool has left; they stay where they are then.
    pub fn adopt(&mut self, bytes: &mut Vec<u8>) -> Result<(), NoRoom> {
        debug_assert!(self.bytes.is_empty(), "what is held would be lost");
        self.bytes = Vec::new();
        self.share.give(self.share.held);
        self.share.take(bytes.capacity())?;
        self.bytes = std::mem::take(bytes);
        Ok(())
    }

    /// Gives back what is borrowed, if what is held fits the connection's own share.
    pub fn trim(&mut self) {
        let own = self.share.own;
        if self.share.held > own && self.bytes.len() <= own {
            self.bytes.shrink_to(own);
            self.share.give(self.share.held.saturating_sub(self.bytes.capacity()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_borrows_beyond_its_own_share_and_gives_back() {
        let pool = Arc::new(Pool::new(100));
        let mut buffer = Buffer::new(10, pool.clone());
        buffer.reserve(10).expect("its own");
        assert_eq!(pool.lent(), 0);
        buffer.bytes.extend_from_slice(&[0; 10]);
        buffer.reserve(1).expect("twice its own");
        assert_eq!(pool.lent(), 10);
        buffer.bytes.clear();
        buffer.trim();
        assert_eq!((pool.lent(), buffer.bytes.capacity() <= 10), (0, true));
    }

    #[test]
    fn bytes_that_are_adopted_go_from_one_share_to_another() {
        let pool = Arc::new(Pool::new(100));
        let mut share = Share::new(10, pool.clone());
        let mut bytes = Vec::new();
        assert_eq!(reserve(&mut bytes, 60, &mut share), Ok(60));
        assert_eq!(pool.lent(), 50);
        bytes.extend_from_slice(&[7; 60]);
        share.give(60);
        let mut buffer = Buffer::new(20, pool.clone());
        buffer.adopt(&mut bytes).expect("there is room");
        assert_eq!((pool.lent(), buffer.bytes.len(), bytes.len()), (40, 60, 0));
        // What did not come by this way is counted when more is asked for.
        let mut other = Buffer::new(20, pool.clone());
        other.bytes.reserve_exact(40);
        assert_eq!(other.reserve(50), Ok(()));
        assert_eq!(pool.lent(), 40 + 60, "for twice what it was");
        assert_eq!(other.adopt(&mut vec![0; 90]), Err(NoRoom));
        drop((buffer, other));
        assert_eq!(pool.lent(), 0);
    }

    #[test]
    fn buffers_together_never_exceed_the_pool() {
        let pool = Arc::new(Pool::new(100));
        let mut first = Buffer::new(10, pool.clone());
        let mut second = Buffer::new(10, pool.clone());
        first.reserve(80).expect("70 are borrowed");
        assert_eq!(second.reserve(41), Err(NoRoom));
        second.reserve(40).expect("30 are left");
        assert_eq!(pool.lent(), 100);
        drop(first);
        assert_eq!(pool.lent(), 30);
        // Doubling to 180 does not fit; what is needed does.
        second.bytes.extend_from_slice(&[0; 90].as_slice()[..40]);
        second.reserve(70).expect("exactly what is left");
        assert_eq!(pool.lent(), 100);
    }
}
