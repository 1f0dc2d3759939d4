//! memcached's protocol at the front, over nodes of our own.

use crate::common::{self, Wire, anywhere, node, router_of, router_with};
use memcache::Client;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use tailwater_keyvalue::memcached::TcpServer;
use tailwater_router::choice::Choice;
use tailwater_router::nodes::NodesConfig;
use tailwater_router::placement::Rule;
use tailwater_router::{FrontConfig, Router};

fn nodes(count: usize) -> Vec<TcpServer> {
    (0..count).map(|_| node(anywhere())).collect()
}

fn routed(nodes: &[TcpServer], replicas: usize) -> Router {
    router_of(&nodes.iter().map(TcpServer::address).collect::<Vec<_>>(), replicas)
}

fn stock(router: &Router) -> Client {
    Client::connect(format!("memcache://{}?protocol=ascii", router.address())).expect("a client")
}

#[test]
fn a_stock_client_uses_it_as_one_memcached() {
    let nodes = nodes(3);
    let router = routed(&nodes, 1);
    let client = stock(&router);
    assert!(client.version().expect("versions")[0].1.contains("router"));
    assert_eq!(client.get::<String>("key").expect("a miss"), None);
    client.set("key", "value", 0).expect("stored");
    client.append("key", "-2").expect("appended");
    client.prepend("key", "1-").expect("prepended");
    assert_eq!(client.get::<String>("key").expect("a hit").as_deref(), Some("1-value-2"));
    client.add("key", "other", 0).expect("not stored");
    assert_eq!(client.get::<String>("key").expect("a hit").as_deref(), Some("1-value-2"));
    client.replace("key", 41_u64, 100).expect("replaced");
    assert_eq!(client.increment("key", 1).expect("a number"), 42);
    assert!(client.touch("key", 1_000).expect("touched"));
    type WithCas = (u64, u32, Option<u64>);
    let all = client.gets::<WithCas>(&["key", "none"]).expect("several");
    let unique = all["key"].2.expect("a CAS unique");
    assert!(client.cas("key", "new", 0, unique).expect("swapped"));
    assert!(!client.cas("key", "newer", 0, unique).expect("not swapped"));
    assert!(client.delete("key").expect("deleted"));
    assert!(!client.delete("key").expect("not there"));
    let large = vec![7_u8; 1 << 20];
    client.set("large", &large[..], 0).expect("stored");
    assert_eq!(client.get::<Vec<u8>>("large").expect("a hit"), Some(large));
    client.flush().expect("flushed");
    assert_eq!(client.get::<String>("large").expect("a miss"), None);
}

#[test]
fn replicas_all_hold_what_is_set_and_all_are_asked() {
    let nodes = nodes(3);
    for (word, choice) in Choice::ALL {
        let addresses: Vec<_> = nodes.iter().map(TcpServer::address).collect();
        let router = router_with(NodesConfig { choice, replicas: 3, ..common::config(&addresses) });
        let mut client = Wire::to(router.address());
        assert_eq!(client.set(word, b"value"), Ok(()));
        for node in &nodes {
            assert_eq!(Wire::to(node.address()).get(word), Ok(Some(b"value".to_vec())), "{word}");
        }
        for _ in 0..90 {
            assert_eq!(client.get(word), Ok(Some(b"value".to_vec())));
        }
        let gets: Vec<u32> = addresses
            .iter()
            .map(|node| client.stat(&format!("{node}:gets")).parse().expect("a number"))
            .collect();
        assert_eq!(gets.iter().sum::<u32>(), 90);
        // The published code asks the first for ever, whatever it says: this tells.
        let all_were_asked = gets.iter().all(|gets| *gets > 10);
        assert_eq!(all_were_asked, choice != Choice::FirstAlive, "{word}: {gets:?}");
        assert_eq!(client.ask(&format!("delete {word}")), "DELETED");
        for node in &nodes {
            assert_eq!(Wire::to(node.address()).get(word), Ok(None));
        }
    }
}

#[test]
fn keys_lie_where_the_placement_says() {
    let nodes = nodes(4);
    let addresses: Vec<_> = nodes.iter().map(TcpServer::address).collect();
    for (word, placement) in Rule::ALL {
        let router = router_with(NodesConfig { placement, ..common::config(&addresses) });
        let mut client = Wire::to(router.address());
        let keys: Vec<String> = (0..200).map(|number| format!("{word}-{number}")).collect();
        for key in &keys {
            assert_eq!(client.set(key, b"x"), Ok(()));
        }
        let held = |address: &std::net::SocketAddr| {
            let mut node = Wire::to(*address);
            keys.iter().filter(|key| node.get(key) == Ok(Some(b"x".to_vec()))).count()
        };
        let counts: Vec<_> = addresses.iter().map(held).collect();
        assert_eq!(counts.iter().sum::<usize>(), 200, "each key on one node");
        assert!(counts.iter().all(|count| *count > 10), "{word}: {counts:?}");
    }
}

#[test]
fn commands_that_come_at_once_are_answered_in_order() {
    let nodes = nodes(3);
    let router = routed(&nodes, 2);
    let mut client = Wire::to(router.address());
    let mut sent = Vec::new();
    for number in 0..2_000 {
        let value = "v".repeat(number % 50);
        sent.extend_from_slice(
            format!(
                "set k{} 0 0 {}\r\n{value}\r\nget k{}\r\n",
                number % 7,
                value.len(),
                number % 7
            )
            .as_bytes(),
        );
    }
    sent.extend_from_slice(b"nonsense\r\nquit\r\n");
    let mut sender = TcpStream::connect(router.address()).expect("connected");
    let mut reader = sender.try_clone().expect("a socket");
    let reading = std::thread::spawn(move || {
        let mut all = String::new();
        reader.read_to_string(&mut all).expect("text");
        all
    });
    sender.write_all(&sent).expect("sent");
    let answers = reading.join().expect("read");
    let mut expected = String::new();
    for number in 0..2_000 {
        let value = "v".repeat(number % 50);
        expected +=
            &format!("STORED\r\nVALUE k{} 0 {}\r\n{value}\r\nEND\r\n", number % 7, value.len());
    }
    expected += "ERROR\r\n";
    assert_eq!(answers, expected);
    assert_eq!(client.get("k0").expect("an answer").map(|value| value.len()), Some(1_995 % 50));
}

#[test]
fn a_command_may_come_in_any_pieces() {
    let nodes = nodes(2);
    let router = routed(&nodes, 1);
    let mut client = Wire::to(router.address());
    for byte in b"set key 5 0 3\r\nabc\r\nget key none\r\n" {
        client.send(&[*byte]);
    }
    let lines: Vec<_> = (0..4).map(|_| client.line()).collect();
    assert_eq!(lines, ["STORED", "VALUE key 5 3", "abc", "END"]);
}

#[test]
fn a_get_of_many_keys_asks_all_nodes() {
    let nodes = nodes(3);
    let router = routed(&nodes, 1);
    let mut client = Wire::to(router.address());
    let keys: Vec<String> = (0..300).map(|number| format!("key{number}")).collect();
    for key in keys.iter().step_by(2) {
        assert_eq!(client.set(key, key.as_bytes()), Ok(()));
    }
    client.send(format!("get {}\r\n", keys.join(" ")).as_bytes());
    let mut found = Vec::new();
    loop {
        let line = client.line();
        if line == "END" {
            break;
        }
        let value = client.line();
        assert_eq!(line, format!("VALUE {value} 0 {}", value.len()));
        found.push(value);
    }
    found.sort();
    let mut expected: Vec<_> = keys.iter().step_by(2).cloned().collect();
    expected.sort();
    assert_eq!(found, expected);
    let many = vec!["k"; 1_001].join(" ");
    let refused = client.ask(&format!("get {many}"));
    assert_eq!(refused, "SERVER_ERROR more than 1000 keys; ask for fewer at a time");
}

#[test]
fn what_cannot_be_routed_is_refused_and_says_why() {
    let nodes = nodes(2);
    let router = routed(&nodes, 2);
    let mut client = Wire::to(router.address());
    for command in ["gets a", "add a 0 0 1\r\nx", "cas a 0 0 1 7\r\nx"] {
        let verb = command.split(' ').next().expect("a word");
        let line = client.ask(command);
        assert!(line.starts_with(&format!("SERVER_ERROR {verb} needs --replicas 1")), "{line}");
    }
    assert_eq!(client.ask("get"), "ERROR");
    assert_eq!(client.ask("stats slabs"), "CLIENT_ERROR stats has no topics here");
    assert_eq!(client.ask("verbosity 1"), "OK");
    // A value that is too long takes the old one with it, on all nodes.
    assert_eq!(client.set("key", b"old"), Ok(()));
    let too_long = vec![b'x'; (1 << 20) + 1];
    assert_eq!(
        client.set("key", &too_long).expect_err("too long"),
        "SERVER_ERROR object too large for cache"
    );
    assert_eq!(client.get("key"), Ok(None));
    // Nothing is answered to quiet commands.
    client.send(b"set q 0 0 1 noreply\r\nx\r\ndelete none noreply\r\nget q\r\n");
    let lines: Vec<_> = (0..3).map(|_| client.line()).collect();
    assert_eq!(lines, ["VALUE q 0 1", "x", "END"]);
}

/// memcached has 32 bits for an expiry time. It refuses the line of a longer one, and takes the value for a command.
#[test]
fn expiry_times_that_memcached_cannot_read_reach_no_node_and_their_values_are_no_commands() {
    let nodes = nodes(1);
    let router = routed(&nodes, 1);
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("kept", b"value"), Ok(()));
    for verb in ["set", "add", "replace", "append", "prepend", "cas"] {
        let unique = if verb == "cas" { " 7" } else { "" };
        for exptime in ["2147483648", "4294967296", "-2147483649", "9223372036854775807"] {
            let line = client.ask(&format!("{verb} kept 0 {exptime} 9{unique}\r\nflush_all"));
            assert!(line.starts_with("CLIENT_ERROR bad command line format"), "{verb}: {line}");
        }
    }
    client.send(b"set kept 0 4294967296 9 noreply\r\nflush_all\r\n");
    assert_eq!(client.get("kept"), Ok(Some(b"value".to_vec())), "each answer is its command's");
    assert_eq!(client.count(nodes[0].address(), "writes"), 1, "none was sent on");
    for exptime in ["2147483647", "0"] {
        assert_eq!(client.ask(&format!("set kept 0 {exptime} 1\r\nx")), "STORED", "{exptime}");
    }
}

#[test]
fn a_client_that_has_sent_everything_gets_all_answers() {
    let nodes = nodes(2);
    let router = routed(&nodes, 2);
    let mut stream = TcpStream::connect(router.address()).expect("connected");
    stream.write_all(b"set a 0 0 1\r\nx\r\nget a\r\nget b\r\n").expect("sent");
    stream.shutdown(Shutdown::Write).expect("a socket");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("text");
    assert_eq!(answers, "STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\nEND\r\n");
}

#[test]
fn a_client_too_many_is_told_and_a_place_that_comes_free_is_given() {
    let nodes = nodes(1);
    let config = common::config(&[nodes[0].address()]);
    let front = FrontConfig { connections_max: 1, ..FrontConfig::default() };
    let router = Router::start(&config, anywhere(), front).expect("a router");
    let mut first = Wire::to(router.address());
    assert_eq!(first.get("a"), Ok(None));
    assert_eq!(Wire::to(router.address()).rest(), "ERROR Too many open connections\r\n");
    first.send(b"quit\r\n");
    assert_eq!(first.rest(), "");
    common::eventually("the place is free", || {
        let mut next = Wire::to(router.address());
        next.send(b"version\r\nquit\r\n");
        next.rest().starts_with("VERSION")
    });
}

/// A client that takes no answers holds its own share and what it borrowed, and nobody else up: also when it has
/// borrowed everything that there is.
#[test]
fn a_client_that_does_not_read_holds_nobody_up() {
    let nodes = nodes(1);
    let config = common::config(&[nodes[0].address()]);
    let front = FrontConfig { buffers: 4 << 20, ..FrontConfig::default() };
    let router = Router::start(&config, anywhere(), front).expect("a router");
    let mut other = Wire::to(router.address());
    let sizes: [usize; 4] = [1 << 20, 100_000, 5_000, 100];
    for size in sizes {
        assert_eq!(other.set(&format!("v{size}"), &vec![b'v'; size]), Ok(()));
    }
    let mut deaf = TcpStream::connect(router.address()).expect("connected");
    for size in sizes {
        deaf.write_all(format!("get v{size}\r\n").repeat(60).as_bytes()).expect("sent");
    }
    let lent =
        |client: &mut Wire| client.stat("buffer_bytes_lent").parse::<u64>().expect("a number");
    common::eventually("it has borrowed", || lent(&mut other) > (4 << 20) - (100 << 10));
    for number in 0..200 {
        assert_eq!(other.set("small", &[number]), Ok(()));
        assert_eq!(other.get("small"), Ok(Some(vec![number])));
        assert_eq!(
            other.get("v5000").expect("its own share").map(|value| value.len()),
            Some(5_000)
        );
    }
    assert!(lent(&mut other) <= 4 << 20);
    // What is lent comes back.
    drop(deaf);
    common::eventually("nothing is lent", || lent(&mut other) == 0);
    assert_eq!(
        other.get("v1048576").expect("there is room").map(|value| value.len()),
        Some(1 << 20)
    );
}

/// The lines of `stats` are answers as others are.
#[test]
fn statistics_that_nobody_takes_are_bounded() {
    // None can be reached, and each has lines that say so.
    let gone: Vec<_> = (1..=200).map(|host| ([127, 0, 0, host], 1).into()).collect();
    let nodes = NodesConfig { replicas: 1, ..common::config(&gone) };
    let front = FrontConfig { buffers: 4 << 20, ..FrontConfig::default() };
    let router = Router::start(&nodes, anywhere(), front).expect("a router");
    let mut other = Wire::to(router.address());
    let mut deaf = TcpStream::connect(router.address()).expect("connected");
    deaf.write_all(&b"stats\r\n".repeat(2_000)).expect("sent");
    common::eventually("it has borrowed", || {
        other.stat("buffer_bytes_lent").parse::<u64>().expect("a number") > 1 << 20
    });
}

/// They take many turns, in each of which others have theirs.
#[test]
fn statistics_that_are_asked_for_by_the_thousand_come_all_and_hold_nobody_up() {
    let nodes = nodes(1);
    let router = router_of(&[nodes[0].address()], 1);
    let mut other = Wire::to(router.address());
    let mut greedy = Wire::to(router.address());
    greedy.send(&b"stats\r\n".repeat(6_000));
    let mut ended = 0;
    while ended < 6_000 {
        ended += u32::from(greedy.line() == "END");
        if ended % 1_000 == 1 {
            assert!(other.ask("version").starts_with("VERSION"));
        }
    }
    assert!(greedy.ask("version").starts_with("VERSION"), "and nothing behind them is lost");
}

/// One client's keys do not use up what the nodes may owe to all.
#[test]
fn a_client_that_asks_for_very_many_keys_is_read_when_some_are_answered() {
    let nodes = nodes(1);
    let gate = common::Gate::to(nodes[0].address());
    let router = router_of(&[gate.address], 1);
    let mut other = Wire::to(router.address());
    gate.hang(true);
    let mut greedy = Wire::to(router.address());
    let keys = vec!["k"; 1_000].join(" ");
    greedy.send(format!("get {keys}\r\n").repeat(70).as_bytes());
    // Each is answered in a turn of the router, which reads of each client.
    (0..50).for_each(|_| assert!(other.ask("version").starts_with("VERSION")));
    let gets = other.count(gate.address, "gets");
    assert!((1_000..=2_000).contains(&gets), "{gets}");
    other.send(b"get other\r\n");
    common::eventually("it is asked", || {
        Wire::to(router.address()).count(gate.address, "gets") == gets + 1
    });
    gate.hang(false);
    assert_eq!(other.line(), "END");
    (0..70).for_each(|_| assert_eq!(greedy.line(), "END"));
}
