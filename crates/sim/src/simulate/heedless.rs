//! Clients that do not listen to pauses, beside others that do.

use super::*;
use crate::experiment::{capacity, world_of};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tailwater_control::breakwater::CreditGate;
use tailwater_control::catalog::{DEFAULT, Spec};
use tailwater_control::client::{Expiry, Permit};
use tailwater_control::{Call, Client, ClientConfig, Gate, Offer, Reply};
use tailwater_core::Pause;
use tailwater_workload::{Scenario, Stream};

const TEXT: &str = r#"
slo = "400us"
warm_up = "200ms"
duration = "300ms"
clients.count = 200
demand.of_capacity = 1.5
controller = { name = "CONTROLLER" }
server.service = { distribution = "exponential", mean = "10us" }
"#;

/// Takes each offer, without its pause.
#[derive(Default)]
struct Heedless {
    inner: CreditGate,
    /// Offers whose pause it did not hear.
    ignored: Arc<AtomicU64>,
}

impl Gate for Heedless {
    fn permit(&mut self, now: Instant, call: &Call, outstanding: u32) -> Permit {
        self.inner.permit(now, call, outstanding)
    }

    fn on_sent(&mut self, now: Instant, call: &Call) {
        self.inner.on_sent(now, call);
    }

    fn on_reply(&mut self, now: Instant, reply: &Reply) {
        self.inner.on_reply(now, reply);
    }

    fn on_offer(&mut self, came: Instant, offer: Offer) {
        let is_pause = !offer.pause.duration().is_zero();
        self.ignored.fetch_add(is_pause.into(), Relaxed);
        self.inner.on_offer(came, Offer { pause: Pause::NONE, ..offer });
    }

    fn on_deregistered(&mut self) {
        self.inner.on_deregistered();
    }

    fn on_disconnected(&mut self) {
        self.inner.on_disconnected();
    }

    fn acked(&self) -> u32 {
        self.inner.acked()
    }
}

/// `docs/protocol.md` says so. The referee, which knows nothing of pauses, blames nobody either.
#[test]
fn clients_that_ignore_pauses_lose_nothing_by_it() {
    let scenario = Scenario::parse("x.toml", &TEXT.replace("CONTROLLER", DEFAULT)).unwrap();
    let configuration = scenario.configurations().remove(0);
    let world = world_of(&scenario, &configuration, 1);
    let plan = configuration.demand_plan(capacity(&scenario, world.clients).unwrap());
    let stream = Stream::new(&plan, world.clients, &scenario.server.service, 1).unwrap();
    let controller = Spec::named(DEFAULT).build(&world.node.site(world.slo, 1)).unwrap();
    // The two kinds differ in that alone.
    let config = ClientConfig {
        queue_max: 64,
        expiry: Expiry::After(world.slo / 2),
        announce_demand: false,
        deregister_after: None,
    };
    let ignored = Arc::new(AtomicU64::new(0));
    let client = |_, number: u32| {
        let heedless = Heedless { ignored: ignored.clone(), ..Heedless::default() };
        match number % 2 {
            0 => Client::new(config, Box::new(CreditGate::default())),
            _ => Client::new(config, Box::new(heedless)),
        }
    };
    let mut boot = |_| Arc::clone(&controller.admission);
    let parts = Parts { boot: &mut boot, client: &client };
    let mut simulation = Simulation::new(Mechanics::new(&world, parts), &world);
    let mut coming = stream.map(Intended::from).peekable();
    let mut served = [0_u64; 2];
    while let Some(next) = simulation.next(&mut coming) {
        match next {
            Next::Intended(request) => simulation.mechanics.intend(request),
            Next::Event(now, event) => {
                let answered = simulation.mechanics.happen(now, event);
                if let Some(Answered { client, is_served: true }) = answered {
                    served[client as usize % 2] += u64::from(now >= simulation.window.0);
                }
            }
        }
        simulation.watch();
    }
    simulation.finish(&world).unwrap_or_else(|broken| panic!("{broken}"));
    let [heeding, heedless] = served;
    assert!(ignored.load(Relaxed) > 1_000, "nothing was ignored");
    assert!(heeding > 5_000, "of some 28,000 that can be served: {heeding}");
    assert!(heedless as f64 >= 0.99 * heeding as f64, "{heedless} against {heeding}");
}
