//! The experiment: every case with every peer, repeated, in an order that chance decides. So what drifts (other
//! guests on the host, heat) meets all peers alike.

mod cases;
mod child;
mod goals;
mod idle;
mod report;
mod rules;
mod table;

pub(crate) use child::{LeashArgs, leash};

use crate::poller::Reception;
use cases::{Case, Peer};
use child::{Load, Server};
use machine::Origin;
use report::{Report, Row};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tailwater_core::Rng;

/// What to measure.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct CompareArgs {
    /// A few seconds with the smallest sizes: shows that everything works, and nothing else.
    #[arg(long)]
    short: bool,
    /// Print JSON with every run instead of tables.
    #[arg(long)]
    json: bool,
    /// Only this peer (raw, tailwater, tonic, tarpc) or case (1000x1, 50x16, spin, sleep, fan, fan-alone,
    /// fan-8k); repeatable.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The tailwater binary; by default that of the workspace that holds this one.
    #[arg(long, value_name = "PATH")]
    tailwater: Option<PathBuf>,
    /// Repetitions.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    repetitions: u32,
    /// Reception of raw and tailwater in the loaded cases: block, spin:50us or poll.
    #[arg(long, default_value = "poll")]
    reception: Reception,
    /// Decides the order of the runs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Core of the servers.
    #[arg(long, default_value_t = 0)]
    server_core: usize,
    /// Core of the generator.
    #[arg(long, default_value_t = 1)]
    client_core: usize,
}

/// Runs of one repetition that may be discarded before the repetition goes without.
const ATTEMPTS: u32 = 3;

/// Measures, then prints tables or JSON.
pub(crate) fn main(args: &CompareArgs) -> Result<(), String> {
    let cases = cases::chosen(args.short, args.reception, &args.only)?;
    let mut compare = Compare::new(args, cases)?;
    // What was measured until then is shown all the same; the error is what the program ends with.
    compare.report.stopped = compare.run().err();
    let text = if args.json {
        serde_json::to_string_pretty(&compare.report).map_err(|error| error.to_string())?
    } else {
        table::render(&compare.report)
    };
    println!("{}", text.trim_end());
    compare.report.complete()
}

struct Compare<'a> {
    args: &'a CompareArgs,
    cases: Vec<Case>,
    tailwater: PathBuf,
    started: Instant,
    report: Report,
}

impl<'a> Compare<'a> {
    fn new(args: &'a CompareArgs, cases: Vec<Case>) -> Result<Self, String> {
        let tailwater = args.tailwater.clone().unwrap_or_else(beside_us);
        let needed = cases.iter().any(|case| case.peers.contains(&Peer::Tailwater));
        if needed && !tailwater.is_file() {
            return Err(format!(
                "found no {}; type `cargo build --release --package tailwater-cli` in the root of \
                 the repository, or name another with --tailwater",
                tailwater.display()
            ));
        }
        let report = Report {
            short: args.short,
            seed: args.seed,
            reception: args.reception.to_string(),
            origin: Origin::now(),
            ..Report::default()
        };
        Ok(Self { args, cases, tailwater, started: Instant::now(), report })
    }

    /// In each repetition: the cases in an order of chance, in each case the peers in one. So a peer and the raw
    /// server it is compared with run within seconds of each other.
    fn run(&mut self) -> Result<(), String> {
        let mut chance = Rng::from_seed(self.args.seed).split("order");
        let repetitions = if self.args.short { 1 } else { self.args.repetitions };
        for repetition in 1..=repetitions {
            let mut cases = self.cases.clone();
            chance.shuffle(&mut cases);
            for mut case in cases {
                chance.shuffle(&mut case.peers);
                for &peer in &case.peers {
                    self.measure(repetition, &case, peer)?;
                }
            }
        }
        Ok(())
    }

    /// One run that stands, or as many discarded ones as are allowed.
    fn measure(&mut self, repetition: u32, case: &Case, peer: Peer) -> Result<(), String> {
        for _ in 0..ATTEMPTS {
            if !self.args.short {
                idle::wait()?;
            }
            let what = format!("{} {} repetition {repetition}", case.name, peer.name());
            if std::io::stderr().is_terminal() {
                eprintln!("{:>4} s  {what}", self.started.elapsed().as_secs());
            }
            let outcome = self.once(case, peer).map_err(|error| format!("{what}: {error}"))?;
            // Ticks of 10 ms are too coarse for a short window, and its numbers are no result.
            let discarded =
                if self.args.short { None } else { rules::discard(&outcome, self.window()) };
            let stands = discarded.is_none();
            self.report.rows.push(Row {
                case: case.name.to_owned(),
                peer,
                repetition,
                discarded,
                outcome,
            });
            if stands {
                break;
            }
        }
        Ok(())
    }

    fn once(&self, case: &Case, peer: Peer) -> Result<crate::drive::Outcome, String> {
        let leaves = if case.fans_out { Some(self.start_leaves(peer)?) } else { None };
        let (program, args) = match &leaves {
            Some(leaves) => (child::ourselves()?, self.fan(case, peer, leaves)?),
            None => self.server(case, peer)?,
        };
        let server = Server::start(&program, &args)?;
        child::drive(
            server.ready,
            &Load {
                protocol: case.protocol(peer),
                connections: case.connections,
                outstanding: case.outstanding,
                reception: case.client,
                warmup_ms: if self.args.short { 50 } else { 300 },
                window: self.window(),
                core: self.args.client_core,
                beside: leaves.as_ref().map(|leaves| leaves.ready.pid),
            },
        )
    }

    fn window(&self) -> Duration {
        Duration::from_millis(if self.args.short { 300 } else { 2_000 })
    }

    /// All leaves in one process, on the generator's core. They speak what the peer does.
    fn start_leaves(&self, peer: Peer) -> Result<Server, String> {
        let core = self.args.client_core.to_string();
        let mut args = match peer {
            Peer::Raw | Peer::Tailwater => vec!["raw", "--reception", "block"],
            Peer::Tonic => vec!["tonic"],
            Peer::Tarpc => return Err("found no leaves for tarpc".to_owned()),
        };
        args.extend(["--listen", "127.0.0.1:0", "--core", &core]);
        let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        Server::start(&child::ourselves()?, &args)
    }

    /// The arguments of a mid-tier, which this program is.
    fn fan(&self, case: &Case, peer: Peer, leaves: &Server) -> Result<Vec<String>, String> {
        let part = match peer {
            Peer::Raw => "fan-raw",
            Peer::Tailwater => "fan-tailwater",
            Peer::Tonic => "fan-tonic",
            Peer::Tarpc => return Err("found no mid-tier of tarpc".to_owned()),
        };
        let core = self.args.server_core.to_string();
        let (reception, leaf) = (case.server.to_string(), leaves.ready.listening.to_string());
        let mut args = vec![part, "--leaf", &leaf, "--reception", &reception, "--core", &core];
        if case.is_large && peer == Peer::Raw {
            args.push("--copies");
        }
        Ok(args.into_iter().map(str::to_owned).collect())
    }

    /// The program that serves and its arguments.
    fn server(&self, case: &Case, peer: Peer) -> Result<(PathBuf, Vec<String>), String> {
        let reception = case.server.to_string();
        let core = self.args.server_core.to_string();
        let mut args = match peer {
            Peer::Raw => vec!["raw", "--reception", &reception],
            Peer::Tonic => vec!["tonic"],
            Peer::Tarpc => vec!["tarpc"],
            Peer::Tailwater => {
                let plain = ["serve", "--service", "echo", "--controller", "none"];
                [&plain[..], &["--reception", &reception]].concat()
            }
        };
        args.extend(["--listen", "127.0.0.1:0", "--core", &core]);
        let program = match peer {
            Peer::Tailwater => self.tailwater.clone(),
            _ => child::ourselves()?,
        };
        Ok((program, args.into_iter().map(str::to_owned).collect()))
    }
}

/// The release binary of the workspace that holds this one: in the folder that `cargo xtask bench` names, else
/// beside us. Cargo says where this one is.
fn beside_us() -> PathBuf {
    if let Some(target) = std::env::var_os("TAILWATER_TARGET") {
        return PathBuf::from(target).join("release/tailwater");
    }
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    PathBuf::from(here).join("../../target/release/tailwater")
}
