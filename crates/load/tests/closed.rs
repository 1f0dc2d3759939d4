//! Closed loops on real sockets.

use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_core::pace::Pace;
use tailwater_load::application::{Ask, Order, Place};
use tailwater_load::closed::{self, ClosedError, ClosedPlan};
use tailwater_load::work::{self, ServiceTime};
use tailwater_load::{Application, EarlyEnd, Fleet, Spinner};
use tailwater_rt::{Router, Server, ServerConfig};
use tailwater_workload::{Distribution, Service, Work};

/// Longer than a test takes.
const LONG: Duration = Duration::from_secs(3_600);

/// Its oracle holds so many requests.
struct Few(usize);

const SERVICE: ServiceTime = ServiceTime { work: Work::Spin, modes: None };

impl Application for Few {
    fn router(&self, place: &Place) -> Result<Router, String> {
        SERVICE.router(place)
    }

    fn requests_max(&self) -> usize {
        self.0
    }

    fn ask(&self, order: &Order) -> Ask {
        SERVICE.ask(order)
    }

    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        SERVICE.is_answer(status, payload, tag)
    }
}

fn none() -> Controller {
    Spec::named("none").build(&Site::one_loop(Duration::from_secs(60), 1)).expect("built")
}

fn swept(requests_max: usize, measure: Duration) -> Result<usize, ClosedError> {
    swept_until(requests_max, measure, EarlyEnd::never())
}

fn swept_until(
    requests_max: usize,
    measure: Duration,
    cut: EarlyEnd,
) -> Result<usize, ClosedError> {
    let service = work::service(Spinner::of_speed(1.0));
    let server =
        Server::start(ServerConfig::default(), none().admission, service).expect("it starts");
    let mut fleet = Fleet::connect(server.address(), 2, &none(), &[]).expect("connected");
    let service = Service { distribution: Distribution::Constant, mean: Duration::from_nanos(1) };
    let plan = ClosedPlan {
        application: Arc::new(Few(requests_max)),
        service,
        in_flight: vec![1, 2],
        settle: Duration::ZERO,
        measure,
        pace: Pace::Sleep,
        seed: 1,
        cut: Arc::new(cut),
    };
    closed::run(&mut fleet, &plan).map(|points| points.len())
}

/// All points count together, since one oracle holds them.
#[test]
fn a_sweep_that_is_longer_than_the_oracle_can_hold_ends_as_an_error() {
    assert_eq!(swept(usize::MAX, Duration::from_millis(5)), Ok(2));
    // Before the first request of the second point.
    assert_eq!(swept(1, Duration::ZERO), Err(ClosedError::TooMany(1)));
    let error = swept(50, Duration::from_secs(60)).expect_err("longer than that");
    assert_eq!(error, ClosedError::TooMany(50));
    let told = error.to_string();
    assert!(told.contains("the 50 requests") && told.contains("capacity.duration"), "{told}");
}

#[test]
fn a_point_that_is_cut_short_is_none() {
    assert_eq!(swept_until(usize::MAX, LONG, EarlyEnd::when(|| true)), Ok(0));
}
