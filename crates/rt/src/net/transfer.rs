//! What became of bytes, whatever carries them.

/// What became of a read or write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// So many bytes.
    Bytes(usize),
    /// Not now.
    WouldBlock,
    /// The peer is gone: it closed, or the connection broke.
    Closed,
}
