//! `tailwater serve`: the synthetic service behind a real server, until a signal drains it.

use crate::args::{Offered, ServeOptions};
use crate::failure::{Failure, say};
use crate::job::allow_many_descriptors;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::time::Duration;
use tailwater_load::work::{self, Spinner};
use tailwater_rt::{Reply, Request, Server, ServerConfig};

/// How long a drain may take.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

pub(crate) fn serve(options: &ServeOptions) -> Result<(), Failure> {
    allow_many_descriptors();
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::work)?;
    let spec = options.controller.spec();
    let slo = options.controller.slo;
    let controller = spec.build(slo, options.loops, 1).map_err(Failure::usage)?;
    let config = ServerConfig {
        listen: options.listen.clone(),
        loops: options.loops,
        cores: options.cores.clone(),
        reception: options.reception,
        placement: options.placement,
        connections_max: options.connections_max,
        slo,
        ..ServerConfig::default()
    };
    let admission = controller.admission;
    let spinner = match options.calibration {
        None => Spinner::calibrate(),
        Some(rounds) if rounds > 0.0 && rounds.is_finite() => Spinner::of_speed(rounds),
        Some(rounds) => {
            return Err(Failure::usage(format!("--calibration is {rounds}; above 0 is needed")));
        }
    };
    let server = match options.service {
        Offered::All => Server::start(config, admission, work::service(spinner)),
        Offered::Echo => {
            let echo = |request: Request| async { Reply::ok(request.payload) };
            Server::start(config, admission, echo)
        }
    }
    .map_err(Failure::usage)?;
    let (address, pid) = (server.address(), std::process::id());
    say(&serde_json::json!({ "listening": address.to_string(), "pid": pid }).to_string())?;
    signals.forever().next();
    server.drain(DRAIN_LIMIT);
    Ok(())
}
