//! `miri`: the tests of the kernels under Miri, which finds loads and stores beside what they may touch.
//!
//! Miri takes the instructions that the target has for those of the processor. With AVX2 there, scalar code, SSE4.1 and
//! AVX2 are tried beside each other; AVX-512 it does not know in full.

use crate::nightly::{cargo, needs};
use crate::process::said;
use crate::{Result, record, test};
use serde_json::json;
use std::path::Path;
use std::process::Stdio;

/// Each of its kernels stands beside a scalar twin.
const PACKAGE: &str = "tailwater-kernels";

/// `cargo xtask miri [--out FILE]`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let out = out(args)?;
    needs(root, &["--version"], "nightly Rust", "rustup toolchain install nightly")?;
    let component = "rustup component add miri rust-src --toolchain nightly";
    needs(root, &["miri", "--version"], "Miri", component)?;
    let mut command = cargo(root);
    command.args(["miri", "test", "--locked", "--package", PACKAGE]);
    command.env("RUSTFLAGS", "-C target-feature=+avx2");
    // Isolation hides the variables below.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    // Every step takes a thousand times as long; a case looks at every path of a kernel.
    command.env("PROPTEST_CASES", "8").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("could not start Miri: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    let passed = test::passed(&text);
    if !output.status.success() || passed == 0 {
        return Err(format!("Miri ended with {}, and {passed} tests passed", output.status));
    }
    let Some(out) = out else { return Ok(()) };
    let rustc = said(root, "rustup", &["run", "nightly", "rustc", "--version"])?;
    record::write(root, out, rustc, json!({ "packages": [PACKAGE], "passed": passed }))
}

/// Where the result goes.
fn out(args: &[String]) -> Result<Option<&Path>> {
    match args {
        [] => Ok(None),
        [flag, file] if flag == "--out" => Ok(Some(Path::new(file))),
        _ => Err(format!("found `{}`; type `cargo xtask miri [--out FILE]`", args.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_kept_where_a_file_is_named() {
        let args = ["--out".to_owned(), "x.json".to_owned()];
        assert_eq!(out(&[]), Ok(None));
        assert_eq!(out(&args), Ok(Some(Path::new("x.json"))));
        assert!(out(&args[..1]).unwrap_err().contains("--out FILE"));
    }
}
