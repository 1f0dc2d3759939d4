//! A server's threads: started together, and ended together.

use super::event_loop::{EventLoop, Start};
use super::inbox::Questions;
use super::introspect::Reporter;
use super::runner::{Pool, start_crew, start_workers};
use super::shared::Shared;
use super::{StartError, check_core};
use crate::config::{Completion, Model, Placement};
use crate::downstream::{Crew, Trunk};
use crate::net::Listener;
use crate::poll::Poller;
use crate::service::{Reply, Service};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::JoinHandle;
use tailwater_control::ConfigError;
use tailwater_core::{Instant, Observer};

pub(super) struct Threads {
    shared: Arc<Shared>,
    loops: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
    pool: Option<Arc<Pool>>,
    members: Vec<JoinHandle<()>>,
    crew: Option<Arc<Crew>>,
    /// Ends when the last loop has given its questions up.
    reporter: Option<JoinHandle<()>>,
}

impl Threads {
    /// Starts them all. What was started before an error is stopped when `self` is dropped.
    pub(super) fn start<S: Service<Future: Future<Output = Reply>>>(
        shared: Arc<Shared>,
        listener: Listener,
        service: S,
        mut observe: impl FnMut(usize) -> Box<dyn Observer + Send>,
    ) -> Result<Self, StartError> {
        let service = Arc::new(service);
        let mut threads = Self {
            shared,
            loops: Vec::new(),
            workers: Vec::new(),
            pool: None,
            members: Vec::new(),
            crew: None,
            reporter: None,
        };
        let questions = threads.start_reporter().map_err(StartError::System)?;
        let (workers, members) = (threads.shared.config.workers(), threads.shared.config.crew());
        if members > 0 {
            let (crew, members) =
                start_crew(members, &threads.shared).map_err(StartError::System)?;
            (threads.crew, threads.members) = (Some(crew), members);
        }
        if workers > 0 {
            let (pool, workers) =
                start_workers(workers, &threads.shared, threads.crew.as_ref(), &service)
                    .map_err(StartError::System)?;
            (threads.pool, threads.workers) = (Some(pool), workers);
        }
        let mut listener = Some(listener);
        let calls = !threads.shared.config.tiers.is_empty();
        for index in 0..threads.shared.config.loops {
            let poller = Poller::new()?;
            let start = Start {
                shared: threads.shared.clone(),
                index,
                trunk: if calls { Some(threads.trunk(&poller, index)?) } else { None },
                poller,
                listener: listener.take(),
                pool: threads.pool.clone(),
                questions: questions.clone(),
            };
            threads.start_loop(start, service.clone(), observe(index))?;
        }
        Ok(threads)
    }

    /// A loop's way to other tiers.
    fn trunk(&self, poller: &Poller, index: usize) -> Result<Trunk, StartError> {
        let trunk = Trunk::new(poller)?;
        let Some(crew) = &self.crew else { return Ok(trunk) };
        Ok(trunk.with_crew(crew, self.shared.inboxes[index].doorbell.clone(), index)?)
    }

    fn start_reporter(&mut self) -> std::io::Result<Questions> {
        let shared = self.shared.clone();
        let (reporter, questions) = Reporter::new(shared.clone());
        let thread = std::thread::Builder::new()
            .name("tailwater-report".into())
            .spawn(move || shared.guard("the reporter", || reporter.run()))?;
        self.reporter = Some(thread);
        Ok(questions)
    }

    fn start_loop<S: Service<Future: Future<Output = Reply>>>(
        &mut self,
        start: Start,
        service: Arc<S>,
        observer: Box<dyn Observer + Send>,
    ) -> Result<(), StartError> {
        let index = start.index;
        if let Some(&core) = start.shared.config.cores.get(index) {
            check_core(core)?;
        }
        let (shared, pool, crew) = (start.shared.clone(), start.pool.clone(), self.crew.clone());
        // Counted before there is a thread whose end could subtract it.
        shared.running.fetch_add(1, SeqCst);
        let life = move || {
            let name = format!("loop {index}");
            shared.guard(&name, || EventLoop::new(start, observer).live(&*service));
            shared.ends(index);
            // One order of all ends: exactly one is the last, and comes after what the others did.
            if shared.running.fetch_sub(1, SeqCst) == 1 {
                stop(pool.as_deref(), crew.as_deref());
            }
        };
        let name = format!("tailwater-loop-{index}");
        let thread = std::thread::Builder::new().name(name).spawn(life);
        self.loops.push(thread.map_err(StartError::System)?);
        Ok(())
    }

    /// What begins from now on begins by this model.
    ///
    /// # Errors
    /// When it needs more threads than there are: the field that decides how many.
    pub(super) fn set_model(&self, model: Model) -> Result<(), ConfigError> {
        let (workers, members) = (model.workers(), model.completion.crew());
        let there = self.pool.as_ref().map_or(0, |pool| pool.staff.threads());
        enough("workers_max", workers, there, model)?;
        let there = self.crew.as_ref().map_or(0, |crew| crew.staff.threads());
        enough("crew_max", members, there, model)?;
        if model.placement == Placement::Workers(0) {
            return Err(ConfigError::new("model", model, "one of a worker at least"));
        }
        if matches!(model.completion, Completion::Responders(0) | Completion::ForkJoin(0)) {
            return Err(ConfigError::new("model", model, "one of a thread for calls at least"));
        }
        self.shared.models.change(model, || {
            // Where handlers run in-line from now on, the workers end what they have been handed; so does the crew.
            if let Some(pool) = self.pool.as_ref().filter(|_| workers > 0) {
                pool.resize(workers);
            }
            if let Some(crew) = self.crew.as_ref().filter(|_| members > 0) {
                crew.resize(members);
            }
        });
        self.shared.wake_loops();
        if let Some(pool) = &self.pool {
            pool.staff.wake();
        }
        if let Some(crew) = &self.crew {
            crew.staff.wake();
        }
        Ok(())
    }

    /// Whether the caller is one of these threads: a handler, an observer, or what they drop.
    pub(super) fn is_one_of_them(&self) -> bool {
        let current = std::thread::current().id();
        let mut all =
            self.loops.iter().chain(&self.workers).chain(&self.members).chain(&self.reporter);
        all.any(|thread| thread.thread().id() == current)
    }

    /// Waits for all of them. Draining has begun.
    pub(super) fn join(&mut self) {
        // A thread that panicked has said why: see `Shared::guard`.
        self.loops.drain(..).for_each(|thread| drop(thread.join()));
        stop(self.pool.take().as_deref(), self.crew.take().as_deref());
        let others = self.workers.drain(..).chain(self.members.drain(..));
        others.for_each(|thread| drop(thread.join()));
        self.reporter.take().map(JoinHandle::join);
    }

    /// Leaves them to end by themselves: none of them can wait for itself.
    pub(super) fn detach(&mut self) {
        self.loops.clear();
        self.workers.clear();
        self.members.clear();
        (self.pool, self.crew, self.reporter) = (None, None, None);
    }
}

/// Whether there are as many threads as a model needs, which the field decides at the server's start.
fn enough(
    field: &'static str,
    wanted: usize,
    there: usize,
    model: Model,
) -> Result<(), ConfigError> {
    if wanted <= there {
        return Ok(());
    }
    Err(ConfigError::new(field, there, format!("{wanted} or more for {model}")))
}

/// The loops have ended: nothing is left to do for the others.
fn stop(pool: Option<&Pool>, crew: Option<&Crew>) {
    if let Some(pool) = pool {
        pool.staff.stop();
    }
    if let Some(crew) = crew {
        crew.staff.stop();
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if self.reporter.is_none() {
            // They were waited for, or left to end in the time that they were given.
            return;
        }
        self.shared.begin_drain(Instant::ZERO);
        if self.is_one_of_them() { self.detach() } else { self.join() }
    }
}
