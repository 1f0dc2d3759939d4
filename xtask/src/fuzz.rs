//! `fuzz`: runs each fuzz target for a while, on nightly, with cargo-fuzz.

use crate::Result;
use crate::nightly::{cargo, needs};
use crate::process;
use crate::tally::Tally;
use std::path::Path;

/// `cargo xtask fuzz SECONDS [TARGET…]`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let (seconds, targets) = parse(args)?;
    needs(root, &["--version"], "nightly Rust", "rustup toolchain install nightly")?;
    needs(root, &["fuzz", "--version"], "cargo-fuzz", "cargo install --locked cargo-fuzz")?;
    let targets = if targets.is_empty() { all(root)? } else { targets.to_vec() };
    let mut tally = Tally::default();
    for target in targets {
        let limit = format!("-max_total_time={seconds}");
        let run = ["fuzz", "run", &target, "--", &limit, "-max_len=65536", "-rss_limit_mb=2048"];
        tally.count(&target, process::run(cargo(root).args(run)));
    }
    tally.verdict("fuzz targets")
}

fn parse(args: &[String]) -> Result<(u32, &[String])> {
    let needed = "type `cargo xtask fuzz SECONDS [TARGET…]`";
    let (first, targets) = args.split_first().ok_or(format!("found no time; {needed}"))?;
    let seconds =
        first.parse().map_err(|_| format!("found `{first}`, needed seconds; {needed}"))?;
    Ok((seconds, targets))
}

fn all(root: &Path) -> Result<Vec<String>> {
    let output = cargo(root).args(["fuzz", "list"]).output();
    let output = output.map_err(|error| format!("could not list the fuzz targets: {error}"))?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let targets: Vec<String> = listed.split_whitespace().map(str::to_owned).collect();
    if targets.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`cargo fuzz list` named no target; see fuzz/Cargo.toml: {said}"));
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_comes_first() {
        let args = ["5".to_owned(), "wire".to_owned()];
        assert_eq!(parse(&args), Ok((5, &args[1..])));
        assert!(parse(&args[1..]).unwrap_err().contains("`wire`"));
        assert!(parse(&[]).unwrap_err().contains("SECONDS"));
    }
}
