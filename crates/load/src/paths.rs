//! Requests with paths: the server walks each through real locks, computing and waiting on its way.
//!
//! A request carries the seed of its draws. So it takes the same path, the same locks and the same times as in the
//! simulator.

use crate::application::{
    Application, Ask, Asked, ForeignTier, ForeignTiers, Kind, Order, Place, Unanswered,
};
use crate::spinner::Spinner;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_core::{Instant, MethodId, Rng};
use tailwater_rt::client::{Answer, CallError};
use tailwater_rt::time::sleep;
use tailwater_rt::{Reply, Request, Router, downstream};
use tailwater_sync::Refused;
use tailwater_sync::task::{Mutex, MutexGuard};
use tailwater_workload::scenario::Tier;
use tailwater_workload::ways::{Acquire, Op};
use tailwater_workload::{Service, Ways};

/// The application of scenarios with `[[server.path]]`.
pub const KIND: Kind = Kind {
    name: "paths",
    about: "walks the paths of server.path",
    settings: &[],
    build: |given| {
        let named = |tier: &Tier| Callee {
            name: tier.name.clone(),
            connections: tier.connections,
            hedges: tier.hedge.is_some(),
        };
        let tiers = given.tiers.iter().map(named).collect();
        Ok(Arc::new(Paths { ways: Ways::new(given.paths), tiers }))
    },
};

/// The only method: walks a path.
pub const WALK: MethodId = MethodId(1);

/// Length of a request: the seed of its draws and a tag that the answer must repeat.
const LENGTH: usize = 12;

/// See [`KIND`].
#[derive(Clone, PartialEq, Debug)]
pub struct Paths {
    ways: Ways,
    tiers: Vec<Callee>,
}

/// A tier that paths call.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Callee {
    name: String,
    /// From each loop to each node: as many shards stand for a node, one behind the other.
    connections: u32,
    /// What is late there is tried at a second replica, too: a walk may be walked twice.
    hedges: bool,
}

impl Application for Paths {
    fn router(&self, place: &Place) -> Result<Router, String> {
        self.router_before(place, &ForeignTiers::default())
    }

    fn router_before(&self, place: &Place, foreign: &ForeignTiers) -> Result<Router, String> {
        let walker = Arc::new(Walker::new(self.clone(), place.spinner, foreign));
        let walk = move |request: Request| walk(walker.clone(), request);
        Ok(Router::new().route(WALK.0, walk))
    }

    fn ask(&self, order: &Order) -> Ask {
        let mut payload = Vec::with_capacity(LENGTH);
        payload.extend_from_slice(&order.seed.to_le_bytes());
        payload.extend_from_slice(&order.tag.to_le_bytes());
        Ask { method: WALK, payload }
    }

    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        status == 0 && payload.len() == LENGTH && payload[8..] == tag.to_le_bytes()
    }
}

/// What all requests share.
struct Walker {
    ways: Ways,
    tiers: Vec<Callee>,
    /// By the same numbers: those of them that are programs of others.
    foreign: Vec<Option<Arc<dyn ForeignTier>>>,
    locks: Vec<Mutex<()>>,
    spinner: Spinner,
    /// Connections of a node are used in turn.
    turn: AtomicU32,
}

impl Walker {
    fn new(Paths { ways, tiers }: Paths, spinner: Spinner, foreign: &ForeignTiers) -> Self {
        let of_set = |set: &tailwater_workload::ways::LockSet| {
            let name = set.name.clone();
            (0..set.among).map(move |_| Mutex::named(&name, ()))
        };
        let locks = ways.sets.iter().flat_map(of_set).collect();
        let foreign = tiers.iter().map(|tier| foreign.of(&tier.name).cloned()).collect();
        Self { ways, tiers, foreign, locks, spinner, turn: AtomicU32::new(0) }
    }

    /// Taken as the server's rule says, or as one that may not be refused.
    async fn take(
        &self,
        acquire: &Acquire,
        rng: &mut Rng,
    ) -> Result<(u32, MutexGuard<'_, ()>), Refused> {
        let number = self.ways.draw(acquire, rng);
        let lock = &self.locks[number as usize];
        let guard =
            if acquire.must { lock.lock().await } else { lock.lock_within_budget().await? };
        Ok((number, guard))
    }

    fn compute(&self, service: &Service, rng: &mut Rng) {
        self.spinner.spin(service.draw(rng));
    }

    /// Asks `fan_out` different nodes of a tier, the first of them at random, for requests that draw what they
    /// would in the simulator. Refused as soon as one of them is.
    async fn call(
        &self,
        (tier, fan_out): (usize, u32),
        seed: u64,
        request: &Request,
    ) -> Result<(), Unanswered> {
        if let Some(foreign) = &self.foreign[tier] {
            return ask(&**foreign, fan_out, seed, request.deadline).await;
        }
        let Callee { name, connections, hedges } = &self.tiers[tier];
        let tier = downstream::tier(name).ok_or(Unanswered::Wrong)?;
        let nodes = tier.shards() as u32 / connections;
        let mut rng = Rng::from_seed(seed);
        let first = rng.below(nodes);
        let fan = tier.fan(request).fail_fast();
        let mut fan = if *hedges { fan.hedged() } else { fan };
        for offset in 0..fan_out {
            let node = (first + offset) % nodes;
            let turn = self.turn.fetch_add(1, Relaxed) % connections;
            let payload = [&rng.u64().to_le_bytes()[..], &request.payload[8..]].concat();
            fan = fan.call((node * connections + turn) as usize, WALK.0, payload);
        }
        let tag = request.payload.get(8..);
        let each = fan.await.into_iter().filter_map(|outcome| unanswered(outcome, tag));
        Unanswered::worst(each).map_or(Ok(()), Err)
    }

    /// What was done under locks that were released since, the latest first; it may not be refused.
    async fn undo(&self, mut done: Vec<(u32, Service)>, rng: &mut Rng) {
        while let Some((number, service)) = done.pop() {
            let _guard = self.locks[number as usize].lock().await;
            self.compute(&service, rng);
        }
    }
}

/// The same of a tier that is a program of others.
async fn ask(
    tier: &dyn ForeignTier,
    fan_out: u32,
    seed: u64,
    deadline: Option<Instant>,
) -> Result<(), Unanswered> {
    let nodes = tier.nodes();
    let mut rng = Rng::from_seed(seed);
    let first = rng.below(nodes);
    let each = |offset| tier.ask((first + offset) % nodes, rng.u64(), deadline);
    // All are asked before the first is waited for.
    let asked: Vec<Asked> = (0..fan_out).map(each).collect();
    for asked in asked {
        asked.await?;
    }
    Ok(())
}

/// Why a call whose answer must repeat the tag was not answered rightly; `None` where it was, or is not awaited.
fn unanswered(outcome: Result<Answer, CallError>, tag: Option<&[u8]>) -> Option<Unanswered> {
    match outcome {
        Ok(answer) => {
            let right = answer.status == 0 && answer.payload.get(8..) == tag;
            (!right).then_some(Unanswered::Wrong)
        }
        Err(error) => Unanswered::because_of(&error),
    }
}

async fn walk(walker: Arc<Walker>, request: Request) -> Reply {
    let Some(seed) = request.payload.first_chunk().filter(|_| request.payload.len() == LENGTH)
    else {
        return Reply::failure(400, "12 bytes are needed: seed of the draws, tag");
    };
    let mut rng = Rng::from_seed(u64::from_le_bytes(*seed));
    let way = walker.ways.choose(&mut rng);
    let (mut held, mut done) = (Vec::new(), Vec::new());
    for op in walker.ways.all.get(way).map_or(&[][..], |way| &way.ops) {
        match op {
            Op::Compute(service) => walker.compute(service, &mut rng),
            Op::Pause(service) => pause(service.draw(&mut rng)).await,
            Op::Acquire(acquire) => match walker.take(acquire, &mut rng).await {
                Ok(taken) => held.push(taken),
                Err(refused) => {
                    release(&mut held);
                    walker.undo(done, &mut rng).await;
                    return refused.into();
                }
            },
            // What messages cost to send they cost here in the sending.
            Op::Prepare { .. } => {}
            &Op::Call { tier, fan_out } => {
                let seed = rng.u64();
                if let Err(why) = walker.call((tier, fan_out), seed, &request).await {
                    release(&mut held);
                    walker.undo(done, &mut rng).await;
                    return why.into();
                }
            }
            Op::Release { undo } => {
                let number = held.pop().map(|(number, _)| number);
                done.extend(number.zip(undo.clone()));
            }
        }
    }
    Reply::ok(request.payload)
}

/// Of less than the timers can tell there is nothing to wait for.
async fn pause(time: Duration) {
    if time > Duration::from_nanos(1) {
        sleep(time).await;
    }
}

/// The lock that was taken last comes first.
fn release(held: &mut Vec<(u32, MutexGuard<'_, ()>)>) {
    while let Some((_, guard)) = held.pop() {
        drop(guard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_control::asqm::{Asqm, Policy};
    use tailwater_control::catalog::Spec;
    use tailwater_control::{Reason, Site};
    use tailwater_rt::client::{ChannelConfig, Client, Fault};
    use tailwater_rt::{LockRules, Placement, Server, ServerConfig};
    use tailwater_workload::Scenario;

    const NANO: Duration = Duration::from_nanos(1);
    const HOUR: Duration = Duration::from_secs(3600);

    /// All that a path may do without a second server; B is held across a timer inside of A.
    const TEXT: &str = r#"
slo = "1s"
clients.count = 1
demand.of_capacity = 1.0
controller = { name = "none" }
[[server.path]]
probability = 0.5
steps = [{ compute = "1us" }, { lock = "A", undo = "1us", steps = [{ compute = "1us" }] },
         { lock = "B", steps = [{ wait = "20ms" }] }]
[[server.path]]
probability = 0.5
steps = [{ lock = "A", steps = [{ lock = "B", steps = [{ wait = "20ms" }] }] },
         { lock = "C", hold = "1us", among = 10, must = true }]
"#;

    fn application() -> Arc<dyn Application> {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        let server = &scenario.server;
        let paths = (&server.paths[..], &scenario.tiers[..]);
        let data = std::path::Path::new("");
        KIND.make(&[], server.service.clone(), (server.work, false), paths, data).unwrap()
    }

    /// Twenty requests at once, then one alone: served, and refused for a lock.
    fn crowd(placement: Placement, policy: Policy, budget: Duration) -> (usize, usize) {
        let application = application();
        let locks = Some(LockRules { policy, target: HOUR, budget: Some(budget) });
        let place = Place { loops: 1, workers: 0, crew: 0, locks, spinner: Spinner::of_speed(1.0) };
        let controller =
            Spec::named("none").build(&Site::one_loop(Duration::from_secs(60), 1)).unwrap();
        let config = ServerConfig { locks, model: placement.into(), ..ServerConfig::default() };
        let router = application.router(&place).unwrap();
        let server = Server::start(config, controller.admission.clone(), router).unwrap();
        let config = ChannelConfig::new(server.address().clone());
        let client = Client::connect_with(config, &controller).unwrap();
        let call = |tag: u32| {
            let service = NANO;
            let Ask { method, payload } =
                application.ask(&Order { seed: tag.into(), service, tag });
            client.call(method.0, payload)
        };
        let calls: Vec<_> = (0..20).map(|tag| (tag, call(tag))).collect();
        let (mut served, mut refused) = (0, 0);
        for (tag, call) in calls {
            match call.wait() {
                Ok(answer) => {
                    assert!(application.is_answer(answer.status, &answer.payload, tag));
                    assert!(!application.is_answer(answer.status, &answer.payload, tag + 1));
                    served += 1;
                }
                Err(error) => {
                    assert_eq!(error, CallError::Shed(Reason::Lock));
                    refused += 1;
                }
            }
        }
        // Refused requests have released everything.
        assert!(call(99).wait().is_ok(), "{policy:?}: a free lock");
        (served, refused)
    }

    #[test]
    fn every_policy_walks_and_refuses_as_it_says() {
        for placement in [Placement::Inline, Placement::Workers(2)] {
            for (policy, budget) in [
                (Policy::Plain, NANO),
                (Policy::Timed(HOUR), NANO),
                (Policy::Asqm(Asqm::DEFAULT), HOUR),
                (Policy::Asqm(Asqm::PAPER), HOUR),
                (Policy::Asqm(Asqm::ARTIFACT), HOUR),
            ] {
                assert_eq!(crowd(placement, policy, budget), (20, 0), "{policy:?}, {placement}");
            }
            for (policy, budget) in [
                (Policy::Try, HOUR),
                (Policy::Timed(1_000_000 * NANO), HOUR),
                (Policy::Asqm(Asqm::DEFAULT), 30_000_000 * NANO),
                (Policy::Asqm(Asqm::PAPER), NANO),
            ] {
                let (served, refused) = crowd(placement, policy, budget);
                assert!(
                    served > 0 && refused > 0,
                    "{policy:?}: {served} served, {refused} refused"
                );
            }
        }
    }

    #[test]
    fn a_refusal_by_a_tier_is_a_shed_and_a_wrong_answer_is_none() {
        let answer = |status, payload: &[u8]| {
            Ok(Answer { status, payload: payload.to_vec(), sojourn: Duration::ZERO })
        };
        let of = |outcome| unanswered(outcome, Some(&[1, 2, 3, 4]));
        let right = [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
        assert_eq!(of(answer(0, &right)), None);
        for wrong in [
            answer(500, &right),
            answer(0, &right[..8]),
            answer(0, &[9; 12]),
            answer(0, &[]),
            Err(CallError::Runtime(Fault::UnknownMethod)),
            Err(CallError::TooLong { most: 8 }),
            Err(CallError::AnswersTooLong { most: 8 }),
        ] {
            assert_eq!(of(wrong), Some(Unanswered::Wrong));
        }
        for (refused, reason) in [
            (CallError::Shed(Reason::Lock), Reason::Lock),
            (CallError::Disconnected, Reason::Unavailable),
            (CallError::Runtime(Fault::HandlerTimeout), Reason::Deadline),
        ] {
            assert_eq!(of(Err(refused)), Some(Unanswered::Refused(reason)));
        }
        assert_eq!(of(Err(CallError::NotAwaited)), None);
    }

    #[test]
    fn requests_that_no_generator_sends_are_answered_with_what_is_needed() {
        let paths = Paths { ways: Ways::default(), tiers: Vec::new() };
        let spinner = Spinner::of_speed(1.0);
        let walker = Arc::new(Walker::new(paths, spinner, &ForeignTiers::default()));
        for length in [0, 11, 13] {
            let request = Request {
                method: WALK,
                payload: vec![0; length],
                deadline: None,
                priority: 128,
                tenant: 0,
                peer: tailwater_rt::PeerRef::default(),
            };
            let mut walking = Box::pin(walk(walker.clone(), request));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let polled = walking.as_mut().poll(&mut context);
            let std::task::Poll::Ready(Reply::Response { status, .. }) = polled else {
                panic!("{polled:?}");
            };
            assert_eq!(status, 400);
        }
    }
}
