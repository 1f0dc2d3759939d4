//! Requests that are slow for a planted cause, and how many of these `requests` blames on it by itself. Where nothing is
//! planted, how many it blames on anything. The kinds take turns.

use crate::Result;
use crate::trial::Trial;
use clap::Args;
use machine::Origin;
use machine::command;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tailwater_report::grid;

/// How the program ends where it may not have a network of its own (`crates/profile-rt/tests/programs/causes.c`).
const NO_NETWORK: i32 = 4;
/// Of the slow requests of a plant, this share must have its name: the machine may do something of its own.
const NAMED_MIN: f64 = 0.9;
/// Where nothing is planted, no more than this share may have any.
const BLAMED_MAX: f64 = 0.05;

#[derive(Args, Debug)]
pub(crate) struct CausedArgs {
    #[command(flatten)]
    of: Trial,
    /// The same program under the name that neighbours are to have.
    #[arg(long)]
    neighbour: PathBuf,
    /// How often each kind is recorded.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// A kind of requests.
struct Kind {
    title: &'static str,
    word: &'static str,
    neighbours: usize,
    requests: usize,
    /// Of these, the slowest are looked at.
    slowest: usize,
    is_control: bool,
    /// Whether the cause that it has is named; of a control, whether any is.
    is_named: fn(&Value) -> bool,
}

#[derive(Debug, Default, Serialize)]
struct Caused {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    rounds: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    planted: &'static str,
    is_control: bool,
    requests: usize,
    /// How many of the slowest were looked at, and how many of them have the name.
    slowest: usize,
    named: usize,
    /// Of how many nothing is known, as events of the kernel are lost.
    unknown: usize,
    /// Why nothing was planted, where that is so.
    left_out: Option<String>,
}

static KINDS: [Kind; 8] = [
    planted("interrupts: 20,000 timers that end at once", "storm", 0, 1000, |row| {
        names(&row["kernel"], "interrupts", "timer interrupt")
    }),
    planted("interrupts: packets from another core", "flood", 0, 1000, |row| {
        names(&row["kernel"], "interrupts", "softirq NET_RX")
    }),
    planted("first touches of memory", "touch", 0, 1000, |row| row["kernel"]["cause"] == "faults"),
    planted("two neighbours that want the core", "run", 2, 100, |row| {
        names(&row["kernel"], "runnable", "hog (")
    }),
    planted("neighbours of the thread that holds the lock", "locked", 2, 100, is_holders_neighbour),
    planted("a lock made of a futex, held for 3 ms", "futex", 0, 100, |row| {
        names(&row["kernel"], "asleep", "holder (")
    }),
    control("nothing; one in ten has more to do", "control", 1000),
    control("nothing; the neighbours' program without them", "run", 100),
];

const fn planted(
    title: &'static str,
    word: &'static str,
    neighbours: usize,
    requests: usize,
    is_named: fn(&Value) -> bool,
) -> Kind {
    Kind { title, word, neighbours, requests, slowest: 100, is_control: false, is_named }
}

const fn control(title: &'static str, word: &'static str, requests: usize) -> Kind {
    let is_named = is_blamed;
    Kind { title, word, neighbours: 0, requests, slowest: 100, is_control: true, is_named }
}

fn names(account: &Value, cause: &str, name: &str) -> bool {
    account["cause"] == cause
        && account["named"].as_str().is_some_and(|named| named.starts_with(name))
}

fn is_holders_neighbour(row: &Value) -> bool {
    let holder = &row["waits"][0]["holder"];
    row["kernel"]["cause"] == "asleep"
        && holder["thread"].as_str().is_some_and(|name| name.starts_with("holder ("))
        && names(&holder["kernel"], "runnable", "hog (")
}

/// Its own running is no cause, and neither is what nothing is known of.
fn is_blamed(row: &Value) -> bool {
    let account = &row["kernel"];
    let is_own = ["running", "mixed", "unknown"].iter().any(|own| account["cause"] == *own);
    !is_own || !account["named"].is_null()
}

/// Records each kind, prints how many of the slow requests have the name, and writes that.
pub(crate) fn caused(args: &CausedArgs) -> Result {
    args.of.make_folder()?;
    let row = |kind: &Kind| Row {
        planted: kind.title,
        is_control: kind.is_control,
        requests: 0,
        slowest: 0,
        named: 0,
        unknown: 0,
        left_out: None,
    };
    let mut found = Caused {
        title: args.of.title.clone(),
        origin: Origin::now(),
        rounds: args.rounds,
        rows: KINDS.iter().map(row).collect(),
    };
    for _ in 0..args.rounds {
        for (kind, row) in KINDS.iter().zip(&mut found.rows) {
            if row.left_out.is_none() {
                row.add(kind, args)?;
            }
        }
    }
    machine::result::write(&args.of.out, &found)?;
    println!("{}", found.text());
    Ok(())
}

impl Row {
    fn add(&mut self, kind: &Kind, args: &CausedArgs) -> Result {
        let trace = args.of.folder.join(format!("{}.trace", kind.word));
        let neighbours = Neighbours::of(&args.neighbour, kind.neighbours)?;
        let done = recording(&args.of.program, kind, &trace).output();
        let done = done.map_err(|error| format!("could not start tailwater: {error}"))?;
        drop(neighbours);
        let said = String::from_utf8_lossy(&done.stderr);
        if done.status.code() == Some(NO_NETWORK) {
            self.left_out = Some("it takes a network of its own, which may not be had here".into());
            return Ok(());
        }
        if !done.status.success() || said.contains("recording without the kernel's events") {
            return Err(format!("{}: {}", kind.word, said.trim()));
        }
        let mut requests = Command::new("tailwater");
        requests.args(["profile", "requests", "--json", "--slowest", &kind.slowest.to_string()]);
        let told: Value = serde_json::from_str(&command::output(requests.arg(&trace))?)
            .map_err(|error| format!("requests --json: {error}"))?;
        let rows = told["slowest"].as_array().ok_or("requests --json has no slowest")?;
        self.requests += kind.requests;
        self.slowest += rows.len();
        self.named += rows.iter().filter(|row| (kind.is_named)(row)).count();
        self.unknown += rows.iter().filter(|row| row["kernel"]["cause"] == "unknown").count();
        Ok(())
    }

    fn share(&self) -> f64 {
        self.named as f64 / self.slowest.max(1) as f64
    }

    fn verdict(&self) -> String {
        let share = self.share();
        match (&self.left_out, self.is_control) {
            (Some(why), _) => why.clone(),
            (None, _) if self.slowest == 0 => "no request was recorded".into(),
            (None, false) if share >= NAMED_MIN => "named".into(),
            (None, false) => "missed".into(),
            (None, true) if share <= BLAMED_MAX => "not blamed".into(),
            (None, true) => "blamed".into(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let share = format!("{:.1} %", self.share() * 100.0);
        let numbers = [self.requests, self.slowest, self.named, self.unknown];
        let [requests, slowest, named, unknown] = numbers.map(|number| number.to_string());
        vec![self.planted.into(), requests, slowest, named, share, unknown, self.verdict()]
    }
}

impl Caused {
    fn text(&self) -> String {
        let heads =
            ["planted", "requests", "slowest of them", "named", "share", "unknown", "verdict"];
        let rows: Vec<Vec<String>> = self.rows.iter().map(Row::cells).collect();
        format!(
            "{}\n\nNamed: of the slowest requests those whose cause is told as the planted one; where nothing is planted, those \
             with any cause outside of their own running. Unknown: events of the kernel are lost, as where other programs have \
             the cores.",
            grid(&heads, 1, &rows)
        )
    }
}

fn recording(program: &Path, kind: &Kind, trace: &Path) -> Command {
    let mut record = Command::new("tailwater");
    record.args(["profile", "record", "--kernel", "-o"]).arg(trace).arg("--").arg(program);
    record.args([kind.word, &kind.requests.to_string()]).stdin(Stdio::null());
    record
}

/// End with their kind.
struct Neighbours(Vec<Child>);

impl Neighbours {
    fn of(program: &Path, count: usize) -> Result<Self> {
        let mut all = Self(vec![]);
        for _ in 0..count {
            let one = Command::new(program).arg("hog").stdin(Stdio::null()).spawn();
            all.0.push(one.map_err(|error| format!("{}: {error}", program.display()))?);
        }
        Ok(all)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for one in &mut self.0 {
            // It is ours, and may have ended.
            let _ = one.kill();
            let _ = one.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(is_control: bool, slowest: usize, named: usize) -> Row {
        let (planted, left_out) = ("x", None);
        Row { planted, is_control, requests: slowest, slowest, named, unknown: 0, left_out }
    }

    #[test]
    fn a_plant_must_be_named_and_a_control_may_not_be_blamed() {
        let verdicts =
            [row(false, 100, 90), row(false, 100, 89), row(true, 100, 5), row(true, 100, 6)];
        let verdicts = verdicts.map(|row| row.verdict());
        assert_eq!(verdicts, ["named", "missed", "not blamed", "blamed"]);
        assert_eq!(row(true, 0, 0).verdict(), "no request was recorded");
    }

    #[test]
    fn another_cause_is_not_the_planted_one() {
        let row = |cause: &str, named: Value| json!({"kernel": {"cause": cause, "named": named}});
        let [storm, flood, ..] = &KINDS;
        let timers = row("interrupts", json!("timer interrupt"));
        assert!((storm.is_named)(&timers) && !(flood.is_named)(&timers) && is_blamed(&timers));
        let own = row("running", Value::Null);
        assert!(!(storm.is_named)(&own) && !is_blamed(&own));
        assert!(is_blamed(&row("asleep", Value::Null)), "a sleep is a cause, named or not");
    }
}
