//! The program with its queries piped in.

use std::io::Write as _;
use std::process::{Command, Stdio};

#[test]
fn a_blank_line_of_piped_input_is_skipped() {
    let mut search = Command::new(env!("CARGO_BIN_EXE_tailwater-search"))
        .args(["--text", "generated", "--documents", "100"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = search.stdin.take().expect("a pipe");
    input.write_all(b"beba\n\n \nbeba\n").expect("sent");
    drop(input);
    let output = search.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success());
    assert_eq!(text.matches(" found in ").count(), 2, "{text}");
}
