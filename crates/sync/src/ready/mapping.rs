//! The memory of a set that processes share: a nameless file of fixed size, mapped.
//!
//! ```text
//! line 0      magic, version, number of queues, layout: written when it is made, read once when it is opened
//! line 1 …    the lines of the set (`geometry.rs`)
//! ```
//!
//! # Why it is safe
//!
//! 1. The file is a memfd that cannot shrink (a seal, checked on opening), and is at least as long as its header says.
//!    So no access leaves the file, whatever its other owners do.
//! 2. All of it is atomics, for which any bytes are valid. Lengths and numbers are those of the first reading.

use super::QUEUES_MAX;
use super::geometry::{Geometry, Layout, Line};
use super::memory::Memory;
use super::share_error::{ShareError, VERSION};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat,
    ftruncate, memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const MAGIC: u64 = u64::from_le_bytes(*b"tw-ready");
const PACKED: u64 = 1;

const fn bytes(geometry: &Geometry) -> usize {
    (1 + geometry.lines()) * size_of::<Line>()
}

/// A mapped file, until it is dropped.
struct Mapping {
    start: NonNull<Line>,
    lines: usize,
}

// SAFETY: what lies behind it is atomics (rule 2), mapped until it is dropped.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The file has so many lines, and cannot shrink (rule 1).
    fn new(file: BorrowedFd<'_>, lines: usize) -> io::Result<Self> {
        let (length, protection) = (lines * size_of::<Line>(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the kernel's choice; nothing of this process lies there.
        let start = unsafe { mmap(null_mut(), length, protection, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast::<Line>()).ok_or(Errno::NOMEM)?;
        Ok(Self { start, lines })
    }

    fn lines(&self) -> NonNull<[Line]> {
        NonNull::slice_from_raw_parts(self.start, self.lines)
    }

    fn header(&self) -> &Line {
        // SAFETY: rules 1 and 2; a mapping has a line at least.
        unsafe { self.start.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let length = self.lines * size_of::<Line>();
        // SAFETY: this is what `new` mapped. Those who look at it keep the mapping.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), length) };
        debug_assert!(unmapped.is_ok(), "a mapping of our own");
    }
}

/// A set's number of queues, how it lies in memory, and its lines.
pub(super) struct Mapped {
    pub(super) queues: usize,
    pub(super) geometry: Geometry,
    pub(super) lines: Memory<Line>,
}

/// A new file with a silent set in it.
pub(super) fn create(queues: usize, layout: Layout) -> io::Result<OwnedFd> {
    let geometry = Geometry::new(queues, layout);
    let length = bytes(&geometry) as u64;
    let file = memfd_create("tailwater-ready", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, length)?;
    // All pages now, so that no ring ends in SIGBUS for lack of memory.
    fallocate(&file, FallocateFlags::empty(), 0, length)?;
    // SEAL: nobody adds a seal that would keep others from mapping it.
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    let mapping = Mapping::new(file.as_fd(), 1)?;
    let [magic, version, count, packed, ..] = &mapping.header().0;
    // Relaxed, all three: the last store releases them.
    version.store(VERSION, Relaxed);
    count.store(queues as u64, Relaxed);
    packed.store(if layout == Layout::Packed { PACKED } else { 0 }, Relaxed);
    // Last, for a process that has the file already.
    magic.store(MAGIC, Release);
    drop(mapping);
    Ok(file)
}

/// The set in a file that someone else may have made.
pub(super) fn open(file: BorrowedFd<'_>) -> Result<Mapped, ShareError> {
    // Files of another kind know no seals.
    let seals = fcntl_get_seals(file).map_err(|error| match error {
        Errno::INVAL => ShareError::NoSet,
        error => error.into(),
    })?;
    if !seals.contains(SealFlags::SHRINK) {
        return Err(ShareError::MayShrink);
    }
    let found = fstat(file)?.st_size as u64;
    if found < size_of::<Line>() as u64 {
        return Err(ShareError::NoSet);
    }
    let header = Mapping::new(file, 1)?;
    let [magic, version, queues, packed, ..] = &header.header().0;
    // Pairs with the store in `create`.
    if magic.load(Acquire) != MAGIC {
        return Err(ShareError::NoSet);
    }
    // Relaxed, here and below: the load above acquired them.
    let version = version.load(Relaxed);
    if version != VERSION {
        return Err(ShareError::Version { found: version });
    }
    // Read once: others can change it at any time.
    let (queues, packed) = (queues.load(Relaxed), packed.load(Relaxed));
    let Some(queues) = usize::try_from(queues).ok().filter(|it| (1..=QUEUES_MAX).contains(it))
    else {
        return Err(ShareError::Queues { found: queues });
    };
    let layout = match packed {
        0 => Layout::Padded,
        PACKED => Layout::Packed,
        _ => return Err(ShareError::NoSet),
    };
    let geometry = Geometry::new(queues, layout);
    let needed = bytes(&geometry) as u64;
    if found != needed {
        return Err(ShareError::Size { found, needed });
    }
    let mapping = Arc::new(Mapping::new(file, 1 + geometry.lines())?);
    let all = mapping.lines();
    // SAFETY: all but the first of the mapping's lines, of which there are more than one.
    let lines = unsafe { NonNull::slice_from_raw_parts(all.cast::<Line>().add(1), all.len() - 1) };
    // SAFETY: they lie in the mapping, each at a multiple of its size from a page's start; rule 2.
    let lines = unsafe { Memory::kept(lines, mapping) };
    Ok(Mapped { queues, geometry, lines })
}
