//! Knobs of the server's process, as a scenario has them.

use tailwater_core::words::{clip, suggestion};
use tailwater_tune::knobs::{self, Launch, Lever};
use tailwater_workload::Scenario;
use tailwater_workload::scenario::ScenarioError;

/// What `tailwater tune exec` is told of them.
///
/// # Errors
/// When there is no such knob of a process, or it does not take the value; the error says where.
pub(crate) fn knobs(scenario: &Scenario) -> Result<Vec<String>, ScenarioError> {
    let told = scenario.server.process.iter().map(|knob| {
        let name = format!("server.process.{}", clip(&knob.key));
        let wrong = |why: String| scenario.error_at(knob.place, why);
        let found = knobs::find(&knob.key).map(|found| found.lever);
        let Some(Lever::Launch(launch)) = found else {
            let known: Vec<&str> = knobs::PROCESS.iter().map(|knob| knob.name).collect();
            let hint = suggestion(&knob.key, &known);
            let known = known.join(", ");
            return Err(wrong(format!("{name} is no knob of a process; {hint}: {known}")));
        };
        if launch == Launch::Cpus && !scenario.server.cores.is_empty() {
            return Err(wrong(format!("{name} is set beside server.cores; one of both is needed")));
        }
        let value = launch.parse(&knob.value).map_err(|why| wrong(format!("{name}: {why}")))?;
        Ok(format!("{}={value}", knob.key))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(process: &str) -> Result<Vec<String>, String> {
        let text = format!(
            "slo = \"1ms\"\nserver = {{ service = \"5us\", process = {process} }}\nclients = {{ count = 1 }}\n\
             demand = {{ of_capacity = 0.5 }}\ncontroller = {{ name = \"none\" }}\n"
        );
        let scenario = Scenario::parse("x.toml", &text).expect("the file is sound");
        knobs(&scenario).map_err(|error| error.to_string())
    }

    #[test]
    fn knobs_are_told_as_they_are_written_and_checked_where_they_stand() {
        let process = "{ nice = 5, scheduling = \"batch\", malloc-arenas = 2 }";
        let expected = ["nice=5", "scheduling=batch", "malloc-arenas=2"].map(String::from);
        assert_eq!(told(process), Ok(expected.to_vec()));
        assert_eq!(told("{}"), Ok(Vec::new()));
        let error = told("{ nize = 5 }").unwrap_err();
        assert!(error.contains("x.toml:2:") && error.contains("did you mean nice?"), "{error}");
        let error = told("{ nice = 50 }").unwrap_err();
        assert!(error.contains("server.process.nice: '50' found, inherited|-20–19"), "{error}");
        let error = told("{ cpus = \"0\" }, cores = [0]").unwrap_err();
        assert!(error.contains("beside server.cores"), "{error}");
        assert!(told("{ thp = \"never\" }").unwrap_err().contains("no knob of a process"));
    }
}
