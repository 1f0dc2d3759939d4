//! C and C++ programs, built with every compiler that is here and run against the static and the
//! shared library.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// Builds one program with one compiler against both libraries and runs it each time with the argument.
fn build_and_run(compiler: &str, source: &str, standard: &str, argument: &str) -> [Output; 2] {
    let libraries = libraries();
    let kinds = [("static", "libtailwater_sync_c.a"), ("shared", "libtailwater_sync_c.so")];
    kinds.map(|(kind, library)| {
        let name = format!("{compiler}-{kind}-{source}-{argument}.out");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
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
        let mut run = Command::new(&program);
        run.arg(argument).env("LD_LIBRARY_PATH", &libraries).output().unwrap()
    })
}

fn those_here(compilers: [&'static str; 2]) -> Vec<&'static str> {
    let here: Vec<_> = compilers.into_iter().filter(|compiler| is_here(compiler)).collect();
    assert!(!here.is_empty(), "found none of {compilers:?}; Rust links with one, so install it");
    here
}

fn succeed(compilers: [&'static str; 2], source: &str, standard: &str) {
    for compiler in those_here(compilers) {
        for run in build_and_run(compiler, source, standard, "") {
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success(), "{compiler}: {:?}: {said}", run.status);
        }
    }
}

#[test]
fn c_programs_use_the_locks() {
    succeed(["gcc", "clang"], "locks.c", "-std=c11");
}

#[test]
fn c_programs_wait_for_thousands_of_queues() {
    succeed(["gcc", "clang"], "ready.c", "-std=c11");
}

#[test]
fn c_programs_share_a_set_with_processes_that_are_killed() {
    succeed(["gcc", "clang"], "shared.c", "-std=c11");
}

#[test]
fn cpp_programs_use_the_locks() {
    succeed(["g++", "clang++"], "locks.cpp", "-std=c++17");
}

#[test]
fn c_programs_that_misuse_locks_abort_with_a_message() {
    let mut cases = vec![
        ("free-held", "the mutex is held or waited for"),
        ("free-waited-for", "the mutex is held or waited for"),
        ("free-waited-at", "the condvar is waited at"),
    ];
    if cfg!(debug_assertions) {
        cases.push(("lock-twice", "`twice` is wanted again by the thread that holds it"));
    }
    let compiler = those_here(["gcc", "clang"])[0];
    for (argument, message) in cases {
        for run in build_and_run(compiler, "misuse.c", "-std=c11", argument) {
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(said.contains(message), "{argument}: {:?}: {said}", run.status);
            assert_eq!(run.status.signal(), Some(6), "{argument}: SIGABRT is 6");
        }
    }
}
