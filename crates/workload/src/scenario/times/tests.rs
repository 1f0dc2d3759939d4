use super::*;
use crate::Scenario;
use crate::scenario::ReadFile;

const LEAST: &str = r#"
slo = "400us"
clients.count = 100
demand.of_capacity = 1.0
controller = [{ name = "none" }]
"#;

/// What lies beside the scenario.
const FILES: &[(&str, &str)] = &[
    ("times.csv", "us,count\n10,3\n400,1\n"),
    ("folder/bad.csv", "us\n10\nten\n"),
    ("long.csv", "s\n0.2\n"),
];

const READ: ReadFile<'static> = &|name| {
    let known = FILES.iter().find(|(known, _)| *known == name);
    known.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "No such file or directory".into())
};

fn parsed(said: &str) -> Result<Scenario, String> {
    let text = format!("{LEAST}server.service = {{ {said} }}");
    Scenario::parse_with("x.toml", &text, READ).map_err(|error| error.to_string())
}

fn service(said: &str) -> Service {
    parsed(said).unwrap_or_else(|error| panic!("{error}")).server.service
}

#[test]
fn every_distribution_is_read_with_what_it_needs() {
    let log_normal = service("distribution = \"lognormal\", mean = \"10us\", sigma = 1.5");
    assert_eq!(log_normal.distribution, Distribution::LogNormal { sigma: 1.5 });
    let tenfold = service("distribution = \"lognormal\", mean = \"10us\", p99_of_p50 = 10");
    assert_eq!(tenfold.distribution, Distribution::log_normal_of_ratio(10.0));
    let gamma = service("distribution = \"gamma\", mean = \"10us\", shape = 0.5");
    assert_eq!(gamma.distribution, Distribution::Gamma { shape: 0.5 });
    let pareto = service("distribution = \"pareto\", mean = \"10us\", shape = 1.5");
    assert_eq!(pareto.distribution, Distribution::Pareto(Pareto::new(1.5, 1_000.0)));
    let ended = service("distribution = \"pareto\", mean = \"10us\", shape = 1.5, max = \"1ms\"");
    assert_eq!(ended.distribution, Distribution::Pareto(Pareto::new(1.5, 100.0)));
    for service in [log_normal, tenfold, gamma, pareto, ended] {
        assert_eq!(service.mean, Duration::from_micros(10));
    }
}

#[test]
fn measured_times_have_their_own_mean_or_another_and_go_along_with_the_scenario() {
    let scenario = parsed("distribution = \"empirical\", file = \"times.csv\"").unwrap();
    assert_eq!(scenario.server.service.mean, Duration::from_nanos(107_500));
    assert_eq!(scenario.files, [(FILES[0].0.to_owned(), FILES[0].1.to_owned())]);
    let scaled = service("distribution = \"empirical\", file = \"times.csv\", mean = \"215us\"");
    let mut rng = tailwater_core::Rng::from_seed(1);
    let mut drawn: Vec<u32> = (0..100).map(|_| scaled.draw_ns(&mut rng)).collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn, [20_000, 800_000], "twice the file's");
}

#[test]
fn steps_of_paths_take_the_same_distributions() {
    let path = "[[server.path]]\nprobability = 1\nsteps = [{ compute = { distribution = \"gamma\", mean \
                = \"5us\", shape = 2 } }, { wait = { distribution = \"empirical\", file = \"times.csv\" } }]";
    let text = format!("{LEAST}{path}");
    let scenario = Scenario::parse_with("x.toml", &text, READ).unwrap();
    let steps = format!("{:?}", scenario.server.paths[0].steps);
    assert!(steps.contains("Gamma") && steps.contains("Empirical"), "{steps}");
}

/// What stands in `server.service`, and the message that follows.
const CASES: &str = include_str!("messages.txt");

#[test]
fn messages_say_what_was_found_and_what_is_needed() {
    let cases = CASES.split_terminator("\n\n");
    let play = |case: &str| {
        let said = case.lines().next().unwrap_or_default();
        let message = parsed(said.strip_prefix("+ ").unwrap_or(said)).err();
        format!("{said}\n{}", message.unwrap_or_else(|| "accepted".into()))
    };
    let found = cases.map(play).collect::<Vec<_>>().join("\n\n") + "\n";
    assert_eq!(found, CASES, "\n{found}");
}

#[test]
fn a_scenario_without_its_folder_says_so() {
    let said = "distribution = \"empirical\", file = \"times.csv\"";
    let text = format!("{LEAST}server.service = {{ {said} }}");
    let message = Scenario::parse("x.toml", &text).unwrap_err().to_string();
    assert!(message.contains("\"times.csv\": no file can be read here"), "{message}");
}
