//! The same in a PID namespace of its own, as in a container: threads have other numbers there than tracepoints tell.

use std::process::{Command, Output};
use tailwater_kernel::Probe;

/// Tests that name threads by their numbers.
const TESTS: [&str; 4] = [
    "here::a_thread_that_sleeps_and_one_that_wakes_it_are_told",
    "here::a_thread_that_a_followed_one_makes_is_followed",
    "here::a_thread_that_never_switches_has_its_name",
    "here::softirqs_alone_are_those_of_the_thread_that_brought_them",
];

/// Runs a program as the first process of a namespace.
fn within(program: &str, args: &[&str]) -> std::io::Result<Output> {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "--"]);
    command.arg(program).args(args).output()
}

#[test]
fn threads_of_a_namespace_are_known_by_its_numbers() {
    if let Some(missing) = Probe::look().sources().find_map(|(_, found)| found.err().cloned()) {
        return crate::here::passed_over(&missing);
    }
    let possible = within("true", &[]).expect("util-linux is installed");
    if !possible.status.success() {
        return crate::here::passed_over(&*String::from_utf8_lossy(&possible.stderr));
    }
    let own = std::env::current_exe().expect("this program");
    let own = own.to_str().expect("a path that is text");
    let output = within(own, &[&TESTS[..], &["--exact"]].concat()).expect("it runs");
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "{said:?}");
    assert!(said[0].contains(&format!("{} passed", TESTS.len())), "{said:?}");
    assert!(!said[1].contains("PASSED OVER"), "{said:?}");
}
