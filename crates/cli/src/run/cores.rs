//! Whether the cores that a scenario names are there.

use crate::failure::Failure;
use rustix::thread::{CpuSet, sched_getaffinity};
use tailwater_workload::Scenario;

/// Refuses a scenario that pins to a core which this process may not use: servers and generators would fail one by
/// one, after others have started.
pub(super) fn check(scenario: &Scenario) -> Result<(), Failure> {
    let refused = |why| Err(Failure::usage(format!("{}: {why}", scenario.file)));
    lacking(scenario).map_or(Ok(()), refused)
}

/// Why it cannot run on sockets of this machine, as far as cores are concerned; `None` where it can.
pub(crate) fn lacking(scenario: &Scenario) -> Option<String> {
    // Where the kernel does not tell, pinning will.
    missing(scenario, &allowed().ok()?)
}

/// The cores of this process and of those that it starts.
fn allowed() -> rustix::io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    let cores = 0..u32::try_from(CpuSet::MAX_CPU).unwrap_or(u32::MAX);
    Ok(cores.filter(|&core| set.is_set(core as usize)).collect())
}

/// The first core that is not among those `allowed`, with what names it.
fn missing(scenario: &Scenario, allowed: &[u32]) -> Option<String> {
    let tiers = scenario.tiers.iter();
    let tiers = tiers.map(|tier| (format!("tier.pin of {}", tier.name), &tier.pin));
    let ends =
        [("server.cores", &scenario.server.cores), ("clients.cores", &scenario.clients.cores)];
    let ends = ends.map(|(name, cores)| (name.to_owned(), cores));
    let (name, core) = ends.into_iter().chain(tiers).find_map(|(name, cores)| {
        let core = cores.iter().find(|core| !allowed.contains(core))?;
        Some((name, *core))
    })?;
    let known: Vec<String> = allowed.iter().map(u32::to_string).collect();
    Some(format!(
        "{name} names core {core}, and this process may use {} on this machine; one of these is needed, or leave it out",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
slo = "1ms"
clients = { count = 2, cores = 1, pace = "sleep" }
demand.requests_per_second = 100
controller = { name = "none" }
[[server.path]]
probability = 1.0
steps = [{ call = "leaf" }]
[[tier]]
name = "leaf"
nodes = 2
pin = [1, 3]
service = "5us"
"#;

    #[test]
    fn a_core_that_is_not_there_is_named_with_what_names_it() {
        let scenario = Scenario::parse("x.toml", TEXT).unwrap();
        assert_eq!(missing(&scenario, &[0, 1, 2, 3]), None);
        let why = missing(&scenario, &[0, 1]).unwrap();
        let said = "tier.pin of leaf names core 3, and this process may use 0, 1 on this machine; one of these is \
                    needed, or leave it out";
        assert_eq!(why, said);
        assert!(missing(&scenario, &[0]).unwrap().contains("clients.cores names core 1"));
    }
}
