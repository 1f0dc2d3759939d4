//! What is said where most runs so far do not count: how many, why, and what helps, while there is time to spare.

use super::busiest::Busiest;
use crate::quoted::quoted;
use tailwater_experiment::Spoiled;
use tailwater_stats::Subject;
use tailwater_workload::Scenario;

/// What helps a scenario that runs on sockets.
pub(super) struct Advice<'a> {
    busiest: &'a Busiest,
    /// What simulates the same, as people type it; `None` where the simulator cannot.
    simulates: Option<String>,
}

impl<'a> Advice<'a> {
    pub(super) fn new(scenario: &Scenario, busiest: &'a Busiest) -> Self {
        let line = || format!("tailwater run {} --on sim", quoted(&scenario.file));
        Self { busiest, simulates: scenario.needs_sockets().is_none().then(line) }
    }

    /// One line. Asked for between runs: none of this experiment's own processes is busy then.
    pub(super) fn line(&self, spoiled: &Spoiled) -> String {
        line(spoiled, self.busiest.named().as_deref(), self.simulates.as_deref())
    }
}

fn line(spoiled: &Spoiled, busy: Option<&str>, simulates: Option<&str>) -> String {
    let Spoiled { runs, ended, subject, alike, why } = spoiled;
    let alike = if alike == runs { "all".to_owned() } else { format!("{alike} of these") };
    let mend = mend(*subject, busy.unwrap_or("what runs beside them"));
    let probe = "; afterwards tailwater probe tells how often and how long cores are taken away";
    let (probe, simulates) = match is_of_machine(*subject) {
        true => (probe, simulates),
        false => ("", None),
    };
    let instead =
        simulates.map_or(String::new(), |line| format!("; to simulate it instead, type: {line}"));
    format!(
        "warning: {runs} of {ended} runs so far do not count, {alike} as here: {why}; {mend}{probe}; it goes on, and Ctrl-C \
         keeps what was measured{instead}"
    )
}

/// Whether a quieter machine may help.
const fn is_of_machine(subject: Option<Subject>) -> bool {
    !matches!(subject, None | Some(Subject::Intended | Subject::Unread))
}

fn mend(subject: Option<Subject>, busy: &str) -> String {
    match subject {
        Some(Subject::Drift) => format!(
            "close {busy}, or measure capacity more often or for longer (capacity.every, capacity.duration)"
        ),
        Some(Subject::Steal) => {
            "other machines took its cores: choose another hour, or another machine".to_owned()
        }
        Some(Subject::Sent | Subject::Lateness) => format!(
            "close {busy}, or give the generator cores of its own (clients.cores, clients.threads) or less to send (demand)"
        ),
        Some(
            Subject::ServerSwitches
            | Subject::LoadSwitches
            | Subject::TierSwitches
            | Subject::ServerDelay
            | Subject::LoadDelay
            | Subject::TierDelay
            | Subject::Foreign,
        ) => format!(
            "close {busy}, or give server, tiers and clients cores of their own (server.cores, tier.pin, clients.cores)"
        ),
        Some(Subject::Intended) => "ask for more, or for longer (demand, duration)".to_owned(),
        Some(Subject::Unread) => {
            "that limit needs a machine whose /proc tells it of these processes".to_owned()
        }
        None => "mend what broke first".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoiled(subject: Option<Subject>, alike: u64) -> Spoiled {
        Spoiled { runs: 9, ended: 12, subject, alike, why: "WHY".into() }
    }

    #[test]
    fn one_line_has_the_reason_the_mend_and_that_it_goes_on() {
        let busy = "cargo (process 12, 93 % of a core)";
        let sim = "tailwater run a.toml --on sim";
        assert_eq!(
            line(&spoiled(Some(Subject::Drift), 7), Some(busy), Some(sim)),
            "warning: 9 of 12 runs so far do not count, 7 of these as here: WHY; close cargo (process 12, 93 % of a core), \
             or measure capacity more often or for longer (capacity.every, capacity.duration); afterwards tailwater probe \
             tells how often and how long cores are taken away; it goes on, and Ctrl-C keeps what was measured; to simulate \
             it instead, type: tailwater run a.toml --on sim"
        );
        let alone = line(&spoiled(Some(Subject::Foreign), 9), None, None);
        assert!(alone.contains("all as here: WHY; close what runs beside them, or"), "{alone}");
        assert!(alone.ends_with("it goes on, and Ctrl-C keeps what was measured"), "{alone}");
    }

    #[test]
    fn what_no_quiet_helps_names_neither_probe_nor_simulator() {
        for subject in [None, Some(Subject::Intended), Some(Subject::Unread)] {
            let told = line(&spoiled(subject, 9), Some("cargo"), Some("tailwater run a.toml"));
            let vain = ["probe", "simulate", "cargo"];
            assert!(!vain.iter().any(|word| told.contains(word)), "{told}");
            assert!(told.contains("it goes on"), "{told}");
        }
    }

    #[test]
    fn what_cannot_be_simulated_is_not_said_to_be() {
        const TEXT: &str = "slo = \"1ms\"\nclients.count = 1\ndemand.requests_per_second = 10\n\
                            controller = { name = \"none\" }\n";
        let busiest = Busiest::begin();
        let simulates = |file: &str, more: &str| {
            let scenario = Scenario::parse(file, &format!("{TEXT}{more}"));
            Advice::new(&scenario.unwrap_or_else(|error| panic!("{error}")), &busiest).simulates
        };
        let service = "server.service = { distribution = \"constant\", mean = \"10us\" }\n";
        let line = "tailwater run 'my pages/a.toml' --on sim";
        assert_eq!(simulates("my pages/a.toml", service).as_deref(), Some(line));
        assert_eq!(simulates("a.toml", "server.application = \"key-value\"\n"), None);
    }
}
