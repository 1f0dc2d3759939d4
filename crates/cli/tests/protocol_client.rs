//! A client in Python, made of nothing but `docs/protocol.md`, against every controller there is.

use crate::common::Serving;
use std::path::Path;
use std::process::Command;
use tailwater_control::catalog::CONTROLLERS;

/// Where nothing is short, so that answers are known.
const LOOSE: &str = "echoes,statuses,pipelining,cycles,ping,cancel,goodbye";

/// Runs these checks of `tests/protocol_client/check.py` against `place`.
fn check(checks: &str, place: &str, process: &[String], what: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = root.join("tests/protocol_client/check.py");
    // Without -B it would leave compiled files beside the sources.
    let run =
        Command::new("python3").arg("-B").arg(script).args([checks, place]).args(process).output();
    let output = run.expect("found no python3; type: apt-get install python3");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{what}: {said}");
    let held = said.lines().filter(|line| line.ends_with(": holds")).count();
    assert_eq!(held, checks.split(',').count(), "{what}: {said}");
}

fn controllers() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|(name, _)| *name)
}

#[test]
fn its_codec_agrees_with_the_examples_of_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    check("examples", page.to_str().expect("a path in UTF-8"), &[], "the page");
}

#[test]
fn every_controller_serves_it() {
    for name in controllers() {
        let serving = Serving::start(&["--controller", name]);
        check(LOOSE, &serving.address, &[], name);
    }
}

#[test]
fn every_controller_answers_each_of_its_calls_once_in_overload() {
    for name in controllers() {
        let serving = Serving::start_for("1ms", &["--controller", name]);
        let checks = match name {
            "dagor" => "overload,levels",
            "breakwater" => "overload,pauses",
            _ => "overload",
        };
        check(checks, &serving.address, &[], name);
    }
}

#[test]
fn every_controller_answers_what_it_has_read_before_it_drains() {
    for name in controllers() {
        let serving = Serving::start(&["--controller", name]);
        check("drain", &serving.address, &[serving.child.id().to_string()], name);
    }
}
