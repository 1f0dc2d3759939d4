//! An accelerator behind a network: a process on a core of its own, reached by TCP over loopback.
//!
//! `frame` is what goes over a connection, `serve` the leaf's end, `link` the host's. The leaf never sleeps while its host
//! lives, as a device does not. It connects to its host, and ends with the connections.

mod frame;
mod serve;
mod link;

pub(super) use link::Link;

use super::accelerator::{Accelerator as _, LANES};
use super::kernels::{Inference, Kernel as _, Side};
use crate::failure::Failure;
use clap::Args;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Between two looks at whether the leaf has come.
const LOOKS: Duration = Duration::from_millis(1);

#[derive(Args, Debug)]
pub(crate) struct LeafOptions {
    /// Where the host listens.
    #[arg(long, value_name = "ADDRESS")]
    host: SocketAddr,
    /// The core that the leaf has for itself.
    #[arg(long, value_name = "N")]
    core: usize,
}

/// The leaf's process, until its host's connections end.
pub(crate) fn leaf(options: &LeafOptions) -> Result<(), Failure> {
    tailwater_rt::cpu::pin(options.core).map_err(Failure::work)?;
    let connect = || TcpStream::connect(options.host).map_err(Failure::work);
    let control = connect()?;
    let lanes = (0..LANES).map(|_| connect()).collect::<Result<_, Failure>>()?;
    let kernel = Inference::new();
    serve::serve(control, lanes, kernel.hand(Side::Device)).map_err(Failure::work)
}

/// A leaf's process with the way to it; it ends with this.
pub(super) struct Leaf {
    pub(super) link: Link,
    _process: Process,
}

/// Killed when dropped.
struct Process(Child);

impl Leaf {
    /// Starts one on a core.
    pub(super) fn start(core: u32) -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failure::work)?;
        let address = listener.local_addr().map_err(Failure::work)?.to_string();
        let mut command = Command::new(std::env::current_exe().map_err(Failure::work)?);
        command.args(["accelerate", "leaf", "--host", &address, "--core", &core.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut process = Process(command.spawn().map_err(Failure::work)?);
        let control = accept(&listener, &mut process.0)?;
        let lanes = (0..LANES).map(|_| accept(&listener, &mut process.0));
        let lanes = lanes.collect::<Result<Vec<TcpStream>, Failure>>()?;
        let link = Link::new(control, lanes).map_err(Failure::work)?;
        Ok(Self { link, _process: process })
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        self.link.end();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The leaf's next connection; an error where it has ended instead.
fn accept(listener: &TcpListener, leaf: &mut Child) -> Result<TcpStream, Failure> {
    listener.set_nonblocking(true).map_err(Failure::work)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(Failure::work)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(Failure::work(error)),
        }
        if let Some(status) = leaf.try_wait().map_err(Failure::work)? {
            return Err(Failure::work(format!("the leaf has ended early ({status})")));
        }
        std::thread::sleep(LOOKS);
    }
}

#[cfg(test)]
mod tests {
    use super::super::accelerator::Offloaded;
    use super::super::host::{Doing, Host, Plan, Ran};
    use super::super::kernels::{Checksum, Flawed, Kernel, Pool};
    use super::*;
    use crate::two_cores;
    use std::io::{Read as _, Write as _};
    use tailwater_load::Spinner;
    use tailwater_tune::accelerator::Threading;

    const DESIGNS: [Threading; 4] =
        [Threading::Sync, Threading::SyncOs, Threading::Async, Threading::AsyncDistinct];
    /// More than may be open.
    const REQUESTS: usize = 200;

    /// The control connection and those of all lanes: the leaf's ends, and the host's.
    fn connections() -> [(TcpStream, Vec<TcpStream>); 2] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let one = || {
            let host = TcpStream::connect(address).expect("loopback");
            (listener.accept().expect("it is there").0, host)
        };
        let control = one();
        let lanes: (Vec<TcpStream>, Vec<TcpStream>) = (0..LANES).map(|_| one()).unzip();
        [(control.0, lanes.0), (control.1, lanes.1)]
    }

    fn plan(doing: Doing) -> Plan {
        let waits = matches!(doing, Doing::There(Threading::SyncOs, _));
        let threads = if waits { LANES } else { 1 };
        Plan { doing, has_work: true, size: 0, requests: REQUESTS, threads, others_percent: 0 }
    }

    /// A block of each, beside a leaf that does this with the connections.
    fn blocks(
        doings: &[Doing],
        (kernel, pool): (&dyn Kernel, &Pool),
        leaf: impl FnOnce(TcpStream, Vec<TcpStream>) + Send,
    ) -> Vec<Result<Ran, Failure>> {
        let (host_core, _) = two_cores::two().expect("an affinity").unwrap_or((0, 0));
        let [leafs, hosts] = connections();
        std::thread::scope(|scope| {
            scope.spawn(move || leaf(leafs.0, leafs.1));
            let link = &Link::new(hosts.0, hosts.1).expect("sockets");
            let work = (Spinner::of_speed(1.0), Duration::from_micros(2));
            let host = Host::new((kernel, pool), link, work, host_core);
            doings.iter().map(|doing| host.run(&plan(*doing))).collect()
        })
    }

    /// Each design with its kernel and without, and what is between: connections go on where the last block ended.
    fn all_doings() -> Vec<Doing> {
        let of = |is_empty| Offloaded { is_empty, hold: Duration::ZERO };
        let design =
            |threading| [Doing::There(threading, of(false)), Doing::There(threading, of(true))];
        let once: Vec<Doing> = DESIGNS.into_iter().flat_map(design).collect();
        [once.clone(), vec![Doing::Described], once].concat()
    }

    #[test]
    fn every_design_is_answered_rightly_over_its_connections() {
        let kernel = Checksum::new();
        let pool = Pool::new(&kernel, &[3_000], 5);
        let leaf = |control, lanes| {
            serve::serve(control, lanes, kernel.hand(Side::Device)).expect("sound offloads");
        };
        for ran in blocks(&all_doings(), (&kernel, &pool), leaf) {
            let Ran { block, service_ns } = ran.expect("right answers");
            assert!(block.ns_per_request > 0.0 && service_ns.is_some());
        }
    }

    #[test]
    fn a_wrong_answer_of_a_leaf_ends_a_block_of_every_design() {
        let sound = Checksum::new();
        let pool = Pool::new(&sound, &[512], 5);
        let flawed = Flawed(Checksum::new(), pool.get(0, 3).answer);
        let leaf = |control, lanes| {
            serve::serve(control, lanes, flawed.hand(Side::Device)).expect("sound offloads");
        };
        let full = Offloaded { is_empty: false, hold: Duration::ZERO };
        let doings = DESIGNS.map(|threading| Doing::There(threading, full));
        for ran in blocks(&doings, (&flawed, &pool), leaf) {
            let why = ran.err().expect("noticed").to_string();
            assert!(why.contains("answers are wrong"), "{why}");
        }
    }

    #[test]
    fn a_leaf_that_goes_ends_a_block_of_every_design() {
        let kernel = Checksum::new();
        let pool = Pool::new(&kernel, &[512], 5);
        for threading in DESIGNS {
            // It tells one stamp, and is gone with the first offload.
            let leaf = |mut control: TcpStream, mut lanes: Vec<TcpStream>| {
                control.read_exact(&mut [0]).expect("a question");
                control.write_all(&[0; serve::STAMP]).expect("an answer");
                let _ = lanes[0].read(&mut [0]);
            };
            let full = Offloaded { is_empty: false, hold: Duration::ZERO };
            let ran = blocks(&[Doing::There(threading, full)], (&kernel, &pool), leaf);
            let why = ran[0].as_ref().err().expect("noticed").to_string();
            assert!(why.contains("ended early"), "{threading:?}: {why}");
        }
    }
}
