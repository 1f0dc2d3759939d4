//! Router in three tiers: over sockets, with leaves that die, and with planted faults.

mod agreement;
mod front;
mod memcacheds;
mod planted;
mod silent;

use crate::common::eventually;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_core::MethodId;
use tailwater_keyvalue::rpc;
use tailwater_load::Application;
use tailwater_load::Spinner;
use tailwater_load::application::{Ask, BadSetting, Node, Order, Place, ReplicaCounts};
use tailwater_router::placement::{Placement, Rule};
use tailwater_router::tiers::Upheavals;
use tailwater_router::tiers::application::KIND;
use tailwater_router::tiers::keys::{key_of, preloaded};
use tailwater_router::tiers::wire::{self, BAD_REQUEST, GET, SET};
use tailwater_rt::client::{CallError, ChannelConfig, Client};
use tailwater_rt::downstream::TierConfig;
use tailwater_rt::{Address, Request, Server, ServerConfig, Service};
use tailwater_workload::Scenario;

const LEAVES: u32 = 4;
const KEYS: u32 = 40;

const SCENARIO: &str = r#"
slo = "10s"
clients.count = 1
demand.of_capacity = 1.0
controller = [{ name = "none" }]
server.application = "router"
tier = [{ name = "leaf", nodes = 4, application = true }]
"#;

fn made(settings: &[(&str, &str)]) -> Result<Arc<dyn Application>, BadSetting> {
    made_of(SCENARIO, settings)
}

fn made_of(text: &str, settings: &[(&str, &str)]) -> Result<Arc<dyn Application>, BadSetting> {
    let scenario = Scenario::parse("x.toml", text).expect("a scenario");
    let said: Vec<_> =
        settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let server = &scenario.server;
    let of = (&server.paths[..], &scenario.tiers[..]);
    KIND.make(&said, server.service.clone(), (server.work, false), of, Path::new(""))
}

fn few(more: &[(&str, &str)]) -> Arc<dyn Application> {
    // A busy machine may take seconds for what takes a millisecond.
    let settings =
        [&[("keys", "40"), ("sets", "40"), ("memory", "8"), ("silence", "60s")], more].concat();
    made(&settings).expect("made")
}

fn place() -> Place {
    Place { loops: 1, workers: 0, crew: 0, locks: None, spinner: Spinner::of_speed(1.0) }
}

fn controller() -> Controller {
    Spec::named("none").build(&Site::one_loop(Duration::from_secs(10), 1)).expect("built")
}

fn order(number: u32) -> Order {
    Order { seed: number.into(), service: Duration::ZERO, tag: number }
}

/// Mid-tier and leaves, with two connections to each leaf.
struct Tiers {
    leaves: Vec<Option<Server>>,
    front: Server,
    client: Client,
}

/// Where keys lie by the usual placement, with three replicas.
fn placement() -> Placement {
    let names: Vec<String> = (0..LEAVES).map(|leaf| format!("leaf-{leaf}")).collect();
    Placement::new(Rule::Jump, &names, 3).expect("sound")
}

/// A leaf with what it holds at its start, at an address of its own or a given one.
fn leaf(application: &dyn Application, number: u32, at: Option<Address>) -> Server {
    leaf_that(application, (number, at), MethodId(0), || async {})
}

/// One that does this first where it is asked by this method.
fn leaf_that<F: Future<Output = ()> + 'static>(
    application: &dyn Application,
    (number, at): (u32, Option<Address>),
    method: MethodId,
    first: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> Server {
    let router = application.node(Node { tier: "leaf", number }, &place()).expect("a leaf");
    let router = Arc::new(router);
    let service = move |request: Request| {
        let (router, first) = (router.clone(), first.clone());
        async move {
            if request.method == method {
                first().await;
            }
            router.call(request).await
        }
    };
    let config = ServerConfig::default();
    let config = ServerConfig { listen: at.unwrap_or(config.listen.clone()), ..config };
    Server::start(config, controller().admission, service).expect("it starts")
}

impl Tiers {
    fn start(application: &dyn Application) -> Self {
        let leaves = (0..LEAVES).map(|number| leaf(application, number, None)).collect();
        Self::of(application, leaves)
    }

    fn of(application: &dyn Application, leaves: Vec<Server>) -> Self {
        let addresses = leaves.iter().map(|leaf| leaf.address().clone()).collect();
        Self::at(application, leaves.into_iter().map(Some).collect(), addresses)
    }

    /// The leaves are reached at these addresses.
    fn at(
        application: &dyn Application,
        leaves: Vec<Option<Server>>,
        addresses: Vec<Address>,
    ) -> Self {
        let controller = controller();
        let admission = || controller.admission.clone();
        let twice = addresses.iter().flat_map(|address| [address, address]);
        let channels = twice.map(|address| ChannelConfig::new(address.clone())).collect();
        let tier = TierConfig::new("leaf", channels).controller(&controller);
        let config = ServerConfig { tiers: vec![tier], ..ServerConfig::default() };
        let router = application.router(&place()).expect("a mid-tier");
        let front = Server::start(config, admission(), router).expect("it starts");
        let client = ChannelConfig::new(front.address().clone());
        let client = Client::connect_with(client, &controller).expect("a client");
        Self { leaves, front, client }
    }

    /// A leaf ends, and another one begins at its address, with which both connections stand when this returns.
    fn restart(&mut self, application: &dyn Application, number: u32) {
        self.restart_as(number, |address| leaf(application, number, Some(address)));
    }

    /// The same with another kind of leaf.
    fn restart_as(&mut self, number: u32, start: impl FnOnce(Address) -> Server) {
        let place = &mut self.leaves[number as usize];
        let address = place.as_ref().expect("it lives").address().clone();
        drop(place.take());
        let leaf = place.insert(start(address));
        eventually("it has greeted twice", || leaf.totals().frames_out >= 2);
    }

    /// Sets every key to what its number and this say, and says whether all of it was acknowledged.
    fn set_all(&self, round: u8) -> bool {
        let set = |key: u32| self.client.call(SET.0, wire::set(1, &key_of(key), &[round; 9]));
        let asked: Vec<_> = (0..KEYS).map(set).collect();
        asked.into_iter().all(|call| call.wait().is_ok_and(|answer| answer.status == 0))
    }

    /// Gets every key so often, and says how many answers were of this round; the others were refused.
    fn get_all(&self, round: u8, times: u32) -> usize {
        let get = |turn: u32| self.client.call(GET.0, wire::get(1, &key_of(turn % KEYS)));
        let asked: Vec<_> = (0..times * KEYS).map(get).collect();
        let right = |answer: &tailwater_rt::client::Answer| {
            let answer = wire::Answer::read(&answer.payload).expect("an answer");
            assert_eq!(answer.value, [round; 9], "what was acknowledged last");
        };
        asked.into_iter().filter_map(|call| call.wait().ok()).inspect(right).count()
    }

    /// How many leaves were lost, as far as an answer tells.
    fn lost(&self) -> u32 {
        self.told().map_or(0, |it| it.lost)
    }

    /// How often leaves were lost and came back, unless that is refused.
    fn told(&self) -> Option<Upheavals> {
        let answer = self.client.call(GET.0, wire::get(1, &key_of(0))).wait().ok()?;
        Some(wire::Answer::read(&answer.payload).expect("an answer").upheavals)
    }

    /// Gets what was set in this round, until so many leaves came back.
    fn until_returned(&self, leaves: u32, round: u8) {
        eventually("it comes back", || {
            self.get_all(round, 1);
            self.upheavals().returned >= leaves
        });
    }

    /// How often leaves were lost and came back.
    fn upheavals(&self) -> Upheavals {
        self.told().expect("an answer")
    }

    /// Asks so many at a time, and checks each answer; how many were answered.
    fn ask(&self, application: &dyn Application, numbers: std::ops::Range<u32>) -> usize {
        let mut answered = 0;
        for batch in numbers.collect::<Vec<_>>().chunks(32) {
            let asked: Vec<_> = batch
                .iter()
                .map(|&number| {
                    let Ask { method, payload } = application.ask(&order(number));
                    (number, self.client.call(method.0, payload))
                })
                .collect();
            for (number, call) in asked {
                match call.wait() {
                    Ok(answer) => {
                        let right = application.is_answer(answer.status, &answer.payload, number);
                        assert!(right, "request {number}: status {}", answer.status);
                        answered += 1;
                    }
                    // A refusal is no wrong answer.
                    Err(CallError::Shed(_)) => application.was_refused(&order(number)),
                    Err(other) => panic!("request {number}: {other}"),
                }
            }
        }
        answered
    }
}

#[test]
fn every_answer_is_right_by_every_placement_and_choice() {
    for placement in ["modulo", "jump", "rendezvous", "ring"] {
        for choice in ["random", "least-recently-used", "first-alive"] {
            let application = few(&[("placement", placement), ("choice", choice)]);
            let tiers = Tiers::start(&*application);
            assert_eq!(tiers.ask(&*application, 0..600), 600, "{placement}, {choice}");
        }
    }
}

/// A mid-tier that reads one replica alone gives the right answers, too.
#[test]
fn gets_of_a_key_go_to_each_of_its_replicas_unless_the_first_alive_is_asked() {
    const GETS: u64 = 300;
    let placed = placement().of(&key_of(0));
    let replicas = placed.nodes();
    assert_eq!(replicas.len(), 3);
    for choice in ["random", "least-recently-used", "first-alive"] {
        let application = few(&[("choice", choice)]);
        let counts: Vec<Arc<AtomicU64>> = (0..LEAVES).map(|_| Arc::default()).collect();
        let counting = |(number, count): (u32, &Arc<AtomicU64>)| {
            let count = count.clone();
            leaf_that(&*application, (number, None), rpc::GET, move || {
                count.fetch_add(1, Relaxed);
                async {}
            })
        };
        let tiers = Tiers::of(&*application, (0..).zip(&counts).map(counting).collect());
        // A set is answered once all replicas are met.
        assert!(tiers.set_all(1));
        for _ in 0..GETS {
            let answer = tiers.client.call(GET.0, wire::get(1, &key_of(0))).wait();
            assert_eq!(answer.expect("an answer").status, 0);
        }
        // A leaf counts ahead of its answer.
        let gets = |leaf: usize| counts[leaf].load(Relaxed);
        let has_copy = |leaf: &usize| replicas.contains(&(*leaf as u16));
        let without: u64 = (0..counts.len()).filter(|leaf| !has_copy(leaf)).map(gets).sum();
        assert_eq!(without, 0, "{choice}: the leaf without a copy was asked");
        let gets: Vec<u64> = replicas.iter().map(|leaf| gets(usize::from(*leaf))).collect();
        let is_as_chosen = match choice {
            "first-alive" => gets[0] == GETS,
            // Of three by chance, fewer than fifty for one of them is as likely as one in 10^10.
            _ => gets.iter().all(|gets| *gets >= 50),
        };
        assert!(is_as_chosen, "{choice}: {gets:?}");
    }
}

/// Requests one after the other: what each answers follows from those before it.
#[test]
fn one_two_four_and_sixteen_leaves_give_the_same_answers() {
    let answers = |leaves: u32| -> Vec<(u16, Option<Vec<u8>>, usize)> {
        let text = SCENARIO.replace("nodes = 4", &format!("nodes = {leaves}"));
        let replicas = leaves.min(3).to_string();
        let settings = [("keys", "40"), ("sets", "40"), ("memory", "8"), ("replicas", &replicas)];
        let application = made_of(&text, &settings).expect("made");
        let all = (0..leaves).map(|number| leaf(&*application, number, None)).collect();
        let tiers = Tiers::of(&*application, all);
        let answer = |number: u32| {
            let Ask { method, payload } = application.ask(&order(number));
            let told = tiers.client.call(method.0, payload).wait().expect("an answer");
            assert!(application.is_answer(told.status, &told.payload, number), "{number}");
            let read = wire::Answer::read(&told.payload).expect("an answer");
            // Key and version; between them is the generator's number, which differs.
            let said = read.value.get(..12).map(|head| [&head[..4], &head[8..]].concat());
            (told.status, said, read.value.len())
        };
        (0..300).map(answer).collect()
    };
    let one = answers(1);
    assert!(one.iter().any(|(_, said, _)| said.is_some()), "gets among them");
    for leaves in [2, 4, 16] {
        let differs = one.iter().zip(answers(leaves)).position(|(one, other)| *one != other);
        assert_eq!(differs, None, "{leaves} leaves");
    }
}

/// With three replicas on four leaves each key lives while two of them die.
#[test]
fn leaves_that_die_make_no_answer_wrong_and_others_answer() {
    let application = few(&[]);
    let mut tiers = Tiers::start(&*application);
    assert_eq!(tiers.ask(&*application, 0..300), 300);
    for (dies, from) in [(1, 300), (3, 1_300)] {
        drop(tiers.leaves[dies].take());
        // A request that finds the leaf gone may be refused; from then on it is not asked.
        tiers.ask(&*application, from..from + 400);
        let answered = tiers.ask(&*application, from + 400..from + 1_000);
        assert_eq!(answered, 600, "leaf {dies} is gone");
    }
}

/// It comes back with what it had at its start, and no call was under way that could have told of it.
#[test]
fn a_leaf_that_restarts_while_nothing_is_asked_answers_nothing_old() {
    let application = few(&[]);
    let mut tiers = Tiers::start(&*application);
    for (round, number) in [(1, 0), (2, 1), (3, 2), (4, 0)] {
        assert!(tiers.set_all(round));
        tiers.restart(&*application, number);
        tiers.until_returned(round.into(), round);
        assert_eq!(tiers.get_all(round, 10), 10 * KEYS as usize, "leaf {number} was emptied");
        let found = tiers.upheavals();
        assert_eq!((found.lost, found.returned), (round.into(), round.into()));
    }
}

/// All replicas of each key are restarted, one after the other: what one lost was copied from the others.
#[test]
fn what_a_leaf_lost_it_has_again_once_it_was_asked_for() {
    let application = few(&[("replicas", "4")]);
    let mut tiers = Tiers::start(&*application);
    assert!(tiers.set_all(1));
    for number in 0..LEAVES {
        tiers.restart(&*application, number);
        tiers.until_returned(number + 1, 1);
        // Each get is by chance the first at a leaf: that a key is never there is less than one in 10^10.
        for _ in 0..5 {
            tiers.get_all(1, 20);
        }
    }
    assert_eq!(tiers.get_all(1, 10), 10 * KEYS as usize, "no leaf has what it had at first");
}

/// All were emptied before anything was copied: that there is nothing is nobody's knowledge.
#[test]
fn what_all_leaves_have_lost_is_refused_and_no_miss() {
    let application = few(&[("replicas", "4")]);
    let mut tiers = Tiers::start(&*application);
    assert!(tiers.set_all(1));
    (0..LEAVES).for_each(|number| tiers.restart(&*application, number));
    for _ in 0..3 {
        assert_eq!(tiers.get_all(1, 1), 0);
    }
    eventually("a later write is stored", || tiers.set_all(2));
    assert_eq!(tiers.get_all(2, 3), 3 * KEYS as usize);
}

/// The socket says that it is gone: nobody waits for a silence of a minute.
#[test]
fn a_set_does_not_wait_for_a_leaf_whose_connection_is_lost() {
    let application = few(&[]);
    let mut tiers = Tiers::start(&*application);
    assert!(tiers.set_all(1));
    drop(tiers.leaves[1].take());
    for round in 2..5 {
        assert!(tiers.set_all(round), "each within the ten seconds of a call");
    }
    assert_eq!(tiers.get_all(4, 3), 3 * KEYS as usize);
    let found = tiers.upheavals();
    assert_eq!((found.lost, found.returned), (1, 0), "{found:?}");
}

#[test]
fn results_tell_how_often_leaves_were_lost_and_came_back() {
    let application = few(&[]);
    let mut tiers = Tiers::start(&*application);
    tiers.ask(&*application, 0..100);
    assert_eq!((application.replicas().lost, application.replicas().returned), (0, 0));
    tiers.restart(&*application, 3);
    let mut asked = 100;
    eventually("it comes back", || {
        tiers.ask(&*application, asked..asked + 50);
        asked += 50;
        application.replicas().returned > 0
    });
    assert_eq!(
        application.replicas(),
        ReplicaCounts { lost: 1, returned: 1, ..application.replicas() }
    );
}

#[test]
fn what_is_no_request_is_refused_in_words() {
    let application = few(&[]);
    let tiers = Tiers::start(&*application);
    for (method, payload) in
        [(GET, &b"short"[..]), (SET, &[0; 8]), (SET, &[0, 0, 0, 0, 0, 0, 0, 0, 9, 1])]
    {
        let answer = tiers.client.call(method.0, payload.to_vec()).wait().expect("an answer");
        assert_eq!(answer.status, BAD_REQUEST, "{payload:?}");
    }
}

/// Of four replicas: one that cannot be reached may have what the others have not.
#[test]
fn a_miss_needs_the_word_of_each_replica() {
    let application = few(&[("replicas", "4")]);
    let mut tiers = Tiers::start(&*application);
    let get = |tiers: &Tiers| tiers.client.call(GET.0, wire::get(1, b"no such key")).wait();
    assert_eq!(get(&tiers).expect("an answer").status, wire::MISS);
    drop(tiers.leaves[2].take());
    // The first finds that the leaf is gone, and the second does not ask it.
    for _ in 0..2 {
        let error = get(&tiers).expect_err("refused");
        assert!(matches!(error, CallError::Shed(_)), "{error}");
    }
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let error =
        |settings: &[(&str, &str)]| made(settings).map(drop).expect_err("refused").to_string();
    assert_eq!(
        error(&[("replicas", "5")]),
        "replicas is \"5\"; at most the number of leaves, 4, is needed"
    );
    assert!(error(&[("placement", "hash")]).contains("one of modulo, jump, rendezvous, ring"));
    assert_eq!(
        error(&[("hedge", "soon")]),
        "hedge is \"soon\"; off, a quantile as p95, or a delay as 500us is needed"
    );
    assert!(error(&[("skew", "nan")]).contains("a number from 0 to 2"));
    let small = made(&[("keys", "100_000"), ("memory", "4")]).expect("made");
    let error = small.node(Node { tier: "leaf", number: 0 }, &place()).err().expect("too small");
    assert!(error.contains("raise server.settings.memory"), "{error}");
    for (more, found) in [
        (Place { loops: 2, ..place() }, "2 loops, 0 workers and 0 threads"),
        (Place { workers: 3, ..place() }, "1 loops, 3 workers and 0 threads"),
        (Place { crew: 2, ..place() }, "1 loops, 0 workers and 2 threads"),
    ] {
        let error = few(&[]).router(&more).err().expect("refused");
        assert!(error.contains(found), "{error}");
    }
}
