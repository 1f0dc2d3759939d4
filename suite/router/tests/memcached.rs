//! Stock memcacheds behind the router, and stock clients before it, which `make test` installs.

use crate::common::{Wire, after, anywhere, config, eventually, router_of, router_with};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tailwater_router::nodes::NodesConfig;
use tailwater_router::oracle::{REQUESTS_MAX, Registers};
use tailwater_router::placement::Rule;

/// A memcached of one thread; killed when dropped.
struct Memcached {
    child: Child,
    address: SocketAddr,
}

impl Memcached {
    /// At this port or any.
    fn start(address: Option<SocketAddr>) -> Self {
        Self::start_with(address, &[])
    }

    /// With further arguments.
    fn start_with(address: Option<SocketAddr>, more: &[&str]) -> Self {
        // A port that is free now may be another's in a moment: then it is tried with the next.
        let free = || TcpListener::bind(anywhere()).and_then(|it| it.local_addr()).expect("a port");
        for _ in 0..100 {
            let address = address.unwrap_or_else(free);
            let mut command = Command::new("memcached");
            command.args(["-t", "1", "-U", "0", "-m", "16", "-l", "127.0.0.1", "-u", "nobody"]);
            command.args(["-p", &address.port().to_string()]).args(more).stdin(Stdio::null());
            let child = command.stderr(Stdio::null()).spawn();
            let child = child.expect("found no memcached; type: apt-get install memcached");
            let mut it = Self { child, address };
            if it.is_listening() {
                return it;
            }
        }
        panic!("memcached ended a hundred times");
    }

    /// Waits until it is there itself. False if it has ended.
    fn is_listening(&mut self) -> bool {
        let mut has_ended = false;
        eventually("memcached listens", || {
            has_ended = self.child.try_wait().expect("a child").is_some();
            has_ended || process_at(self.address) == Some(self.child.id())
        });
        !has_ended
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The process that serves memcached's protocol at an address, as it says itself. While it starts, the port may be
/// another test's: a router, which is no process of its own, or a listener that is gone before it answers.
fn process_at(address: SocketAddr) -> Option<u32> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"stats\r\n").ok()?;
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines
        .take_while(|line| line != "END")
        .find_map(|line| line.strip_prefix("STAT pid ")?.parse().ok())
}

fn memcacheds(count: usize) -> Vec<Memcached> {
    (0..count).map(|_| Memcached::start(None)).collect()
}

fn addresses(nodes: &[Memcached]) -> Vec<SocketAddr> {
    nodes.iter().map(|node| node.address).collect()
}

#[test]
fn sixteen_stock_memcacheds_hold_each_key_three_times() {
    let nodes = memcacheds(16);
    for (word, placement) in Rule::ALL {
        let router =
            router_with(NodesConfig { placement, replicas: 3, ..config(&addresses(&nodes)) });
        let mut client = Wire::to(router.address());
        let keys: Vec<String> = (0..60).map(|number| format!("{word}-{number}")).collect();
        for key in &keys {
            assert_eq!(client.set(key, key.as_bytes()), Ok(()));
            for _ in 0..6 {
                assert_eq!(client.get(key), Ok(Some(key.as_bytes().to_vec())));
            }
        }
        let held = |node: &Memcached| {
            let mut direct = Wire::to(node.address);
            keys.iter().filter(|key| direct.get(key).expect("an answer").is_some()).count()
        };
        assert_eq!(nodes.iter().map(held).sum::<usize>(), 180, "{word}");
        assert_eq!(client.ask("flush_all"), "OK");
    }
}

/// Sent on, the value would be a command of the node: its answer would be taken for that to the next command of anybody.
#[test]
fn a_value_behind_an_expiry_time_that_memcached_cannot_read_is_no_command() {
    let nodes = memcacheds(1);
    let router = router_of(&addresses(&nodes), 1);
    let [mut client, mut other] = [(); 2].map(|()| Wire::to(router.address()));
    assert_eq!(other.set("kept", b"value"), Ok(()));
    let refused = client.ask("set key 0 4294967296 9\r\nflush_all");
    assert!(refused.starts_with("CLIENT_ERROR bad command line format"), "{refused}");
    assert_eq!(other.ask("delete none"), "NOT_FOUND");
    assert_eq!(other.get("kept"), Ok(Some(b"value".to_vec())));
    assert_eq!(client.ask("set key 0 2147483647 1\r\nx"), "STORED");
}

#[test]
fn a_memcached_that_is_killed_makes_no_answer_wrong() {
    let mut nodes = memcacheds(3);
    let router = router_of(&addresses(&nodes), 3);
    let mut client = Wire::to(router.address());
    let registers = Registers::new(1, REQUESTS_MAX);
    let go = |turns: u32, client: &mut Wire| {
        for turn in 0..turns {
            let key = turn * 7 % 50;
            let name = format!("key-{key}");
            if turn % 2 == 0 {
                let (write, value) = registers.set(key).expect("there is room");
                if client.set(&name, &value).is_ok() {
                    registers.acknowledge(write).expect("it was asked");
                }
            }
            let get = registers.get(key).expect("there is room");
            let found = client.get(&name).expect("two replicas live");
            assert_eq!(registers.check(get, found.as_deref()), Ok(()), "{name}");
        }
    };
    go(500, &mut client);
    for dies in [0, 1] {
        nodes[dies].kill();
        go(500, &mut client);
        let address = nodes[dies].address;
        nodes[dies] = Memcached::start(Some(address));
        eventually("it is asked again", || client.stat(&format!("{address}:state")) == "up");
        go(500, &mut client);
    }
}

/// memcached ends a line at a NUL: it would carry the value out, or answer for another key.
#[test]
fn a_nul_in_a_key_commands_no_memcached_and_shifts_no_answer() {
    let nodes = memcacheds(3);
    let router = router_of(&addresses(&nodes), 3);
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("a", b"kept"), Ok(()));
    for command in
        ["set a\0 0 0 9\r\nflush_all", "get a\0b", "delete a\0b", "append a\0 0 0 1\r\nx"]
    {
        for _ in 0..6 {
            let answer = client.ask(command);
            assert_eq!(answer, "CLIENT_ERROR bad command line format", "{command:?}");
        }
    }
    for _ in 0..12 {
        assert_eq!(client.get("a"), Ok(Some(b"kept".to_vec())));
    }
    for node in addresses(&nodes) {
        assert_eq!(client.count(node, "breaks"), 0);
    }
}

/// Nothing was written while it was away, and it has nothing all the same.
#[test]
fn a_memcached_that_restarts_empty_under_gets_alone_hides_nothing() {
    let mut nodes = memcacheds(2);
    let router = router_of(&addresses(&nodes), 2);
    let mut client = Wire::to(router.address());
    let keys: Vec<String> = (0..30).map(|number| format!("key-{number}")).collect();
    for key in &keys {
        assert_eq!(client.set(key, key.as_bytes()), Ok(()));
    }
    let all_are_there = |client: &mut Wire| {
        for key in keys.iter().cycle().take(90) {
            assert_eq!(client.get(key), Ok(Some(key.as_bytes().to_vec())));
        }
    };
    nodes[0].kill();
    all_are_there(&mut client);
    let address = nodes[0].address;
    nodes[0] = Memcached::start(Some(address));
    client.until_up(address);
    all_are_there(&mut client);
    assert!(client.count(address, "misses") > 0, "it was asked");
    assert_eq!(client.get("none"), Ok(None), "both were asked");
}

/// What one takes and another does not: its old value is not answered.
#[test]
fn a_memcached_that_refuses_what_others_take_forgets_the_key() {
    let mut nodes = memcacheds(1);
    nodes.push(Memcached::start_with(None, &["-I", "512k"]));
    let router = router_of(&addresses(&nodes), 2);
    let mut client = Wire::to(router.address());
    let half = vec![b'x'; 300_000];
    assert_eq!(client.set("key", &half), Ok(()));
    let append = [b"append key 0 0 300000\r\n", &half[..], b"\r\n"].concat();
    client.send(&append);
    assert_eq!(client.line(), "STORED");
    for _ in 0..20 {
        let found = client.get("key").expect("an answer").map(|value| value.len());
        assert_eq!(found, Some(600_000));
    }
    let (mut forgets, mut refused) = (0, 0);
    for node in addresses(&nodes) {
        forgets += client.count(node, "forgets");
        refused += u64::from(Wire::to(node).get("key") == Ok(None));
    }
    assert_eq!([forgets, refused], [1, 1], "the smaller one");
}

fn signal(pid: u32, name: &str) {
    let kill = format!("kill -{name} {pid}");
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
}

/// A router in a process of its own; killed when dropped.
struct Process(Child, SocketAddr);

impl Process {
    fn start(arguments: &[String]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater-router"));
        command.args(["--listen", "127.0.0.1:0"]).args(arguments).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a router");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        let address = line.trim_end().rsplit(' ').next().expect("a word").parse();
        Self(child, address.expect("an address"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All that the memcacheds have answered meanwhile is late, and none of them is.
#[test]
fn a_router_that_sleeps_and_wakes_takes_no_memcached_for_lost() {
    let nodes = memcacheds(2);
    // On a busy machine a memcached may be late by itself, but not for so long.
    let mut arguments = ["--replicas", "2", "--timeout", "1500"].map(String::from).to_vec();
    arguments.extend(addresses(&nodes).iter().map(ToString::to_string));
    let router = Process::start(&arguments);
    let stops = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let (address, stops) = (router.1, stops.clone());
            std::thread::spawn(move || {
                let mut client = Wire::to(address);
                let mut done = 0_u64;
                while !stops.load(SeqCst) {
                    let key = format!("{thread}-{}", done % 50);
                    assert_eq!(client.set(&key, b"value"), Ok(()));
                    assert_eq!(client.get(&key), Ok(Some(b"value".to_vec())));
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut client = Wire::to(router.1);
    for node in addresses(&nodes) {
        eventually("there is load", || client.count(node, "writes") > 500);
    }
    for _ in 0..2 {
        signal(router.0.id(), "STOP");
        eventually("it has stopped", || is_stopped(router.0.id()));
        after(Duration::from_secs(3));
        signal(router.0.id(), "CONT");
        let before = client.count(nodes[0].address, "writes");
        eventually("it goes on", || client.count(nodes[0].address, "writes") > before + 100);
    }
    stops.store(true, SeqCst);
    threads.into_iter().for_each(|thread| assert!(thread.join().expect("no panic") > 0));
    for node in addresses(&nodes) {
        let counts = ["breaks", "forgets", "cleanings"].map(|name| client.count(node, name));
        assert_eq!(counts, [0; 3], "of {node}");
    }
}

/// Whether each thread of a process has taken notice of SIGSTOP (proc_pid_stat(5)).
fn is_stopped(pid: u32) -> bool {
    let mut threads =
        std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let is_stopped = |thread: std::fs::DirEntry| {
        let line = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        line.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    };
    threads.all(is_stopped)
}

/// Stopped and continued: it answers late, and what it holds by then is old.
#[test]
fn a_memcached_that_sleeps_and_wakes_answers_nothing_old() {
    let nodes = memcacheds(2);
    // On a busy machine the other one may be late, too, but not for so long.
    let timeout = Duration::from_secs(2);
    let router = router_with(NodesConfig { replicas: 2, timeout, ..config(&addresses(&nodes)) });
    let mut client = Wire::to(router.address());
    let signal = |name: &str| signal(nodes[0].child.id(), name);
    for round in 0..3_u8 {
        assert_eq!(client.set("key", &[b'a' + round]), Ok(()));
        signal("STOP");
        eventually("all its threads have stopped", || is_stopped(nodes[0].child.id()));
        assert_eq!(client.set("key", &[b'A' + round]), Ok(()), "the other has it");
        let state = format!("{}:state", nodes[0].address);
        assert_eq!(client.stat(&state), "it has not answered in time");
        signal("CONT");
        eventually("it is asked again", || client.stat(&state) == "up");
        for _ in 0..40 {
            assert_eq!(client.get("key"), Ok(Some(vec![b'A' + round])));
        }
    }
}

/// Tools that others wrote for memcached, on the router as they are.
#[test]
fn libmemcacheds_tools_drive_it() {
    let nodes = memcacheds(4);
    let router = router_of(&addresses(&nodes), 2);
    let server = format!("--servers={}", router.address());
    let run = |program: &str, more: &[&str]| {
        let output = Command::new(program).arg(&server).args(more).output();
        let output =
            output.expect("found no tools of memcached; type: apt-get install libmemcached-tools");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&said));
    };
    let slap = ["--concurrency=4", "--execute-number=500", "--test=set", "--flush"];
    run("memcslap", &slap);
    run("memcslap", &["--concurrency=4", "--execute-number=500", "--test=get"]);
    run("memcping", &[]);
}

/// A client in Python that others wrote.
#[test]
fn pymemcache_uses_it_unchanged() {
    let nodes = memcacheds(3);
    let router = router_of(&addresses(&nodes), 3);
    let script = "
import sys
from pymemcache.client.base import Client
client = Client((sys.argv[1], int(sys.argv[2])))
many = {'key%d' % number: str(number).encode() for number in range(200)}
assert client.set_many(many) == []
assert client.get_many(list(many)) == many
assert client.get('none') is None
assert client.set('number', b'7') and client.incr('number', 5) == 12
assert client.delete('number') and client.get('number') is None
client.set('large', b'x' * 1000000)
assert client.get('large') == b'x' * 1000000
";
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-", &router.address().ip().to_string(), &router.address().port().to_string()]);
    let python = python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut python = python.expect("found no python3; type: apt-get install python3");
    let mut input = python.stdin.take().expect("a pipe");
    input.write_all(script.as_bytes()).expect("written");
    drop(input);
    let mut said = String::new();
    python.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    let status = python.wait().expect("a child");
    let needs = "needs pymemcache: apt-get install python3-pymemcache";
    assert!(status.success(), "{said}{needs}");
}
