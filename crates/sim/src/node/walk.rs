//! Requests with paths: computing, locks and calls, step by step.
//!
//! A request that waits, for a lock or for another node, holds no core, as user-level threads do (Protego §4). A
//! request that is woken goes to the end of the run queue. One that is woken with a lock goes before all others
//! unless the scenario says otherwise. All waiting in this node is deducted from the request's budget: in the packet
//! queue, in the run queue, and for locks.
//!
//! Where the node has threads, a request keeps the one on which it began. That one may have to wait for the request's
//! calls with it, or a crew makes them.

use super::staff::Maker;
use super::{Node, Work, reject};
use crate::callers::{Asked, Callers};
use crate::connection::Connection;
use crate::facts::{Fact, Thing};
use crate::locks::{Handed, LockReport, Locks};
use crate::paths::Paths;
use crate::slab::Key;
use crate::space::{Event, Request, Space};
use crate::task::{Stage, Task};
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::asqm::{Budget, Entry, Estimator};
use tailwater_control::{Client, Echo, Reached, Reason};
use tailwater_core::Instant;
use tailwater_workload::scenario::Wake;
use tailwater_workload::ways::{Acquire, Op};
use tailwater_workload::{Service, request_seed};

/// What requests walk along, and what they meet there. Where they have no paths, there are no locks and no calls.
pub(crate) struct Walk {
    paths: Arc<Paths>,
    locks: Locks,
    pub(super) callers: Callers,
    estimator: Estimator,
    seed: u64,
    /// Connections of the same client to other replicas differ by this.
    clients: u32,
}

/// What comes of a step.
enum Next {
    /// The next step.
    Step,
    /// The core is busy with this.
    Work(Work),
    /// The request waits.
    Wait,
    /// It waits for what it asks of another node.
    Call(Asked),
}

impl Walk {
    /// `draws` are the seed of what requests do and the number of clients.
    pub(crate) fn new(paths: Arc<Paths>, tier: &str, callers: Callers, draws: (u64, u32)) -> Self {
        let (seed, clients) = draws;
        Self {
            locks: Locks::new(&paths, tier),
            callers,
            estimator: Estimator::new(paths.target),
            seed,
            clients: clients.max(1),
            paths,
        }
    }

    fn budget(&self) -> Budget {
        self.paths.budget.map_or_else(|| self.estimator.budget(), Budget::new)
    }

    /// The same request draws the same, whatever the controller and the other requests do.
    fn seed_of(&self, request: &Request) -> u64 {
        let (client, _) = request.connection.ends(self.clients);
        request_seed(self.seed, client, request.intended.as_nanos())
    }

    /// A new process: nobody holds anything, nothing has been measured, and nobody is connected.
    pub(super) fn restart(
        &mut self,
        now: Instant,
        make: &dyn Fn(usize, Connection) -> Client,
        space: &mut Space,
    ) {
        self.locks.restart(now);
        self.callers.die(now, make, space);
        self.estimator = Estimator::new(self.paths.target);
    }

    /// The new process connects to those that it calls.
    pub(super) fn boot(&mut self, now: Instant, space: &mut Space) {
        self.callers.boot(now, space);
    }
}

impl Node {
    /// An admitted request runs for the first time, on a thread where it will end. One that became late on its way there goes
    /// back as it came: its loop refuses it.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        key: Key,
        thread: u16,
        space: &mut Space,
    ) -> Option<Work> {
        let walk = &self.walk;
        let request = space.request(key, "at the beginning of its path")?;
        let task = request.task.take();
        let mut task = task.unwrap_or_else(|| Task::new(walk.seed_of(request), None));
        task.begin(&walk.paths, walk.budget(), now.since(request.arrived));
        task.thread = thread;
        if self.is_late(request.time_left(now)) {
            task.refuse_unbegun();
        }
        (request.task, request.started) = (Some(task), now);
        self.walk_on(now, key, space)
    }

    /// A request goes on until a core is busy with it or it must wait.
    pub(super) fn walk_on(&mut self, now: Instant, key: Key, space: &mut Space) -> Option<Work> {
        let mut task = space.request(key, "on its path")?.task.take()?;
        let next = loop {
            let next = if task.refused.is_some() {
                self.step_back(now, key, &mut task, space)
            } else {
                self.step(now, key, &mut task, space)
            };
            match next {
                Next::Step => {}
                other => break other,
            }
        };
        space.request(key, "on its path")?.task = Some(task);
        match next {
            Next::Work(work) => return Some(work),
            Next::Call(asked) => self.ask(now, asked, space),
            Next::Wait | Next::Step => {}
        }
        None
    }

    /// A waiter's budget ends in a lock's queue. It needs a core to say so.
    pub(crate) fn on_give_up(&mut self, now: Instant, key: Key, space: &mut Space) {
        let request = space.requests.get_mut(key);
        let Some(task) = request.and_then(|request| request.task.as_mut()) else {
            return;
        };
        if let Stage::Waiting { lock, give_up_at: Some(at), .. } = task.stage
            && at == now
        {
            self.walk.locks.give_up(now, lock, key);
            task.stop_waiting(now);
            task.refuse(Reason::Lock);
            self.wake(now, key, false, space);
            self.assign(now, space);
        }
    }

    /// Its pause is over. It needs a core to go on.
    pub(crate) fn on_resume(&mut self, now: Instant, key: Key, space: &mut Space) {
        let request = space.requests.get_mut(key);
        let Some(task) = request.and_then(|request| request.task.as_mut()) else {
            return;
        };
        if let Stage::Pausing { .. } = task.stage {
            task.stop_waiting(now);
            self.wake(now, key, false, space);
            self.assign(now, space);
        }
    }

    /// A message with a stamp leaves: its echo is believed once. Stamps are kept only where requests have budgets.
    pub(super) fn stamped(&mut self, now: Instant, connection: Connection) {
        if self.has_paths() {
            self.control.stamps(connection).on_sent(now);
        }
        self.control.sent(now, connection);
    }

    /// A request that arrived tells of the network, if its connection was sent the stamp that it returns. Only budgets
    /// depend on that, which no other request has.
    pub(super) fn on_echo(&mut self, arrived: Instant, connection: Connection, echo: Option<Echo>) {
        let session = self.control.number(connection);
        let stamps = self.control.stamps(connection);
        self.walk.estimator.on_echo(arrived, session, echo, stamps);
    }

    /// The connection is gone, or stands anew: what was said over it before counts no more.
    pub(super) fn forget_echoes(&mut self, connection: Connection) {
        let session = self.control.number(connection);
        self.walk.estimator.on_close(session);
    }

    /// Locks that are held or waited for; see [`Locks::audit`].
    pub(crate) fn busy_locks(&self) -> Vec<(u32, Option<Key>, Vec<Key>)> {
        self.walk.locks.audit().collect()
    }

    /// What was seen of the locks.
    pub(crate) fn lock_reports(self, now: Instant) -> Vec<LockReport> {
        self.walk.locks.reports(now)
    }

    fn step(&mut self, now: Instant, key: Key, task: &mut Task, space: &mut Space) -> Next {
        let send = self.spec.costs.send;
        let is_home = self.is_home(task);
        let Some(op) = self.walk.paths.ways.all[task.way].ops.get(task.at) else {
            if space.note_end(key, now) {
                self.walk.estimator.on_served(task.service());
            }
            let end = if is_home { Work::Answer(key) } else { Work::HandOver(key) };
            return Next::Work(end);
        };
        task.at += 1;
        match op {
            Op::Compute(service) => run(key, task, service),
            Op::Pause(service) => {
                task.stage = Stage::Pausing { since: now };
                space.calendar.at(now + service.draw(&mut task.rng), Event::Resume(key));
                Next::Wait
            }
            Op::Acquire(acquire) => {
                let acquire = *acquire;
                self.acquire(now, key, task, &acquire, space)
            }
            Op::Release { undo } => {
                let undo = undo.clone();
                let lock = self.release(now, key, task, space);
                task.undo.extend(lock.zip(undo));
                Next::Step
            }
            Op::Prepare { messages } => {
                let cost = self.leaving_cost(now, *messages).unwrap_or(send * *messages);
                Next::Work(Work::Run(key, task.compute(cost)))
            }
            &Op::Call { tier, fan_out } => {
                task.calls_by = task.thread;
                task.stage = match self.maker() {
                    Maker::Own => Stage::Calling { since: now, left: fan_out, unmade: 0 },
                    Maker::Responder => Stage::Asking { since: now },
                    Maker::Forked => Stage::Calling { since: now, left: fan_out, unmade: fan_out },
                };
                let dispatch = space.request(key, "at calling").and_then(|request| {
                    request.dispatch.map(|dispatch| (request.arrived, dispatch))
                });
                let deadline =
                    dispatch.and_then(|(arrived, dispatch)| Some(arrived + dispatch.time_left?));
                let priority = dispatch.map_or(128, |(_, dispatch)| dispatch.priority);
                let seed = task.rng.u64();
                Next::Call(Asked { parent: key, tier, fan_out, seed, deadline, priority })
            }
        }
    }

    /// A refused request lets go of everything, undoes what it must, and is answered.
    fn step_back(&mut self, now: Instant, key: Key, task: &mut Task, space: &mut Space) -> Next {
        if !task.held.is_empty() {
            if let Some(service) = task.undoing.take() {
                return run(key, task, &service);
            }
            self.release(now, key, task, space);
            return Next::Step;
        }
        if let Some((lock, service)) = task.undo.pop() {
            task.undoing = Some(service);
            return self.enter(now, key, task, lock, true, space);
        }
        let refused = task.refused.unwrap_or((Reason::Lock, Reached::Handler));
        if self.is_home(task) {
            return Next::Work(reject(now, key, refused, space));
        }
        if refused.1 == Reached::Handler {
            // A handler ends where it ran. What was not begun waits until its loop refuses it.
            space.note_end(key, now);
        }
        Next::Work(Work::HandOver(key))
    }

    /// Whether it is where its answer leaves: loops have the sockets.
    fn is_home(&self, task: &Task) -> bool {
        self.staff.as_ref().is_none_or(|staff| staff.is_loop(task.thread))
    }

    fn acquire(
        &mut self,
        now: Instant,
        key: Key,
        task: &mut Task,
        acquire: &Acquire,
        space: &mut Space,
    ) -> Next {
        let lock = self.walk.paths.ways.draw(acquire, &mut task.rng);
        self.enter(now, key, task, lock, acquire.must, space)
    }

    fn enter(
        &mut self,
        now: Instant,
        key: Key,
        task: &mut Task,
        lock: u32,
        must: bool,
        space: &mut Space,
    ) -> Next {
        let walk = &mut self.walk;
        let budget = (!must).then_some(&task.budget);
        match walk.locks.enter(now, lock, key, walk.paths.policy, budget) {
            Entry::Take => task.held.push(lock),
            Entry::Refuse => task.refuse(Reason::Lock),
            Entry::Join { give_up_after } => {
                let give_up_at = give_up_after.map(|after| now + after);
                task.stage = Stage::Waiting { lock, since: now, give_up_at, must };
                if let Some(at) = give_up_at {
                    space.calendar.at(at, Event::GiveUp(key));
                }
                return Next::Wait;
            }
        }
        Next::Step
    }

    /// Lets go of the lock that was taken last; who is next goes to the run queue, holding it.
    fn release(
        &mut self,
        now: Instant,
        key: Key,
        task: &mut Task,
        space: &mut Space,
    ) -> Option<u32> {
        let lock = task.held.pop()?;
        match self.walk.locks.release(now, lock, key) {
            Ok(handed) => self.hand_over(now, lock, handed, space),
            Err(what) => space.astray(Thing::Lock, what),
        }
        Some(lock)
    }

    fn hand_over(&mut self, now: Instant, lock: u32, handed: Handed, space: &mut Space) {
        let Some(next) = handed.to else {
            return;
        };
        let Handed { waited, give_up_at, .. } = handed;
        space.tell(Fact::HandedOver { lock, waited, give_up_at });
        let Some(task) = space.request(next, "at a lock").and_then(|next| next.task.as_mut())
        else {
            return;
        };
        task.granted(now, lock, self.walk.paths.hand_off);
        let to_front = self.walk.paths.wake == Wake::Front;
        self.wake(now, next, to_front, space);
    }

    /// A request that waited goes to the end of the run queue, or before all others.
    pub(super) fn wake(&mut self, now: Instant, key: Key, to_front: bool, space: &mut Space) {
        if let Some(request) = space.request(key, "at waking") {
            request.queued = now;
            if let Some((staff, task)) = self.staff.as_mut().zip(request.task.as_ref()) {
                let thread = task.thread;
                staff.wake(thread, key, to_front);
                return self.rouse(now, thread, space);
            }
            let at = self.loop_of(request.connection);
            let run_loop = &mut self.loops[at];
            let queue = if to_front { &mut run_loop.front } else { &mut run_loop.runnable };
            queue.push_back(key);
            run_loop.woken += 1;
        }
    }

    /// It leaves the run queue.
    pub(super) fn go_on(&mut self, now: Instant, key: Key, space: &mut Space) -> Option<Work> {
        let request = space.request(key, "at going on")?;
        let at = self.loop_of(request.connection);
        self.loops[at].woken -= 1;
        self.carry_on(now, key, space)
    }

    /// It has waited for a core since it could go on.
    pub(super) fn carry_on(&mut self, now: Instant, key: Key, space: &mut Space) -> Option<Work> {
        let request = space.request(key, "at going on")?;
        let waited = now.since(request.queued);
        request.task.as_mut()?.budget.deduct(waited);
        self.walk_on(now, key, space)
    }
}

/// What a request that is answered tells: whether its books are right.
pub(super) fn settle(now: Instant, key: Key, space: &mut Space) {
    let Some(request) = space.requests.get(key) else {
        return;
    };
    let Some(task) = request.task.as_ref().filter(|task| task.stage != Stage::Fresh) else {
        return;
    };
    let (held, stage, spent) = (task.held.len(), task.stage, task.spent());
    let there = now.since(request.arrived);
    space.tell(Fact::Settled { held, stage, there, spent });
}

/// The core computes for a time that the request draws.
fn run(key: Key, task: &mut Task, service: &Service) -> Next {
    let time = Duration::from_nanos(service.draw_ns(&mut task.rng).into());
    Next::Work(Work::Run(key, task.compute(time)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::fabric::Fabric;
    use crate::node::Place;
    use crate::world::{Link, NodeSpec};
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;
    use tailwater_core::Rng;
    use tailwater_workload::scenario::Path;
    use tailwater_workload::{Distribution, Ways};

    const TARGET: Duration = Duration::from_millis(1);
    const RTT: Duration = Duration::from_micros(100);
    const ROUNDS: u32 = 1_000;

    fn space() -> Space {
        let link = Link { delay: Duration::ZERO, jitter: Duration::ZERO };
        Space::new(Fabric::new(link, 2, &Rng::from_seed(1)))
    }

    /// Its requests have measured budgets. Two connections lead to it.
    fn node() -> Node {
        node_of(Ways::default())
    }

    /// The same, whose requests take these ways.
    fn node_of(ways: Ways) -> Node {
        let paths = Arc::new(Paths { target: TARGET, ways, ..Paths::none() });
        let spec = NodeSpec { paths: Some(Arc::clone(&paths)), ..NodeSpec::paper() };
        let mut space = space();
        let controller = Spec::named("none").build(&Site::one_loop(TARGET, 1)).unwrap();
        let leading = Connection(0)..Connection(2);
        let control = Control::new(controller.admission, (0, (1, 1)), leading, &mut space);
        Node::new(spec, control, Place::default(), Walk::new(paths, "", Callers::default(), (1, 2)))
    }

    /// The budget after so many stamps were sent over the first connection, and the newest came back in each round.
    fn left(stamps: u32, back_over: Connection) -> Duration {
        let mut node = node();
        for round in 0..ROUNDS {
            let sent = Instant::ZERO + round.min(stamps - 1) * TARGET;
            if round < stamps {
                node.stamped(sent, Connection(0));
            }
            let echo = Echo { stamp: sent.stamp(), hold: Duration::ZERO };
            node.on_echo(sent + RTT, back_over, Some(echo));
        }
        node.walk.budget().left()
    }

    #[test]
    fn a_round_trip_counts_once_and_on_the_connection_that_its_stamp_was_sent_on() {
        assert!(left(ROUNDS, Connection(0)) <= TARGET - RTT);
        assert_eq!(left(ROUNDS, Connection(1)), TARGET, "the stamp was sent to another");
        assert_eq!(left(1, Connection(0)), TARGET, "one stamp is one round trip");
    }

    /// To send the answer is no service, and takes nothing from the budgets of others.
    #[test]
    fn budgets_leave_room_for_what_a_handler_takes_until_its_end() {
        let service = Service { distribution: Distribution::Constant, mean: RTT };
        let (mut node, mut space) = (node_of(Ways::new(&[Path::of_service(service)])), space());
        for _ in 0..ROUNDS {
            let key = space.requests.insert(Request::new(Instant::ZERO, Connection(0), RTT));
            assert!(matches!(node.begin(Instant::ZERO, key, 0, &mut space), Some(Work::Run(..))));
            let end = node.walk_on(Instant::ZERO + RTT, key, &mut space);
            assert!(matches!(end, Some(Work::Answer(_))));
        }
        // Measured to a sixteenth.
        let left = node.walk.budget().left();
        assert!(left <= TARGET - RTT && left >= TARGET - RTT.mul_f64(1.07), "{left:?}");
    }

    /// The second client says that it held no stamp, though it held each for eight round trips.
    #[test]
    fn a_false_hold_takes_nothing_from_the_other_until_that_is_gone() {
        let mut node = node();
        let round = |node: &mut Node, number: u32, from: Connection, came: Duration| {
            let sent = Instant::ZERO + number * TARGET;
            node.stamped(sent, from);
            let echo = Echo { stamp: sent.stamp(), hold: Duration::ZERO };
            node.on_echo(sent + came, from, Some(echo));
        };
        for number in 0..ROUNDS {
            round(&mut node, number, Connection(0), RTT);
            round(&mut node, number, Connection(1), 9 * RTT);
        }
        let left = node.walk.budget().left();
        assert!(left <= TARGET - RTT && left >= TARGET - RTT.mul_f64(1.07), "{left:?}");
        node.forget_echoes(Connection(0));
        (ROUNDS..4 * ROUNDS).for_each(|number| round(&mut node, number, Connection(1), 9 * RTT));
        assert_eq!(node.walk.budget().left(), TARGET / 4, "its word is all that there is");
    }
}
