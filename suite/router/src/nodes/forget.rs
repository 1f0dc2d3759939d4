//! How a memcached is told what to forget.

use crate::standing::Forget;

/// How a command begins that takes a key away.
pub(crate) const DELETE: &[u8] = b"delete ";

/// The command, in parts.
pub(super) fn command(forget: &Forget) -> [&[u8]; 3] {
    match forget {
        Forget::Key(key) => [DELETE, key, b"\r\n"],
        Forget::Everything => [b"flush_all", b"", b"\r\n"],
    }
}

/// Whether this answer says that it was carried out.
pub(super) fn is_done(forget: &Forget, line: &[u8]) -> bool {
    match forget {
        Forget::Key(_) => matches!(line, b"DELETED" | b"NOT_FOUND"),
        Forget::Everything => line == b"OK",
    }
}
