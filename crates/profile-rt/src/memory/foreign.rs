//! The memory of another process, mapped to be scanned from here. Its owner may write there what it likes at any time.
//! So sizes are checked once and kept, and all else is read as numbers that may be wrong.

use crate::memory::arena::{Arena, MAGIC, STRIDES, THREADS_MAX, leave_out_of_dumps, length};
use rustix::fs::{FsWord, SealFlags, fcntl_get_seals, fstatfs};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::ptr::{NonNull, null_mut};

/// Where the kernel keeps memory that is a file: `TMPFS_MAGIC` of linux/magic.h.
const TMPFS_MAGIC: FsWord = 0x0102_1994;

/// Why it cannot be scanned.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// It is another version's, as its letter says.
    Version(char),
    /// It is not as the runtime makes it.
    Damaged,
    /// It cannot be read or mapped.
    Unreadable(io::Error),
}

/// Maps the arena that lies in `file`, which its owner made. It stays mapped.
pub(crate) fn open(file: &File) -> Result<Arena, Unfit> {
    // A file of a file system that the program serves itself could make a read wait for ever, or fail.
    if !fstatfs(file).is_ok_and(|found| found.f_type == TMPFS_MAGIC) {
        return Err(Unfit::Damaged);
    }
    // One that could shrink would kill this process by a read.
    if !fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
        return Err(version_of(file).map_or(Unfit::Damaged, Unfit::Version));
    }
    let mut head = [0; 24];
    file.read_exact_at(&mut head, 0).map_err(Unfit::Unreadable)?;
    if head[..8] != MAGIC {
        return Err(version_of(file).map_or(Unfit::Damaged, Unfit::Version));
    }
    let threads_max = u32::from_le_bytes(std::array::from_fn(|at| head[12 + at]));
    let stride = u64::from_le_bytes(std::array::from_fn(|at| head[16 + at]));
    let found = file.metadata().map_err(Unfit::Unreadable)?.len();
    let is_whole = STRIDES.contains(&stride)
        && threads_max as usize == THREADS_MAX
        && found == length(stride) as u64;
    if !is_whole {
        return Err(Unfit::Damaged);
    }
    let (protection, flags) =
        (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
    // SAFETY: a new mapping of a file that cannot shrink; users read and write atomics only (rule 1).
    let mapped = unsafe { mmap(null_mut(), length(stride), protection, flags, file, 0) };
    let start = mapped.map_err(|error| Unfit::Unreadable(error.into()))?;
    let start = NonNull::new(start.cast()).ok_or(Unfit::Damaged)?;
    leave_out_of_dumps(start, length(stride));
    Ok(Arena::mapped(start, stride))
}

/// The version's letter, where it is an arena of another.
fn version_of(file: &File) -> Option<char> {
    let mut magic = [0; 8];
    file.read_exact_at(&mut magic, 0).ok()?;
    let is_other = magic[..7] == MAGIC[..7] && magic != MAGIC && magic[7].is_ascii_graphic();
    is_other.then(|| char::from(magic[7]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};

    /// A file with such a head, sealed or not.
    fn file(magic: &[u8], stride: u64, length: u64, is_sealed: bool) -> File {
        let file = memfd_create(c"arena", MemfdFlags::ALLOW_SEALING).expect("memory");
        ftruncate(&file, length).expect("a sparse file");
        let file = File::from(file);
        let head = [magic, &7_u32.to_le_bytes(), &4096_u32.to_le_bytes(), &stride.to_le_bytes()];
        file.write_all_at(&head.concat(), 0).expect("room");
        if is_sealed {
            fcntl_add_seals(&file, SealFlags::SHRINK).expect("it allows that");
        }
        file
    }

    #[test]
    fn an_arena_is_seen_from_both_sides() {
        let (stride, length) = (STRIDES[3], length(STRIDES[3]) as u64);
        let file = file(&MAGIC, stride, length, true);
        let [here, there] = [(); 2].map(|()| open(&file).expect("an arena"));
        here.slot(3).context.generation.store(9, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(there.slot(3).context.generation.load(std::sync::atomic::Ordering::Relaxed), 9);
    }

    #[test]
    fn what_is_of_another_version_or_size_or_could_shrink_is_refused() {
        let (stride, length) = (STRIDES[3], length(STRIDES[3]) as u64);
        let refused = |magic: &[u8], stride, length, is_sealed| {
            open(&file(magic, stride, length, is_sealed)).expect_err("not as it should be")
        };
        assert!(matches!(refused(b"twarena1", stride, length, false), Unfit::Version('1')));
        assert!(matches!(refused(b"twarena9", stride, length, true), Unfit::Version('9')));
        assert!(matches!(refused(b"nonsense", stride, length, true), Unfit::Damaged));
        assert!(matches!(refused(&MAGIC, stride, length, false), Unfit::Damaged));
        assert!(matches!(refused(&MAGIC, stride, length - 1, true), Unfit::Damaged));
        assert!(matches!(refused(&MAGIC, stride + 8, length, true), Unfit::Damaged));
        let disk = File::open("/proc/self/exe").expect("it is there");
        assert!(matches!(open(&disk), Err(Unfit::Damaged)));
        let empty = File::from(memfd_create(c"x", MemfdFlags::ALLOW_SEALING).expect("memory"));
        fcntl_add_seals(&empty, SealFlags::SHRINK).expect("it allows that");
        assert!(matches!(open(&empty), Err(Unfit::Unreadable(_))));
    }
}
