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

/// Bytes of one connection. What its capacity exceeds the connection's own share by is borrowed from the
/// pool, and goes back with [`Buffer::trim`] or when this is dropped.
#[derive(Debug)]
pub struct Buffer {
    /// What is held. [`Buffer::reserve`] comes before whatever makes it longer.
    pub bytes: Vec<u8>,
    own: usize,
    borrowed: usize,
    pool: Arc<Pool>,
}

impl Buffer {
    /// Empty, with so many bytes that are not borrowed.
    #[must_use]
    pub const fn new(own: usize, pool: Arc<Pool>) -> Self {
        Self { bytes: Vec::new(), own, borrowed: 0, pool }
    }

    /// Makes room for `more` bytes.
    ///
    /// # Errors
    /// When that needs more than the pool has left; nothing has changed then.
    pub fn reserve(&mut self, more: usize) -> Result<(), NoRoom> {
        let (needed, capacity) = (self.bytes.len().saturating_add(more), self.bytes.capacity());
        if needed <= capacity {
            return Ok(());
        }
        // Twice as much, because growing by a little each time would copy everything each time.
        let capacity = [needed.max(capacity.saturating_mul(2)), needed]
            .into_iter()
            .find(|capacity| self.borrow_for(*capacity))
            .ok_or(NoRoom)?;
        self.bytes.reserve_exact(capacity - self.bytes.len());
        Ok(())
    }

    fn borrow_for(&mut self, capacity: usize) -> bool {
        let all = capacity.saturating_sub(self.own);
        let more = all.saturating_sub(self.borrowed);
        if more > 0 && !self.pool.lend(more) {
            return false;
        }
        self.borrowed += more;
        true
    }

    /// Gives back what is borrowed, if what is held fits the connection's own share.
    pub fn trim(&mut self) {
        if self.borrowed > 0 && self.bytes.len() <= self.own {
            self.bytes.shrink_to(self.own);
            self.pool.take_back(std::mem::take(&mut self.borrowed));
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.take_back(self.borrowed);
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
