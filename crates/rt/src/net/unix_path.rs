//! The path of a Unix socket: claimed by a lock file beside it, and given back when the listener ends.
//!
//! A socket file outlives a server that was killed, and is in the way of the next. Whether its server is
//! gone cannot be asked of the file alone: a socket that is bound and does not listen yet refuses
//! connections as a dead one does. The rules:
//!
//! 1. `PATH.lock` is locked (`flock`) from before the socket is bound until after it is removed.
//! 2. The lock file says [`MARK`] once the socket is bound. A lock that is free and says so was left by a
//!    server that was killed.
//! 3. A socket is removed only under the lock, only if the lock file says [`MARK`], and only if it
//!    refuses a connection. Nothing else is ever removed.
//! 4. A lock file is removed under its own lock. After locking, it must still be the one at the path.

use super::listen_error::ListenError;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::fs::{File, FileType, Metadata};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// What a lock file says once its socket is bound. Another text means that the file is not ours.
const MARK: &str = "tailwater\n";
/// Rounds of locking a file that others keep removing: each of them ended a server meanwhile.
const ROUNDS: usize = 16;

/// The right to bind a socket at a path. Dropping it removes what it made.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    lock: File,
    /// Device and inode of the socket that was bound.
    bound: Option<(u64, u64)>,
}

impl Claim {
    /// Locks the path, and removes the socket of a server that was killed.
    pub(super) fn take(path: &Path) -> Result<Self, ListenError> {
        let lock_path = lock_path(path);
        let (lock, said) = lock_file(&lock_path)?;
        let left_behind = match said.as_str() {
            "" => false,
            MARK => true,
            _ => return Err(ListenError::NotOurLock(lock_path)),
        };
        let claim = Self { path: path.to_owned(), lock, bound: None };
        claim.make_way(left_behind)?;
        Ok(claim)
    }

    /// The socket is bound now.
    pub(super) fn mark(&mut self) -> Result<(), ListenError> {
        self.bound = Some(identity(&std::fs::symlink_metadata(&self.path)?));
        self.lock.set_len(0)?;
        self.lock.write_all(MARK.as_bytes())?;
        Ok(())
    }

    fn make_way(&self, left_behind: bool) -> Result<(), ListenError> {
        let found = match std::fs::symlink_metadata(&self.path) {
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if !found.is_socket() {
            return Err(ListenError::InTheWay(kind(found)));
        }
        if !refuses(&self.path)? {
            return Err(ListenError::InUse);
        }
        if !left_behind {
            return Err(ListenError::UnknownSocket(lock_path(&self.path)));
        }
        Ok(std::fs::remove_file(&self.path)?)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A successor may have replaced the socket. Its inode differs: ours lives as long as the
        // listener, which is dropped after the claim.
        let found = std::fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| self.bound == Some(identity(&found))) {
            let _ = std::fs::remove_file(&self.path);
        }
        let lock_path = lock_path(&self.path);
        if is_at(&self.lock, &lock_path) {
            let _ = std::fs::remove_file(lock_path);
        }
    }
}

/// The lock file, locked, and what it says.
fn lock_file(path: &Path) -> Result<(File, String), ListenError> {
    // A link is not followed, and a pipe without a writer does not hold us up.
    let flags =
        OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    for _ in 0..ROUNDS {
        let mut file = match open(path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => File::from(file),
            Err(Errno::LOOP | Errno::ISDIR) => return Err(ListenError::NotOurLock(path.into())),
            Err(errno) => return Err(ListenError::Lock(path.into(), errno)),
        };
        if !file.metadata()?.is_file() {
            return Err(ListenError::NotOurLock(path.into()));
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(ListenError::InUse),
            Err(errno) => return Err(ListenError::Lock(path.into(), errno)),
        }
        // Its last owner may have removed it between our opening and our locking.
        if is_at(&file, path) {
            let mut said = Vec::new();
            (&mut file).take(MARK.len() as u64 + 1).read_to_end(&mut said)?;
            file.rewind()?;
            return Ok((file, String::from_utf8_lossy(&said).into_owned()));
        }
    }
    Err(ListenError::InUse)
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn is_at(file: &File, path: &Path) -> bool {
    let there = std::fs::symlink_metadata(path);
    file.metadata().is_ok_and(|file| there.is_ok_and(|there| identity(&there) == identity(&file)))
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Whether nothing listens at the socket. A full backlog is no refusal, and does not hold us up.
fn refuses(path: &Path) -> Result<bool, ListenError> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let probe = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(path)?;
    Ok(connect(probe, &address) == Err(Errno::CONNREFUSED))
}

fn kind(found: FileType) -> &'static str {
    if found.is_file() {
        "a regular file"
    } else if found.is_dir() {
        "a directory"
    } else if found.is_symlink() {
        "a symbolic link"
    } else if found.is_fifo() {
        "a pipe"
    } else {
        "a device"
    }
}
