//! From bytes to admitted jobs.

use super::Job;
use super::budgets::Budgets;
use super::connection::Phase;
use super::event_loop::EventLoop;
use crate::buffer::give_back;
use crate::net::Transfer;
use crate::service::{Reply, Request, Service};
use crate::time::now;
use std::time::Duration;
use tailwater_control::{Arrival, Completion, Echo, Outcome, Reached, Reason, Verdict};
use tailwater_core::{Instant, MethodId, SessionId};
use tailwater_wire::{
    ClientFrame, DecodeError, GoodbyeCode, Hello, Limits, Pong, Welcome, decode_from_client,
    negotiate,
};

/// What a frame led to.
enum Next {
    /// On to the next frame.
    Go,
    /// The connection is closing or gone.
    Stop,
}

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// Reads what a socket has, once: level-triggered polling brings the rest back.
    pub(super) fn read<S: Service<Future = F>>(&mut self, key: u32, service: &S) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let Some(connection) = self.connections.get(key as usize) else {
            self.scratch = scratch;
            return;
        };
        match connection.stream.read(&mut scratch) {
            Transfer::Bytes(count) => {
                self.look_at_clock();
                self.consume(key, &scratch[..count], service);
            }
            Transfer::WouldBlock => {}
            Transfer::Closed => self.close(key),
        }
        self.scratch = scratch;
    }

    /// Parses straight from the read buffer unless an earlier read ended inside a frame.
    fn consume<S: Service<Future = F>>(&mut self, key: u32, fresh: &[u8], service: &S) {
        let connection = &mut self.connections[key as usize];
        if connection.phase == Phase::Closing {
            return;
        }
        if connection.input.is_empty() {
            if let Some(used) = self.parse(key, fresh, service) {
                self.connections[key as usize].input.extend_from_slice(&fresh[used..]);
            }
        } else {
            let mut input = std::mem::take(&mut connection.input);
            input.extend_from_slice(fresh);
            if let Some(used) = self.parse(key, &input, service) {
                input.drain(..used);
                give_back(&mut input);
                self.connections[key as usize].input = input;
            }
        }
        self.expect_rest(key);
        self.flush_if_settled(key);
    }

    /// A client that stops inside a frame holds its beginning here: not for ever.
    fn expect_rest(&mut self, key: u32) {
        let due = self.now + self.shared.config.patience;
        let Some(connection) = self.connections.get_mut(key as usize) else {
            return;
        };
        connection.rest_due = (!connection.input.is_empty()).then_some(due);
        if connection.rest_due.is_some() {
            self.expect_soon();
        }
    }

    /// Takes every whole frame; returns the bytes used, or `None` when the connection is done for.
    fn parse<S: Service<Future = F>>(
        &mut self,
        key: u32,
        bytes: &[u8],
        service: &S,
    ) -> Option<usize> {
        let mut used = 0;
        loop {
            let limits = self.connections[key as usize].limits;
            match decode_from_client(&bytes[used..], &limits) {
                Ok(Some((frame, length))) => {
                    used += length;
                    self.totals.frames_in += 1;
                    match self.take(key, frame, service) {
                        Next::Go => {}
                        Next::Stop => return None,
                    }
                }
                Ok(None) => return Some(used),
                Err(error) => {
                    self.refuse(key, &error);
                    return None;
                }
            }
        }
    }

    fn take<S: Service<Future = F>>(
        &mut self,
        key: u32,
        frame: ClientFrame<'_>,
        service: &S,
    ) -> Next {
        let session = SessionId(key);
        let phase = self.connections[key as usize].phase;
        match (phase, frame) {
            (Phase::Open, ClientFrame::Request(request)) => self.on_request(key, &request, service),
            (Phase::Greeting, ClientFrame::Hello(hello)) => self.greet(key, &hello),
            (Phase::Open, ClientFrame::Demand(demand)) => {
                self.shard.on_demand(self.now, session, demand.demand, demand.acked);
                Next::Go
            }
            (Phase::Open, ClientFrame::Deregister(_)) => {
                self.shard.on_deregister(self.now, session, &mut self.observer);
                Next::Go
            }
            (Phase::Open, ClientFrame::Ping(ping)) => {
                Pong { token: ping.token }.encode(self.connections[key as usize].output());
                self.totals.frames_out += 1;
                self.after_output(key);
                Next::Go
            }
            (Phase::Open, ClientFrame::Pong(_) | ClientFrame::Cancel(_)) => Next::Go,
            (_, ClientFrame::Goodbye(_)) => {
                self.close(key);
                Next::Stop
            }
            (Phase::Greeting, _) => self.break_off(key, "the first frame must be a HELLO"),
            (_, _) => self.break_off(key, "a HELLO comes once, first of all"),
        }
    }

    fn greet(&mut self, key: u32, hello: &Hello) -> Next {
        if hello.version_min > hello.version_max {
            self.totals.protocol_errors += 1;
            let why = "HELLO's oldest version is newer than its newest";
            self.say_goodbye(key, GoodbyeCode::Malformed, why);
            return Next::Stop;
        }
        let version = match negotiate(hello.version_min, hello.version_max) {
            Ok(version) => version,
            Err(error) => {
                self.totals.protocol_errors += 1;
                self.say_goodbye(key, GoodbyeCode::VersionUnsupported, &error.to_string());
                return Next::Stop;
            }
        };
        let slo = self.shared.config.slo;
        let connection = &mut self.connections[key as usize];
        connection.phase = Phase::Open;
        connection.overdue_at = None;
        connection.tenant = hello.tenant;
        connection.limits = Limits::new(self.shared.config.frame_max).agree(hello.max_frame);
        let welcome = Welcome {
            version,
            features: 0,
            max_frame: connection.limits.max_frame(),
            session: key,
            grant: super::egress::grant(connection.offer),
            slo_us: u32::try_from(slo.as_micros()).unwrap_or(u32::MAX),
            stamp: self.now.stamp(),
        };
        welcome.encode(connection.output());
        self.shard.on_sent(self.now, SessionId(key));
        self.totals.frames_out += 1;
        Next::Go
    }

    fn on_request<S: Service<Future = F>>(
        &mut self,
        key: u32,
        request: &tailwater_wire::Request<'_>,
        service: &S,
    ) -> Next {
        if request.method == MethodId::INTROSPECT {
            self.introspect(key, request.id);
            return Next::Go;
        }
        self.totals.received += 1;
        let connection = &mut self.connections[key as usize];
        let blind_ns = self.now.nanos_since(self.looked);
        let hidden_ns = connection.sending.hidden_ns(self.now, request.sent_at, blind_ns);
        let hidden = Duration::from_nanos(hidden_ns);
        let arrived = Instant::from_nanos(self.now.as_nanos() - hidden_ns);
        connection.pending += 1;
        let bytes = connection.pending_bytes + request.payload.len();
        let crowded = connection.pending as usize > self.shared.config.pending_max
            || (connection.pending_bytes > 0 && bytes > self.shared.config.pending_bytes_max);
        let arrival = Arrival {
            demand: request.demand,
            acked: request.acked,
            register: request.register,
            priority: request.priority,
            budget: request.budget(),
            echo: request.echo.map(|echo| Echo { stamp: echo.stamp, hold: echo.hold() }),
            hidden,
        };
        if let Some(budgets) = &mut self.budgets {
            budgets.on_echo(arrived, arrival.echo);
        }
        let delay = self.delay().max(hidden);
        let verdict =
            self.shard.on_request(self.now, SessionId(key), &arrival, delay, &mut self.observer);
        let full = crowded || self.queue.len() >= self.shared.config.queue_max;
        let reached = if verdict == Verdict::Admit { Reached::Queue } else { Reached::Arrival };
        let verdict = match verdict {
            Verdict::Admit if self.draining => Verdict::Shed(Reason::Draining),
            Verdict::Admit if full => Verdict::Shed(Reason::QueueFull),
            other => other,
        };
        match verdict {
            Verdict::Admit => self.admit(key, request, arrived, service),
            Verdict::Shed(reason) => {
                self.shed(key, request.id, arrived, (reason, reached));
                Next::Go
            }
            Verdict::Close(reason) => {
                self.shed(key, request.id, arrived, (reason, reached));
                self.totals.protocol_errors += 1;
                self.say_goodbye(key, GoodbyeCode::NoCredit, "requests keep coming without credit");
                Next::Stop
            }
        }
    }

    /// Answers at once while nothing waits, no woken task and no timer that is due either, and the
    /// handlers' share of time is not used up; otherwise the request queues behind the others.
    fn admit<S: Service<Future = F>>(
        &mut self,
        key: u32,
        request: &tailwater_wire::Request<'_>,
        arrived: Instant,
        service: &S,
    ) -> Next {
        let connection = &mut self.connections[key as usize];
        let tenant = if request.tenant == 0 { connection.tenant } else { request.tenant };
        let job = Job {
            connection: key,
            generation: connection.generation,
            id: request.id,
            arrived,
            budget: self.budgets.as_ref().map(Budgets::assign),
            request: Request {
                method: request.method,
                payload: request.payload.to_vec(),
                deadline: request.budget().map(|budget| arrived + budget),
                priority: request.priority,
                tenant,
            },
        };
        connection.queued += 1;
        connection.pending_bytes += request.payload.len();
        let hot = self.queue.is_empty()
            && self.pool.is_none()
            && self.handled_ns < self.drain_every_ns
            && self.executor.has_room()
            && !self.executor.has_ready()
            && self.timers.next().is_none_or(|at| at > self.now);
        if hot {
            self.start(job, service);
        } else {
            self.queue.push_back(job);
        }
        // A handler may have taken long, and its answer may have found the connection broken.
        if self.connections.contains(key as usize) { Next::Go } else { Next::Stop }
    }

    fn shed(
        &mut self,
        key: u32,
        id: tailwater_core::RequestId,
        arrived: Instant,
        (reason, reached): (Reason, Reached),
    ) {
        let (outcome, waited) = (Outcome::Shed(reason), self.now.since(arrived));
        let done = Completion { outcome, reached, waited, service: Duration::ZERO };
        self.reject(key, id, arrived, &done, reason);
    }

    fn refuse(&mut self, key: u32, error: &DecodeError) {
        self.totals.protocol_errors += 1;
        self.say_goodbye(key, error.goodbye_code(), &error.to_string());
    }

    fn break_off(&mut self, key: u32, why: &str) -> Next {
        self.totals.protocol_errors += 1;
        self.say_goodbye(key, GoodbyeCode::Protocol, why);
        Next::Stop
    }

    /// Reads the clock: something may have taken long.
    pub(super) fn look_at_clock(&mut self) {
        self.now = now();
    }
}
