//! What a server under load gets through before, while and after it is recorded by `tailwater profile attach`, by turns
//! with servers that nobody attaches to.

use super::recorded::{SETTLES, closed, fill};
use super::result::Reading;
use super::service::{Server, Service};
use super::{Tried, Variant};
use crate::Result;
use clap::Args;
use machine::Origin;
use serde::Serialize;
use std::thread;
use std::time::Duration;
use tailwater_stats::result::Spread;

#[derive(Args, Debug)]
pub(crate) struct AttachedArgs {
    #[command(flatten)]
    of: Tried,
    /// Of one server that is attached to and one that is not.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// How long each of before, during and after counts.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// Before, during and after. The load is a closed loop, so what is answered is what the server gets through.
type Round = [Reading; 3];

#[derive(Debug, Default, Serialize)]
struct Attached {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    /// Of each reading.
    seconds: u64,
    /// Not attached to, and attached to during the second reading.
    pairs: Vec<[Round; 2]>,
    /// Of each recording.
    trace_bytes: Vec<u64>,
}

/// Measures the pairs, every other one the other way round, and writes them.
pub(crate) fn attached(args: &AttachedArgs) -> Result {
    let service = args.of.server()?;
    let (title, origin) = (args.of.trial.title.clone(), Origin::now());
    let mut found = Attached { title, origin, seconds: args.seconds, ..Attached::default() };
    for number in 0..args.pairs {
        let mut pair = [Round::default(); 2];
        for at in if number % 2 == 0 { [0, 1] } else { [1, 0] } {
            pair[at] = round(service, args, (at == 1).then_some(&mut found.trace_bytes))?;
            println!("{}: {}", ["alone", "attached"][at], line(&pair[at], args.seconds));
        }
        found.pairs.push(pair);
    }
    machine::result::write(&args.of.trial.out, &found)?;
    println!("{}", found.summary());
    Ok(())
}

/// On a fresh server. With `traces` the second reading is recorded, and the length of its trace noted there.
fn round(service: &Service, args: &AttachedArgs, traces: Option<&mut Vec<u64>>) -> Result<Round> {
    let server = Server::start(service, &args.of.trial.program, Variant::After)?;
    fill(service, server.address())?;
    let length = Duration::from_secs(args.seconds);
    let read = || {
        thread::sleep(SETTLES);
        let latency = closed(service, server.address(), length)?;
        Ok::<_, String>(Reading::of(latency.count(), latency.count(), &latency))
    };
    let before = read()?;
    let trace = args.of.trial.folder.join("attached.trace");
    let during = thread::scope(|scope| {
        let recorder = traces.is_some().then(|| {
            let mut attach = server.attach(length + 2 * SETTLES, &trace);
            attach.args(&args.of.options);
            scope.spawn(move || machine::command::output(&mut attach))
        });
        let during = read();
        // It has detached and has read its trace by then, so that the last reading has nothing of it.
        recorder.map_or(Ok(String::new()), |it| it.join().expect("it does not panic"))?;
        during
    })?;
    if let Some(traces) = traces {
        let found =
            std::fs::metadata(&trace).map_err(|error| format!("{}: {error}", trace.display()));
        traces.push(found?.len());
    }
    Ok([before, during, read()?])
}

fn line(round: &Round, seconds: u64) -> String {
    let [before, during, after] = round.map(|reading| reading.answered / seconds.max(1));
    format!("{before} requests/s before, {during} during, {after} after")
}

impl Attached {
    /// Throughput over that before, within a round.
    fn summary(&self) -> String {
        let ratios = |which: usize, reading: usize| {
            let rounds = self.pairs.iter().map(|pair| &pair[which]);
            let ratio = |round: &Round| round[reading].answered as f64 / round[0].answered as f64;
            let Spread { min, median, max } = Spread::of(&rounds.map(ratio).collect::<Vec<_>>());
            format!("× {median:.3} [{min:.3}–{max:.3}]")
        };
        format!(
            "{}: while attached {}, after {}; where nobody attaches {} and {}",
            self.title,
            ratios(1, 1),
            ratios(1, 2),
            ratios(0, 1),
            ratios(0, 2)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_compared_within_a_round() {
        let round = |answered: [u64; 3]| {
            answered.map(|answered| Reading { answered, ..Reading::default() })
        };
        let found = Attached {
            title: "x".into(),
            pairs: vec![[round([100, 101, 99]), round([200, 150, 202])]],
            ..Attached::default()
        };
        assert_eq!(
            found.summary(),
            "x: while attached × 0.750 [0.750–0.750], after × 1.010 [1.010–1.010]; where nobody attaches × 1.010 \
             [1.010–1.010] and × 0.990 [0.990–0.990]"
        );
        assert_eq!(line(&found.pairs[0][1], 10), "20 requests/s before, 15 during, 20 after");
    }
}
