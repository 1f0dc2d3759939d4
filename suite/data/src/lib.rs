//! What the services of the suite work on.
//!
//! [`text`] has texts: WordNet's glosses, your own, or generated ones, and makes terms of them. [`file`](mod@file) is the form
//! in which data are prepared once and opened by every process: a header with source, licence and hash, then
//! sections of bytes. [`Folder`] is where such files lie. [`Package`] is what a fetched set is known by.

#![forbid(unsafe_code)]

pub mod text;
pub mod file;
mod folder;
mod package;
pub mod numbers;

pub use file::{Content, Data, DataError, Header, Origin};
pub use folder::{Checked, Folder};
pub use package::{Member, Package, Unfit};
