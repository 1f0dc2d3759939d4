//! Why a server cannot listen, and what to do about it.

use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why an address cannot be listened on. The message says what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListenError {
    /// Another server listens there.
    InUse,
    /// At the path of a Unix socket is something else, such as "a regular file"; it was left alone.
    InTheWay(&'static str),
    /// At the path is a socket on which nothing listens, without the lock file (named here) that our
    /// servers leave; it was left alone.
    UnknownSocket(PathBuf),
    /// At the lock file's path is a file that is none; it was left alone.
    NotOurLock(PathBuf),
    /// The lock file cannot be made or locked.
    Lock(PathBuf, Errno),
    /// The name has no address; what the system's resolver says.
    Unresolved(String),
    /// The kernel refuses for another reason.
    System(Errno),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => {
                f.write_str("it is in use; stop the other server, or choose another address")
            }
            Self::InTheWay(found) => {
                write!(f, "at the path is {found}; choose another path, or remove it")
            }
            Self::UnknownSocket(lock) => write!(
                f,
                "at the path is a socket on which nothing listens, but no {} shows that a server of \
                 ours left it; remove it if its program is gone",
                lock.display()
            ),
            Self::NotOurLock(lock) => write!(
                f,
                "{} is needed as a lock file and is something else; choose another path, or remove it",
                lock.display()
            ),
            Self::Lock(lock, errno) => write!(
                f,
                "cannot lock {}: {errno}; the server must be able to write to its folder",
                lock.display()
            ),
            Self::Unresolved(why) => {
                write!(f, "the name cannot be resolved: {why}; a name of this machine is needed")
            }
            Self::System(errno) => errno.fmt(f),
        }
    }
}

impl std::error::Error for ListenError {}

impl From<Errno> for ListenError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ADDRINUSE => Self::InUse,
            errno => Self::System(errno),
        }
    }
}

impl From<io::Error> for ListenError {
    fn from(error: io::Error) -> Self {
        Errno::from_io_error(&error).unwrap_or(Errno::IO).into()
    }
}
