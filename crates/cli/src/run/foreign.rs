//! A node of a tier that is a program of others: a process under guard, which is asked before it counts as there.

use super::process::ended;
use crate::failure::Failure;
use crate::guard::guarded;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tailwater_program::group::{find, free_port};
use tailwater_program::guarded::Guarded;
use tailwater_program::interrupt::Interrupt;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::Command;

/// How long it may take until it answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);
/// Between two questions that were not answered.
const ASKED_EVERY: Duration = Duration::from_millis(5);
/// How long it may take for one answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// What it is asked at first, and answers where the key is not there.
const QUESTION: &[u8] = b"get tailwater\r\n";
const ANSWER: &[u8] = b"END\r\n";

/// Refuses a scenario of whose commands a program is not there.
pub(super) fn check(scenario: &Scenario) -> Result<(), Failure> {
    lacking(scenario).map_or(Ok(()), |why| Err(Failure::work(why)))
}

/// The first program of a tier's command that is not there, and how to get it; `None` where all are.
pub(crate) fn lacking(scenario: &Scenario) -> Option<String> {
    scenario.tiers.iter().find_map(|tier| {
        let program = &tier.command.as_ref()?.words[0];
        let is_there = find(program.as_ref()).is_some_and(|file| file.is_file());
        (!is_there).then(|| missing(program, &tier.name))
    })
}

fn missing(program: &str, tier: &str) -> String {
    // Which package of Debian has it is known of this one.
    let mend = match program {
        "memcached" => "type: apt-get install memcached",
        _ => "install it, or write the path to it into tier.command",
    };
    format!("found no program {program}, which tier {tier} runs; {mend}")
}

/// A node; ended when dropped.
pub(super) struct ForeignProcess {
    /// As its command has it.
    name: String,
    guarded: Guarded,
    pub(super) address: SocketAddr,
    /// By then it must have answered.
    until: Instant,
}

impl ForeignProcess {
    /// Starts it on this core or any, at a port of its own; [`Self::hear`] waits for it.
    pub(super) fn spawn(command: &Command, core: Option<u32>) -> Result<Self, Failure> {
        Self::spawn_at(free_port()?, command, core)
    }

    /// The same at this address.
    pub(super) fn spawn_at(
        address: SocketAddr,
        command: &Command,
        core: Option<u32>,
    ) -> Result<Self, Failure> {
        let words = command.at(address.port());
        let guarded = guarded(&words, core)?;
        let until = Instant::now() + ANSWERS_WITHIN;
        Ok(Self { name: words[0].clone(), guarded, address, until })
    }

    /// Its process number; 0 until its guard has said it.
    pub(super) const fn pid(&self) -> u32 {
        self.guarded.pid()
    }

    /// Waits until it answers.
    pub(super) fn hear(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        while !self.serves(interrupt)? {
            interrupt.rest(ASKED_EVERY)?;
        }
        Ok(())
    }

    /// Whether it answers by now.
    pub(super) fn serves(&mut self, interrupt: &Interrupt) -> Result<bool, Failure> {
        if !self.guarded.greets(interrupt)? {
            return Ok(false);
        }
        self.answers()
    }

    /// Whether a question of its protocol is answered.
    fn answers(&mut self) -> Result<bool, Failure> {
        let (name, address) = (&self.name, self.address);
        let answered = ask(address);
        // What answers may be another's at the same port.
        if !self.guarded.is_there() {
            return Err(Failure::work(format!(
                "{name} ended before it answered; what it said stands above"
            )));
        }
        match answered {
            Ok(true) => Ok(true),
            Err(_) if Instant::now() < self.until => Ok(false),
            Ok(false) | Err(_) => Err(Failure::work(format!(
                "{name} does not answer a get at {address} as memcached does; a program that speaks its protocol on the \
                 port that {{port}} stands for is needed"
            ))),
        }
    }

    /// How it ended, if it did though nothing asked it to.
    pub(super) fn ended(&mut self) -> Option<String> {
        ended(&mut self.guarded.guard)
    }

    /// It is no more, with all of its process group.
    pub(super) fn kill(&mut self) {
        self.guarded.kill();
    }

    /// To all of its process group.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) {
            // One that is gone hears nothing.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// Whether it answers as memcached does that has nothing; an error where it does not answer.
fn ask(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(QUESTION)?;
    let mut answer = [0; ANSWER.len()];
    stream.read_exact(&mut answer)?;
    Ok(answer == ANSWER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_told_with_what_to_type() {
        let text = "slo = \"1s\"\nclients.count = 1\ndemand.requests_per_second = 100\n\
                    controller = { name = \"none\" }\n\
                    server.path = [{ probability = 1.0, steps = [{ call = \"cache\" }] }]\n\
                    tier = [{ name = \"cache\", command = \"PROGRAM {port}\" }]\n";
        let checked = |program: &str| {
            let text = text.replace("PROGRAM", program);
            check(&Scenario::parse("x.toml", &text).expect("a scenario"))
        };
        assert!(checked("sh").is_ok() && checked("/bin/sh").is_ok());
        for program in ["no-such-program", "/no/such/program"] {
            let why = checked(program).expect_err("it is not there").to_string();
            assert!(why.starts_with(&format!("found no program {program}, which")), "{why}");
        }
        assert!(missing("memcached", "leaf").ends_with("type: apt-get install memcached"));
    }
}
