//! A process whose threads are scanned from this one: where its shared memory is, its names, and whether it lives.

mod find;
mod image;
mod mappings;
mod numbers;
mod refusal;

pub use refusal::Refusal;

use mappings::Mapping;
use numbers::Numbers;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use tailwater_profile::record::Module;

/// What the shared memory is called among what is mapped.
const ARENA: &str = "/memfd:tailwater-profile (deleted)";

/// A process that was found, and may be gone by now: its number is never another's, and what is asked then fails.
#[derive(Debug)]
pub(crate) struct Other {
    folder: PathBuf,
    /// The number that it has for itself.
    own: u32,
    /// Where its threads number themselves otherwise than we do.
    numbers: Option<Numbers>,
    memory: File,
    /// Readable once the process has ended.
    alive: OwnedFd,
    /// The file of its shared memory.
    arena: u64,
}

impl Other {
    pub(crate) fn memory(&self) -> io::Result<File> {
        self.memory.try_clone()
    }

    /// Whether the process with this number, as it numbers itself, is this one.
    pub(crate) const fn is_owner(&self, pid: u32) -> bool {
        self.own == pid
    }

    /// Its folder below /proc.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn program(&self) -> io::Result<PathBuf> {
        std::fs::read_link(self.folder.join("exe"))
    }

    pub(crate) fn name_of(&self, tid: u32) -> io::Result<String> {
        let tasks = self.folder.join("task");
        let ours = match &self.numbers {
            Some(numbers) => numbers.ours(&tasks, tid).ok_or(io::ErrorKind::NotFound)?,
            None => tid,
        };
        numbers::name(&tasks.join(ours.to_string()))
    }

    /// The program and its libraries; none where it has gone.
    pub(crate) fn modules(&self) -> Vec<Module> {
        let program = self.program().unwrap_or_default();
        let mapped = mappings::of(&self.folder).unwrap_or_default();
        // A file that is mapped as data has no code there.
        let with_code: HashSet<&str> =
            mapped.iter().filter(|one| one.is_code).map(|one| one.path.as_str()).collect();
        let mut met = HashSet::new();
        let images = mapped.iter().filter(|one| {
            one.path.starts_with('/') && one.offset == 0 && with_code.contains(one.path.as_str())
        });
        let mut modules: Vec<Module> = images
            .filter(|one| met.insert(one.path.as_str()))
            .filter_map(|one| image::module(&self.memory, one.start, &one.path))
            .collect();
        modules.sort_by_key(|module| module.path != program.to_string_lossy());
        modules
    }

    /// Readable once the process has ended.
    pub(crate) fn end(&self) -> BorrowedFd<'_> {
        self.alive.as_fd()
    }

    pub(crate) fn has_ended(&self) -> bool {
        let mut end = [PollFd::new(&self.alive, PollFlags::IN)];
        !matches!(poll(&mut end, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }

    /// Whether it has become another program, which has other memory. Of a process whose main thread has left the kernel
    /// lists none.
    pub(crate) fn is_replaced(&self) -> bool {
        let is_it = |one: &Mapping| one.inode == self.arena && one.path == ARENA;
        let mapped = mappings::of(&self.folder);
        mapped.is_ok_and(|mapped| !mapped.is_empty() && !mapped.iter().any(is_it))
    }
}
