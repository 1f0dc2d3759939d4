//! What happens, as the mechanics tell it to whoever watches. They never learn what is made of it.

use crate::connection::Connection;
use crate::task::Stage;
use std::time::Duration;
use tailwater_control::{Gauges, Offer, Verdict};
use tailwater_core::Instant;

/// Something that happened just now. `connection` is a client's, or one between nodes, numbered
/// through; `node` and `at` are a node and its loop.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Fact {
    /// A node accepted a connection and made its first offer.
    Accepted { connection: Connection, offer: Offer, gauges: Gauges },
    /// It heard that the connection is gone, or closed it.
    Closed { connection: Connection },
    /// It made an offer, which is about to leave.
    Offered { connection: Connection, offer: Offer, gauges: Gauges },
    /// It heard that a client gives its credits back.
    Deregistered { connection: Connection },
    /// Its controller judged a request that arrived. `idle`: a core took it at once, and nothing waits in this loop.
    Judged { connection: Connection, registers: bool, verdict: Verdict, idle: bool },
    /// It answered a request; `again` if that was answered before.
    Answered { connection: Connection, again: bool },
    /// So many credit messages wait to be sent, of which there should be `max` at most.
    CreditsWait { length: usize, max: usize },
    /// A loop told its shards the delay and carried out what they wish.
    Ticked { node: u16, at: usize, gauges: Gauges },
    /// A loop's shards want to be called by then.
    Asked { node: u16, at: usize, due: Instant },
    /// A loop cannot call its shards before that.
    Postponed { node: u16, at: usize, until: Instant },
    /// A piece of a loop's work has ended; so many admitted requests have not begun.
    Worked { node: u16, at: usize, unbegun: usize },
    /// The node's process died.
    Died { node: u16 },
    /// From now on the node has a core to spare, or none.
    Spare { node: u16, spare: bool },
    /// A request got a lock after waiting; by its budget it should have given up at `give_up_at`.
    HandedOver { lock: u32, waited: Duration, give_up_at: Option<Instant> },
    /// A request with a path is about to be answered: locks that it holds, the time that it was in the
    /// node, and what its books say of that time.
    Settled { held: usize, stage: Stage, there: Duration, spent: Duration },

    /// A client, or a node that calls, sent a request within its window. Calls between nodes have the number 0.
    Sent { request: u64, connection: Connection, registers: bool },
    /// It heard of an offer, which may have come with an answer.
    Heard { connection: Connection, offer: Offer, answers: bool },
    /// It gave its credits back.
    Resigned { connection: Connection },
    /// It learnt that its connection is lost.
    Disconnected { connection: Connection },
    /// Its process died.
    Crashed { connection: Connection },
    /// It did what it could. `stranded`: calls wait, though the connection stands and nothing is on its way.
    Driven { connection: Connection, queued: u32, stranded: bool },
    /// It says of itself what is not so.
    Lied { connection: Connection },
    /// It sends without permission.
    Floods { connection: Connection },

    /// A client asks for something.
    Intended,
    /// A request goes to a replica by this connection; both times are by its client's clock.
    Tried { request: u64, connection: Connection, now: Instant, deadline: Instant },
    /// A request goes on to another replica after a shed by the one of this connection.
    Retried { connection: Connection },
    /// A request goes on that had no try over this connection: that is lost, and the request was not sent.
    Untried { request: u64, connection: Connection },
    /// What became of a request was counted.
    Ended { request: u64 },
    /// A node called another.
    Called { connection: Connection },
    /// The call ended.
    CallEnded { connection: Connection },
    /// Something was met that cannot be.
    Astray(Thing, String),
}

/// What can be met where it cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Thing {
    Request,
    Call,
    Lock,
}
