//! What of a scenario is sound, and most likely not what was meant.

use tailwater_core::duration::format_duration;
use tailwater_experiment::long_objective;
use tailwater_workload::scenario::{FreeLock, Server, SocketOptions, Transport};
use tailwater_workload::{Scenario, Work};

/// Locks that no request finds taken where the scenario is to run, and options that change nothing there. An objective
/// that is long beside steps of demand is told, too, as is a sleep for which the simulator computes. So is an objective that
/// the service alone takes up.
pub(crate) fn of(scenario: &Scenario, (on_sockets, simulated): (bool, bool)) -> Vec<String> {
    let told = |FreeLock { name, on_sockets: mend, simulated: other }: FreeLock| {
        const ONE_LOOP: &str = "one loop without workers";
        let found = (mend.filter(|_| on_sockets), other.filter(|_| simulated));
        let (place, holder, mend) = match found {
            (Some(mend), Some(other)) if mend == other => ("", ONE_LOOP, mend),
            (Some(mend), Some(other)) => {
                ("", ONE_LOOP, format!("{mend} for sockets, {other} for simulation"))
            }
            (Some(mend), None) => (if simulated { " over sockets" } else { "" }, ONE_LOOP, mend),
            (None, Some(other)) => {
                (if on_sockets { " in simulation" } else { "" }, "one core", other)
            }
            (None, None) => return None,
        };
        Some(format!(
            "lock {name} is never found taken{place}: {holder} holds it only while it computes; type {mend}"
        ))
    };
    let Server { transport, socket, .. } = &scenario.server;
    let is_idle = *transport == Transport::Unix && *socket != SocketOptions::default();
    let idle = "server.socket changes nothing: its options are TCP's, and server.transport is unix";
    let options = (on_sockets && is_idle).then(|| idle.to_owned());
    let asleep = "server.service.work is sleep, and the simulator computes for that time, on a core; write it as a wait of \
                  [[server.path]]";
    let is_computed = simulated && scenario.server.work == Work::Sleep;
    let computed = is_computed.then(|| asleep.to_owned());
    let steps = long_objective(scenario).map(|(slo, step)| {
        format!(
            "slo {} is long beside a step of {}: later steps answer what a step leaves, and goodput may exceed the bound, \
             which counts each step alone",
            format_duration(slo),
            format_duration(step)
        )
    });
    let mean = scenario.server.service.mean;
    let tightest = scenario.slo.iter().copied().min().filter(|slo| *slo <= mean);
    let late = tightest.map(|slo| {
        format!(
            "slo {} is not longer than the mean of server.service, {}: such an answer is late before it has waited anywhere",
            format_duration(slo),
            format_duration(mean)
        )
    });
    let locks = scenario.free_locks().into_iter().filter_map(told);
    locks.chain(options).chain(computed).chain(steps).chain(late).collect()
}
