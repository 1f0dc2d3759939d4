//! Verbs and flags: the one table behind parsing, `--help` and completions.

use crate::accelerate::AccelerateVerb;
use crate::data::DataVerb;
use crate::data_folder::DataFolder;
use crate::failure::Failure;
use crate::guard::GuardOptions;
use crate::keys::KeysOptions;
use crate::profile::ProfileVerb;
use crate::run::{Driver, PictureOptions, RunOptions};
use crate::suite::SuiteVerb;
use crate::tune::TuneVerb;
use crate::values::{duration, key_value, points, seconds};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use tailwater_control::catalog::{self, Spec};
use tailwater_core::pace::{Pace, Scheduling};
use tailwater_rt::{Address, Introspection, Model, Placement, Reception};
use tailwater_workload::limits::CLIENTS_MAX;
use tailwater_workload::scenario::LockPolicy;
use tailwater_workload::{Arrivals, Distribution};

/// Overload control, honest load and deterministic simulation for RPC services.
#[derive(Parser, Debug)]
#[command(name = "tailwater", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 the work failed, or a run had no result; 2 what was asked for is wrong; 128 + n: a run \
    was ended by signal n (130 Ctrl-C, 143 kill), and what was measured until then is printed.";

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// See it work: a server asked for up to twice its capacity, without and with control.
    ///
    /// It takes less than a minute on two cores that nothing else uses. On a busy machine it marks what does not count, and names
    /// what to close. It is no measurement, so that it ends with 0 then, too.
    Demo(DemoOptions),
    /// Run a scenario file, on this machine's loopback or in simulation.
    Run(RunOptions),
    /// Run a service of the suite: three tiers on real data, every answer checked.
    Suite {
        #[command(subcommand)]
        verb: SuiteVerb,
    },
    /// List, fetch, make and check the data that the suite's services work on.
    #[command(after_help = crate::data::HELP)]
    Data {
        #[command(subcommand)]
        verb: DataVerb,
    },
    /// Write a scenario file to begin with, every choice explained.
    New(NewOptions),
    /// Read scenario files as run would, and say what they would run, or everything that is wrong in them.
    Check(CheckOptions),
    /// Redraw the papers' figures from simulation, and compare with what their texts state.
    Figures(FiguresOptions),
    /// Serve the synthetic service.
    Serve(ServeOptions),
    /// Send load to a server and report the fate of every request.
    Load(LoadOptions),
    /// List the locks of a running server, the one that requests waited for longest first.
    Locks(LocksOptions),
    /// Measure for how long and how often this machine takes its cores away: the stalls that `[sim]` takes.
    Probe(ProbeOptions),
    /// Draw tables, plots and the page of a result again, without running anything.
    Draw(DrawOptions),
    /// Put the shards of a result together that several machines simulated, to what one would have found; or their loads.
    Merge(MergeOptions),
    /// Hold two results of one scenario against each other, such as loopback's and the simulator's.
    Compare(CompareOptions),
    /// See where the time of a program's slowest requests goes.
    Profile {
        #[command(subcommand)]
        verb: ProfileVerb,
    },
    /// See what an accelerator would bring to a service, and what that takes.
    Accelerate {
        #[command(subcommand)]
        verb: AccelerateVerb,
    },
    /// Turn knobs of the machine and of programs, and find by sound tests what they bring.
    Tune {
        #[command(subcommand)]
        verb: TuneVerb,
    },
    /// List controllers, profiles and the settings that overrides can change.
    Controllers,
    /// List every key of scenario files: type, unit, limits, default, meaning, example.
    Keys(KeysOptions),
    /// Print completions for a shell.
    Completions {
        /// Which.
        shell: clap_complete::Shell,
    },
    /// Print the manual page of a verb, of scenario files, or of tailwater, for man -l -; or write all of them, for man.
    Man(ManualOptions),
    /// Keep a program of others for the orchestrator.
    #[command(hide = true)]
    Guard(GuardOptions),
    /// Do what a JSON object on standard input says, for the orchestrator.
    #[command(hide = true)]
    Job,
}

#[derive(Args, Debug)]
pub(crate) struct ManualOptions {
    /// The verb, such as run; or scenario, for scenario files.
    pub(crate) verb: Option<String>,
    /// Write all pages below this folder, as man1/tailwater-run.1 and man5/tailwater-scenario.5, and say what to type.
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub(crate) all: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct DemoOptions {
    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write JSON, CSV, plots and an HTML page here.
    #[arg(long, value_name = "DIR", default_value = "out/demo")]
    pub(crate) out: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct CompareOptions {
    /// A result: a folder of `run --out`, or what `run --json` printed; "-" reads standard input.
    pub(crate) first: PathBuf,
    /// The other, a file or a folder where the first is "-".
    pub(crate) second: PathBuf,
    /// Print the comparison as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write JSON, CSV and an HTML page here.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// End with exit code 1 when goodputs differ by more than this, in points of capacity.
    #[arg(long, value_name = "POINTS", value_parser = points)]
    pub(crate) within: Option<f64>,
}

#[derive(Args, Debug)]
pub(crate) struct LocksOptions {
    /// The server's address, such as 127.0.0.1:7000 or unix:/run/my.sock.
    pub(crate) address: Address,
    /// Print budgets and locks as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ProbeOptions {
    /// The cores to watch, each by a thread that spins there; those that server and clients shall use.
    #[arg(long = "core", value_name = "CORE", value_delimiter = ',', default_value = "0")]
    pub(crate) cores: Vec<usize>,
    /// How long; stalls that come once a second want a minute.
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Shorter gaps are no stalls: interrupts of a few µs belong to what a request costs.
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = duration)]
    pub(crate) longer_than: Duration,
    /// Print what was found as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DrawOptions {
    /// A result: a folder of `run --out`, or what `run --json` printed; "-" reads standard input.
    pub(crate) result: PathBuf,
    /// Write the JSON, CSV, plots and an HTML page here; the folder of the result may be the same.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) pictures: PictureOptions,
}

#[derive(Args, Debug)]
pub(crate) struct MergeOptions {
    /// The shards, all of them and in any order: folders of `run --shard I/N --out`, or what `run --shard I/N --json`
    /// printed; or what several `load --rate --json` printed that asked one server at the same time, each with a seed of
    /// its own. "-" reads standard input.
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) shards: Vec<PathBuf>,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write JSON, CSV, plots and an HTML page here.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pictures: PictureOptions,
}

#[derive(Args, Debug)]
pub(crate) struct NewOptions {
    /// The file to write; .toml is added. One that exists is never overwritten.
    #[arg(default_value = "scenario")]
    pub(crate) name: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct CheckOptions {
    /// Scenario files; "-" reads standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Where they shall run; left out: anywhere.
    #[arg(long, value_enum)]
    pub(crate) on: Option<Driver>,
    /// Print what was found as one JSON list.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = FIGURES_HELP)]
pub(crate) struct FiguresOptions {
    /// Only this paper: breakwater or protego.
    pub(crate) paper: Option<String>,
    /// Only this figure of it.
    #[arg(requires = "paper")]
    pub(crate) number: Option<u32>,
    /// A short version of every figure, which proves that it works, and nothing else. Also by
    /// TAILWATER_SHORT=1.
    #[arg(long)]
    pub(crate) short: bool,
    /// Write one SVG for each panel, and what was compared as Markdown and JSON, here.
    #[arg(long, value_name = "DIR", default_value = "out/figures")]
    pub(crate) out: PathBuf,
    /// Only what claims are measured on, without pictures: most of a figure's runs are drawn and not compared.
    #[arg(long)]
    pub(crate) claims: bool,
    /// Also put what was compared into this file, an earlier compared.json, in place of the same figures' rows.
    #[arg(long, value_name = "FILE", conflicts_with = "short")]
    pub(crate) into: Option<PathBuf>,
    /// Print what was compared as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Plays every run with this many seeds: the table has medians, the lowest and the highest.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=SEEDS_MAX))]
    pub(crate) seeds: u32,
    /// Simulations at a time; left out: one for each core. Each needs up to 700 MB.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

/// Of [`FiguresOptions::seeds`]: all of both papers then takes a day of one core.
const SEEDS_MAX: i64 = 100;

const FIGURES_HELP: &str = "All of Breakwater takes some ten minutes on two cores, --short some \
    seconds, and each further seed as long again. The same numbers come out whatever the number of cores. docs/figures.md discusses them.";

/// Which controller: the same for both ends of a connection.
#[derive(Args, Debug, Clone)]
pub(crate) struct ControllerOptions {
    /// A controller; `tailwater controllers` lists them.
    #[arg(long, default_value = catalog::DEFAULT)]
    controller: String,
    /// One of its profiles.
    #[arg(long, default_value = "default")]
    profile: String,
    /// Overrides a setting; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    overrides: Vec<(String, String)>,
    /// The objective for latency from intended time to answer.
    #[arg(long, default_value = "400us", value_parser = duration)]
    pub(crate) slo: Duration,
}

impl ControllerOptions {
    pub(crate) fn spec(&self) -> Spec {
        Spec {
            name: self.controller.clone(),
            profile: self.profile.clone(),
            overrides: self.overrides.clone(),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct ServeOptions {
    /// An address such as 127.0.0.1:7000 (port 0: a free one) or unix:/run/my.sock.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: Address,
    /// What requests may ask for.
    #[arg(long, value_enum, default_value_t = Offered::All)]
    pub(crate) service: Offered,
    /// Serve what the server section of this scenario describes instead: its application or paths, with its
    /// rules for locks; "-" reads standard input. Everything else is said by flags.
    #[arg(long, value_name = "FILE", conflicts_with = "service", group = "described")]
    pub(crate) scenario: Option<PathBuf>,
    /// The same as `run` says it, on standard input.
    #[arg(long, hide = true, conflicts_with = "service", group = "described")]
    pub(crate) said: bool,
    /// Serve this tier of the scenario instead of its server section: one server for each of its nodes, each on a
    /// free port. The greeting's "nodes" are their addresses.
    #[arg(long, value_name = "NAME", requires = "described")]
    pub(crate) tier: Option<String>,
    /// Serve this node of the tier alone, counted from 0, and at --listen: for nodes on machines of their own.
    #[arg(long, value_name = "N", requires = "tier")]
    pub(crate) node: Option<u32>,
    /// Where the nodes of a tier are that requests call, once for each such tier.
    #[arg(
        long = "downstream",
        value_name = "NAME=ADDRESS,…",
        requires = "described",
        value_parser = nodes
    )]
    pub(crate) downstream: Vec<Nodes>,
    /// Its nodes are without control, whatever the scenario says of the tier: for measuring capacity.
    #[arg(long, hide = true, requires = "tier")]
    pub(crate) uncontrolled: bool,
    /// What requests do at a taken lock, instead of what the scenario says: off (no budgets), plain, try,
    /// timed:50us, asqm, asqm:paper or asqm:artifact.
    #[arg(long, value_name = "POLICY", requires = "described")]
    pub(crate) locks: Option<LockPolicy>,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    /// End at once when nothing reads standard output any more: for programs that start servers, whose
    /// servers then end with them, however they end.
    #[arg(long)]
    pub(crate) while_read: bool,
    #[command(flatten)]
    pub(crate) controller: ControllerOptions,
    /// Event loops, each a thread.
    #[arg(long, default_value_t = 1)]
    pub(crate) loops: usize,
    /// Pin the loops to these cores, by position; nodes of a --tier take them in turn.
    #[arg(long = "core", value_name = "CORE", value_delimiter = ',')]
    pub(crate) cores: Vec<usize>,
    #[command(flatten)]
    pub(crate) threads: ThreadOptions,
    #[command(flatten)]
    pub(crate) room: RoomOptions,
    /// Change to these threading models while serving, when a line of standard input says so, such as `model adb:4`. The
    /// threads that they need are started at once.
    #[arg(long, value_name = "MODEL", value_delimiter = ',', conflicts_with = "tier")]
    pub(crate) change_to: Vec<Model>,
    /// Begin requests whose deadline has passed too, as publications' servers do, whatever the controller.
    #[arg(long)]
    pub(crate) serve_late: bool,
    /// Most connections at a time.
    #[arg(long, default_value_t = 1 << 16)]
    pub(crate) connections_max: usize,
    /// Clients whose questions for the server's counts are answered, as those of tailwater locks and load:
    /// local (on this machine), anyone or off.
    #[arg(long, default_value_t, value_name = "CLIENTS")]
    pub(crate) introspection: Introspection,
    /// How long a signal waits for accepted requests to be answered. What is not answered by then is told
    /// on standard error, and the exit status is 1. A second signal does not wait.
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = duration)]
    pub(crate) drain_for: Duration,
    /// Speed of this machine in spinning rounds per ns, instead of measuring it: servers that are
    /// compared must do the same work.
    #[arg(long, value_name = "ROUNDS")]
    pub(crate) calibration: Option<f64>,
}

/// What a server's sockets and loops hold, and its memory.
#[derive(Args, Debug)]
pub(crate) struct RoomOptions {
    /// Acknowledge at once what comes over TCP, and not with the next answer: a system call for each read.
    #[arg(long)]
    pub(crate) quick_ack: bool,
    /// Bytes that a TCP socket holds of what it sends, as a constant. Left out, the kernel adapts them.
    #[arg(long, value_name = "BYTES")]
    pub(crate) send_buffer: Option<usize>,
    /// The same of what it receives.
    #[arg(long, value_name = "BYTES")]
    pub(crate) receive_buffer: Option<usize>,
    /// The law by which TCP sends, by the kernel's name, such as cubic.
    #[arg(long, value_name = "LAW")]
    pub(crate) congestion_control: Option<String>,
    /// The longest time that a loop runs handlers before it looks at its sockets again.
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = duration)]
    pub(crate) drain_every: Duration,
    /// Bytes of answers that a connection has not read, from which on its requests wait.
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 10)]
    pub(crate) output_high: usize,
    /// Handlers of a thread that wait for something at once; beyond it requests stay queued.
    #[arg(long, value_name = "N", default_value_t = 1 << 16)]
    pub(crate) tasks_max: usize,
    /// Have all memory before its first use, and keep it from being taken away (mlockall); it needs root or the limit of
    /// ulimit -l.
    #[arg(long)]
    pub(crate) lock_memory: bool,
}

/// How a server's threads share the work.
#[derive(Args, Debug)]
pub(crate) struct ThreadOptions {
    /// How threads share the work, in one word: sib, sip, sdb:4, sdp:4, aib, aip, adb:4, adp:4. First letter:
    /// synchronous or asynchronous calls to other tiers. Second: handlers in-line on the loops or dispatched to so
    /// many workers. Third: loops that block or poll. +2 behind it for threads that make the calls: responders, or
    /// those of fork and join; @spin:20us for loops that look for so long before they sleep.
    #[arg(long, conflicts_with_all = ["reception", "placement"])]
    model: Option<Model>,
    /// How loops wait: block, spin:50us or poll.
    #[arg(long, default_value_t)]
    reception: Reception,
    /// Where handlers run: inline or workers:4.
    #[arg(long, default_value_t)]
    placement: Placement,
}

impl ThreadOptions {
    pub(crate) fn model(&self) -> Model {
        let Self { reception, placement, .. } = *self;
        self.model.unwrap_or(Model { reception, placement, ..Model::default() })
    }
}

/// The nodes of a tier, in order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Nodes {
    pub(crate) tier: String,
    pub(crate) addresses: Vec<Address>,
}

fn nodes(text: &str) -> Result<Nodes, String> {
    let needed = || format!("'{text}' found, NAME=ADDRESS,ADDRESS is needed");
    let (tier, addresses) = text.split_once('=').ok_or_else(needed)?;
    let addresses = addresses.split(',').map(str::parse::<Address>);
    let addresses = addresses.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(Nodes { tier: tier.to_owned(), addresses })
}

/// Methods of the synthetic service.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Offered {
    /// 1 echo, 2 spin, 3 sleep.
    All,
    /// 1 only, without a router in between.
    Echo,
}

#[derive(Args, Debug)]
pub(crate) struct LoadOptions {
    /// The server.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) connect: Address,
    #[command(flatten)]
    pub(crate) controller: ControllerOptions,
    /// Logical clients, each with a connection of its own.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=CLIENTS_MAX as i64))]
    pub(crate) clients: u32,
    /// Requests per second of all clients together; left out: find the capacity in closed loop.
    #[arg(long, value_name = "RPS")]
    pub(crate) rate: Option<f64>,
    /// How requests are spread in time: poisson, periodic, gamma:0.25 (shape), bursts:4:10ms:90ms, diurnal:0.8:1s
    /// (swing, period) or metronome. Bursts name their rate as a multiple of the rate, and the mean lengths of bursts
    /// and of the time between. Metronome is a published generator that understates the tail (docs/workloads.md).
    #[arg(long, default_value_t = Arrivals::Poisson)]
    pub(crate) arrivals: Arrivals,
    /// Ask for what the clients of this scenario ask for, instead of service times; "-" reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mean", "distribution", "sleep"])]
    pub(crate) scenario: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataFolder,
    /// Mean service time.
    #[arg(long, default_value = "10us", value_parser = duration)]
    pub(crate) mean: Duration,
    /// Distribution of service times: constant, exponential, bimodal, lognormal:1.5 (standard deviation of
    /// the logarithm), gamma:0.5 (shape), pareto:1.5 (shape; requests of up to a thousand means).
    #[arg(long, default_value = "exponential")]
    pub(crate) distribution: Distribution,
    /// The server sleeps instead of computing.
    #[arg(long)]
    pub(crate) sleep: bool,
    /// Time before measuring begins.
    #[arg(long, default_value = "500ms", value_parser = duration)]
    pub(crate) warm_up: Duration,
    /// Begin the warm-up at this time, in seconds since 1970, as loads of other machines do, a day ahead at most; left out: at once.
    #[arg(long, value_name = "TIME", requires = "rate")]
    pub(crate) at: Option<u64>,
    /// Measured time.
    #[arg(long, default_value = "2s", value_parser = duration)]
    pub(crate) duration: Duration,
    /// Decides the schedule and the service times.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Pin the generator's threads to these cores.
    #[arg(long = "core", value_name = "CORE", value_delimiter = ',')]
    pub(crate) cores: Vec<usize>,
    /// Threads of the generator.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: u32,
    /// How they wait for the next intended time: spin, which needs a core for each, or sleep, which leaves it to
    /// others and is later by a wake-up.
    #[arg(long, default_value_t)]
    pub(crate) pace: Pace,
    /// How the kernel schedules them: normal, batch, idle, or fifo:1 or rr:1 (before all normal threads; with --pace sleep,
    /// and the right to it).
    #[arg(long, default_value_t)]
    pub(crate) scheduling: Scheduling,
    /// The server's process, to report its CPU time.
    #[arg(long, value_name = "PID")]
    pub(crate) server_pid: Option<u32>,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "tailwater", &mut script);
    crate::failure::say(String::from_utf8_lossy(&script).trim_end())
}
