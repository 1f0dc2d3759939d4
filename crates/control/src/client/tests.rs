use super::*;
use crate::breakwater::CreditGate;

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

fn client(expiry: Expiry, queue_max: usize) -> Client {
    let config = ClientConfig { queue_max, expiry, announce_demand: false, deregister_after: None };
    Client::new(config, Box::new(OpenGate))
}

fn call(id: u64) -> Call {
    Call { id: RequestId(id), deadline: None, priority: 128 }
}

#[test]
fn a_full_queue_drops_its_oldest_and_says_so() {
    let mut client = client(Expiry::Never, 2);
    for id in 0..2 {
        client.submit(at(0), call(id));
        assert_eq!(client.poll(at(0)), None, "not connected: it waits");
    }
    client.submit(at(1), call(2));
    assert_eq!(client.poll(at(1)), Some(Action::Drop(RequestId(0), DropReason::QueueFull)));
    assert_eq!(client.queued(), 2);
}

#[test]
fn what_ends_here_ends_although_nothing_can_be_sent() {
    let mut client = client(Expiry::After(Duration::from_micros(10)), 1);
    client.on_connected(at(0));
    client.submit(at(0), call(0));
    assert_eq!(client.poll_drop(at(0)), None);
    client.submit(at(1), call(1));
    let pushed_out = Action::Drop(RequestId(0), DropReason::QueueFull);
    assert_eq!(client.poll_drop(at(1)), Some(pushed_out));
    assert_eq!(client.next_drop(), Some(at(11)));
    let expired = Action::Drop(RequestId(1), DropReason::Expired);
    assert_eq!(client.poll_drop(at(11)), Some(expired));
    assert_eq!((client.next_drop(), client.queued()), (None, 0));
}

#[test]
fn a_call_expires_at_its_limit_and_not_before() {
    let mut client = client(Expiry::After(Duration::from_micros(10)), 8);
    client.submit(at(5), call(1));
    assert_eq!(client.next_deadline(), Some(at(15)));
    assert_eq!(client.poll(at(14)), None);
    assert_eq!(client.poll(at(15)), Some(Action::Drop(RequestId(1), DropReason::Expired)));
    assert_eq!(client.next_deadline(), None);
}

#[test]
fn a_share_is_of_what_was_left_at_submission() {
    let slo = Duration::from_micros(400);
    let mut client = client(Expiry::Share { slo, share: 0.25 }, 8);
    client.submit(at(0), call(1));
    assert_eq!(client.next_deadline(), Some(at(100)), "no deadline: the objective counts");
    assert_eq!(client.poll(at(100)), Some(Action::Drop(RequestId(1), DropReason::Expired)));
    client.submit(at(200), Call { deadline: Some(at(400)), ..call(2) });
    assert_eq!(client.next_deadline(), Some(at(250)));
    assert!(client.poll(at(250)).is_some());
    client.submit(at(500), Call { deadline: Some(at(400)), ..call(3) });
    assert!(client.poll(at(500)).is_some(), "too late already");
}

#[test]
fn only_the_first_request_registers_and_a_lost_connection_registers_anew() {
    let mut client = client(Expiry::Never, 8);
    client.on_connected(at(0));
    let registers = |client: &mut Client, id| {
        client.submit(at(1), call(id));
        match client.poll(at(1)) {
            Some(Action::Send(dispatch)) => dispatch.register,
            other => panic!("a send was needed, {other:?} found"),
        }
    };
    assert!(registers(&mut client, 1));
    assert!(!registers(&mut client, 2));
    client.on_disconnected();
    assert_eq!(client.outstanding(), 0);
    client.on_connected(at(2));
    assert!(registers(&mut client, 3));
}

#[test]
fn an_idle_client_gives_its_registration_back() {
    let config = ClientConfig {
        queue_max: 4,
        expiry: Expiry::Never,
        announce_demand: false,
        deregister_after: Some(Duration::from_micros(100)),
    };
    let mut client = Client::new(config, Box::new(OpenGate));
    client.on_connected(at(0));
    client.submit(at(0), call(1));
    assert!(matches!(client.poll(at(0)), Some(Action::Send(_))));
    assert_eq!(client.poll(at(500)), None, "a request is outstanding");
    client.on_reply(at(510), &served());
    assert_eq!(client.poll(at(510)), Some(Action::Deregister));
    assert_eq!(client.poll(at(511)), None);
}

#[test]
fn a_call_that_was_given_up_holds_its_credit_until_it_is_answered() {
    let mut client = Client::new(client(Expiry::Never, 8).config, Box::new(CreditGate::default()));
    client.on_connected(at(0));
    client.submit(at(0), call(1));
    assert!(matches!(client.poll(at(0)), Some(Action::Send(_))));
    assert!(!client.cancel(RequestId(1)), "it was sent");
    client.submit(at(1), call(2));
    assert_eq!(client.poll(at(1)), None);
    let offer = Offer { window: 1, seq: 1, ..Offer::OPEN };
    client.on_returned(at(2), offer, Stamp(1));
    assert_eq!(client.outstanding(), 0);
    assert!(matches!(client.poll(at(2)), Some(Action::Send(_))));
}

#[test]
fn the_objective_that_the_server_tells_takes_the_place_of_the_guess() {
    let slo = Duration::from_micros(400);
    let mut client = client(Expiry::Share { slo, share: 0.25 }, 8);
    client.on_objective(Duration::from_micros(200));
    client.submit(at(0), call(1));
    assert_eq!(client.next_deadline(), Some(at(50)));
    client.submit(at(0), Call { deadline: Some(at(4_000)), ..call(2) });
    assert!(matches!(client.poll(at(50)), Some(Action::Drop(..))));
    assert_eq!(client.next_deadline(), Some(at(1_000)), "a deadline of its own counts");
}

fn served() -> Reply {
    Reply {
        outcome: Outcome::Served,
        offer: Offer::OPEN,
        stamp: Stamp(1),
        elapsed: Duration::from_micros(10),
        sojourn: Duration::from_micros(5),
        waited: Duration::ZERO,
    }
}

#[test]
fn a_stamp_goes_back_once_with_the_time_it_was_held() {
    let mut client = client(Expiry::Never, 8);
    client.on_connected(at(0));
    client.on_credit(at(10), Offer::OPEN, Stamp(77));
    let mut echo = |now| {
        client.submit(now, call(1));
        match client.poll(now) {
            Some(Action::Send(dispatch)) => dispatch.echo,
            other => panic!("a send was needed, {other:?} found"),
        }
    };
    let held = Echo { stamp: Stamp(77), hold: Duration::from_micros(15) };
    assert_eq!(echo(at(25)), Some(held));
    assert_eq!(echo(at(26)), None);
}

fn sent(client: &mut Client, now: Instant) -> Dispatch {
    match client.poll(now) {
        Some(Action::Send(dispatch)) => dispatch,
        other => panic!("a send was needed, {other:?} found"),
    }
}

#[test]
fn a_call_goes_as_its_gate_has_it_and_says_what_waits_behind_it() {
    let mut client = client(Expiry::Never, 8);
    let deadline = Some(at(90));
    (1..=3).for_each(|id| {
        client.submit(at(0), Call { deadline, priority: 7, ..call(id) });
        assert_eq!(client.poll(at(0)), None);
    });
    assert_eq!(client.waiting().collect::<Vec<_>>(), [1, 2, 3].map(RequestId));
    assert_eq!(client.next_deadline(), None, "an open gate opens at no time of its own");
    assert!(!client.is_paused(at(0)));
    assert!(client.cancel(RequestId(2)) && !client.cancel(RequestId(2)));
    client.on_connected(at(30));
    assert_eq!(client.next_deadline(), None);
    let dispatch = sent(&mut client, at(30));
    let time_left = Some(Duration::from_micros(60));
    let (id, demand, acked) = (RequestId(1), 1, 0);
    let expected =
        Dispatch { id, demand, acked, register: true, echo: None, time_left, priority: 7 };
    assert_eq!((dispatch, client.outstanding(), client.queued()), (expected, 1, 1));
    assert_eq!(sent(&mut client, at(31)).id, RequestId(3));
}

/// A gate that stamps each call, sends none before 50 µs and asks for silence until then.
struct Late;

impl Gate for Late {
    fn priority(&mut self, _: Instant, call: &Call) -> u8 {
        call.priority / 2
    }
    fn permit(&mut self, now: Instant, _: &Call, _: u32) -> Permit {
        if self.is_paused(now) { Permit::Wait } else { Permit::Send }
    }
    fn on_sent(&mut self, _: Instant, _: &Call) {}
    fn on_reply(&mut self, _: Instant, _: &Reply) {}
    fn on_offer(&mut self, _: Instant, _: Offer) {}
    fn on_deregistered(&mut self) {}
    fn on_disconnected(&mut self) {}
    fn acked(&self) -> u32 {
        9
    }
    fn is_paused(&self, now: Instant) -> bool {
        now < at(50)
    }
    fn next_deadline(&self) -> Option<Instant> {
        Some(at(50))
    }
}

#[test]
fn a_gates_time_counts_only_while_a_call_could_go() {
    let mut client = Client::new(client(Expiry::Never, 8).config, Box::new(Late));
    client.submit(at(0), call(1));
    assert_eq!(client.next_deadline(), None, "not connected");
    client.on_connected(at(0));
    assert_eq!((client.poll(at(0)), client.next_deadline()), (None, Some(at(50))));
    assert!(client.is_paused(at(49)) && !client.is_paused(at(50)));
    let dispatch = sent(&mut client, at(50));
    assert_eq!((dispatch.priority, dispatch.acked), (64, 9));
    assert_eq!(client.next_deadline(), None, "nothing waits");
}

#[test]
fn what_could_not_be_sent_holds_no_credit_and_has_not_registered() {
    let mut client = client(Expiry::Never, 8);
    client.on_connected(at(0));
    (1..=3).for_each(|id| client.submit(at(0), call(id)));
    let first = sent(&mut client, at(0));
    client.on_unsent(&first);
    assert_eq!(client.outstanding(), 0);
    let second = sent(&mut client, at(0));
    assert!(first.register && second.register);
    let third = sent(&mut client, at(0));
    client.on_unsent(&third);
    assert_eq!(client.outstanding(), 1);
    client.submit(at(0), call(4));
    assert!(!sent(&mut client, at(0)).register, "the second has registered");
}

/// Fig. 8's alternative: whenever what waits has changed since it was last said.
#[test]
fn demand_is_announced_when_it_changes_and_once_registered() {
    let config = ClientConfig { announce_demand: true, ..client(Expiry::Never, 8).config };
    let mut client = Client::new(config, Box::new(CreditGate::default()));
    client.on_connected(at(0));
    client.submit(at(0), call(1));
    client.submit(at(0), call(2));
    assert_eq!(sent(&mut client, at(0)).demand, 1);
    assert_eq!(client.poll(at(0)), None, "the request has said it");
    client.submit(at(1), call(3));
    let told = Action::Demand { demand: 2, acked: 0 };
    assert_eq!([client.poll(at(1)), client.poll(at(1))], [Some(told), None]);
    client.on_disconnected();
    client.on_connected(at(2));
    assert_eq!(sent(&mut client, at(2)).demand, 1, "it registers anew");
}

#[test]
fn a_registration_is_given_back_at_its_time_and_only_by_a_client_that_is_idle() {
    let deregister_after = Some(Duration::from_micros(100));
    let config = ClientConfig { deregister_after, ..client(Expiry::Never, 8).config };
    let mut client = Client::new(config, Box::new(CreditGate::default()));
    client.on_connected(at(0));
    assert_eq!((client.poll(at(900)), client.next_deadline()), (None, None), "unregistered");
    client.submit(at(900), call(1));
    sent(&mut client, at(900));
    assert_eq!(client.next_deadline(), None, "a request is on its way");
    client.submit(at(910), call(2));
    let offer = Offer { window: 0, seq: 1, ..Offer::OPEN };
    client.on_reply(at(920), &Reply { offer, ..served() });
    assert_eq!((client.poll(at(2_000)), client.next_deadline()), (None, None), "one waits");
    assert!(client.cancel(RequestId(2)));
    assert_eq!(client.next_deadline(), Some(at(1_010)), "after the last call");
    assert_eq!(client.poll(at(1_009)), None);
    assert_eq!(client.poll(at(1_010)), Some(Action::Deregister));
    assert_eq!(client.next_deadline(), None);
    client.on_disconnected();
    client.on_connected(at(2_000));
    assert_eq!(client.poll(at(9_000)), None, "it has not registered on this connection");
}

/// A client that sends with credit only, and that has connected.
fn with_credits() -> Client {
    let config = client(Expiry::Never, 8).config;
    let deregister_after = Some(Duration::from_micros(100));
    let config = ClientConfig { deregister_after, ..config };
    let mut client = Client::new(config, Box::new(CreditGate::default()));
    client.on_connected(at(0));
    client
}

/// The calls that go now.
fn going(client: &mut Client, now: Instant) -> Vec<u64> {
    let next = || match client.poll(now)? {
        Action::Send(dispatch) => Some(dispatch.id.0),
        other => panic!("a send was needed, {other:?} found"),
    };
    std::iter::from_fn(next).collect()
}

/// Servers without credits offer nothing else than this.
const WITHOUT_LIMIT: Offer = Offer { window: u32::MAX, seq: 0, ..Offer::OPEN };

#[test]
fn what_a_connection_begins_with_applies_once_it_is_registered_under() {
    let mut client = with_credits();
    client.on_welcome(at(1), WITHOUT_LIMIT, Stamp(1));
    (1..=3).for_each(|id| client.submit(at(2), call(id)));
    let first = sent(&mut client, at(2));
    let echo = Echo { stamp: Stamp(1), hold: Duration::from_micros(1) };
    assert_eq!((first.register, first.echo), (true, Some(echo)));
    assert_eq!(going(&mut client, at(2)), [2, 3], "before the first answer");
}

#[test]
fn what_a_connection_begins_with_applies_at_once_to_a_client_that_has_registered() {
    let mut client = with_credits();
    (1..=4).for_each(|id| client.submit(at(0), call(id)));
    assert_eq!(going(&mut client, at(0)), [1], "without a word it has one credit");
    client.on_welcome(at(1), Offer { window: 3, ..WITHOUT_LIMIT }, Stamp(1));
    assert_eq!(going(&mut client, at(1)), [2, 3]);
}

#[test]
fn nothing_keeps_the_call_that_registers_whatever_the_connection_began_with() {
    let mut client = with_credits();
    client.on_welcome(at(1), Offer { window: 0, ..WITHOUT_LIMIT }, Stamp(1));
    (1..=3).for_each(|id| client.submit(at(2), call(id)));
    let first = sent(&mut client, at(2));
    assert_eq!(client.poll(at(2)), None);
    client.on_unsent(&first);
    assert!(sent(&mut client, at(3)).register, "the first has not");
    assert_eq!(client.poll(at(3)), None, "there is no credit yet");
}

#[test]
fn what_a_connection_began_with_is_told_again_if_the_call_that_registers_was_not_sent() {
    let mut client = with_credits();
    client.on_welcome(at(1), WITHOUT_LIMIT, Stamp(1));
    (1..=3).for_each(|id| client.submit(at(2), call(id)));
    let first = sent(&mut client, at(2));
    client.on_unsent(&first);
    assert_eq!(going(&mut client, at(2)), [2, 3]);
}

#[test]
fn what_a_connection_began_with_is_void_once_the_credits_were_given_back() {
    let mut client = with_credits();
    client.on_welcome(at(0), WITHOUT_LIMIT, Stamp(1));
    client.submit(at(0), call(1));
    assert_eq!(going(&mut client, at(0)), [1]);
    client.on_reply(at(10), &Reply { offer: WITHOUT_LIMIT, ..served() });
    assert_eq!(client.poll(at(100)), Some(Action::Deregister));
    (2..=3).for_each(|id| client.submit(at(200), call(id)));
    assert_eq!(going(&mut client, at(200)), [2]);
}

#[test]
fn what_a_connection_began_with_is_nothing_to_the_next_one() {
    let mut client = with_credits();
    client.on_welcome(at(0), WITHOUT_LIMIT, Stamp(1));
    client.on_disconnected();
    client.on_connected(at(1));
    (1..=2).for_each(|id| client.submit(at(1), call(id)));
    assert_eq!(going(&mut client, at(1)), [1]);
}

#[test]
fn a_pause_that_a_connection_begins_with_is_counted_from_when_it_came() {
    let mut client = with_credits();
    let pause = tailwater_core::Pause::of(Duration::from_micros(160));
    client.on_welcome(at(0), Offer { pause, ..WITHOUT_LIMIT }, Stamp(1));
    (1..=2).for_each(|id| client.submit(at(100), call(id)));
    assert_eq!(going(&mut client, at(100)), [1], "the first is not registered yet");
    assert_eq!(client.next_deadline(), Some(at(160)));
    assert_eq!(going(&mut client, at(160)), [2]);
}
