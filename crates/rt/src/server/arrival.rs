//! What a connection sent: frames to verdicts.

use super::connection::{Connection, Farewell, Phase};
use super::control::shed;
use super::event_loop::EventLoop;
use super::greeting::greet;
use super::input::{Next, Stop};
use super::intake::FRAMES_PER_GO;
use super::job::{Answer, Job, Origin};
use super::key::{ConnectionKey, RequestKey};
use crate::framing::Reading;
use crate::service::{Reply, Request};
use std::time::Duration;
use tailwater_control::{Arrival, Echo, Reached, Reason, Verdict};
use tailwater_core::{Class, MethodId, RequestId};
use tailwater_sync::budget::TaskBudget;
use tailwater_wire::{ClientFrame, GoodbyeCode, Hello, Ping, Pong, call_name};

/// A connection that says goodbye waits for its answers for this long.
const ANSWERS_DUE: Duration = Duration::from_secs(1);

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// One connection's go: takes its held frames, and those of `fresh` behind them. After each the loop does
    /// what `between` says.
    pub(super) fn take(
        &mut self,
        key: ConnectionKey,
        fresh: &[u8],
        between: impl FnMut(&mut Self),
    ) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !connection.is_heard() {
            return;
        }
        let mut reading = connection.input.feed(fresh);
        let stop = self.take_frames(key, &mut reading, between);
        let (now, waiting) = (self.clock.now(), self.queue.bytes());
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !connection.is_heard() {
            return;
        }
        if !self.intake.keep(connection, reading, fresh.len(), stop, now, waiting) {
            self.end_greediest();
        }
    }

    /// Input takes all the memory that it may: the connection that holds most of it ends. It holds as much as
    /// the one that came last at least.
    fn end_greediest(&mut self) {
        let greediest = self.connections.iter().max_by_key(|connection| connection.input.held());
        if let Some(key) = greediest.map(|connection| connection.key) {
            let why = "the server's memory for requests is full";
            self.say_goodbye(key, GoodbyeCode::TooManyConnections, why);
        }
    }

    fn take_frames(
        &mut self,
        key: ConnectionKey,
        reading: &mut Reading<'_>,
        mut between: impl FnMut(&mut Self),
    ) -> Stop {
        for _ in 0..FRAMES_PER_GO {
            let now = self.clock.now();
            let Some(connection) = self.connections.get_mut(key) else { return Stop::Dry };
            if !connection.is_heard() {
                return Stop::Dry;
            }
            let limits = connection.limits;
            match connection.input.next(reading.rest(), &limits, now) {
                Next::Frame(frame, length) => {
                    self.totals.frames_in += 1;
                    if matches!(connection.phase, Phase::Greeting(_)) {
                        self.on_first(key, &frame);
                    } else {
                        self.on_frame(key, &frame);
                    }
                    reading.take(length);
                    between(self);
                }
                Next::Dry | Next::Pause => return Stop::Dry,
                Next::Broken(error) => {
                    self.break_off(key, error.goodbye_code(), error.to_string());
                    return Stop::Dry;
                }
            }
        }
        Stop::Fair
    }

    fn on_first(&mut self, key: ConnectionKey, frame: &ClientFrame<'_>) {
        match frame {
            ClientFrame::Hello(hello) => self.on_hello(key, hello),
            ClientFrame::Goodbye(_) => self.close(key),
            _ => self.break_rule(key, "the first frame must be a HELLO"),
        }
    }

    fn on_frame(&mut self, key: ConnectionKey, frame: &ClientFrame<'_>) {
        let (now, session) = (self.clock.now(), key.session());
        match frame {
            ClientFrame::Request(request) => self.on_request(key, request),
            ClientFrame::Demand(demand) => {
                self.control.demand(now, session, demand.demand, demand.acked);
            }
            ClientFrame::Deregister(_) => self.control.deregister(now, session),
            ClientFrame::Cancel(cancel) => {
                self.on_cancel(RequestKey { connection: key, id: cancel.id });
            }
            ClientFrame::Ping(ping) => self.on_ping(key, *ping),
            // That it came says all that it says.
            ClientFrame::Pong(_) => {}
            ClientFrame::Goodbye(_) => self.close(key),
            ClientFrame::Hello(_) => self.break_rule(key, "a HELLO comes once, first of all"),
        }
    }

    fn on_ping(&mut self, key: ConnectionKey, ping: Ping) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        Pong { token: ping.token }.encode(connection.output.buffer());
        connection.output.prompt = true;
        self.totals.frames_out += 1;
        self.egress.touched(connection);
    }

    fn on_hello(&mut self, key: ConnectionKey, hello: &Hello) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        match greet(connection, hello, &self.shared.config, self.clock.now()) {
            Ok(()) => {
                self.control.sent(self.clock.now(), connection);
                self.totals.frames_out += 1;
                self.egress.touched(connection);
            }
            Err((code, why)) => self.break_off(key, code, why),
        }
    }

    /// A request that runs is ended and refused at once; one that waits, at the turn's end. An id that is not
    /// in flight is ignored.
    fn on_cancel(&mut self, key: RequestKey) {
        let Some(connection) = self.connections.get_mut(key.connection) else { return };
        match self.runner.cancel(key.id, &mut connection.work) {
            Some(cut) => self.refuse_cut(&cut),
            None if connection.work.cancel_waiting(key.id) => self.queue.on_cancel(key.connection),
            None => {}
        }
    }

    fn on_request(&mut self, key: ConnectionKey, request: &tailwater_wire::Request<'_>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.input.taken += 1;
        let now = self.clock.now();
        let (arrival, origin) = arrival(connection, request, now, self.clock.blind_ns());
        if request.method == MethodId::INTROSPECT {
            return self.on_question(origin, request.register.then_some(&arrival));
        }
        self.totals.received += 1;
        connection.work.pending += 1;
        self.unanswered += 1;
        let verdict = self.control.judge(now, connection, &arrival, self.queue.delay(now));
        let (config, bytes) = (&self.shared.config, request.payload.len());
        match verdict {
            Verdict::Admit if self.shared.is_draining() => {
                self.refuse(&origin, Reason::Draining, Reached::Queue);
            }
            Verdict::Admit
                if self.queue.is_full()
                    || connection.work.is_crowded(bytes, config)
                    || !self.intake.has_memory(self.queue.bytes(), bytes) =>
            {
                self.refuse(&origin, Reason::QueueFull, Reached::Queue);
            }
            Verdict::Admit => {
                let (own, budget) = (config.tenants.is_some(), self.control.assign_budget());
                self.queue.push(admit(connection, origin, request, own, budget));
            }
            Verdict::Shed(reason) => {
                self.refuse(&origin, reason, Reached::Arrival);
                self.fine(key, reason);
            }
            Verdict::Close(reason) => {
                self.refuse(&origin, reason, Reached::Arrival);
                let why = "requests keep coming without credit";
                self.break_off(key, GoodbyeCode::NoCredit, why.into());
            }
        }
    }

    /// A refusal costs the server time: a client that keeps asking beyond its window is held back.
    fn fine(&mut self, key: ConnectionKey, reason: Reason) {
        if reason == Reason::NoCredit
            && let Some(connection) = self.connections.get_mut(key)
        {
            connection.input.fine(self.clock.now());
        }
    }

    /// Sheds a request that was never begun, after it has waited for its turn or for a worker.
    pub(super) fn shed(&mut self, origin: &Origin, reason: Reason, reached: Reached) {
        self.refuse(origin, reason, reached);
        let mut mark = origin.mark(self.clock.now());
        mark.sheds();
        self.marked_answer(origin, mark);
    }

    /// The same of one that has just come. Such refusals are to stay cheap: no profiler is told of them.
    fn refuse(&mut self, origin: &Origin, reason: Reason, reached: Reached) {
        let done = shed(origin, self.clock.now(), reason, reached);
        self.conclude(origin, &done, Answer::Reject(reason));
    }

    fn break_rule(&mut self, key: ConnectionKey, why: &str) {
        self.break_off(key, GoodbyeCode::Protocol, why.into());
    }

    /// The client broke the protocol. Nothing more is taken of it; what it asked before is answered.
    fn break_off(&mut self, key: ConnectionKey, code: GoodbyeCode, text: String) {
        self.totals.protocol_errors += 1;
        let due = self.clock.now() + ANSWERS_DUE;
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.phase = Phase::Ending(Box::new(Farewell { code, text, due }));
        self.intake.forget(connection);
    }
}

/// A request that may wait for its turn. Tenants are the client's word unless the server has its `own`.
fn admit(
    connection: &mut Connection,
    origin: Origin,
    request: &tailwater_wire::Request<'_>,
    own: bool,
    budget: Option<Box<TaskBudget>>,
) -> Job {
    let (bytes, name) = (request.payload.len(), call_name(connection.client_id, request.id));
    // A CANCEL that came before was for a call of the same number that had ended.
    connection.work.was_cancelled(origin.key.id);
    connection.work.queued += 1;
    connection.work.bytes += bytes;
    let request = Request {
        method: request.method,
        payload: request.payload.to_vec(),
        deadline: request.time_left().map(|left| origin.arrived + left),
        priority: request.priority,
        tenant: if request.tenant == 0 || own { connection.tenant } else { request.tenant },
        peer: connection.peer.clone(),
    };
    Job { origin: Origin { bytes, name, ..origin }, recalled: false, budget, request }
}

/// What a request's header and our clocks say.
fn arrival(
    connection: &mut Connection,
    request: &tailwater_wire::Request<'_>,
    now: tailwater_core::Instant,
    blind_ns: u64,
) -> (Arrival, Origin) {
    let hidden = connection.input.hidden_ns(now, request.sent_at, blind_ns);
    let hidden = Duration::from_nanos(hidden);
    let arrival = Arrival {
        demand: request.demand,
        acked: request.acked,
        register: request.register,
        priority: request.priority,
        time_left: request.time_left(),
        echo: request.echo.map(|echo| Echo { stamp: echo.stamp, hold: echo.hold() }),
        hidden,
        class: Class::of(request.method),
    };
    let key = RequestKey { connection: connection.key, id: RequestId(request.id.0) };
    let (arrived, class) = (now - hidden, arrival.class);
    (arrival, Origin { key, arrived, ready: arrived, bytes: 0, class, name: None })
}
