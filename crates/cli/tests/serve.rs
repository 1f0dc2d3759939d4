//! `tailwater serve` as a process: how it ends, and what it does when it has no room.

use crate::common;
use crate::common::{DRAINING, Folder, GOODBYE, Raw, Serving, TAILWATER, eventually};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tailwater_control::{Reason, Site};
use tailwater_core::MethodId;
use tailwater_load::work;
use tailwater_rt::client::{CallError, CallFuture, CallOptions, Client, Fault};

/// Zero to who asks too often.
fn received(client: &Client) -> u64 {
    let answer = client.call(MethodId::INTROSPECT.0, "").wait();
    if answer == Err(CallError::Runtime(Fault::TooOften)) {
        return 0;
    }
    let answer = answer.expect("the server tells its counts");
    let counts: serde_json::Value = serde_json::from_slice(&answer.payload).expect("JSON");
    counts["received"].as_u64().expect("a number")
}

/// They sleep for longer than a busy machine takes from their calls to one that a drain refuses.
fn sleepers(client: &Client, count: u32) -> Vec<CallFuture> {
    let sleep = |tag| work::payload(Duration::from_secs(3), tag);
    let options = CallOptions { deadline: Duration::from_secs(60), ..CallOptions::default() };
    (0..count).map(|tag| client.call_with(work::SLEEP.0, sleep(tag), options)).collect()
}

/// Terminates a server that has admitted calls, and checks that they are answered all the same.
fn drains(serving: &mut Serving, client: &Client) {
    let calls = sleepers(client, 200);
    eventually("all are admitted", || received(client) >= 200);
    serving.terminate();
    // Those who come now are refused, until the connection ends.
    let refused = (0..1_000_000)
        .find_map(|_| client.call(work::ECHO.0, "late").wait().err())
        .expect("it drains");
    assert_eq!(refused, CallError::Shed(Reason::Draining));
    for (tag, call) in (0..).zip(calls) {
        let answer = call.wait().expect("what was admitted is served");
        assert!(work::is_answer(&answer.payload, tag), "another's answer");
    }
    assert_eq!(serving.wait().code(), Some(0));
}

#[test]
fn a_signal_drains_what_was_admitted_under_load() {
    let mut serving = Serving::start(&["--controller", "none"]);
    let address: tailwater_rt::Address = serving.address.parse().expect("an address");
    let mut idle = Raw::connect(&serving.address);
    assert!(idle.is_welcome());
    let busy = Client::connect(address.clone()).expect("a client");
    let answered = Arc::new(AtomicU32::new(0));
    let count = answered.clone();
    let load = std::thread::spawn(move || {
        // Once the server is gone, no deadline would ever be met.
        let options = CallOptions { deadline: Duration::from_secs(2), ..CallOptions::default() };
        loop {
            match busy.call_with(work::ECHO.0, "load", options).wait() {
                Ok(answer) => assert_eq!(answer.payload, b"load"),
                Err(error) => return error,
            }
            count.fetch_add(1, SeqCst);
        }
    });
    eventually("there is load", || answered.load(SeqCst) > 10);
    let none = tailwater_control::catalog::Spec::named("none");
    let open = none.build(&Site::one_loop(Duration::from_secs(60), 0)).expect("sound");
    let config = tailwater_rt::client::ChannelConfig::new(address);
    let client = Client::connect_with(config, &open).expect("a client");
    drains(&mut serving, &client);
    let goodbye = idle.hear().expect("a farewell");
    assert_eq!((goodbye.kind, goodbye.code), (GOODBYE, DRAINING));
    assert!(idle.hear().is_none(), "the farewell comes last");
    let last = load.join().expect("its answers are its own");
    let expected = [
        CallError::Shed(Reason::Draining),
        CallError::Disconnected,
        CallError::Expired,
        CallError::TimedOut,
    ];
    assert!(expected.contains(&last), "{last}");
}

#[test]
fn a_second_signal_does_not_wait_for_what_drains() {
    let mut serving = Serving::start(&["--controller", "none", "--drain-for", "60s"]);
    let address: tailwater_rt::Address = serving.address.parse().expect("an address");
    let client = Client::connect(address).expect("a client");
    let calls = sleepers(&client, 1);
    eventually("it was received", || received(&client) > 0);
    serving.terminate();
    // Two signals that wait at once are one.
    let drains = || client.call(work::ECHO.0, "").wait() == Err(CallError::Shed(Reason::Draining));
    eventually("it drains", drains);
    // What comes at once is of the same wish.
    eventually("it ends", || {
        serving.terminate();
        serving.child.try_wait().expect("it is our child").is_some()
    });
    // It would be 0 once the call is answered.
    assert_eq!(serving.wait().code(), Some(143));
    drop(calls);
}

/// At a terminal it printed a line for programs, and no word of what to do next.
#[test]
fn at_a_terminal_it_says_what_to_type_and_to_programs_it_does_not() {
    let mut command = Command::new("script");
    let serve = format!("{TAILWATER} serve --controller none");
    command.args(["--quiet", "--command", &serve, "/dev/null"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut terminal = command.spawn().expect("script of the package bsdutils");
    let screen = BufReader::new(terminal.stdout.take().expect("it is piped"));
    let lines: Vec<String> = screen.lines().take(2).map(|line| line.expect("text")).collect();
    // What runs at the terminal is hung up with it.
    terminal.kill().expect("it runs");
    terminal.wait().expect("it has ended");
    let greeting: serde_json::Value = serde_json::from_str(&lines[0]).expect("JSON");
    let address = greeting["listening"].as_str().expect("an address");
    assert!(lines[1].starts_with(&format!("Listening on {address} until Ctrl-C")), "{lines:?}");
    assert!(lines[1].contains(&format!("tailwater load --connect {address}")), "{lines:?}");

    let mut piped = Command::new(TAILWATER);
    piped.args(["serve", "--while-read", "--controller", "none"]);
    let piped = piped.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut piped = piped.spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(piped.stdout.take().expect("it is piped")).read_line(&mut line).expect("text");
    let ended = piped.wait_with_output().expect("it ends once nothing reads it");
    assert!(ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_unix_socket_is_served_drained_and_removed() {
    let folder = Folder::new("socket");
    let path = folder.0.join("my.sock");
    let listen = format!("unix:{}", path.display());
    let flags = ["--listen", &listen, "--controller", "none", "--loops", "2"];
    let mut serving = Serving::start(&flags);
    assert!(path.exists());
    let none = tailwater_control::catalog::Spec::named("none");
    let open = none.build(&Site::one_loop(Duration::from_secs(60), 0)).expect("sound");
    let config = tailwater_rt::client::ChannelConfig::new(listen.parse().expect("an address"));
    let client = Client::connect_with(config, &open).expect("a client");
    drains(&mut serving, &client);
    assert!(!path.exists(), "the socket's file is left behind");
}

#[test]
fn a_socket_left_by_a_killed_server_is_no_obstacle() {
    let folder = Folder::new("dead-socket");
    let listen = format!("unix:{}", folder.0.join("my.sock").display());
    let mut killed = Serving::start(&["--listen", &listen]);
    killed.child.kill().expect("it runs");
    killed.wait();
    assert!(folder.0.join("my.sock").exists());
    let again = Serving::start(&["--listen", &listen]);
    let client = Client::connect(again.address.parse().expect("an address")).expect("a client");
    assert_eq!(client.call(work::ECHO.0, "x").wait().expect("served").payload, b"x");
}

#[test]
fn out_of_descriptors_it_turns_away_serves_on_and_recovers() {
    let serving = Serving::start_after("ulimit -n 40", &["--controller", "none"]);
    let (mut inside, mut outside): (Vec<Raw>, Vec<Raw>) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let mut raw = Raw::connect(&serving.address);
        if raw.is_welcome() {
            inside.push(raw);
        } else {
            outside.push(raw);
        }
    }
    assert!((10..40).contains(&inside.len()), "{} are inside", inside.len());
    assert_eq!(inside.len() + outside.len(), 100);
    inside.iter_mut().for_each(|raw| raw.echoes(b"still served"));

    // No client asks for anything: a server that spins on its listener shows here.
    serving.rests();

    inside.truncate(5);
    eventually("there is room again", || Raw::connect(&serving.address).is_welcome());
    inside.iter_mut().for_each(|raw| raw.echoes(b"and still"));
}

#[test]
fn connections_max_is_kept() {
    let serving = Serving::start(&["--connections-max", "3"]);
    let mut inside: Vec<Raw> = (0..3).map(|_| Raw::connect(&serving.address)).collect();
    assert!(inside.iter_mut().all(Raw::is_welcome));
    for _ in 0..20 {
        let farewell = Raw::connect(&serving.address).hear().expect("it is told");
        assert_eq!((farewell.kind, farewell.code), (GOODBYE, common::TOO_MANY_CONNECTIONS));
    }
    inside.iter_mut().for_each(|raw| raw.echoes(b"still served"));
    inside.truncate(2);
    eventually("there is room again", || Raw::connect(&serving.address).is_welcome());
}

#[test]
fn clients_that_never_read_leave_the_server_small_and_at_rest() {
    let serving = Serving::start(&["--controller", "none"]);
    let mut honest = Raw::connect(&serving.address);
    assert!(honest.is_welcome());
    honest.echoes(b"before");
    let before = serving.resident();
    let mut pushy: Vec<Raw> = (0..10).map(|_| Raw::connect(&serving.address)).collect();
    for raw in &mut pushy {
        raw.push_until_stuck(&[7; 16 << 10]);
    }
    honest.echoes(b"in the midst of it");
    let each = serving.resident().saturating_sub(before) / pushy.len() as u64;
    // `pending_bytes_max` (8 MiB) and `output_high`: a server that seldom has a core reads more before it answers.
    assert!(each < 9 << 20, "{each} bytes for each client that does not read");
    serving.rests();
    honest.echoes(b"after");
}

#[test]
fn locked_memory_is_locked_or_what_gives_the_right_is_told() {
    let locked = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.expect("this is Linux")
    };
    let usual = Serving::start(&["--controller", "none"]);
    assert_eq!(locked(usual.child.id()), 0);
    let mut probe = std::process::Command::new(common::TAILWATER);
    probe.args([
        "serve",
        "--controller",
        "none",
        "--slo",
        "1s",
        "--lock-memory",
        "--drain-for",
        "0s",
    ]);
    probe.arg("--while-read").stdout(std::process::Stdio::piped());
    let mut child = probe.stderr(std::process::Stdio::piped()).spawn().expect("the program starts");
    let mut greeting = String::new();
    let stdout = child.stdout.take().expect("it is piped");
    let mut heard = std::io::BufReader::new(stdout);
    std::io::BufRead::read_line(&mut heard, &mut greeting).expect("a line or none");
    if greeting.is_empty() {
        let output = child.wait_with_output().expect("it has ended");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("ulimit -l"), "{told}");
        return;
    }
    assert!(locked(child.id()) > 1_000, "{}", locked(child.id()));
    drop(heard);
    child.wait().expect("nothing reads it any more");
}

/// In closed loop no client was divided by, and the program panicked.
#[test]
fn a_load_without_clients_or_threads_is_refused_before_it_connects() {
    for flag in ["--clients", "--threads"] {
        let mut command = Command::new(TAILWATER);
        let output = command.args(["load", "--connect", "127.0.0.1:1", flag, "0"]).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(flag), "{said}");
    }
}

/// It connected first, and measured a window of no length.
#[test]
fn a_load_of_no_length_is_refused_before_it_connects() {
    for (flag, value, needed) in [
        ("--duration", "0s", "--duration is 0s; a time from 1ms to 3600s is needed"),
        ("--duration", "61min", "a time from 1ms to 3600s is needed"),
        ("--warm-up", "61min", "a time from 0s to 3600s is needed"),
        ("--slo", "0us", "a time from 1us to 60s is needed"),
    ] {
        let mut command = Command::new(TAILWATER);
        command.args(["load", "--connect", "127.0.0.1:1", "--rate", "100", flag, value]);
        let output = command.output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(needed), "{said}");
    }
}
