//! The synthetic service: a request says how long it takes, and the server takes that long.

use crate::application::{Application, Ask, Kind, Order, Place};
use crate::spinner::Spinner;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{MethodId, Nanos};
use tailwater_rt::{Reply, Request, Router};
use tailwater_workload::{Service, Work};

/// The application of scenarios with `server.service`.
pub const KIND: Kind = Kind {
    name: "service-time",
    about: "takes as long as server.service says",
    settings: &[],
    build: |given| {
        let modes = given.classes.then(|| given.service.clone());
        Ok(Arc::new(ServiceTime { work: given.work, modes }))
    },
};

/// Requests say how long they take.
#[derive(Clone, PartialEq, Debug)]
pub struct ServiceTime {
    /// How the server spends that time.
    pub work: Work,
    /// Each mode of these times is called by a method of its own; `None`: there is one method.
    pub modes: Option<Service>,
}

impl ServiceTime {
    fn mode_of(&self, service: Duration) -> u16 {
        self.modes.as_ref().map_or(0, |modes| modes.mode_of(service))
    }
}

impl Application for ServiceTime {
    fn router(&self, place: &Place) -> Result<Router, String> {
        Ok(service(place.spinner))
    }

    fn ask(&self, order: &Order) -> Ask {
        let method = match self.work {
            Work::Spin => SPIN,
            Work::Sleep => SLEEP,
        };
        let method = MethodId(method.0 + MODES_APART * self.mode_of(order.service));
        Ask { method, payload: payload(order.service, order.tag) }
    }

    fn class_of(&self, order: &Order) -> Option<usize> {
        self.modes.as_ref().map(|modes| modes.mode_of(order.service).into())
    }

    fn is_answer(&self, status: u16, payload: &[u8], tag: u32) -> bool {
        status == 0 && is_answer(payload, tag)
    }
}

/// Answers with the request's payload.
pub const ECHO: MethodId = MethodId(1);
/// Computes for as long as the request says, then answers with its payload.
pub const SPIN: MethodId = MethodId(2);
/// Waits for as long as the request says, holding no thread, then answers with its payload.
pub const SLEEP: MethodId = MethodId(3);

/// The same for requests of the second mode have numbers so much higher.
const MODES_APART: u16 = 2;

/// Longest service a request may ask for; longer ones are refused with status 400.
pub const SERVICE_MAX: Duration = Duration::from_secs(10);

/// A request's payload: its service time and a tag that the answer must repeat.
#[must_use]
pub fn payload(service: Duration, tag: u32) -> Vec<u8> {
    let service_ns = u32::try_from(service.nanos()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(8);
    bytes.extend_from_slice(&service_ns.to_le_bytes());
    bytes.extend_from_slice(&tag.to_le_bytes());
    bytes
}

/// Whether `answer` is that of the request tagged `tag`.
#[must_use]
pub fn is_answer(answer: &[u8], tag: u32) -> bool {
    answer.len() == 8 && answer[4..] == tag.to_le_bytes()
}

/// A server of the three methods, those that take time once for each mode.
#[must_use]
pub fn service(spinner: Spinner) -> Router {
    let spin = move |request: Request| async move {
        match asked(&request) {
            Ok(time) => {
                spinner.spin(time);
                Reply::ok(request.payload)
            }
            Err(refusal) => refusal,
        }
    };
    let sleep = |request: Request| async move {
        match asked(&request) {
            Ok(time) => {
                tailwater_rt::time::sleep(time).await;
                Reply::ok(request.payload)
            }
            Err(refusal) => refusal,
        }
    };
    Router::new()
        .route(ECHO.0, |request: Request| async { Reply::ok(request.payload) })
        .route(SPIN.0, spin)
        .route(SLEEP.0, sleep)
        .route(SPIN.0 + MODES_APART, spin)
        .route(SLEEP.0 + MODES_APART, sleep)
}

fn asked(request: &Request) -> Result<Duration, Reply> {
    let refusal = || Reply::failure(400, "8 bytes are needed: service time in ns, tag");
    let bytes = request.payload.first_chunk::<4>().ok_or_else(refusal)?;
    let time = Duration::from_nanos(u64::from(u32::from_le_bytes(*bytes)));
    if time > SERVICE_MAX { Err(refusal()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_others() {
        let bytes = payload(Duration::from_micros(10), 77);
        assert!(is_answer(&bytes, 77));
        assert!(!is_answer(&bytes, 78));
        assert!(!is_answer(&bytes[..7], 77));
    }
}
