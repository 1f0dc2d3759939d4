//! C and C++ programs, built with every compiler that is here and run against the static and the
//! shared library.

use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Where cargo put the libraries beside this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(Path::to_path_buf).find(|folder| {
        folder.join("libtailwater_sync_c.a").exists()
            && folder.join("libtailwater_sync_c.so").exists()
    });
    found.expect("cargo builds libtailwater_sync_c.{a,so} before this test")
}

fn is_here(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Builds and runs one program with one compiler against both libraries.
fn build_and_run(compiler: &str, source: &str, standard: &str) {
    let libraries = libraries();
    for (kind, library) in
        [("static", "libtailwater_sync_c.a"), ("shared", "libtailwater_sync_c.so")]
    {
        let program =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{compiler}-{kind}-{source}.out"));
        let built = Command::new(compiler)
            .args([standard, "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread"])
            .arg(format!("-I{ROOT}/../sync/include"))
            .arg(format!("{ROOT}/tests/c/{source}"))
            .arg(libraries.join(library))
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program)
            .output()
            .unwrap();
        assert!(built.status.success(), "{compiler}: {}", String::from_utf8_lossy(&built.stderr));
        let run = Command::new(&program).env("LD_LIBRARY_PATH", &libraries).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{compiler}, {kind}: {:?}: {said}", run.status);
    }
}

fn with_each(compilers: [&str; 2], source: &str, standard: &str) {
    let here: Vec<_> = compilers.into_iter().filter(|compiler| is_here(compiler)).collect();
    assert!(!here.is_empty(), "found none of {compilers:?}; Rust links with one, so install it");
    here.iter().for_each(|compiler| build_and_run(compiler, source, standard));
}

#[test]
fn c_programs_use_the_locks() {
    with_each(["gcc", "clang"], "locks.c", "-std=c11");
}

#[test]
fn cpp_programs_use_the_locks() {
    with_each(["g++", "clang++"], "locks.cpp", "-std=c++17");
}
