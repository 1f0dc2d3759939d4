//! The clients: each the same state machine that the runtime's client drives.

use crate::slab::Key;
use crate::space::{Event, Packet, Request, Space};
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_control::{Action, Call, Client, Outcome, Reply};
use tailwater_core::Instant;
use tailwater_stats::Tally;

/// The middle priority; workloads do not set one yet.
const PRIORITY: u8 = 128;

/// All clients, and what became of their requests.
pub(crate) struct Clients {
    all: Vec<State>,
    slo: Duration,
    tally: Tally,
    pub(crate) intended: u64,
    pub(crate) ended: u64,
}

struct State {
    client: Client,
    /// The next [`Event::ClientDue`] in the calendar that is to be heeded.
    armed: Instant,
    last_served: Instant,
    longest_gap_ns: u64,
}

impl Clients {
    /// Connected clients that have not sent anything.
    pub(crate) fn new(controller: &Controller, count: u32, slo: Duration, tally: Tally) -> Self {
        let state = |index: u32| {
            let mut client = controller.client(u64::from(index));
            client.on_connected(Instant::ZERO);
            State {
                client,
                armed: Instant::FAR_FUTURE,
                last_served: Instant::ZERO,
                longest_gap_ns: 0,
            }
        };
        Self { all: (0..count).map(state).collect(), slo, tally, intended: 0, ended: 0 }
    }

    /// A request is due.
    pub(crate) fn submit(
        &mut self,
        now: Instant,
        client: u32,
        service: Duration,
        space: &mut Space,
    ) {
        self.intended += 1;
        let key = space.requests.insert(Request::new(now, client, service));
        let call = Call { id: key.id(), deadline: Some(now + self.slo), priority: PRIORITY };
        self.all[client as usize].client.submit(now, call);
        self.drive(now, client, space);
    }

    /// A response or reject is here; returns whose it was.
    pub(crate) fn on_reply(&mut self, now: Instant, key: Key, space: &mut Space) -> Option<u32> {
        let Some(request) = space.requests.remove(key) else {
            space.complain(|| "a reply came for a request that has ended before".into());
            return None;
        };
        self.ended += 1;
        let answer = request.answer?;
        let state = &mut self.all[request.client as usize];
        state.client.on_reply(
            now,
            &Reply {
                outcome: answer.outcome,
                offer: answer.offer,
                stamp: answer.left.stamp(),
                elapsed: now.since(request.sent),
                sojourn: answer.left.since(request.arrived),
                waited: answer.waited,
            },
        );
        match answer.outcome {
            Outcome::Served => {
                state.served(now);
                self.tally.served(request.intended, now.since(request.intended));
            }
            Outcome::Shed(reason) => {
                self.tally.shed(request.intended, now.since(request.sent), reason.name());
            }
        }
        self.drive(now, request.client, space);
        Some(request.client)
    }

    pub(crate) fn on_credit(&mut self, now: Instant, key: Key, space: &mut Space) {
        let Some(credit) = space.credits.remove(key) else {
            return space.complain(|| "a credit message arrived twice".into());
        };
        let client = &mut self.all[credit.client as usize].client;
        client.on_credit(now, credit.offer, credit.stamp);
        self.drive(now, credit.client, space);
    }

    /// A deadline of the client may have come; an entry that was replaced by an earlier one is
    /// passed over.
    pub(crate) fn on_due(&mut self, now: Instant, client: u32, space: &mut Space) {
        let state = &mut self.all[client as usize];
        if state.armed == now {
            state.armed = Instant::FAR_FUTURE;
            self.drive(now, client, space);
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// Closes the books: whatever is still out or waiting is lost.
    pub(crate) fn finish(mut self, now: Instant, space: &mut Space) -> (Tally, Duration) {
        let mut left = 0;
        // Requests between nodes are no client's.
        let clients = self.count();
        for request in space.requests.iter().filter(|request| request.client < clients) {
            self.tally.lost(request.intended);
            left += 1;
        }
        let (intended, ended) = (self.intended, self.ended + left);
        if intended != ended {
            space.complain(|| format!("{intended} requests were intended, {ended} fates counted"));
        }
        let gaps = self.all.iter_mut().map(|state| {
            state.served(now);
            state.longest_gap_ns
        });
        let longest = Duration::from_nanos(gaps.max().unwrap_or(0));
        (self.tally, longest)
    }

    /// Carries out what the client decides now, and makes sure to ask again in time.
    fn drive(&mut self, now: Instant, index: u32, space: &mut Space) {
        let state = &mut self.all[index as usize];
        while let Some(action) = state.client.poll(now) {
            match action {
                Action::Send(dispatch) => {
                    let key = Key::of(dispatch.id);
                    if let Some(request) = space.request(key, "at sending") {
                        request.sent = now;
                        request.dispatch = Some(dispatch);
                        space.send_up(now, index, Packet::Request(key));
                    }
                }
                Action::Drop(id, _) => match space.requests.remove(Key::of(id)) {
                    Some(request) => {
                        self.ended += 1;
                        self.tally.expired(request.intended);
                    }
                    None => space.complain(|| format!("client {index} dropped a request twice")),
                },
                Action::Demand { demand, acked } => {
                    let client = index;
                    let packet = Packet::Demand { client, demand, acked };
                    space.send_up(now, index, packet);
                }
                Action::Deregister => {
                    space.send_up(now, index, Packet::Deregister { client: index });
                }
            }
        }
        state.arm(now, index, space);
    }
}

impl State {
    fn arm(&mut self, now: Instant, index: u32, space: &mut Space) {
        if let Some(deadline) = self.client.next_deadline()
            && deadline < self.armed
        {
            // At least a nanosecond ahead, or a deadline that has come would stop the clock.
            self.armed = deadline.max(now + Duration::from_nanos(1));
            space.calendar.at(self.armed, Event::ClientDue(index));
        }
    }

    fn served(&mut self, now: Instant) {
        let gap_ns = now.nanos_since(self.last_served);
        self.longest_gap_ns = self.longest_gap_ns.max(gap_ns);
        self.last_served = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Fabric;
    use crate::world::Link;
    use tailwater_control::catalog::Spec;
    use tailwater_core::Rng;
    use tailwater_stats::TallySpec;

    const SLO: Duration = Duration::from_micros(200);

    fn space() -> Space {
        let link = Link { delay: Duration::from_micros(5), jitter: Duration::ZERO };
        Space::new(Fabric::new(link, 1, &Rng::from_seed(1)))
    }

    fn clients() -> Clients {
        let controller = Spec::named("breakwater").build(SLO, 1, 1).unwrap();
        let tally = Tally::new(TallySpec {
            slo: SLO,
            from: Instant::ZERO,
            to: Instant::FAR_FUTURE,
            bin: None,
        });
        Clients::new(&controller, 1, SLO, tally)
    }

    /// An unregistered client may send one request; the second waits and expires at its deadline.
    #[test]
    fn a_call_without_credit_expires_by_its_own_event() {
        let (mut space, mut clients) = (space(), clients());
        for _ in 0..2 {
            clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        }
        let mut sent = 0;
        while let Some((now, event)) = space.calendar.pop() {
            match event {
                Event::Packet(Packet::Request(_)) => sent += 1,
                Event::ClientDue(client) => clients.on_due(now, client, &mut space),
                other => panic!("only a request and a deadline were needed, {other:?} found"),
            }
        }
        assert_eq!(sent, 1);
        let (tally, longest) = clients.finish(Instant::ZERO + SLO, &mut space);
        let fates = tally.finish().fates;
        assert_eq!((fates.expired, fates.lost, fates.total()), (1, 1, 2));
        assert_eq!(longest, SLO, "never served");
        assert_eq!(space.broken, None);
    }

    #[test]
    fn a_second_answer_to_one_request_breaks_the_run() {
        let (mut space, mut clients) = (space(), clients());
        clients.submit(Instant::ZERO, 0, Duration::ZERO, &mut space);
        let Some((now, Event::Packet(Packet::Request(key)))) = space.calendar.pop() else {
            panic!("a request was needed");
        };
        clients.on_reply(now, key, &mut space);
        clients.on_reply(now, key, &mut space);
        let broken = space.broken.unwrap();
        assert!(broken.contains("ended before"), "{broken}");
    }
}
