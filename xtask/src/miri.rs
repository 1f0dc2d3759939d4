//! `miri`: the tests of the kernels under Miri, which finds loads and stores beside what they may touch.
//!
//! Miri takes the instructions that the target has for those of the processor. With AVX2 there, scalar code, SSE4.1 and
//! AVX2 are tried beside each other; AVX-512 it does not know in full.

use crate::Result;
use crate::nightly::{cargo, needs};
use crate::process;
use std::path::Path;

/// `cargo xtask miri`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    if !args.is_empty() {
        return Err(format!("found `{}`; type `cargo xtask miri` alone", args.join(" ")));
    }
    needs(root, &["--version"], "nightly Rust", "rustup toolchain install nightly")?;
    let component = "rustup component add miri rust-src --toolchain nightly";
    needs(root, &["miri", "--version"], "Miri", component)?;
    let mut command = cargo(root);
    command.args(["miri", "test", "--locked", "--package", "tailwater-kernels"]);
    command.env("RUSTFLAGS", "-C target-feature=+avx2");
    // Isolation hides the variables below.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    // Every step takes a thousand times as long; a case looks at every path of a kernel.
    command.env("PROPTEST_CASES", "8").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
    process::run(&mut command)
}
