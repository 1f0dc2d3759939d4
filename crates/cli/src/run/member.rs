//! A process of a run that serves: one of ours, or a program of others. It may be taken away, and started again.

use super::foreign::ForeignProcess;
use super::process::ServerProcess;
use crate::failure::Failure;
use crate::scenarios::Said;
use rustix::process::Signal;
use tailwater_load::meter::{Metered, Used};
use tailwater_program::interrupt::Interrupt;
use tailwater_rt::cpu::Usage;
use tailwater_workload::scenario::{Command, Model};

/// What is started.
#[derive(Clone)]
pub(super) enum Launch {
    /// `tailwater serve` with these flags and knobs of its process, which a fault may stop.
    Ours { flags: Vec<String>, knobs: Vec<String>, may_stop: bool, said: Said },
    /// A command, on this core or any.
    Foreign { command: Command, core: Option<u32> },
}

/// What was started; ended when dropped.
pub(super) struct Member {
    launch: Launch,
    process: Process,
    state: State,
    /// What processes used that were killed in its place; `None` where one could not be read.
    spent: Option<Usage>,
    /// It stands still.
    is_stopped: bool,
    /// How it had ended by itself before it was killed.
    fell: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was killed.
    Down,
    /// It was started, and does not serve yet.
    Starts,
    Serves,
}

enum Process {
    Ours(ServerProcess),
    Foreign(ForeignProcess),
}

impl Member {
    pub(super) fn start(launch: Launch, interrupt: &Interrupt) -> Result<Self, Failure> {
        let process = match &launch {
            Launch::Ours { flags, knobs, may_stop, said } => {
                Process::Ours(ServerProcess::spawn((flags, *may_stop), knobs, said)?)
            }
            Launch::Foreign { command, core } => {
                Process::Foreign(ForeignProcess::spawn(command, *core)?)
            }
        };
        let (state, spent) = (State::Starts, Some(Usage::default()));
        let mut it = Self { launch, process, state, spent, is_stopped: false, fell: None };
        it.hear(interrupt)?;
        Ok(it)
    }

    /// Waits until it serves.
    fn hear(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        match &mut self.process {
            Process::Ours(server) => server.hear(interrupt)?,
            Process::Foreign(program) => program.hear(interrupt)?,
        }
        self.state = State::Serves;
        Ok(())
    }

    /// Whether it serves by now. To be asked again and again where it was started anew.
    pub(super) fn serves(&mut self, interrupt: &Interrupt) -> Result<bool, Failure> {
        let serves = match &mut self.process {
            _ if self.state != State::Starts => self.state == State::Serves,
            Process::Ours(server) => server.serves(interrupt)?,
            Process::Foreign(program) => program.serves(interrupt)?,
        };
        if serves {
            self.state = State::Serves;
        }
        Ok(serves)
    }

    /// Where its nodes listen, or it does itself.
    pub(super) fn addresses(&self) -> Vec<String> {
        match &self.process {
            Process::Ours(server) => server.nodes.clone(),
            Process::Foreign(program) => vec![program.address.to_string()],
        }
    }

    pub(super) const fn is_foreign(&self) -> bool {
        matches!(self.process, Process::Foreign(_))
    }

    /// Its number; 0 where a program of others has not begun yet.
    pub(super) fn pid(&self) -> u32 {
        match &self.process {
            Process::Ours(server) => server.pid(),
            Process::Foreign(program) => program.pid(),
        }
    }

    /// How it ended, if it did though nothing asked it to.
    pub(super) fn ended(&mut self) -> Option<String> {
        let now = match &mut self.process {
            _ if self.state != State::Serves => None,
            Process::Ours(server) => server.ended(),
            Process::Foreign(program) => program.ended(),
        };
        self.fell.clone().or(now)
    }

    /// It is no more, with all that it knew. One that has ended by itself was told of, or will be.
    pub(super) fn kill(&mut self) {
        self.fell = self.ended();
        // Nothing tells what a process used that is no more.
        self.spent = self.used().usage;
        (self.state, self.is_stopped) = (State::Down, false);
        match &mut self.process {
            Process::Ours(server) => server.kill(),
            Process::Foreign(program) => program.kill(),
        }
    }

    /// What it used since the run's begin, with what was killed in its place.
    pub(super) fn used(&self) -> Used {
        let pid = Some(self.pid()).filter(|pid| self.state != State::Down && *pid != 0);
        let Some(pid) = pid else { return Used { usage: self.spent, ..Used::default() } };
        let now = Used::by(&Metered { pids: vec![pid], ..Metered::default() });
        let usage = now.usage.zip(self.spent).map(|(now, spent)| now.and(&spent));
        Used { usage, ..now }
    }

    /// Another one in its place, where it listened; there once it serves ([`Self::serves`]).
    pub(super) fn start_again(&mut self) -> Result<(), Failure> {
        let process = match (&self.launch, &self.process) {
            (Launch::Ours { flags, knobs, may_stop, said }, Process::Ours(server)) => {
                let flags = listening_at(flags, &server.address);
                Process::Ours(ServerProcess::spawn((&flags, *may_stop), knobs, said)?)
            }
            (Launch::Foreign { command, core }, Process::Foreign(program)) => {
                Process::Foreign(ForeignProcess::spawn_at(program.address, command, *core)?)
            }
            _ => unreachable!("what was launched is what runs"),
        };
        (self.process, self.state) = (process, State::Starts);
        Ok(())
    }

    /// It stands still.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.signal(Signal::STOP);
    }

    /// It goes on.
    pub(super) fn go_on(&mut self) {
        self.is_stopped = false;
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        match &self.process {
            _ if self.state == State::Down => {}
            Process::Ours(server) => server.signal(signal),
            Process::Foreign(program) => program.signal(signal),
        }
    }

    /// Its handlers compute at this share of their speed from now on. Not asked of programs of others.
    pub(super) fn set_speed(&mut self, share: f64) {
        if let Process::Ours(server) = &mut self.process {
            server.set_speed(share);
        }
    }

    /// New requests are served by this model from now on. Not asked of programs of others.
    pub(super) fn set_model(&mut self, model: Model) {
        if let Process::Ours(server) = &mut self.process {
            server.set_model(model);
        }
    }
}

/// The same flags for another server at this address.
fn listening_at(flags: &[String], address: &str) -> Vec<String> {
    const LISTEN: &str = "--listen";
    let mut flags = flags.to_vec();
    if let Some(at) = flags.iter().position(|flag| flag == LISTEN) {
        flags.drain(at..(at + 2).min(flags.len()));
    }
    flags.extend([LISTEN.into(), address.into()]);
    flags
}

impl Drop for Member {
    fn drop(&mut self) {
        // What stands still hears nothing of its end.
        if self.is_stopped {
            self.go_on();
        }
    }
}
