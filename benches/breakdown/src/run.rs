//! One service under its load: started, recorded for a while, measured.

use crate::Result;
use crate::found::Broken;
use crate::place::Place;
use crate::running::Running;
use crate::service::{Kind, Service};
use crate::usage::Usage;
use machine::command::output;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// What a service has used of a core since its load began when that is under way.
const LOADED_NS: u64 = 100_000_000;
/// Then so long, until all keys are set and threads, caches and queues are as they will be.
const SETTLES: Duration = Duration::from_secs(4);
/// Load beyond what is recorded: that, and the time that attaching takes.
const MARGIN: Duration = Duration::from_secs(10);

/// A service at work; what is dropped first ends first.
struct AtWork {
    load: Running,
    /// The process that is recorded.
    pid: u32,
    _servers: Vec<Running>,
}

/// How often a service is recorded while the kernel's events have holes: what reads them had no core for a moment, or no
/// disk. Or the kernel does not tell all that happens on a core, so each further try has them exchanged.
const TRIES: u32 = 3;

/// Measures a service; the last try where all have holes.
pub(crate) fn whole(place: &mut Place, service: &Service, length: Duration) -> Result<Broken> {
    let mut found = measured(place, service, length)?;
    for _ in 1..TRIES {
        if found.is_whole() {
            break;
        }
        println!("{found}\nnot all of it was recorded: once more, on the other core");
        place.exchange_cores();
        found = measured(place, service, length)?;
    }
    Ok(found)
}

fn measured(place: &Place, service: &Service, length: Duration) -> Result<Broken> {
    let work = match service.kind {
        Kind::Ours { scenario, tier } => ours(place, service, (scenario, tier), length)?,
        Kind::Foreign { protocol, words, .. } => {
            foreign(place, service, (protocol, words), length)?
        }
    };
    let AtWork { mut load, pid, _servers } = work;
    let idle = Usage::of(pid)?;
    load.until(|| Usage::of(pid).is_ok_and(|now| now.ran_ns >= idle.ran_ns + LOADED_NS))?;
    std::thread::sleep(SETTLES);
    let trace = place.made(&format!("{}.trace", service.name));
    let before = Usage::of(pid)?;
    output(recorder(place, pid, length).arg("-o").arg(&trace))?;
    let used = Usage::of(pid)?.since(&before);
    load.is_there()?;
    answers(service, &load.says()?)?;
    let mut measure = place.tailwater();
    measure.args(["accelerate", "measure", "--json", "--rules", service.rules]).arg(&trace);
    let told = output(&mut measure)?;
    let told: Value = serde_json::from_str(&told).map_err(|error| error.to_string())?;
    Broken::of(service, &told, used)
}

/// Attaches to a process and records it, on a core that nothing else has.
fn recorder(place: &Place, pid: u32, length: Duration) -> Command {
    let mut command = place.tailwater();
    let seconds = format!("{}s", length.as_secs());
    command.args(["profile", "attach", &pid.to_string(), "--kernel", "--for", &seconds]);
    command.args(["--scanner-cpu", &place.cores.1]);
    command
}

fn ours(
    place: &Place,
    service: &Service,
    (scenario, tier): (&str, Option<&str>),
    length: Duration,
) -> Result<AtWork> {
    let file = format!("scenarios/{scenario}.toml");
    let serve = ["serve", "--while-read", "--controller", "none", "--scenario", &file];
    let mut servers = Vec::new();
    let mut server = place.built(service)?;
    server.args(serve);
    if let Some(tier) = tier {
        let mut leaves = place.tailwater_there();
        leaves.args(serve).args(["--tier", tier]);
        let mut leaves = Running::start("the leaves", &mut leaves)?;
        let greeting = leaves.greeting()?;
        let nodes = greeting["nodes"].as_array().into_iter().flatten();
        let nodes: Vec<&str> = nodes.filter_map(Value::as_str).collect();
        server.args(["--downstream", &format!("{tier}={}", nodes.join(",")), "--model", "aib"]);
        servers.push(leaves);
    }
    let mut server = Running::start(service.name, &mut server)?;
    let greeting = server.greeting()?;
    let address = greeting["listening"].as_str().ok_or("the server says no address")?.to_owned();
    let pid = server.pid();
    // What calls the leaves ends before them.
    servers.insert(0, server);
    let mut load = place.tailwater_there();
    load.args(["load", "--json", "--pace", "sleep", "--clients", "32", "--connect", &address]);
    load.args(["--controller", "none", "--scenario", &file, "--slo", "100ms"]);
    load.args(["--rate", &service.rate.to_string()]);
    load.args(["--duration", &format!("{}s", (length + MARGIN).as_secs())]);
    Ok(AtWork { load: Running::start("the load", &mut load)?, pid, _servers: servers })
}

fn foreign(
    place: &Place,
    service: &Service,
    (protocol, words): (&str, &[&str]),
    length: Duration,
) -> Result<AtWork> {
    let mut drive = place.tailwater_there();
    drive.args(["tune", "drive", protocol, "--rate", &service.rate.to_string()]);
    drive.args(["--measure", &format!("{}s", (length + MARGIN).as_secs()), "--"]);
    drive.arg(place.path_of(service)?).args(words);
    let mut load = Running::start("the load", &mut drive)?;
    let pid = load.child()?;
    Ok(AtWork { load, pid, _servers: Vec::new() })
}

/// An error where the load was not answered, or wrongly. `tune drive` compares each answer, and ends with the first wrong one.
fn answers(service: &Service, said: &Value) -> Result {
    let number = |pointer: &str| said.pointer(pointer).and_then(Value::as_f64);
    let (wrong, missing) = match service.kind {
        Kind::Ours { .. } => {
            let (good, offered) = (number("/runs/0/goodput_rps"), number("/runs/0/offered_rps"));
            let missing = good.zip(offered).map(|(good, offered)| 1.0 - good / offered);
            // Left out where there are none.
            (number("/runs/0/wrong_answers").unwrap_or(0.0), missing)
        }
        Kind::Foreign { .. } => (0.0, number("/unanswered")),
    };
    let missing = missing.ok_or_else(|| format!("{}: the load says nothing", service.name))?;
    if wrong == 0.0 && missing < UNANSWERED_MAX {
        return Ok(());
    }
    Err(format!(
        "{}: {wrong} answers were wrong, and {:.1} % were missing or late; end what else runs here",
        service.name,
        missing * 100.0
    ))
}

/// The share of requests that may be late or unanswered.
const UNANSWERED_MAX: f64 = 0.05;
