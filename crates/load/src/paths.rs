//! Requests with paths: the server walks each through real locks, computing and waiting on its way.
//!
//! A request carries the seed of its draws, so that it takes the same path, the same locks and the same
//! times as in the simulator.

use crate::application::{Application, Ask, Kind, Order, Place};
use crate::work::Spinner;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_core::{MethodId, Rng};
use tailwater_rt::time::sleep;
use tailwater_rt::{Reply, Request, Router};
use tailwater_sync::Refused;
use tailwater_sync::task::{Mutex, MutexGuard};
use tailwater_workload::ways::{Acquire, Op};
use tailwater_workload::{Service, Ways};

/// The application of scenarios with `[[server.path]]`.
pub const KIND: Kind = Kind {
    name: "paths",
    about: "walks the paths of server.path",
    settings: &[],
    build: |given| Ok(Arc::new(Paths { ways: Ways::new(given.paths) })),
};

/// The only procedure: walks a path.
pub const WALK: MethodId = MethodId(1);

/// Length of a request: the seed of its draws and a tag that the answer must repeat.
const LENGTH: usize = 12;

/// See [`KIND`].
#[derive(Clone, PartialEq, Debug)]
pub struct Paths {
    ways: Ways,
}

impl Application for Paths {
    fn router(&self, place: &Place) -> Result<Router, String> {
        let walker = Arc::new(Walker::new(self.ways.clone(), place.spinner));
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
    locks: Vec<Mutex<()>>,
    spinner: Spinner,
}

impl Walker {
    fn new(ways: Ways, spinner: Spinner) -> Self {
        let of_set = |set: &tailwater_workload::ways::LockSet| {
            let name = set.name.clone();
            (0..set.among).map(move |_| Mutex::named(&name, ()))
        };
        let locks = ways.sets.iter().flat_map(of_set).collect();
        Self { ways, locks, spinner }
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

    /// What was done under locks that were released since, the latest first; it may not be refused.
    async fn undo(&self, mut done: Vec<(u32, Service)>, rng: &mut Rng) {
        while let Some((number, service)) = done.pop() {
            let _guard = self.locks[number as usize].lock().await;
            self.compute(&service, rng);
        }
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
            Op::Release { undo } => {
                let number = held.pop().map(|(number, _)| number);
                done.extend(number.zip(*undo));
            }
            // Scenarios with calls are refused before anything is started.
            Op::Prepare { .. } | Op::Call { .. } => return Reply::Shed(Reason::Limit),
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
