//! Stock memcacheds behind the router, and stock clients before it. Without the programs these tests say that they
//! were skipped; `make test` installs them.

mod common;

use common::{Wire, anywhere, config, eventually, router_of, router_with};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use tailwater_router::nodes::NodesConfig;
use tailwater_router::oracle::Versions;
use tailwater_router::placement::Rule;

/// A memcached of one thread; killed when dropped.
struct Memcached {
    child: Child,
    address: SocketAddr,
}

impl Memcached {
    /// At this port or any; `None` where the program is not installed.
    fn start(address: Option<SocketAddr>) -> Option<Self> {
        // A port that is free now may be another's in a moment: then it is tried with the next.
        let free =
            |_| TcpListener::bind(anywhere()).and_then(|it| it.local_addr()).expect("a port");
        let mut addresses = address.into_iter().chain((0..100).map(free));
        loop {
            let address = addresses.next().expect("one of a hundred ports is free");
            let mut command = Command::new("memcached");
            command.args(["-t", "1", "-U", "0", "-m", "16", "-l", "127.0.0.1", "-u", "nobody"]);
            command.args(["-p", &address.port().to_string()]).stdin(Stdio::null());
            let child = command.stderr(Stdio::null()).spawn().ok()?;
            let mut it = Self { child, address };
            if it.is_listening() {
                return Some(it);
            }
        }
    }

    /// Waits until it is there itself. False if it has ended.
    fn is_listening(&mut self) -> bool {
        let id = self.child.id().to_string();
        let mut has_ended = false;
        eventually("memcached listens", || {
            has_ended = self.child.try_wait().expect("a child").is_some();
            let is_there = TcpStream::connect(self.address).is_ok();
            has_ended || is_there && Wire::to(self.address).stat("pid") == id
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

fn memcacheds(count: usize) -> Option<Vec<Memcached>> {
    let all: Option<Vec<_>> = (0..count).map(|_| Memcached::start(None)).collect();
    if all.is_none() {
        skipped("memcached");
    }
    all
}

#[expect(clippy::print_stderr, reason = "a test that tests nothing must say so")]
fn skipped(program: &str) {
    eprintln!("skipped: {program} is not installed");
}

fn addresses(nodes: &[Memcached]) -> Vec<SocketAddr> {
    nodes.iter().map(|node| node.address).collect()
}

#[test]
fn sixteen_stock_memcacheds_hold_each_key_three_times() {
    let Some(nodes) = memcacheds(16) else { return };
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

#[test]
fn a_memcached_that_is_killed_makes_no_answer_wrong() {
    let Some(mut nodes) = memcacheds(3) else { return };
    let router = router_of(&addresses(&nodes), 3);
    let mut client = Wire::to(router.address());
    let versions = Versions::of(50, 1);
    let go = |turns: u32, client: &mut Wire| {
        for turn in 0..turns {
            let key = turn * 7 % 50;
            let name = format!("key-{key}");
            if turn % 2 == 0 {
                let version = versions.issue(key);
                if client.set(&name, &versions.value(key, version)).is_ok() {
                    versions.acknowledge(key, version);
                }
            }
            let expected = versions.expect(key);
            let found = client.get(&name).expect("two replicas live");
            assert_eq!(versions.check(expected, found.as_deref()), Ok(()), "{name}");
        }
    };
    go(500, &mut client);
    for dies in [0, 1] {
        nodes[dies].kill();
        go(500, &mut client);
        let address = nodes[dies].address;
        nodes[dies] = Memcached::start(Some(address)).expect("it was there before");
        eventually("it is asked again", || client.stat(&format!("{address}:state")) == "up");
        go(500, &mut client);
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
    let Some(nodes) = memcacheds(2) else { return };
    let timeout = std::time::Duration::from_millis(200);
    let router = router_with(NodesConfig { replicas: 2, timeout, ..config(&addresses(&nodes)) });
    let mut client = Wire::to(router.address());
    let signal = |name: &str| {
        let kill = format!("kill -{name} {}", nodes[0].child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    };
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
    let Some(nodes) = memcacheds(4) else { return };
    let router = router_of(&addresses(&nodes), 2);
    let server = format!("--servers={}", router.address());
    let run = |program: &str, more: &[&str]| {
        let output = Command::new(program).arg(&server).args(more).output().ok()?;
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&said));
        Some(())
    };
    let slap = ["--concurrency=4", "--execute-number=500", "--test=set", "--flush"];
    if run("memcslap", &slap).is_none() {
        return skipped("memcslap");
    }
    run("memcslap", &["--concurrency=4", "--execute-number=500", "--test=get"]).expect("there");
    run("memcping", &[]).expect("there");
}

/// A client in Python that others wrote.
#[test]
fn pymemcache_uses_it_unchanged() {
    let Some(nodes) = memcacheds(3) else { return };
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
    let Ok(mut python) = python else { return skipped("python3") };
    let mut input = python.stdin.take().expect("a pipe");
    input.write_all(script.as_bytes()).expect("written");
    drop(input);
    let mut said = String::new();
    python.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    let status = python.wait().expect("a child");
    if said.contains("No module named 'pymemcache'") {
        return skipped("pymemcache");
    }
    assert!(status.success(), "{said}");
}
