//! The inner loops of the suite's services.
//!
//! [`Kernels`] computes squared Euclidean distances and dot products of `f32` vectors, and intersections of
//! sorted lists. Which instructions it uses is found at run time ([`Level`]). [`Table`] and [`Rows`] hold vectors
//! as these like them.
//!
//! **Results do not depend on the machine.** Every level adds the same 32 lanes in the same order, and none fuses a
//! multiplication with an addition. So scalar code, SSE4.1, AVX2 and AVX-512 give the same bits. An answer of one
//! server can be compared exactly with one that another computed. The price is an instruction more for each register;
//! vectors that are not in the cache cost more than that.
//!
//! # Where unsafe code is, and why it is sound
//!
//! The crate has four kinds of it, and each block names its rule:
//!
//! 1. *Instructions.* A function for a [`Level`] runs only by a [`Kernels`] of that level. Its constructors are
//!    the proof: they ask the processor first.
//! 2. *Loads and stores.* Each goes through a reference to an array of exactly the register's size.
//! 3. *Prefetches* read nothing: any address is allowed.
//! 4. *Views.* Lines of floats are seen as floats.

mod level;
mod kernels;
mod distance;
mod intersect;
mod table;

pub use intersect::{gallop, merge};
pub use kernels::Kernels;
pub use level::Level;
pub use table::{BLOCK, NoSuchRow, Rows, Table, padded};
