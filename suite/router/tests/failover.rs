//! Nodes that die, come back, and come back with what is old by now: no answer is wrong.

use crate::common::{
    Gate, Wire, after, anywhere, config, eventually, node, router_of, router_with,
};
use crate::port::Port;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tailwater_control::retry::{HedgeAfter, HedgeConfig};
use tailwater_keyvalue::memcached::TcpServer;
use tailwater_router::nodes::NodesConfig;
use tailwater_router::oracle::{REQUESTS_MAX, Registers, Wrong};

/// Writers and readers of some keys, until they are told to stop.
struct Traffic {
    stops: Arc<AtomicBool>,
    gets: Arc<AtomicU64>,
    sets: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<Result<(), (u32, Wrong)>>>,
}

const KEYS: u32 = 40;

impl Traffic {
    /// One writer for each of three parts of the keys, two readers for all.
    fn at(router: SocketAddr) -> Self {
        let registers = Arc::new(Registers::new(1, REQUESTS_MAX));
        let stops = Arc::new(AtomicBool::new(false));
        let (gets, sets) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut threads = Vec::new();
        for part in 0..3 {
            let (registers, stops, sets) = (registers.clone(), stops.clone(), sets.clone());
            threads.push(std::thread::spawn(move || {
                let mut client = Wire::to(router);
                while !stops.load(SeqCst) {
                    for key in (part..KEYS).step_by(3) {
                        let (write, value) = registers.set(key).expect("there is room");
                        if client.set(&format!("key-{key}"), &value).is_ok() {
                            registers.acknowledge(write).expect("it was asked");
                            sets.fetch_add(1, SeqCst);
                        }
                    }
                }
                Ok(())
            }));
        }
        for reader in 0..2 {
            let (registers, stops, gets) = (registers.clone(), stops.clone(), gets.clone());
            threads.push(std::thread::spawn(move || {
                let mut client = Wire::to(router);
                for turn in reader.. {
                    if stops.load(SeqCst) {
                        break;
                    }
                    let key = turn * 7 % KEYS;
                    let get = registers.get(key).expect("there is room");
                    if let Ok(found) = client.get(&format!("key-{key}")) {
                        registers.check(get, found.as_deref()).map_err(|wrong| (key, wrong))?;
                        gets.fetch_add(1, SeqCst);
                    }
                }
                Ok(())
            }));
        }
        Self { stops, gets, sets, threads }
    }

    /// Until so many more gets and sets have succeeded, or something was wrong.
    fn go_on(&self, more: u64) {
        let goal = [&self.gets, &self.sets].map(|count| count.load(SeqCst) + more);
        eventually("traffic goes on", || {
            let is_over = self.threads.iter().any(std::thread::JoinHandle::is_finished);
            is_over || self.gets.load(SeqCst) >= goal[0] && self.sets.load(SeqCst) >= goal[1]
        });
    }

    fn end(self) -> Result<(), (u32, Wrong)> {
        self.stops.store(true, SeqCst);
        let ends = self.threads.into_iter().map(|thread| thread.join().expect("no panic"));
        ends.collect()
    }
}

#[test]
fn of_three_replicas_a_node_that_dies_and_one_that_comes_back_empty_make_no_answer_wrong() {
    let ports = [(); 3].map(|()| Port::keep());
    let addresses = ports.each_ref().map(Port::address);
    let mut nodes = addresses.map(|address| Some(node(address)));
    let router = router_of(&addresses, 3);
    let traffic = Traffic::at(router.address());
    traffic.go_on(300);
    for dies in [0, 1] {
        nodes[dies] = None;
        traffic.go_on(300);
        nodes[dies] = Some(node(addresses[dies]));
        Wire::to(router.address()).until_up(addresses[dies]);
        traffic.go_on(300);
    }
    assert_eq!(traffic.end(), Ok(()));
}

/// Three nodes behind gates; the first is cut off, misses writes, and can be reached again.
fn cut_off_and_back(lies: bool) -> Result<(), (u32, Wrong)> {
    let nodes: Vec<TcpServer> = (0..3).map(|_| node(anywhere())).collect();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let addresses: Vec<_> = gates.iter().map(|gate| gate.address).collect();
    let router = router_of(&addresses, 3);
    let traffic = Traffic::at(router.address());
    traffic.go_on(200);
    gates[0].lie(lies);
    for _ in 0..3 {
        gates[0].cut();
        traffic.go_on(200);
        gates[0].open();
        Wire::to(router.address()).until_up(addresses[0]);
        traffic.go_on(200);
    }
    let mut client = Wire::to(router.address());
    let [forgets, cleanings] =
        ["forgets", "cleanings"].map(|name| client.count(addresses[0], name));
    // Traffic that found something wrong has ended before.
    assert!(lies || forgets >= 3, "{forgets}");
    assert_eq!(cleanings, 0, "what was not written meanwhile is kept");
    traffic.end()
}

#[test]
fn a_node_that_was_cut_off_answers_nothing_old() {
    assert_eq!(cut_off_and_back(false), Ok(()));
}

/// The planted fault: without forgetting, old values are answered, and the oracle sees it.
#[test]
fn a_node_that_keeps_what_is_old_is_caught() {
    let found = cut_off_and_back(true);
    assert!(matches!(found, Err((_, Wrong::Old))), "{found:?}");
}

#[test]
fn a_node_that_hangs_is_given_up() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let addresses: Vec<_> = gates.iter().map(|gate| gate.address).collect();
    // On a busy machine the other node may be late, too, but not for so long.
    let timeout = Duration::from_secs(2);
    let router = router_with(NodesConfig { replicas: 2, timeout, ..config(&addresses) });
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("key", b"old"), Ok(()));
    gates[0].hang(true);
    assert_eq!(client.set("key", b"new"), Ok(()), "the other has it");
    for _ in 0..20 {
        assert_eq!(client.get("key"), Ok(Some(b"new".to_vec())));
    }
    gates[0].cut();
    gates[0].hang(false);
    gates[0].open();
    client.until_up(addresses[0]);
    for _ in 0..20 {
        assert_eq!(client.get("key"), Ok(Some(b"new".to_vec())));
    }
}

/// It would be given up after twenty seconds.
#[test]
fn a_get_does_not_wait_for_a_node_that_hangs_where_another_may_be_asked_besides() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let addresses: Vec<_> = gates.iter().map(|gate| gate.address).collect();
    let after = HedgeAfter::Delay(Duration::from_millis(5));
    let hedge = Some(HedgeConfig { after, ..HedgeConfig::default() });
    let router = router_with(NodesConfig { replicas: 2, hedge, ..config(&addresses) });
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("key", b"value"), Ok(()));
    gates[0].hang(true);
    for _ in 0..40 {
        assert_eq!(client.get("key"), Ok(Some(b"value".to_vec())));
    }
    let [hedged, won] = ["hedged", "hedges_won"].map(|name| client.stat(name));
    assert!(hedged != "0" && won != "0", "{hedged}, {won}");
    assert_eq!(client.count(addresses[0], "breaks"), 0, "it was not given up meanwhile");
    gates[0].hang(false);
    for _ in 0..40 {
        assert_eq!(client.get("key"), Ok(Some(b"value".to_vec())));
    }
}

#[test]
fn a_node_that_answers_garbage_is_given_up() {
    let good = node(anywhere());
    let listener = TcpListener::bind(anywhere()).expect("a port");
    let bad = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 64];
            let _ = stream.read(&mut bytes);
            let _ = stream.write_all(b"VALUE other 0 3\r\nbad\r\nEND\r\nSTORED\r\nSTORED\r\n");
        }
    });
    let router = router_of(&[good.address(), bad], 2);
    let mut client = Wire::to(router.address());
    // What the bad one has said about the write may be anything; what is read is right, or an error.
    while client.set("key", b"value").is_err() {}
    let mut right = 0;
    eventually("it is asked", || {
        match client.get("key") {
            Ok(found) => {
                assert_eq!(found, Some(b"value".to_vec()));
                right += 1;
            }
            // Another node would be brought down by the same get, too.
            Err(error) => assert!(error.contains("what is no answer"), "{error}"),
        }
        right >= 50 && client.count(bad, "breaks") >= 3
    });
    assert_eq!(client.count(good.address(), "breaks"), 0);
}

/// Both are cut off amid the same writes: what one holds is kept.
#[test]
fn of_replicas_that_are_all_lost_one_keeps_what_it_has() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let addresses: Vec<_> = gates.iter().map(|gate| gate.address).collect();
    let router = router_of(&addresses, 2);
    let mut client = Wire::to(router.address());
    let keys: Vec<String> = (0..20).map(|number| format!("key-{number}")).collect();
    for round in 0..3_u8 {
        for key in &keys {
            assert_eq!(client.set(key, &[b'a' + round]), Ok(()));
        }
        let sent = addresses.iter().map(|node| client.count(*node, "writes")).sum::<u64>();
        gates.iter().for_each(|gate| gate.hang(true));
        let mut writer = Wire::to(router.address());
        for key in &keys[..10] {
            writer.send(format!("set {key} 0 0 1\r\n{}\r\n", (b'A' + round) as char).as_bytes());
        }
        eventually("the writes are under way", || {
            addresses.iter().map(|node| client.count(*node, "writes")).sum::<u64>() == sent + 20
        });
        gates.iter().for_each(Gate::cut);
        for _ in 0..10 {
            assert!(writer.line().starts_with("SERVER_ERROR every replica was lost"));
        }
        for gate in &gates {
            gate.hang(false);
            gate.open();
        }
        addresses.iter().for_each(|node| client.until_up(*node));
        for key in keys.iter().cycle().take(80) {
            let found = client.get(key).expect("an answer").expect("it was acknowledged");
            assert!([b'a' + round, b'A' + round].contains(&found[0]), "{key}: {found:?}");
        }
    }
    let cleanings = addresses.iter().map(|node| client.count(*node, "cleanings"));
    assert_eq!(cleanings.sum::<u64>(), 0);
}

/// More keys than are remembered one by one.
#[test]
fn a_node_that_has_missed_very_many_writes_is_emptied() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gate = Gate::to(nodes[0].address());
    let router = router_of(&[gate.address, nodes[1].address()], 2);
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("kept", b"old"), Ok(()));
    gate.cut();
    let name = "n".repeat(200);
    for number in 0..1_300 {
        assert_eq!(client.set(&format!("{name}-{number}"), b"x"), Ok(()));
    }
    gate.open();
    client.until_up(gate.address);
    for _ in 0..20 {
        assert_eq!(client.get("kept"), Ok(Some(b"old".to_vec())), "the other has it");
    }
    eventually("it is emptied", || client.count(gate.address, "cleanings") == 1);
    assert_eq!(client.count(gate.address, "forgets"), 0);
    assert_eq!(Wire::to(nodes[0].address()).get("kept"), Ok(None));
}

/// Of what the one that was asked may have lost, the other says whether it is there; and that cannot be reached.
#[test]
fn a_get_is_not_answered_by_a_miss_where_that_is_not_known() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let addresses: Vec<_> = gates.iter().map(|gate| gate.address).collect();
    let router = router_of(&addresses, 2);
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("key", b"value"), Ok(()));
    gates[0].cut();
    assert_eq!(Wire::to(nodes[0].address()).ask("flush_all"), "OK");
    gates[0].open();
    eventually("it is noticed", || {
        client.get("key").is_ok() && client.count(addresses[0], "breaks") > 0
    });
    client.until_up(addresses[0]);
    gates[1].cut();
    for _ in 0..5 {
        let error = client.get("key").expect_err("nobody knows");
        assert!(
            error.starts_with("SERVER_ERROR no other replica of the key can be reached; "),
            "{error}"
        );
        assert!(error.contains(": has lost what it had"), "{error}");
    }
    gates[1].open();
    client.until_up(addresses[1]);
    for _ in 0..20 {
        assert_eq!(client.get("key"), Ok(Some(b"value".to_vec())));
    }
    // When all are emptied, each lacks nothing.
    assert_eq!(client.ask("flush_all"), "OK");
    gates[1].cut();
    eventually("it is noticed", || {
        client.get("other") == Ok(None) && client.count(addresses[1], "breaks") > 1
    });
    assert_eq!(client.get("key"), Ok(None));
}

/// It is acknowledged, so it is carried out by those, too, that cannot be reached.
#[test]
fn flush_all_reaches_a_node_that_was_away() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gate = Gate::to(nodes[0].address());
    let router = router_of(&[gate.address, nodes[1].address()], 1);
    let mut client = Wire::to(router.address());
    let keys: Vec<String> = (0..40).map(|number| format!("key-{number}")).collect();
    for key in &keys {
        assert_eq!(client.set(key, b"x"), Ok(()));
    }
    gate.cut();
    eventually("it is noticed", || client.count(gate.address, "breaks") > 0);
    assert_eq!(client.ask("flush_all"), "OK");
    gate.open();
    client.until_up(gate.address);
    for key in &keys {
        assert_eq!(client.get(key), Ok(None));
    }
}

/// Each node would wait by its own clock, and one that was away would not wait.
#[test]
fn a_flush_all_with_a_delay_is_one_for_all_nodes() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gate = Gate::to(nodes[0].address());
    let addresses = [gate.address, nodes[1].address()];
    let router = router_of(&addresses, 2);
    let mut client = Wire::to(router.address());
    // On a busy machine what is to come before the time may come after it.
    let is_timely = [2, 10, 40].into_iter().any(|delay| {
        let before = client.count(addresses[1], "cleanings");
        assert_eq!(client.ask(&format!("flush_all {delay}")), "OK");
        gate.cut();
        eventually("it is noticed", || {
            client.set("key", b"x").is_ok() && !gate.is_there(&mut client)
        });
        gate.open();
        client.until_up(gate.address);
        assert_eq!(client.set("key", b"x"), Ok(()));
        client.count(addresses[1], "cleanings") == before
    });
    assert!(is_timely, "forty seconds are enough");
    for node in &nodes {
        eventually("it is emptied", || Wire::to(node.address()).get("key") == Ok(None));
    }
    let refused = client.ask("flush_all 1700000000");
    assert!(
        refused.starts_with("CLIENT_ERROR flush_all waits for 2592000 seconds at most"),
        "{refused}"
    );
}

/// What an earlier router knew is not known: on demand, nothing is left of it.
#[test]
fn nodes_are_empty_at_the_start_on_demand() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    for (node, value) in nodes.iter().zip([b"old", b"new"]) {
        assert_eq!(Wire::to(node.address()).set("key", value), Ok(()));
    }
    let addresses: Vec<_> = nodes.iter().map(TcpServer::address).collect();
    let router =
        router_with(NodesConfig { replicas: 2, empty_at_start: true, ..config(&addresses) });
    let mut client = Wire::to(router.address());
    for _ in 0..10 {
        assert_eq!(client.get("key"), Ok(None));
    }
    let sum =
        |client: &mut Wire, name| addresses.iter().map(|node| client.count(*node, name)).sum();
    let [gets, cleanings]: [u64; 2] = ["gets", "cleanings"].map(|name| sum(&mut client, name));
    assert_eq!([gets, cleanings], [10, 2], "the misses of one are those of all");
}

/// An oversized `set` drops the old value, as memcached does. Where no replica confirms that, the client is told.
#[test]
fn an_old_value_that_cannot_be_dropped_is_told() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let addresses: Vec<_> = gates.iter().map(|gate| gate.address).collect();
    let router = router_of(&addresses, 2);
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("key", b"old"), Ok(()));
    gates.iter().for_each(Gate::cut);
    eventually("it is noticed", || client.get("other").is_err());
    let error = client.set("key", &vec![b'x'; (1 << 20) + 1]).expect_err("too large");
    assert_eq!(
        error,
        "SERVER_ERROR object too large for cache; no replica has confirmed that the old value is dropped"
    );
}

/// No client waits for the answer: it would be taken for that to the next command.
#[test]
fn noreply_is_answered_by_nothing_whatever_fails() {
    let gone = Port::keep();
    let router = router_of(&[gone.address()], 1);
    let mut client = Wire::to(router.address());
    client.send(b"set q 0 0 1 noreply\r\nx\r\ndelete q noreply\r\nincr q 1 noreply\r\n");
    client.send(
        &[b"set q 0 0 1048577 noreply\r\n", &vec![b'x'; (1 << 20) + 1][..], b"\r\n"].concat(),
    );
    assert!(client.ask("version").starts_with("VERSION"));
    assert_eq!(client.stat("noreply_errors"), "4");
}

/// A node that is slower than a second is waited for, no longer than the replicas may take.
#[test]
fn a_router_that_is_stopped_answers_what_is_under_way() {
    let node = node(anywhere());
    let gate = Gate::to(node.address());
    let router = router_of(&[gate.address], 1);
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("key", b"value"), Ok(()));
    gate.hang(true);
    client.send(b"get key\r\n");
    let mut other = Wire::to(router.address());
    eventually("it is asked", || other.count(gate.address, "gets") == 1);
    let stopping = std::thread::spawn(move || drop(router));
    after(Duration::from_millis(1_500));
    assert!(!stopping.is_finished(), "an answer is owed");
    gate.hang(false);
    assert_eq!(client.rest(), "VALUE key 0 5\r\nvalue\r\nEND\r\n");
    stopping.join().expect("no panic");
}

#[test]
fn without_a_node_errors_name_it_and_what_is_wrong() {
    let gone = Port::keep();
    let router = router_of(&[gone.address()], 1);
    let mut client = Wire::to(router.address());
    for error in [client.get("key").expect_err("gone"), client.set("key", b"x").expect_err("gone")]
    {
        assert!(
            error.starts_with("SERVER_ERROR no replica of the key can be reached; "),
            "{error}"
        );
        assert!(error.contains(&gone.address().to_string()), "{error}");
    }
    // It is tried again and again.
    let _back = node(gone.address());
    eventually("it is reached", || client.set("key", b"x").is_ok());
    assert_eq!(client.get("key"), Ok(Some(b"x".to_vec())));
}

/// With one replica nothing is ever forgotten: a write that is not carried out is not acknowledged.
#[test]
fn a_single_replica_keeps_what_it_has() {
    let node = node(anywhere());
    let gate = Gate::to(node.address());
    let router = router_of(&[gate.address], 1);
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("key", b"kept"), Ok(()));
    gate.cut();
    eventually("it is noticed", || client.set("other", b"x").is_err());
    gate.open();
    eventually("it is reached", || client.set("other", b"x").is_ok());
    assert_eq!(client.get("key"), Ok(Some(b"kept".to_vec())));
}
