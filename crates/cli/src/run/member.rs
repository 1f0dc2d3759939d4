//! A process of a run that serves: one of ours, or a program of others. It may be taken away, and started again.

use super::foreign::ForeignProcess;
use super::process::ServerProcess;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::scenarios::Said;
use rustix::process::Signal;
use tailwater_workload::scenario::{Command, Model};

/// What is started.
#[derive(Clone)]
pub(super) enum Launch {
    /// `tailwater serve` with these flags, which a fault may stop.
    Ours { flags: Vec<String>, may_stop: bool, said: Said },
    /// A command, on this core or any.
    Foreign { command: Command, core: Option<u32> },
}

/// What was started; ended when dropped.
pub(super) struct Member {
    launch: Launch,
    process: Process,
    /// It was killed, and is not started again yet.
    is_down: bool,
    /// It stands still.
    is_stopped: bool,
    /// How it had ended by itself before it was killed.
    fell: Option<String>,
}

enum Process {
    Ours(ServerProcess),
    Foreign(ForeignProcess),
}

impl Member {
    pub(super) fn start(launch: Launch, interrupt: &Interrupt) -> Result<Self, Failure> {
        let process = match &launch {
            Launch::Ours { flags, may_stop, said } => {
                Process::Ours(ServerProcess::spawn((flags, *may_stop), said)?)
            }
            Launch::Foreign { command, core } => {
                Process::Foreign(ForeignProcess::spawn(command, *core)?)
            }
        };
        let mut it = Self { launch, process, is_down: false, is_stopped: false, fell: None };
        it.hear(interrupt)?;
        Ok(it)
    }

    /// Waits until it serves.
    pub(super) fn hear(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        match &mut self.process {
            Process::Ours(server) => server.hear(interrupt)?,
            Process::Foreign(program) => program.hear(interrupt)?,
        }
        self.is_down = false;
        Ok(())
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

    pub(super) fn pid(&self) -> u32 {
        match &self.process {
            Process::Ours(server) => server.pid(),
            Process::Foreign(program) => program.pid,
        }
    }

    /// How it ended, if it did though nothing asked it to.
    pub(super) fn ended(&mut self) -> Option<String> {
        let now = match &mut self.process {
            _ if self.is_down => None,
            Process::Ours(server) => server.ended(),
            Process::Foreign(program) => program.ended(),
        };
        self.fell.clone().or(now)
    }

    /// It is no more, with all that it knew. One that has ended by itself was told of, or will be.
    pub(super) fn kill(&mut self) {
        self.fell = self.ended();
        (self.is_down, self.is_stopped) = (true, false);
        match &mut self.process {
            Process::Ours(server) => server.kill(),
            Process::Foreign(program) => program.kill(),
        }
    }

    /// Another one in its place, where it listened; there once it was heard ([`Self::hear`]).
    pub(super) fn start_again(&mut self) -> Result<(), Failure> {
        let process = match (&self.launch, &self.process) {
            (Launch::Ours { flags, may_stop, said }, Process::Ours(server)) => {
                let flags = listening_at(flags, &server.address);
                Process::Ours(ServerProcess::spawn((&flags, *may_stop), said)?)
            }
            (Launch::Foreign { command, core }, Process::Foreign(program)) => {
                Process::Foreign(ForeignProcess::spawn_at(program.address, command, *core)?)
            }
            _ => unreachable!("what was launched is what runs"),
        };
        self.process = process;
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
            _ if self.is_down => {}
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
