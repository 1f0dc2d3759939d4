//! Router with memcached's own protocol in front: stock memcacheds, the proxy and the generator by one command.

use crate::common::{Folder, TAILWATER};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = r#"
slo = "1s"
clients.count = 4
demand.requests_per_second = 100
controller = { name = "none" }
tier = [{ name = "leaf", nodes = 3, application = true, command = "memcached -p {port}" }]
server.application = "router"
server.settings = { front = "memcached", leaf = "memcached", keys = 50, sets = 0 }
"#;

fn tailwater(folder: &Folder, words: &[&str]) -> Output {
    let mut command = Command::new(TAILWATER);
    command.args(words).env("TAILWATER_DATA", &folder.0).env_remove("TAILWATER_SHORT");
    command.output().expect("the program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    let said = said(output);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[test]
fn clients_speak_memcacheds_protocol_to_router_before_stock_memcacheds_by_one_command() {
    let found = Command::new("memcached").arg("-V").output();
    found.expect("found no memcached; type: apt-get install memcached");
    let folder = Folder::new("router-front");
    let run = ["suite", "run", "router", "--short", "--json", "--leaves", "3"];
    // So long a silence on a busy machine loses no memcached: nothing is refused for that.
    let settings = ["front=memcached", "keys=200", "sets=30", "silence=60s"];
    let set: Vec<&str> = settings.into_iter().flat_map(|setting| ["--set", setting]).collect();
    let output = tailwater(&folder, &[&run[..], &set[..]].concat());
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let runs = result["runs"].as_array().expect("runs");
    assert!(!runs.is_empty());
    for run in runs {
        // Late on a busy machine, but never wrong, and nothing refuses.
        assert_eq!(run["wrong_answers"].as_u64().unwrap_or(0), 0, "{run}");
        let fate = |fate: &str| run["fates"][fate].as_u64().unwrap_or(0);
        assert!(fate("ok") + fate("late") > 0 && fate("shed") == 0, "{}", run["fates"]);
        assert_eq!(run["controller"], "none");
        // The proxy says neither what it has counted nor which replica has answered.
        assert!(run.get("replicas_compared").is_none_or(Value::is_null), "{run}");
        let tiers = run["tiers"].as_array().expect("tiers");
        assert_eq!(tiers[1]["nodes"], 3);
        let cores = |tier: usize| tiers[tier]["cores_used"].as_f64();
        assert!(cores(0) > Some(0.0) && cores(1) > Some(0.0), "{tiers:?}");
        assert!(tiers[0].get("received_rps").is_none_or(Value::is_null), "{tiers:?}");
        assert!(run["server_cpu_ns_per_request"].as_f64() > Some(0.0), "{run}");
    }
}

/// A server that says of each key that it has the same value.
fn liar() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || lie(stream));
        }
    });
    address
}

fn lie(stream: TcpStream) {
    let mut answers = stream.try_clone().expect("a descriptor");
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let key = line.strip_prefix("get ").expect("nothing is set");
        let answer = format!("VALUE {key} 0 5\r\nwrong\r\nEND\r\n");
        // The generator may be gone.
        let _ = answers.write_all(answer.as_bytes());
    }
}

#[test]
fn a_wrong_answer_in_memcacheds_protocol_voids_a_run() {
    let folder = Folder::new("router-front-wrong");
    let file = folder.write("front.toml", SCENARIO);
    let address = liar().to_string();
    let load = ["load", "--connect", &address, "--scenario", path(&file), "--json"];
    let how = ["--controller", "none", "--rate", "200", "--duration", "300ms", "--slo", "60s"];
    let output = tailwater(&folder, &[&load[..], &how].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("answers of the server were wrong"), "{}", said(&output));
    let run = &json(&output)["runs"][0];
    let fate = |fate: &str| run["fates"][fate].as_u64().unwrap_or(0);
    // Each answer was looked at.
    assert_eq!(run["valid"], false);
    assert!(run["wrong_answers"].as_u64() >= Some((fate("ok") + fate("late")).max(1)), "{run}");
}

#[test]
fn what_memcacheds_protocol_does_not_have_is_refused_with_the_mend() {
    let folder = Folder::new("router-front-refused");
    let refused = |text: &str| {
        let file = folder.write("refused.toml", text);
        let output = tailwater(&folder, &["check", path(&file)]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    let why = refused(&SCENARIO.replace("name = \"none\"", "name = \"breakwater\""));
    assert!(why.contains("controller is \"breakwater\""), "{why}");
    assert!(why.contains("controller \"none\" alone is needed"), "{why}");
    for (line, what) in [
        ("server.loops = 2", "loops"),
        ("server.model = \"sib\"", "model"),
        ("server.transport = \"unix\"", "transport"),
        ("server.tasks_max = 9", "tasks_max"),
        (
            "fault = [{ kind = \"server-restart\", at = \"100ms\", for = \"100ms\" }]",
            "server-restart",
        ),
    ] {
        let why = refused(&format!("{SCENARIO}{line}\n"));
        assert!(why.contains(&format!("{what} out")), "{line}: {why}");
    }
}

#[test]
fn by_hand_what_the_protocol_does_not_have_is_refused_at_both_ends() {
    let folder = Folder::new("router-front-hand");
    let file = folder.write("front.toml", SCENARIO);
    let nodes = "leaf=127.0.0.1:1,127.0.0.1:2,127.0.0.1:3";
    let serve = ["serve", "--scenario", path(&file), "--downstream", nodes];
    let load = ["load", "--connect", "127.0.0.1:1", "--scenario", path(&file), "--rate", "9"];
    for words in [&serve[..], &load] {
        let output = tailwater(&folder, words);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("--controller none"), "{}", said(&output));
    }
    // Nothing would follow from these.
    for flags in [&["--quick-ack"][..], &["--core", "0,1"], &["--model", "sib"]] {
        let words = [&serve[..], &["--controller", "none"], flags].concat();
        let output = tailwater(&folder, &words);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {}", said(&output));
        assert!(said(&output).contains("which sleeps"), "{flags:?}: {}", said(&output));
    }
}
