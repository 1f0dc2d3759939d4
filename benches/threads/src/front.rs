//! A front that asks two leaves for each request, and knows what it has carried out.

use crate::catalogue::POOL;
use crate::waits::{Waits, tasks};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater::{
    Answer, CallError, ChannelConfig, Client, Controller, Model, Reply, Request, Server,
    ServerConfig, Site, Spec, TierConfig, tier,
};

/// Multiplies a request's number, by leaf: each has an answer of its own.
const FACTORS: [u64; 2] = [3, 5];

pub(crate) type Failure = Box<dyn std::error::Error>;

pub(crate) struct Front {
    pub(crate) server: Server,
    pub(crate) client: Client,
    /// How often each request was carried out, by its number.
    done: Arc<[AtomicU32]>,
    /// Its loop.
    pub(crate) waits: Waits,
    _leaves: [Server; 2],
}

/// Nothing is refused: what is missing is lost.
pub(crate) fn controller() -> Result<Controller, Failure> {
    Ok(Spec::named("none").build(&Site::of_loops(Duration::from_secs(60), 2, 1))?)
}

fn leaf(factor: u64) -> Result<Server, Failure> {
    let service = move |request: Request| async move {
        let number = number(&request.payload);
        Reply::ok(number.wrapping_mul(factor).to_le_bytes().to_vec())
    };
    Ok(Server::start(ServerConfig::default(), controller()?.admission, service)?)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(u64::MAX, u64::from_le_bytes)
}

impl Front {
    /// For requests of so many numbers. The model may be changed.
    pub(crate) fn start(model: Model, requests: usize) -> Result<Self, Failure> {
        let [first, second] = FACTORS.map(leaf);
        let leaves = [first?, second?];
        let channels = leaves.iter().map(|leaf| ChannelConfig::new(leaf.address().clone()));
        let controller = controller()?;
        let tiers = vec![TierConfig::new("leaf", channels.collect()).controller(&controller)];
        let pool = Some(POOL);
        let config = ServerConfig {
            model,
            workers_max: pool,
            crew_max: pool,
            tiers,
            ..ServerConfig::default()
        };
        let done: Arc<[AtomicU32]> = (0..requests).map(|_| AtomicU32::new(0)).collect();
        let counted = done.clone();
        let service = move |request: Request| {
            // Relaxed: a count, read when all is over.
            if let Some(count) = counted.get(number(&request.payload) as usize) {
                count.fetch_add(1, Relaxed);
            }
            ask(request)
        };
        let before = tasks();
        let server = Server::start(config, controller.admission.clone(), service)?;
        let channel = ChannelConfig::new(server.address().clone());
        let client = Client::connect_with(channel, &controller)?;
        // An answer: the loop has its name by now.
        let unnumbered = client.call(1, payload(usize::MAX)).wait();
        check(usize::MAX, unnumbered)?;
        let waits = Waits::of_new_loops(&before);
        Ok(Self { server, client, done, waits, _leaves: leaves })
    }

    /// Requests of whose numbers none, and more than one, was carried out.
    pub(crate) fn miscarried(&self) -> (usize, usize) {
        let counts = self.done.iter().map(|count| count.load(Relaxed));
        counts.fold((0, 0), |(none, more), count| match count {
            0 => (none + 1, more),
            1 => (none, more),
            _ => (none, more + 1),
        })
    }

    /// For another round over the same numbers.
    pub(crate) fn forget(&self) {
        self.done.iter().for_each(|count| count.store(0, Relaxed));
    }
}

async fn ask(request: Request) -> Reply {
    let Some(leaves) = tier("leaf") else { return Reply::failure(1, "no tier") };
    let answers = leaves.fan(&request).call_all(1, request.payload).await;
    let joined: Result<Vec<_>, _> = answers.into_iter().collect();
    match joined {
        Ok(answers) => Reply::ok(answers.into_iter().flat_map(|answer| answer.payload).collect()),
        Err(error) => Reply::failure(2, &error.to_string()),
    }
}

/// A request of this number.
pub(crate) fn payload(number: usize) -> Vec<u8> {
    (number as u64).to_le_bytes().to_vec()
}

/// Why this is not the answer to the request of this number.
pub(crate) fn check(number: usize, answer: Result<Answer, CallError>) -> Result<(), String> {
    let answer = answer.map_err(|error| format!("request {number}: {error}"))?;
    let right = FACTORS.map(|factor| (number as u64).wrapping_mul(factor).to_le_bytes()).concat();
    if answer.status == 0 && answer.payload == right {
        return Ok(());
    }
    let Answer { status, payload, .. } = answer;
    Err(format!("request {number}: status {status}, {payload:?} found, {right:?} is needed"))
}
