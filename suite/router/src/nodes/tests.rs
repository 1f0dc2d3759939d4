//! Nodes that are played by the test, at times that the test says.

use super::*;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use tailwater_control::retry::HedgeAfter;
use tailwater_core::Ratio;

struct Play {
    nodes: Nodes,
    poller: Poller,
    listeners: Vec<TcpListener>,
    played: Vec<TcpStream>,
    now: Instant,
    scratch: Vec<u8>,
    commands: u64,
    /// What became of commands, by their numbers.
    outcomes: Vec<(u64, String)>,
}

const TIMEOUT: Duration = Duration::from_secs(1);
/// In which a busy machine brings bytes from one socket to another.
const LONG: Duration = Duration::from_secs(60);

fn late_after(after: Duration) -> HedgeConfig {
    HedgeConfig { after: HedgeAfter::Delay(after), ..HedgeConfig::default() }
}

impl Play {
    /// So many nodes, all of which hold each key.
    fn of(count: usize) -> Self {
        Self::with(count, None)
    }

    /// The same, and a get is late after so long.
    fn hedged(count: usize, after: Duration) -> Self {
        Self::with(count, Some(late_after(after)))
    }

    fn with(count: usize, hedge: Option<HedgeConfig>) -> Self {
        let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a port");
        let listeners: Vec<_> = (0..count).map(bind).collect();
        let address = |it: &TcpListener| Address::Tcp(it.local_addr().expect("an address"));
        let config = NodesConfig {
            replicas: count,
            choice: Choice::FirstAlive,
            timeout: TIMEOUT,
            settle: TIMEOUT,
            hedge,
            ..NodesConfig::new(listeners.iter().map(address).collect())
        };
        let mut play = Self {
            nodes: Nodes::new(&config, 0, 1 << 20).expect("sound"),
            poller: Poller::new().expect("a poller"),
            listeners,
            played: vec![],
            now: Instant::ZERO,
            scratch: vec![0; 64 << 10],
            commands: 0,
            outcomes: vec![],
        };
        play.connect();
        play
    }

    /// A get that is late at the first of two nodes, which is named.
    fn late(hedge: HedgeConfig) -> (Self, usize) {
        let mut play = Self::with(2, Some(hedge));
        let first = usize::from(play.nodes.placement.of(b"key").nodes()[0]);
        play.get();
        play.turn();
        play.pass(LATE);
        play.turn();
        (play, first)
    }

    /// Until all nodes are up, each by a new connection.
    fn connect(&mut self) {
        self.turn();
        while !self.nodes.all.iter().all(Node::is_up) {
            self.hear();
            self.turn();
        }
        let accept = |it: &TcpListener| it.accept().expect("a connection").0;
        self.played = self.listeners.iter().map(accept).collect();
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    fn ticket(&mut self) -> Ticket {
        self.commands += 1;
        Ticket { client: 0, command: self.commands }
    }

    fn get(&mut self) {
        let ticket = self.ticket();
        self.nodes.get(self.now, ticket, b"key", false).expect("sent");
    }

    fn set(&mut self, value: &[u8]) {
        let ticket = self.ticket();
        let command = [b"set key 0 0 1\r\n", value, b"\r\n"];
        self.nodes.write(self.now, ticket, b"key", &command).expect("sent");
    }

    fn incr(&mut self) {
        let ticket = self.ticket();
        let command: [&[u8]; 3] = [b"incr ", b"key", b" 1\r\n"];
        self.nodes.write(self.now, ticket, b"key", &command).expect("sent");
    }

    fn turn(&mut self) {
        let outcomes = &mut self.outcomes;
        let mut note = |ticket: Ticket, outcome: Outcome<'_>| {
            outcomes.push((ticket.command, format!("{outcome:?}")));
        };
        self.nodes.turn(self.now, &self.poller, &mut self.scratch, &mut note);
        while self.nodes.settle(&mut note) {}
        self.nodes.flush(self.now, &self.poller);
    }

    /// Waits for what comes from a node.
    fn hear(&mut self) {
        let mut ready = Vec::new();
        self.poller.wait(Some(LONG), &mut ready);
        assert!(!ready.is_empty(), "nothing comes");
        let outcomes = &mut self.outcomes;
        for readiness in ready {
            self.nodes.on_ready(
                self.now,
                &self.poller,
                readiness,
                &mut self.scratch,
                |ticket, outcome| outcomes.push((ticket.command, format!("{outcome:?}"))),
            );
        }
    }

    fn answer(&mut self, node: usize, answer: &[u8]) {
        self.played[node].write_all(answer).expect("sent");
    }

    /// What a node has received next is this.
    fn receives(&mut self, node: usize, expected: &str) {
        let mut bytes = vec![0; expected.len()];
        self.played[node].set_read_timeout(Some(LONG)).expect("a socket");
        self.played[node].read_exact(&mut bytes).expect("commands");
        assert_eq!(String::from_utf8_lossy(&bytes), expected, "at {node}");
    }

    /// All connections are cut off, as the nodes of this order; they are made again.
    fn cut_off(&mut self, order: &[usize]) {
        for &node in order {
            let breaks = self.nodes.all[node].counts.breaks;
            self.played[node].shutdown(std::net::Shutdown::Both).expect("a socket");
            while self.nodes.all[node].counts.breaks == breaks {
                self.hear();
            }
        }
        self.turn();
        self.pass(TIMEOUT);
        self.connect();
    }
}

/// It is the last answer that comes after nine times the timeout.
#[test]
fn a_node_with_a_long_queue_that_answers_is_not_given_up() {
    let mut play = Play::of(1);
    (0..10).for_each(|_| play.get());
    play.turn();
    for answered in 1..=10 {
        play.pass(TIMEOUT * 9 / 10);
        play.answer(0, b"END\r\n");
        play.hear();
        play.turn();
        assert_eq!(play.nodes.all[0].state(), "up");
        assert_eq!(play.outcomes.last(), Some(&(answered, "Answered(Miss, 0)".into())));
    }
    play.pass(TIMEOUT * 9);
    play.turn();
    assert_eq!(play.nodes.all[0].state(), "up", "it owes nothing");
    play.get();
    play.turn();
    play.pass(TIMEOUT);
    play.turn();
    assert_eq!(play.nodes.all[0].state(), "it has not answered in time");
    assert_eq!(play.outcomes.len(), 11);
    assert!(play.outcomes[10].1.starts_with("Unreachable"), "{:?}", play.outcomes[10]);
}

#[test]
fn what_has_come_is_read_before_a_node_is_given_up() {
    let mut play = Play::of(1);
    play.get();
    play.turn();
    play.answer(0, b"END\r\n");
    play.poller.wait(Some(LONG), &mut Vec::new());
    play.pass(TIMEOUT);
    play.turn();
    assert_eq!(play.outcomes, [(1, "Answered(Miss, 0)".into())]);
    assert_eq!(play.nodes.all[0].counts.breaks, 0);
}

/// This process, or the machine, has stood still: the node had no time, either.
#[test]
fn a_node_that_is_judged_long_after_its_time_is_given_it_again() {
    let mut play = Play::of(1);
    play.get();
    play.turn();
    play.pass(TIMEOUT * 2);
    play.turn();
    assert_eq!(play.nodes.all[0].state(), "up");
    play.pass(TIMEOUT);
    play.turn();
    assert_eq!(play.nodes.all[0].state(), "it has not answered in time");
}

/// Each turn comes long after the time: the node is given it again once, until it has moved a byte.
#[test]
fn a_node_that_is_always_judged_late_is_given_its_time_once_in_a_silence() {
    let mut play = Play::of(1);
    (0..2).for_each(|_| play.get());
    play.turn();
    let late = |play: &mut Play| {
        play.pass(TIMEOUT * 2);
        play.turn();
    };
    late(&mut play);
    assert_eq!(play.nodes.all[0].state(), "up");
    play.answer(0, b"END\r\n");
    play.hear();
    late(&mut play);
    assert_eq!(play.nodes.all[0].state(), "up", "that silence was another one");
    late(&mut play);
    assert_eq!(play.nodes.all[0].state(), "it has not answered in time");
}

/// One has carried out the first write, none is known to have carried out the second: the one that is ahead keeps it,
/// whichever is lost first.
#[test]
fn of_all_lost_replicas_the_one_that_is_ahead_keeps_the_key() {
    for ahead in [0, 1] {
        for order in [[0, 1], [1, 0]] {
            let mut play = Play::of(2);
            play.set(b"1");
            play.set(b"2");
            play.turn();
            play.answer(ahead, b"STORED\r\n");
            play.hear();
            play.cut_off(&order);
            let said: Vec<_> = play.outcomes.iter().filter(|(command, _)| *command == 2).collect();
            assert_eq!(said, [&(2, "Lost".into()), &(2, "Lost".into())]);
            play.set(b"3");
            play.turn();
            play.receives(ahead, "set key 0 0 1\r\n3\r\n");
            play.receives(1 - ahead, "delete key\r\nset key 0 0 1\r\n3\r\n");
        }
    }
}

/// It is not known yet whether it is to forget the key.
#[test]
fn a_lost_replica_comes_back_when_the_others_have_decided() {
    let mut play = Play::of(2);
    play.set(b"1");
    play.turn();
    play.played[0].shutdown(std::net::Shutdown::Both).expect("a socket");
    play.hear();
    play.pass(TIMEOUT * 9 / 10);
    play.get();
    play.turn();
    play.receives(1, "set key 0 0 1\r\n1\r\nget key\r\n");
    // The second goes on with half an answer, and the first waits although its time has come.
    play.answer(1, b"STO");
    play.hear();
    play.pass(TIMEOUT * 9 / 10);
    play.turn();
    assert_eq!(play.nodes.all[0].state(), "it closed the connection");
    play.answer(1, b"RED\r\nEND\r\n");
    play.hear();
    play.turn();
    while !play.nodes.all[0].is_up() {
        play.hear();
        play.turn();
    }
    play.played[0] = play.listeners[0].accept().expect("a connection").0;
    play.receives(0, "delete key\r\n");
}

/// It has an old value, since it refused what the other took; what it has not then is asked of the other.
#[test]
fn a_replica_that_refuses_what_another_takes_forgets_it_at_once() {
    for refusal in ["SERVER_ERROR out of memory storing object\r\n", "NOT_STORED\r\n"] {
        let mut play = Play::of(2);
        play.set(b"1");
        play.turn();
        let first = usize::from(play.nodes.placement.of(b"key").nodes()[0]);
        play.answer(first, refusal.as_bytes());
        play.hear();
        play.answer(1 - first, b"STORED\r\n");
        play.hear();
        play.get();
        play.turn();
        play.receives(first, "set key 0 0 1\r\n1\r\ndelete key\r\nget key\r\n");
        play.answer(first, b"DELETED\r\nEND\r\n");
        play.hear();
        play.turn();
        play.receives(1 - first, "set key 0 0 1\r\n1\r\nget key\r\n");
    }
}

/// The second was emptied, and has no such key: the first has the only value, which is no number.
#[test]
fn what_none_has_carried_out_takes_no_value_away() {
    let mut play = Play::of(2);
    play.incr();
    play.turn();
    play.answer(1, b"NOT_FOUND\r\n");
    play.hear();
    play.answer(0, b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
    play.hear();
    play.set(b"2");
    play.turn();
    for node in 0..2 {
        play.receives(node, "incr key 1\r\nset key 0 0 1\r\n2\r\n");
    }
}

/// The second was emptied, and says that there is no such key. The first, which is lost, has the only value.
#[test]
fn what_an_emptied_node_does_not_have_takes_no_value_away_from_a_lost_one() {
    let mut play = Play::of(2);
    play.cut_off(&[0, 1]);
    play.nodes.all[0].standing.grows_warm();
    play.incr();
    play.turn();
    play.receives(1, "incr key 1\r\n");
    play.answer(1, b"NOT_FOUND\r\n");
    play.hear();
    assert_eq!(play.outcomes.len(), 1);
    assert!(play.outcomes[0].1.starts_with("Unsure"), "{:?}", play.outcomes);
    play.played[0].shutdown(std::net::Shutdown::Both).expect("a socket");
    while play.nodes.all[0].counts.breaks < 2 {
        play.hear();
    }
    play.turn();
    play.pass(TIMEOUT);
    play.turn();
    while !play.nodes.all[0].is_up() {
        play.hear();
        play.turn();
    }
    play.played[0] = play.listeners[0].accept().expect("a connection").0;
    play.set(b"2");
    play.turn();
    play.receives(0, "set key 0 0 1\r\n2\r\n");
}

/// It may have been told so in vain, and is told so again.
#[test]
fn a_node_that_does_not_forget_is_not_asked() {
    let mut play = Play::of(2);
    play.set(b"1");
    play.turn();
    play.answer(0, b"STORED\r\n");
    play.hear();
    play.cut_off(&[1, 0]);
    play.receives(1, "delete key\r\n");
    play.answer(1, b"SERVER_ERROR no\r\n");
    play.hear();
    assert_eq!(play.nodes.all[1].state(), "it did not forget what it was told to");
    play.cut_off(&[0]);
    play.receives(1, "delete key\r\n");
}

const LATE: Duration = Duration::from_millis(10);

#[test]
fn a_late_get_is_asked_of_a_second_node_and_has_one_answer() {
    let mut play = Play::hedged(2, LATE);
    let first = usize::from(play.nodes.placement.of(b"key").nodes()[0]);
    play.get();
    play.turn();
    play.pass(LATE / 2);
    play.turn();
    assert_eq!(play.nodes.all[1 - first].counts.gets, 0, "it is not late yet");
    assert_eq!(play.nodes.next_due(), Some(Instant::ZERO + LATE));
    play.pass(LATE / 2);
    play.turn();
    play.receives(1 - first, "get key\r\n");
    play.answer(1 - first, b"VALUE key 0 1\r\nx\r\nEND\r\n");
    play.hear();
    assert_eq!(play.outcomes.len(), 1, "{:?}", play.outcomes);
    assert!(play.outcomes[0].1.starts_with("Answered(Value"), "{:?}", play.outcomes);
    // The answer of the first is read, and nobody hears it.
    play.answer(first, b"VALUE key 0 1\r\nx\r\nEND\r\n");
    play.hear();
    play.turn();
    assert_eq!(play.outcomes.len(), 1, "{:?}", play.outcomes);
    assert_eq!(play.nodes.all[first].state(), "up");
    let mut told = Vec::new();
    play.nodes.report(|name, value| told.push(format!("{name} {value}")));
    assert_eq!(told[..3], ["hedged 1", "hedges_won 1", "hedges_over_budget 0"]);
}

/// The second try's node has no memory for an answer: the first may have one.
#[test]
fn an_error_is_no_answer_while_another_try_goes_on() {
    let error = b"SERVER_ERROR out of memory\r\n";
    let value = b"VALUE key 0 1\r\nx\r\nEND\r\n";
    for (then, heard) in [(&value[..], "Answered(Value"), (&error[..], "Answered(Line")] {
        let (mut play, first) = Play::late(late_after(LATE));
        play.receives(1 - first, "get key\r\n");
        play.answer(1 - first, error);
        play.hear();
        assert_eq!(play.outcomes, []);
        play.answer(first, then);
        play.hear();
        assert_eq!(play.outcomes.len(), 1, "{:?}", play.outcomes);
        assert!(play.outcomes[0].1.starts_with(heard), "{:?}", play.outcomes);
    }
}

/// Otherwise each get that goes there would need a second try, and the budget would be spent.
#[test]
fn a_node_that_is_late_is_passed_over_until_it_says_something() {
    let (mut play, first) = Play::late(late_after(LATE));
    play.get();
    play.turn();
    play.receives(1 - first, "get key\r\nget key\r\n");
    play.answer(first, b"END\r\n");
    play.hear();
    play.get();
    play.turn();
    play.receives(first, "get key\r\nget key\r\n");
}

#[test]
fn without_a_budget_a_late_get_is_counted_and_waits() {
    let after = HedgeAfter::Delay(LATE);
    let (mut play, first) = Play::late(HedgeConfig { after, share: Ratio(0.0), burst: 0 });
    assert_eq!(play.nodes.all[1 - first].counts.gets, 0);
    let mut told = Vec::new();
    play.nodes.report(|name, value| told.push(format!("{name} {value}")));
    assert_eq!(told[..3], ["hedged 0", "hedges_won 0", "hedges_over_budget 1"]);
    play.answer(first, b"END\r\n");
    play.hear();
    assert_eq!(play.outcomes, [(1, format!("Answered(Miss, {first})"))]);
}

/// What was sent twice and is lost twice has one end, too.
#[test]
fn a_get_whose_nodes_are_both_lost_ends_once() {
    let (mut play, _) = Play::late(late_after(LATE));
    for node in 0..2 {
        assert_eq!(play.nodes.all[node].counts.gets, 1);
        play.played[node].shutdown(std::net::Shutdown::Both).expect("a socket");
        while play.nodes.all[node].counts.breaks == 0 {
            play.hear();
        }
    }
    play.turn();
    assert_eq!(play.outcomes.len(), 1, "{:?}", play.outcomes);
    assert!(play.outcomes[0].1.starts_with("Unreachable"), "{:?}", play.outcomes);
}

/// A second try that comes alone is no second try of a write.
#[test]
fn writes_and_keys_with_one_replica_are_sent_once() {
    let mut play = Play::hedged(2, LATE);
    play.set(b"1");
    play.turn();
    play.pass(LATE * 3);
    play.turn();
    assert!(play.nodes.all.iter().all(|node| node.counts.writes == 1));
    let mut alone = Play::hedged(1, LATE);
    alone.get();
    alone.turn();
    alone.pass(LATE * 3);
    alone.turn();
    assert_eq!(alone.nodes.all[0].counts.gets, 1);
}

/// Told as a loss, overload would not be tried again elsewhere.
#[test]
fn what_has_no_room_is_overload_and_no_loss() {
    assert_eq!(busy().reason(), Reason::QueueFull);
    assert_eq!(Refusal("SERVER_ERROR no replica".into()).reason(), Reason::Unavailable);
}
