//! Blocks of servers that are not ours, as they are installed.

use super::common::{Folder, TAILWATER, eventually, found, is_gone};
use super::machine::{json, stderr};
use std::process::{Command, Output, Stdio};

const SHORT: [&str; 8] =
    ["--rate", "2000", "--measure", "100ms", "--warm-up", "20ms", "--connections", "3"];

fn drive(protocol: &str, (keys, gets): (&str, &str), server: &[&str]) -> Output {
    let mut command = Command::new(TAILWATER);
    command.args(["tune", "drive", protocol, "--keys", keys, "--gets", gets]).args(SHORT);
    command.arg("--").args(server);
    command.output().expect("the program starts")
}

const MEMCACHED: [&str; 9] =
    ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", "{port}", "-m", "64"];
const REDIS: [&str; 9] =
    ["redis-server", "--bind", "127.0.0.1", "--port", "{port}", "--save", "", "--appendonly", "no"];

#[test]
fn memcached_and_redis_answer_what_they_are_asked() {
    for (protocol, server) in [("memcached", &MEMCACHED[..]), ("redis", &REDIS)] {
        for gets in ["0%", "60%", "100%"] {
            let output = drive(protocol, ("200", gets), server);
            assert_eq!(output.status.code(), Some(0), "{protocol}: {}", stderr(&output));
            let found = json(&output);
            let number = |name: &str| found[name].as_f64().expect("a number");
            // 2,000 per second for a tenth of a second, give or take five deviations.
            assert!((130.0..270.0).contains(&number("requests")), "{found}");
            assert_eq!(number("unanswered"), 0.0, "{found}");
            assert!(number("cpu_ns_per_request") > 500.0, "{found}");
            assert!(number("memory_bytes") > 500_000.0, "{found}");
            assert!(number("p50_us") <= number("p99_us"), "{found}");
            // By this name a comparison knows a block whose generator was late.
            assert!(number("sent_late_p99_us") >= 0.0, "{found}");
        }
    }
}

#[test]
fn a_server_that_does_not_do_is_told() {
    let cases: [(&str, &[&str], &str); 5] = [
        ("redis", &MEMCACHED, "which is not the right answer"),
        ("memcached", &["sh", "-c", "exit 3 # {port}"], "sh: it ended by itself (exit status: 3)"),
        ("memcached", &["sh", "-c", "exit 3 # {port}"], "sh: it ended before it listened"),
        ("memcached", &["no-such-server", "{port}"], "no-such-server: it ended before it listened"),
        ("memcached", &["memcached"], "no word of the server's command has {port}"),
    ];
    for (protocol, server, why) in cases {
        let output = drive(protocol, ("200", "60%"), server);
        assert_ne!(output.status.code(), Some(0));
        assert!(stderr(&output).contains(why), "{why}: {}", stderr(&output));
    }
    let wrong = drive("mysql", ("200", "60%"), &MEMCACHED);
    assert!(stderr(&wrong).contains("memcached or redis is needed"), "{}", stderr(&wrong));
}

/// A block of what has left would be measured under the number of a process that is no more, and each would leave one behind.
#[test]
fn a_server_that_goes_into_the_background_is_no_block_and_ends() {
    let daemon = [&MEMCACHED[..], &["-d"]].concat();
    let output = drive("memcached", ("200", "60%"), &daemon);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("went into the background") && said.contains("without -d"), "{said}");
}

#[test]
fn a_server_ends_with_its_block_though_it_is_another_user_s() {
    let folder = Folder::new("drive-nobody");
    let file = folder.0.join("pid");
    // Another user's, as a root's memcached is by default: the kernel forgets that it was to end with its parent.
    let script = "echo $$ > $0.new; mv $0.new $0; exec \"$@\"";
    let mut command = Command::new(TAILWATER);
    command.args(["tune", "drive", "memcached", "--measure", "60s", "--", "sh", "-c", script]);
    command.arg(&file).args(["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", "{port}"]);
    let mut block = command.stderr(Stdio::null()).spawn().expect("the program starts");
    let server: u32 =
        found("it has begun", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    block.kill().expect("it runs");
    block.wait().expect("it ends");
    eventually("the server has gone", || is_gone(server));
}

#[test]
fn a_server_that_forgets_keys_is_no_block() {
    // It has 64 MiB, and values of all sizes take a hundred.
    let output = drive("memcached", ("200000", "100%"), &MEMCACHED);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("give it more memory"), "{}", stderr(&output));
}
