//! A real front with two leaves over loopback, each a process that records itself.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tailwater_profile::record::Record;
use tailwater_profile::tiers::{Basis, Joined, Report, Survey};
use tailwater_profile::trace::Reader;
use tailwater_rt::Address;
use tailwater_rt::client::Client;

const REQUESTS: u8 = 60;
/// What the second leaf sleeps now and then, in milliseconds.
const PLANTED: u8 = 200;

/// A process of `src/bin/tier.rs`.
struct Tier {
    process: Child,
    address: Address,
    trace: PathBuf,
    _told: BufReader<ChildStdout>,
}

impl Tier {
    fn start(role: &str, name: &str, leaves: &[&Self]) -> Self {
        let trace = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tiers-{name}.trace"));
        let _ = std::fs::remove_file(&trace);
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater-tests-tier"));
        command.arg(role).arg(&trace).args(leaves.iter().map(|leaf| leaf.address.to_string()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("it is built");
        let mut told = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut address = String::new();
        told.read_line(&mut address).expect("it tells its address");
        let address = address.trim().parse().expect("an address");
        Self { process, address, trace, _told: told }
    }

    /// Has it complete its trace.
    fn end(mut self) -> PathBuf {
        drop(self.process.stdin.take());
        assert!(self.process.wait().expect("it ends").success());
        self.trace
    }
}

/// Every tenth request finds the second leaf slow.
fn is_slow(number: u8) -> bool {
    number % 10 == 5
}

fn recorded() -> Vec<PathBuf> {
    let leaves = ["leaf-a", "leaf-b"].map(|name| Tier::start("leaf", name, &[]));
    let front = Tier::start("front", "front", &[&leaves[0], &leaves[1]]);
    let client = Client::connect(front.address.clone()).expect("a client");
    for number in 0..REQUESTS {
        let ms = if is_slow(number) { PLANTED } else { 0 };
        client.call(1, vec![0, ms]).wait().expect("an answer");
    }
    drop(client);
    // The front first: it calls the others.
    std::iter::once(front).chain(leaves).map(Tier::end).collect()
}

fn records(trace: &Path) -> Reader<File> {
    Reader::new(File::open(trace).expect("a trace")).expect("a header")
}

fn joined(traces: &[PathBuf]) -> Report {
    let tiers = traces.iter().map(|trace| {
        let mut reader = records(trace);
        let name = trace.file_stem().expect("a name").to_str().expect("a name");
        let mut survey = Survey::new(name, reader.header());
        reader.by_ref().for_each(|record| survey.add(&record.expect("no damage")));
        survey.finish(&reader.ending()).expect("two clock readings")
    });
    let joined = Joined::new(tiers.collect(), usize::from(REQUESTS));
    let reviews = traces.iter().enumerate().map(|(place, trace)| {
        let mut review = joined.review(place);
        records(trace).for_each(|record| review.add(&record.expect("no damage")));
        review
    });
    let reviews = reviews.collect();
    joined.finish(reviews)
}

#[test]
fn slow_requests_name_the_slow_leaf() {
    let traces = recorded();
    let lost: usize = traces.iter().map(|trace| records(trace).filter(is_lost_mark).count()).sum();
    assert_eq!(lost, 0, "every mark is in the traces");
    let report = joined(&traces);
    let requests: Vec<_> = report.traces.iter().map(|trace| trace.requests).collect();
    assert_eq!(requests, [u64::from(REQUESTS); 3]);
    assert_eq!((report.calls, report.calls_found), (120, 120));
    for clock in &report.clocks[1..] {
        assert_eq!((clock.basis, clock.calls), (Basis::SameCounter, 60));
        assert_eq!(
            clock.contradiction_ns, 0,
            "{}: nothing is answered before it is sent",
            clock.trace
        );
    }
    let planted = u64::from(PLANTED) * 1_000_000;
    // The front counts its requests from one on, as they come.
    let slow = report.slowest.iter().filter(|root| is_slow(root.request as u8 - 1));
    let mut found = 0;
    for root in slow {
        let [front, first, second] = root.parts[..] else { panic!("three traces") };
        assert!(second.own_ns() >= planted, "it waited for the second leaf: {second:?}");
        found += 1;
        let between: u64 = root.parts.iter().map(|part| part.between_ns).sum();
        let own = front.own_ns() + first.own_ns() + second.own_ns();
        assert_eq!((own + between, root.unrecorded_ns), (root.total_ns, 0));
        assert_eq!(root.requests.len(), 3, "the front's request, and one of each leaf");
        assert!(first.own_ns() < planted, "nobody waited for the first leaf");
        let leaf = root.requests.iter().find(|one| one.trace == 2).expect("the second leaf");
        assert!(leaf.held_ns >= planted, "{leaf:?}");
    }
    assert_eq!(found, usize::from(REQUESTS / 10));
}

fn is_lost_mark(record: &Result<Record, tailwater_profile::trace::TraceError>) -> bool {
    use tailwater_profile::record::LossKind;
    matches!(record, Ok(Record::Loss(loss)) if loss.kind == LossKind::Marks)
}
