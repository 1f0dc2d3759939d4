//! A server's threads: started together, and ended together.

use super::event_loop::{EventLoop, Start};
use super::introspect::{Questions, Reporter};
use super::runner::{Pool, start_workers};
use super::shared::Shared;
use super::{StartError, check_core};
use crate::config::{Model, Placement};
use crate::net::Listener;
use crate::poll::Poller;
use crate::service::{Reply, Service};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::JoinHandle;
use tailwater_core::{Instant, Observer};

pub(super) struct Threads {
    shared: Arc<Shared>,
    loops: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
    pool: Option<Arc<Pool>>,
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
        let mut threads =
            Self { shared, loops: Vec::new(), workers: Vec::new(), pool: None, reporter: None };
        let questions = threads.start_reporter().map_err(StartError::System)?;
        let count = threads.shared.config.workers();
        if count > 0 {
            let (pool, workers) =
                start_workers(count, &threads.shared, &service).map_err(StartError::System)?;
            (threads.pool, threads.workers) = (Some(pool), workers);
        }
        let mut listener = Some(listener);
        let calls = !threads.shared.config.tiers.is_empty();
        for index in 0..threads.shared.config.loops {
            let poller = Poller::new()?;
            let start = Start {
                shared: threads.shared.clone(),
                index,
                channels: if calls { Some(poller.part()?) } else { None },
                poller,
                listener: listener.take(),
                pool: threads.pool.clone(),
                questions: questions.clone(),
            };
            threads.start_loop(start, service.clone(), observe(index))?;
        }
        Ok(threads)
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
        let (shared, pool) = (start.shared.clone(), start.pool.clone());
        // Counted before there is a thread whose end could subtract it.
        shared.running.fetch_add(1, SeqCst);
        let life = move || {
            let name = format!("loop {index}");
            shared.guard(&name, || EventLoop::new(start, observer).live(&*service));
            // One order of all ends: exactly one is the last, and comes after what the others did.
            if shared.running.fetch_sub(1, SeqCst) == 1
                && let Some(pool) = pool
            {
                pool.stop();
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
    /// When it needs more workers than there are; says what to change.
    pub(super) fn set_model(&self, model: Model) -> Result<(), String> {
        let there = self.pool.as_ref().map_or(0, |pool| pool.workers());
        let wanted = model.workers();
        if wanted > there {
            let most = format!("the server was started with {there}; set workers_max to {wanted}");
            return Err(format!("{model} needs {wanted} workers, and {most}"));
        }
        if model.placement == Placement::Workers(0) {
            return Err("a model that dispatches needs one worker at least".into());
        }
        self.shared.models.change(model, || {
            // Where handlers run in-line from now on, the workers end what they have been handed.
            if let Some(pool) = self.pool.as_ref().filter(|_| wanted > 0) {
                pool.resize(wanted);
            }
        });
        self.shared.wake_loops();
        if let Some(pool) = &self.pool {
            pool.wake();
        }
        Ok(())
    }

    /// Whether the caller is one of these threads: a handler, an observer, or what they drop.
    pub(super) fn is_one_of_them(&self) -> bool {
        let current = std::thread::current().id();
        let mut all = self.loops.iter().chain(&self.workers).chain(&self.reporter);
        all.any(|thread| thread.thread().id() == current)
    }

    /// Waits for all of them. Draining has begun.
    pub(super) fn join(&mut self) {
        // A thread that panicked has said why: see `Shared::guard`.
        self.loops.drain(..).for_each(|thread| drop(thread.join()));
        if let Some(pool) = self.pool.take() {
            pool.stop();
        }
        self.workers.drain(..).for_each(|thread| drop(thread.join()));
        self.reporter.take().map(JoinHandle::join);
    }

    /// Leaves them to end by themselves: none of them can wait for itself.
    pub(super) fn detach(&mut self) {
        self.loops.clear();
        self.workers.clear();
        (self.pool, self.reporter) = (None, None);
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
