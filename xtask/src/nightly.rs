//! Cargo on nightly, for what stable Rust cannot do.

use crate::Result;
use std::path::Path;
use std::process::{Command, Stdio};

/// `rustup run`, because `cargo +nightly` fails below a cargo that rustup chose.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).current_dir(root);
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// Whether it can do this; otherwise says what to type.
pub(crate) fn needs(root: &Path, args: &[&str], what: &str, typed: &str) -> Result {
    let status = cargo(root).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = status.is_ok_and(|status| status.success());
    if there { Ok(()) } else { Err(format!("found no {what}; type: {typed}")) }
}
