//! Blocks of servers that are not ours, as they are installed.

use super::common::TAILWATER;
use super::machine::{json, stderr};
use std::process::{Command, Output};

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
    let cases: [(&str, &[&str], &str); 4] = [
        ("redis", &MEMCACHED, "which is not the right answer"),
        (
            "memcached",
            &["sh", "-c", "exit 3 # {port}"],
            "it ended before it listened (exit status: 3)",
        ),
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

#[test]
fn a_server_that_forgets_keys_is_no_block() {
    // It has 64 MiB, and values of all sizes take a hundred.
    let output = drive("memcached", ("200000", "100%"), &MEMCACHED);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("give it more memory"), "{}", stderr(&output));
}
