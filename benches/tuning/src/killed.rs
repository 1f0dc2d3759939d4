//! `tailwater tune ab` on a knob of the real kernel, killed at random moments.

use crate::found::{Adds, Goal};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::OpenOptions;
use std::process::{Command, Stdio};
use std::time::Duration;
use tailwater_core::Rng;

/// A knob that settles at once and that little depends on.
const KNOB: &str = "netdev-budget";
const FILE: &str = "/proc/sys/net/core/netdev_budget";
/// A kill comes within so many ms: some while nothing is turned as yet.
const WITHIN_MS: u32 = 600;
/// Units of a block: a few ms, so that the knob is turned often.
const UNITS: &str = "600";

/// What the knob read after the next start, or after `tailwater tune undo`.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Killed {
    kills: u32,
    /// Kills that left it turned.
    turned: u32,
    /// Of these, how often it did not read as before then.
    left: u32,
}

impl Killed {
    pub(crate) const fn goal(&self) -> Goal {
        match (self.left, self.turned) {
            (0, 0) => Goal::Untold,
            (0, _) => Goal::Met,
            _ => Goal::Missed,
        }
    }
}

impl Adds for Killed {
    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn add(&mut self, more: Self) {
        self.kills += more.kills;
        self.turned += more.turned;
        self.left += more.left;
    }
}

impl fmt::Display for Killed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, turned, left } = self;
        write!(
            f,
            "killed: {kills} times, {turned} of them while {KNOB} was turned; {left} times it stayed so"
        )
    }
}

/// Kills as many; none where this process may not turn the knob.
pub(crate) fn killed(kills: u32, seed: u64) -> Result<Option<Killed>, String> {
    if OpenOptions::new().write(true).open(FILE).is_err() {
        println!("killed: not tried, since {FILE} cannot be written; it takes root");
        return Ok(None);
    }
    let before = read()?;
    let mut rng = Rng::from_seed(seed).split("kills");
    let mut found = Killed::default();
    for _ in 0..kills {
        let moment = Duration::from_millis(rng.below(WITHIN_MS).into());
        found.turned += u32::from(one(before, moment, rng.chance(0.5))?);
        found.kills += 1;
        if read()? != before {
            found.left += 1;
            std::fs::write(FILE, before.to_string()).map_err(|error| trouble(&error))?;
        }
    }
    Ok(Some(found))
}

/// One kill, and the next start or `undo`; whether the kill had left the knob turned.
fn one(before: u64, moment: Duration, by_undo: bool) -> Result<bool, String> {
    let mut tuning = ab(before, &[UNITS])?.spawn().map_err(|error| trouble(&error))?;
    std::thread::sleep(moment);
    tuning.kill().and_then(|()| tuning.wait()).map_err(|error| trouble(&error))?;
    let is_turned = read()? != before;
    let mut next = match by_undo {
        true => silent(&["tune", "undo"])?,
        // Its block fails: it puts back what is left, and then its own.
        false => ab(before, &[])?,
    };
    next.status().map_err(|error| trouble(&error))?;
    Ok(is_turned)
}

/// A comparison of two values of which neither is the machine's.
fn ab(before: u64, block: &[&str]) -> Result<Command, String> {
    let (a, b) = ((before + 100).to_string(), format!("{KNOB}={}", before + 200));
    let mut command = silent(&["tune", "ab", "--metric", "/cpu_ns", "--accept-weak"])?;
    command.args(["--steal-max", "100%", "--pilot", "1000", "--knob", &b, "--against", &a, "--"]);
    command
        .arg(std::env::current_exe().map_err(|error| trouble(&error))?)
        .arg("--block")
        .args(block);
    Ok(command)
}

fn silent(words: &[&str]) -> Result<Command, String> {
    let mut command = Command::new(machine::tailwater()?);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

fn read() -> Result<u64, String> {
    let text = std::fs::read_to_string(FILE).map_err(|error| trouble(&error))?;
    text.trim().parse().map_err(|_| format!("{FILE} says {text:?}"))
}

fn trouble(error: &std::io::Error) -> String {
    format!("killing: {error}")
}
