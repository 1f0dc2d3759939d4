//! The C part, the C library and the kernel, as the other rooms ask them; what all of a process knows of its recording.

pub(crate) mod shim;
pub(crate) mod clock;
pub(crate) mod processor;
pub(crate) mod maps;
pub(crate) mod unwind;
pub(crate) mod own_threads;
pub(crate) mod process;
pub(crate) mod complaint;
pub(crate) mod other;
pub(crate) mod subject;
