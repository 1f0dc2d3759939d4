//! A server under an open load: requests come at a share of the rate that a closed loop reaches, at times of chance, whether the
//! server is quick or slow. Latency counts from the times at which requests were due.
//!
//! The load sleeps between requests, by timers without slack, so that it takes no core but for requests and answers. Where it spins, it
//! is less late, and takes a core.

use super::recorded::{SETTLES, TRACE, closed, filled};
use super::result::Reading;
use super::service::{Server, Service, until_filled};
use super::visitor::Visitor;
use super::{Tried, Variant};
use crate::Result;
use machine::command::output;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tailwater_load::foreign::{ForeignFindings, ForeignPlan, run as load};

/// Under load before anything counts: attaching takes a tenth of a second of it.
const WARM_UP: Duration = Duration::from_secs(1);

/// How much is asked.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Offer {
    /// Of what a closed loop gets through; from 0 to 1.
    pub(super) share: f64,
    /// That: requests a second, of a server that nobody records.
    pub(super) closed_per_second: f64,
    /// The rate at which requests are due.
    pub(super) requests_per_second: f64,
    #[serde(flatten)]
    pub(super) manner: Manner,
}

/// How it is asked.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Manner {
    /// A run counts where 99 % of its requests were sent no later than so many µs after they were due.
    pub(super) late_us_max: f64,
    /// Whether the load spins between requests.
    pub(super) spins: bool,
}

impl Offer {
    /// A share of what this program gets through in a closed loop of that length.
    pub(super) fn measure(
        service: &Service,
        program: &Path,
        length: Duration,
        (share, manner): (f64, Manner),
    ) -> Result<Self> {
        let server = filled(service, program)?;
        thread::sleep(SETTLES);
        let answered = closed(service, server.address(), length)?.count();
        if answered == 0 {
            return Err(format!("found no answer in a closed loop of {length:?}; say --seconds 3"));
        }
        let closed_per_second = answered as f64 / length.as_secs_f64();
        let requests_per_second = share * closed_per_second;
        Ok(Self { share, closed_per_second, requests_per_second, manner })
    }

    /// One run of this program, of so many seconds; recorded, where options are added to those of all.
    pub(super) fn one(
        &self,
        (service, of, program): (&Service, &Tried, &Path),
        seconds: u64,
        added: Option<&[&str]>,
        seed: u64,
    ) -> Result<Reading> {
        let server = &Server::start(service, program, Variant::After)?;
        let (length, trace) = (Duration::from_secs(seconds), of.trial.folder.join(TRACE));
        let plan = ForeignPlan {
            protocol: service.protocol,
            address: server.address(),
            server_pid: server.pid(),
            connections: service.connections,
            keys: service.keys,
            gets: service.gets,
            requests_per_second: self.requests_per_second,
            warm_up: WARM_UP,
            measure: length,
            seed,
            spins: self.manner.spins,
        };
        let over = &AtomicBool::new(false);
        let (found, recorded) = thread::scope(|scope| {
            let recorder = added.map(|added| {
                let mut attach = server.attach(WARM_UP + length + SETTLES, &trace);
                attach.args(&of.options).args(added);
                scope.spawn(move || {
                    // Keys are set by the load itself, and nothing of that is recorded.
                    until_filled(service, &mut Visitor::open(server.address(), over)?)?;
                    output(&mut attach)
                })
            });
            // On a thread of its own: what this one starts later has its own timers.
            let asking = scope.spawn(|| asked(&plan));
            let found = asking.join().expect("it does not panic");
            // Nothing but the flag itself is read by the other side.
            over.store(true, Ordering::Relaxed);
            let joined = recorder.map(|it| it.join().expect("it does not panic"));
            (found, joined.unwrap_or_else(|| Ok(String::new())))
        });
        let found = found?;
        recorded?;
        let late_p99_us = Some(found.lateness.quantile(0.99).as_secs_f64() * 1e6);
        Ok(Reading { late_p99_us, ..Reading::of(found.intended, found.answered, &found.latency) })
    }

    /// Whether the load was late in any run. How long answers took does not matter to it.
    pub(super) fn was_late(&self, round: &[Reading]) -> bool {
        let late =
            |reading: &Reading| reading.late_p99_us.is_none_or(|us| us > self.manner.late_us_max);
        round.iter().any(late)
    }
}

/// All that the plan asks, with timers as exact as the kernel has them. Where these cannot be set, the load is later, and says so.
fn asked(plan: &ForeignPlan) -> Result<ForeignFindings> {
    let _ = without_slack();
    load(plan).map_err(|error| error.to_string())
}

/// Of the calling thread: its sleeps end up to 50 µs late otherwise.
fn without_slack() -> std::io::Result<()> {
    let thread = std::fs::read_link("/proc/thread-self")?;
    let tid = thread.file_name().unwrap_or_default();
    std::fs::write(Path::new("/proc").join(tid).join("timerslack_ns"), "1")
}

/// `20%`, as a share.
pub(super) fn share(text: &str) -> Result<f64> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let share = percent.map(|percent| percent / 100.0).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("'{text}' found, a share such as 20% is needed"))
}

/// The same of a load, of which there is some.
pub(super) fn load_share(text: &str) -> Result<f64> {
    share(text).and_then(|share| {
        if share > 0.0 { Ok(share) } else { Err("a load is more than 0%".to_owned()) }
    })
}

#[cfg(test)]
mod tests {
    use super::super::memcached;
    use super::*;
    use std::net::TcpListener;

    const OFFER: Offer = Offer {
        share: 0.2,
        closed_per_second: 80_000.0,
        requests_per_second: 16_000.0,
        manner: Manner { late_us_max: 100.0, spins: false },
    };

    fn late(us: f64) -> Reading {
        Reading { late_p99_us: Some(us), ..Reading::default() }
    }

    #[test]
    fn one_late_run_sets_its_round_aside() {
        assert!(!OFFER.was_late(&[late(3.0), late(100.0), late(9.0)]));
        assert!(OFFER.was_late(&[late(3.0), late(100.5), late(9.0)]));
        assert!(OFFER.was_late(&[late(3.0), Reading::default()]), "nobody knows of the second");
    }

    #[test]
    fn a_result_has_what_was_offered_in_one_place() {
        let json = serde_json::to_value(OFFER).expect("numbers");
        let keys: Vec<&String> = json.as_object().expect("an object").keys().collect();
        let expected =
            ["closed_per_second", "late_us_max", "requests_per_second", "share", "spins"];
        let mut keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, expected);
    }

    #[test]
    fn the_timers_of_the_load_are_exact_and_those_of_others_stay() {
        let slack = || {
            let thread = std::fs::read_link("/proc/thread-self").expect("a thread");
            let tid = thread.file_name().expect("its number");
            let path = Path::new("/proc").join(tid).join("timerslack_ns");
            std::fs::read_to_string(path).expect("its slack").trim().to_owned()
        };
        let before = slack();
        let within = move || {
            without_slack().expect("a thread may set its own");
            slack()
        };
        assert_eq!(thread::spawn(within).join().expect("it does not panic"), "1");
        assert_eq!(slack(), before);
    }

    #[test]
    fn a_share_is_a_percentage_of_at_most_all() {
        assert_eq!([share("20%"), share("0%")], [Ok(0.2), Ok(0.0)]);
        for wrong in ["20", "120%", "-1%", "x%", ""] {
            assert!(share(wrong).unwrap_err().contains("20%"), "{wrong}");
        }
        assert_eq!(load_share("100%"), Ok(1.0));
        assert!(load_share("0%").is_err());
    }

    #[test]
    fn nothing_is_recorded_of_a_load_that_ended_early() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let over = AtomicBool::new(true);
        let mut visitor = Visitor::open(address, &over).expect("it listens");
        let half = Service { filled: |_| Ok(5), keys: 10, ..memcached::SERVICE };
        assert!(until_filled(&half, &mut visitor).unwrap_err().contains("before all keys"));
        let all = Service { filled: |_| Ok(10), ..half };
        assert_eq!(until_filled(&all, &mut visitor), Ok(()));
    }
}
