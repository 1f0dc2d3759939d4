//! The resident memory of connections to leaves.

use crate::Verdict;
use crate::front::{Failure, controller};
use crate::report::{Memory, Report};
use machine::Origin;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tailwater::{
    Address, ChannelConfig, Client, Reply, Request, Server, ServerConfig, TierConfig, tier,
};

const LOOPS: usize = 2;
/// Connections of the process that others are compared with, on each loop.
const FEW: usize = 8;
const BYTES_MAX: f64 = 8.0 * 1024.0;
const PART: &str = "memory";
/// Shards of one tier; a server may have several tiers.
const SHARDS: usize = 250;
/// How often each connection of a loop is used.
const CALLS: usize = 200;
/// Clients until each loop has had one: a front deals them out.
const CLIENTS: usize = 16;

pub(crate) fn run(report: &mut Report, connections: usize) -> Verdict {
    let origin = Origin::now();
    raise_descriptor_limit();
    let few = resident(FEW)?;
    let many = resident(connections)?;
    let each = (many as f64 - few as f64) / (LOOPS * (connections - FEW)) as f64;
    println!(
        "memory: {few} bytes with {FEW} connections on each of {LOOPS} loops, {many} with {connections}"
    );
    report.begin(PART);
    let goal = "8 KiB at most for a connection to a leaf";
    report.judge(PART, goal, format!("{each:.0} bytes"), each <= BYTES_MAX);
    report.memory = Some(Memory { origin, loops: LOOPS, connections, bytes_each: each });
    Ok(())
}

/// The resident bytes of a front with so many connections on each loop, all of which were used.
fn resident(connections: usize) -> Result<u64, Failure> {
    let echo = |request: Request| async move { Reply::ok(request.payload) };
    let leaf = Server::start(ServerConfig::default(), controller()?.admission, echo)?;
    let mut front = Process::start(leaf.address(), connections)?;
    let address = front.address()?;
    while leaf.remaining().connections < (LOOPS * connections) as u64 {
        front.is_alive()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut loops = BTreeSet::new();
    for _ in 0..CLIENTS {
        let channel = ChannelConfig::new(address.clone());
        let client = Client::connect_with(channel, &controller()?)?;
        for _ in 0..CALLS {
            let answer = client.call(1, vec![7; 64]).wait()?;
            let said = String::from_utf8_lossy(&answer.payload).into_owned();
            if answer.status != 0 {
                return Err(said.into());
            }
            loops.insert(said);
        }
        if loops.len() == LOOPS {
            return front.resident();
        }
    }
    Err(format!("{CLIENTS} clients were served by {loops:?} alone").into())
}

/// As many descriptors as the hard limit allows.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // A refusal means that the old limit stays, and connections are missing.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// A front in a process of its own.
struct Process(Child);

impl Process {
    fn start(leaf: &Address, connections: usize) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--front", &leaf.to_string(), &connections.to_string()]);
        Ok(Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?))
    }

    fn address(&mut self) -> Result<Address, Failure> {
        let output = self.0.stdout.take().ok_or("the front has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }

    fn is_alive(&mut self) -> Result<(), Failure> {
        match self.0.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the front has ended: {status}").into()),
        }
    }

    fn resident(&self) -> Result<u64, Failure> {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.0.id()))?;
        let pages: u64 =
            text.split_whitespace().nth(1).ok_or("statm has no second number")?.parse()?;
        Ok(pages * rustix::param::page_size() as u64)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends when its input does; and if it should not, all the same.
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The other process: serves until its input ends.
pub(crate) fn front(leaf: &str, connections: &str) -> Verdict {
    let (leaf, connections): (Address, usize) = (leaf.parse()?, connections.parse()?);
    let controller = controller()?;
    let counts = (0..connections).step_by(SHARDS).map(|first| SHARDS.min(connections - first));
    let tiers: Vec<_> = counts
        .enumerate()
        .map(|(index, shards)| {
            let channels = vec![ChannelConfig::new(leaf.clone()); shards];
            TierConfig::new(index.to_string(), channels).controller(&controller)
        })
        .collect();
    let count = tiers.len();
    let config = ServerConfig { loops: LOOPS, tiers, ..ServerConfig::default() };
    let service = move |request: Request| ask_all(request, count);
    let server = Server::start(config, controller.admission, service)?;
    println!("{}", server.address());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Uses every connection of its loop, and says which loop that is.
async fn ask_all(request: Request, tiers: usize) -> Reply {
    for name in 0..tiers {
        let Some(leaves) = tier(&name.to_string()) else { return Reply::failure(1, "no tier") };
        let answers = leaves.fan(&request).call_all(1, request.payload.clone()).await;
        if let Some(error) = answers.into_iter().find_map(Result::err) {
            return Reply::failure(2, &error.to_string());
        }
    }
    Reply::ok(std::thread::current().name().unwrap_or_default().into())
}
