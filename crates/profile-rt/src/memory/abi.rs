//! `tailwater/profile_abi.h` in Rust: what instrumented code writes.

use crate::memory::state::State;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes of a descriptor.
pub(crate) const DESC_BYTES: usize = 32;

/// What a scanner polls. Written by the thread; `limit`, `state` and where its machine stack lies by whoever
/// registers it or takes it off, and `state` by the recorder that adopts it.
#[repr(C, align(64))]
pub(crate) struct Context {
    pub(crate) position: AtomicU64,
    pub(crate) generation: AtomicU64,
    pub(crate) limit: AtomicU64,
    pub(crate) base: AtomicU64,
    pub(crate) tid: AtomicU32,
    pub(crate) state: State,
    /// The machine stack that these frames are of, for code that is built to find that out: what is known of it
    /// begins here,
    pub(crate) stack_low: AtomicU64,
    /// and is so long, in bytes.
    pub(crate) stack_extent: AtomicU64,
    /// Of a fiber that was found: the end of its machine stack; zero for all others.
    pub(crate) stack_top: AtomicU64,
}

/// One frame. Written by its thread.
#[repr(C)]
pub(crate) struct Entry {
    /// A descriptor and a place: see [`What`].
    pub(crate) what: AtomicU64,
    pub(crate) generation: AtomicU64,
}

/// What a frame says beside its number, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct What {
    /// Address of the descriptor of its function; zero for none.
    pub(crate) desc: u64,
    /// The low bits of the address at which its caller goes on.
    pub(crate) site: u16,
    /// Its thread tells itself when the call began and ended: `TW_CLOCKED`.
    pub(crate) is_clocked: bool,
}

/// Descriptors lie below this power of two.
const SITE_SHIFT: u32 = 48;
/// And on a multiple of this.
const DESC_ALIGN: u64 = 8;
/// Its own call's thread tells of it.
const CLOCKED: u64 = 1;

impl From<u64> for What {
    fn from(word: u64) -> Self {
        let desc = word & ((1 << SITE_SHIFT) - 1) & !(DESC_ALIGN - 1);
        Self { desc, site: (word >> SITE_SHIFT) as u16, is_clocked: word & CLOCKED != 0 }
    }
}

impl What {
    pub(crate) const fn to_word(self) -> u64 {
        let clocked = if self.is_clocked { CLOCKED } else { 0 };
        self.desc | (self.site as u64) << SITE_SHIFT | clocked
    }
}

pub(crate) const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;

const _: () = assert!(size_of::<Context>() == 64 && ENTRY_BYTES == 16);
