//! When a program records itself, for Rust programs that hold this crate. What requests are, `tailwater-marks` says.
//!
//! ```
//! use tailwater_profile_rt::control;
//!
//! # fn main() -> std::io::Result<()> {
//! let trace = std::env::temp_dir().join(format!("own-{}.trace", std::process::id()));
//! control::record_to(&trace)?;
//! // What is called here is recorded.
//! control::stop()?;
//! # std::fs::remove_file(trace)
//! # }
//! ```

use crate::entry::session;
use std::io;
use std::path::Path;

/// Begins to record into a new file at `path`, or beside it (with the process's number appended) when
/// that exists.
///
/// # Errors
///
/// When it records already, the file cannot be made, or a thread cannot be started.
pub fn record_to(path: &Path) -> io::Result<()> {
    session::start(path)
}

/// Ends the recording and completes the file; does nothing when there is none.
///
/// # Errors
///
/// Those of writing the file, at any time during the recording.
pub fn stop() -> io::Result<()> {
    session::stop()
}
