//! What a handler is: a function from a request to a future of a reply.

use crate::net::PeerRef;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use tailwater_control::Reason;
use tailwater_core::{Instant, MethodId};
use tailwater_sync::Refused;
use tailwater_wire::STATUS_RESERVED;

/// A call as the handler sees it.
#[derive(Debug)]
pub struct Request {
    /// Which method.
    pub method: MethodId,
    /// The arguments, uninterpreted.
    pub payload: Vec<u8>,
    /// When the answer is worthless, by this machine's clock; `None` without a deadline.
    pub deadline: Option<Instant>,
    /// Smaller is more important; 128 is the middle.
    pub priority: u8,
    /// On whose behalf; zero for nobody in particular. The client's word, unless the server's
    /// [`Tenants`](crate::Tenants) tell.
    pub tenant: u32,
    /// The other end of the connection.
    pub peer: PeerRef,
}

/// What a handler answers.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// A response: status zero is success, others below [`STATUS_RESERVED`] are the application's.
    Response {
        /// The application's status.
        status: u16,
        /// The result. Reuse the request's buffer where you can.
        payload: Vec<u8>,
    },
    /// Refused in the handler, for instance at a lock whose queue does not fit the budget. [`Reason::Draining`] is told as
    /// [`Reason::Unavailable`]: a client takes the first for the end of this server.
    Shed(Reason),
    /// The service has no such method: the client gets [`Fault::UnknownMethod`](tailwater_wire::Fault::UnknownMethod).
    UnknownMethod,
}

impl Reply {
    /// As it is sent.
    ///
    /// # Panics
    /// With a status of the runtime's own: the handler fails, as with any other panic.
    pub(crate) fn checked(self) -> Self {
        if let Self::Response { status, .. } = &self {
            assert!(*status < STATUS_RESERVED, "status {status:#x}: 0xff00 and up are reserved");
        }
        self
    }

    /// Success with this result.
    #[must_use]
    pub const fn ok(payload: Vec<u8>) -> Self {
        Self::Response { status: 0, payload }
    }

    /// The application's failure `status`, with an explanation for people.
    #[must_use]
    pub fn failure(status: u16, why: &str) -> Self {
        Self::Response { status, payload: why.as_bytes().to_vec() }
    }
}

/// A lock that does not fit the request's budget: it is answered at once with the reason.
impl From<Refused> for Reply {
    fn from(refused: Refused) -> Self {
        Self::Shed(refused.reason())
    }
}

/// What makes `?` work in handlers: with `Result<Reply, Reply>` on all that becomes a reply.
impl<E: Into<Self>> From<Result<Self, E>> for Reply {
    fn from(result: Result<Self, E>) -> Self {
        result.unwrap_or_else(Into::into)
    }
}

/// A service: any `Fn(Request)` that returns a future of a [`Reply`] or of what becomes one, such as
/// `Result<Reply, Refused>`; or a [`Router`] of several.
///
/// The future runs on one thread from start to end, so it need not be `Send`. It may wait for
/// timers ([`crate::time::sleep`]) and other calls without holding the thread; what it computes
/// between two waits holds its loop, and the delay signal counts that.
pub trait Service: Send + Sync + 'static {
    /// The running handler.
    type Future: Future<Output: Into<Reply>> + 'static;

    /// Starts a handler.
    fn call(&self, request: Request) -> Self::Future;
}

impl<F, T> Service for F
where
    F: Fn(Request) -> T + Send + Sync + 'static,
    T: Future<Output: Into<Reply>> + 'static,
{
    type Future = T;

    fn call(&self, request: Request) -> T {
        self(request)
    }
}

type Boxed = Pin<Box<dyn Future<Output = Reply>>>;

/// Several methods behind one server.
#[derive(Default)]
pub struct Router {
    routes: BTreeMap<u16, Box<dyn Fn(Request) -> Boxed + Send + Sync>>,
}

impl Router {
    /// A router without routes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a method.
    ///
    /// # Panics
    /// When the number is taken, or reserved by tailwater: both are mistakes of the program.
    #[must_use]
    pub fn route<S: Service>(mut self, method: u16, service: S) -> Self {
        assert!(!MethodId(method).is_reserved(), "method {method:#x}: 0xff00 and up are reserved");
        let route = Box::new(move |request| {
            let running = service.call(request);
            Box::pin(async move { running.await.into() }) as Boxed
        });
        assert!(self.routes.insert(method, route).is_none(), "method {method} is routed twice");
        self
    }
}

impl Service for Router {
    type Future = Boxed;

    fn call(&self, request: Request) -> Boxed {
        match self.routes.get(&request.method.0) {
            Some(route) => route(request),
            None => Box::pin(std::future::ready(Reply::UnknownMethod)),
        }
    }
}
