//! A server that speaks a protocol of others to its clients.

use std::net::SocketAddr;
use tailwater_control::Reason;
use tailwater_core::MethodId;
use tailwater_rt::Address;

/// Both ends of such a protocol. It answers the requests of a connection in their order, has no control, and tells no counts.
pub trait ForeignFront: Send + Sync {
    /// Serves on threads of its own, with everything that it needs loaded, until what is returned is dropped.
    ///
    /// # Errors
    /// A sentence for the operator when it cannot serve here.
    fn start(&self, at: &FrontPlace<'_>) -> Result<Box<dyn ServingFront>, String>;

    /// Appends the bytes of a request, as [`Application::ask`](super::Application::ask) makes it. False, and nothing is
    /// appended, where the protocol has no such request.
    fn request(&self, asked: (MethodId, &[u8]), bytes: &mut Vec<u8>) -> bool;

    /// What stands at the beginning of `bytes`, which are not empty, as the answer to this request.
    fn answer(&self, asked: (MethodId, &[u8]), bytes: &[u8]) -> Heard;
}

/// Where such a server is to serve.
#[derive(Clone, Copy, Debug)]
pub struct FrontPlace<'a> {
    /// Where it listens; port zero takes a free one.
    pub listen: &'a Address,
    /// The nodes of its tier, which are programs of others.
    pub nodes: &'a [Address],
    /// Connections at a time.
    pub connections_max: usize,
}

/// One that serves. Dropping it waits for what is under way.
pub trait ServingFront {
    /// Where it listens.
    fn address(&self) -> SocketAddr;

    /// False where it has ended by itself.
    fn is_well(&self) -> bool;
}

/// What was heard in answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// The beginning of an answer.
    More,
    /// An answer, as [`Application::is_answer`](super::Application::is_answer) judges it.
    Answer {
        /// Its bytes, at least one.
        used: usize,
        /// Zero is success; others are the application's own.
        status: u16,
        /// The result.
        payload: Vec<u8>,
    },
    /// A refusal, after which nothing of the request goes on.
    Refused {
        /// Its bytes, at least one.
        used: usize,
        /// Why.
        reason: Reason,
    },
    /// No answer, in a few words: the connection cannot go on.
    Broken(&'static str),
}
