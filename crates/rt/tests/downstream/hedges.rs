//! Second tries beside the first.

use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use tailwater_control::RetryConfig;
use tailwater_control::retry::{First, HedgeAfter, HedgeConfig};
use tailwater_core::Ratio;

/// Replicas: answers once the replica's gate is open.
const SLOW: u16 = 6;

/// One of the two servers of a shard.
struct Replica {
    server: Option<Server>,
    gate: Arc<AtomicBool>,
    /// Slow requests that it was told to end.
    cancelled: Arc<AtomicU32>,
}

/// Counts a request that ends before it has its answer.
struct Unanswered(Arc<AtomicU32>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn replica(number: u8, is_open: bool) -> Replica {
    let (gate, cancelled) = (Arc::new(AtomicBool::new(is_open)), Arc::new(AtomicU32::new(0)));
    let (opens, counts) = (gate.clone(), cancelled.clone());
    let service = move |request: Request| {
        let (gate, end) = (opens.clone(), Unanswered(counts.clone()));
        async move {
            while request.method.0 == SLOW && !gate.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(1)).await;
            }
            std::mem::forget(end);
            Reply::ok(vec![number])
        }
    };
    let server =
        Server::start(ServerConfig::default(), controller().admission, boxed(service)).unwrap();
    Replica { server: Some(server), gate, cancelled }
}

/// A middle whose first tries all go to the first replica, and which asks what `ask` adds to a fan.
fn asks(
    [first, second]: [&Replica; 2],
    burst: u32,
    model: &str,
    ask: fn(Fan) -> Fan,
) -> (Server, Client) {
    let channels = [first, second].map(|it| channel(it.server.as_ref().unwrap()));
    let after = HedgeAfter::Delay(Duration::from_millis(1));
    let tier = TierConfig::replicated("leaf", vec![channels.to_vec()])
        .controller(&controller())
        .retry(RetryConfig { first: First::Primary, ..RetryConfig::default() })
        .hedge(HedgeConfig { after, share: Ratio(0.0), burst });
    let config = ServerConfig { model: model.parse().unwrap(), crew_max: Some(1), ..with(tier) };
    let service = move |request: Request| async move {
        match request.method.0 {
            NAME => joined(fan(&request).call(0, NAME, "").await),
            _ => joined(ask(fan(&request)).await),
        }
    };
    let (server, client) = middle(config, service);
    // The loop, the crew's member, and the worker if there is one.
    let threads = 2 + u64::from(model.contains('d'));
    for replica in [first, second] {
        let connections = || replica.server.as_ref().map_or(0, |it| it.remaining().connections);
        eventually("all threads are connected", || connections() == threads);
    }
    // What has been greeted is known in the turn after.
    eventually("the first is asked first", || {
        client.call(NAME, "").wait().is_ok_and(|answer| answer.payload == [0])
    });
    (server, client)
}

fn hedged(fan: Fan) -> Fan {
    fan.hedged().call(0, SLOW, "")
}

/// Sent, won, and not sent for want of budget.
fn counts(server: &Server) -> [u64; 3] {
    let tier = &server.tiers()[0];
    [tier.hedged, tier.hedges_won, tier.hedges_over_budget]
}

fn load(count: &AtomicU32) -> u32 {
    count.load(Ordering::Relaxed)
}

#[test]
fn a_late_call_is_answered_by_the_second_replica_and_the_first_is_told_to_end_it() {
    for model in ["aib", "sib", "adb:1", "aib+1", "sib+1"] {
        let replicas = [replica(0, false), replica(1, true)];
        let (server, client) = asks(replicas.each_ref(), 1, model, hedged);
        assert_eq!(client.call(SLOW, "").wait().unwrap().payload, [1], "{model}");
        eventually("the first has ended it", || load(&replicas[0].cancelled) == 1);
        eventually("it is counted", || counts(&server) == [1, 1, 0]);
    }
}

#[test]
fn a_second_try_that_is_slower_is_told_to_end() {
    let replicas = [replica(0, false), replica(1, false)];
    let (server, client) = asks(replicas.each_ref(), 1, "aib", hedged);
    let call = client.call(SLOW, "");
    eventually("it was tried twice", || counts(&server) == [1, 0, 0]);
    replicas[0].gate.store(true, Ordering::Relaxed);
    assert_eq!(call.wait().unwrap().payload, [0]);
    eventually("the second has ended it", || load(&replicas[1].cancelled) == 1);
    assert_eq!(counts(&server), [1, 0, 0]);
}

#[test]
fn what_may_not_be_carried_out_twice_is_sent_once() {
    let replicas = [replica(0, false), replica(1, true)];
    let soon = |fan: Fan| fan.by(now() + Duration::from_millis(50)).call(0, SLOW, "");
    let (server, client) = asks(replicas.each_ref(), 1, "aib", soon);
    assert_eq!(client.call(SLOW, "").wait().unwrap().payload, b"!");
    assert_eq!(counts(&server), [0, 0, 0]);
}

#[test]
fn the_budget_bounds_second_tries() {
    let replicas = [replica(0, false), replica(1, true)];
    let five = |fan: Fan| (0..5).fold(fan.hedged().enough(2), |fan, _| fan.call(0, SLOW, ""));
    let (server, client) = asks(replicas.each_ref(), 2, "aib", five);
    let payload = client.call(SLOW, "").wait().unwrap().payload;
    let answers = payload.iter().filter(|answer| **answer == 1).count();
    assert_eq!((payload.len(), answers), (5, 2), "{payload:?}");
    eventually("all are counted", || counts(&server) == [2, 2, 3]);
    eventually("the first has ended all", || load(&replicas[0].cancelled) == 5);
}

#[test]
fn a_call_goes_on_with_the_try_that_is_left() {
    for (lost, left) in [(0, 1), (1, 0)] {
        let mut replicas = [replica(0, false), replica(1, false)];
        let (server, client) = asks(replicas.each_ref(), 1, "aib", hedged);
        let call = client.call(SLOW, "");
        eventually("it was tried twice", || counts(&server)[0] == 1);
        drop(replicas[lost].server.take());
        replicas[left].gate.store(true, Ordering::Relaxed);
        assert_eq!(call.wait().unwrap().payload, [left as u8]);
    }
}

/// Waits until each of both has so many requests.
fn both_have(replicas: &[Replica; 2], requests: u64) {
    for replica in replicas {
        let unanswered = || replica.server.as_ref().map(|it| it.remaining().unanswered);
        eventually("each has so many", || unanswered() == Some(requests));
    }
}

#[test]
fn both_tries_end_by_the_deadline() {
    let replicas = [replica(0, false), replica(1, false)];
    let soon = |fan: Fan| fan.hedged().by(now() + Duration::from_millis(200)).call(0, SLOW, "");
    let (_server, client) = asks(replicas.each_ref(), 1_000, "aib", soon);
    // A busy machine may come to the second try, or even to the first, after the deadline.
    eventually("both have begun one and were told to end it", || {
        assert_eq!(client.call(SLOW, "").wait().unwrap().payload, b"!");
        replicas.iter().all(|replica| load(&replica.cancelled) > 0)
    });
    both_have(&replicas, 0);
}

#[test]
fn both_tries_end_when_the_fan_is_dropped() {
    let replicas = [replica(0, false), replica(1, false)];
    let (server, client) = asks(replicas.each_ref(), 1, "aib", hedged);
    // Nothing else ends it while this test waits.
    let options = CallOptions { deadline: Duration::from_secs(3_600), ..CallOptions::default() };
    let call = client.call_with(SLOW, "", options);
    both_have(&replicas, 1);
    drop(call);
    let cancelled = || replicas.each_ref().map(|it| load(&it.cancelled));
    eventually("both have ended it", || cancelled() == [1, 1]);
    eventually("it is counted", || counts(&server) == [1, 0, 0]);
}
