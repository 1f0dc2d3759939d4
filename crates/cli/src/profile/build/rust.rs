//! The environment under which cargo builds a program that can be profiled.

use super::installed::{Compilers, Installed};
use super::{LLVM, RustRoute};
use crate::failure::Failure;
use std::ffi::OsString;
use std::process::Command;

/// Between flags, which may hold spaces, in cargo's variable.
const SEPARATOR: char = '\u{1f}';

/// What cargo reads. With a target named, build scripts and macros are built as ever: the flags are
/// for the program alone. The result lies in `target/TRIPLE/release`. `decides` is made of all that decides
/// what is instrumented: cargo knows nothing of the plugin, and builds anew when the flags change.
pub(super) fn variables(
    route: RustRoute,
    installed: &Installed,
    compilers: &Compilers,
    decides: u64,
) -> Result<Vec<(&'static str, OsString)>, Failure> {
    let rustc = Rustc::ask()?;
    let mut flags = inherited();
    flags.push(format!("-Cmetadata=tailwater-{decides:x}"));
    flags.push(format!("-Clinker={}", compilers.c().display()));
    // Ours does the linking: rustc's own brings another LLVM, into which the plugin does not fit.
    flags.push("-Clinker-features=-lld".to_owned());
    let mut variables: Vec<(&str, OsString)> = vec![];
    match route {
        RustRoute::Lto => {
            rustc.check_older()?;
            flags.push("-Clinker-plugin-lto".to_owned());
        }
        RustRoute::Bootstrap => {
            rustc.check_same()?;
            flags.push(format!("-Zllvm-plugins={}", installed.plugin().display()));
            variables.push(("RUSTC_BOOTSTRAP", "1".into()));
            // std comes as intermediate code, too, and is instrumented where that is used.
            variables.push(("CARGO_PROFILE_RELEASE_LTO", "thin".into()));
        }
    }
    variables.push(("CARGO_ENCODED_RUSTFLAGS", flags.join(&SEPARATOR.to_string()).into()));
    variables.extend(unless_set("CARGO_BUILD_TARGET", rustc.host));
    variables.extend(unless_set("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only".into()));
    Ok(variables)
}

/// What the user passes already. Cargo's own order: the encoded variable hides the plain one.
fn inherited() -> Vec<String> {
    if let Ok(encoded) = std::env::var("CARGO_ENCODED_RUSTFLAGS") {
        return encoded.split(SEPARATOR).filter(|flag| !flag.is_empty()).map(Into::into).collect();
    }
    let plain = std::env::var("RUSTFLAGS").unwrap_or_default();
    plain.split_whitespace().map(Into::into).collect()
}

fn unless_set(name: &'static str, value: String) -> Option<(&'static str, OsString)> {
    std::env::var_os(name).is_none().then(|| (name, value.into()))
}

/// What rustc says of itself.
#[derive(PartialEq, Eq, Debug)]
struct Rustc {
    host: String,
    /// Its LLVM's major version.
    llvm: u32,
}

impl Rustc {
    fn ask() -> Result<Self, Failure> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let done = Command::new(&rustc).arg("-vV").output().map_err(|error| {
            Failure::usage(format!("could not start {}: {error}", rustc.display()))
        })?;
        Self::parse(&String::from_utf8_lossy(&done.stdout))
            .ok_or_else(|| Failure::work("found neither host nor LLVM in what `rustc -vV` says"))
    }

    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let llvm = value("LLVM version: ")?.split('.').next()?.parse().ok()?;
        Some(Self { host: value("host: ")?.to_owned(), llvm })
    }

    /// The linker reads what an older LLVM wrote, but not a newer one.
    fn check_older(&self) -> Result<(), Failure> {
        if self.llvm <= LLVM {
            return Ok(());
        }
        let found = self.llvm;
        Err(Failure::usage(format!(
            "found a rustc with LLVM {found}, and LLVM {LLVM} cannot read what it writes; use an \
             older one: rustup run 1.95.0 tailwater profile build -- …"
        )))
    }

    /// The plugin is loaded into rustc itself.
    fn check_same(&self) -> Result<(), Failure> {
        if self.llvm == LLVM {
            return Ok(());
        }
        let found = self.llvm;
        Err(Failure::usage(format!(
            "found a rustc with LLVM {found}; --rust-route bootstrap needs one with LLVM {LLVM}, \
             such as 1.95.0; --rust-route lto also takes older ones"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAYS: &str = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\n\
                        host: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";

    #[test]
    fn what_rustc_says_is_read() {
        let rustc = Rustc::parse(SAYS).unwrap();
        assert_eq!(rustc, Rustc { host: "x86_64-unknown-linux-gnu".into(), llvm: 22 });
        assert_eq!(Rustc::parse("rustc 1.95.0\n"), None);
    }

    #[test]
    fn each_route_has_its_versions() {
        let with = |llvm| Rustc { host: String::new(), llvm };
        assert!(with(21).check_older().is_ok() && with(22).check_older().is_ok());
        assert!(with(23).check_older().is_err());
        assert!(with(22).check_same().is_ok());
        assert!(with(21).check_same().is_err() && with(23).check_same().is_err());
    }
}
