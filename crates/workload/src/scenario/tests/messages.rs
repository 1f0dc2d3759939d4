//! What people read when a file is wrong, word by word.

use super::*;

/// Changes to the least scenario and the messages that follow. `-` is a piece of text that the lines of
/// `+` replace; without it they stand in front of everything. An empty line ends a case.
const CASES: &str = include_str!("messages.txt");

#[test]
fn messages_say_where_what_was_found_and_what_is_needed() {
    let found: Vec<String> = CASES.split_terminator("\n\n").map(play).collect();
    let found = found.join("\n\n") + "\n";
    assert_eq!(found, CASES, "\n{found}");
}

/// The case with the messages that its change really brings.
fn play(case: &str) -> String {
    let marked = |mark: &str| -> Vec<&str> {
        let lines = case.lines();
        lines.filter_map(|line| line.strip_prefix(mark)).collect()
    };
    let added = marked("+ ").join("\n");
    let text = match marked("- ").first() {
        Some(removed) => {
            assert!(LEAST.contains(removed), "{removed:?} is in the scenario");
            LEAST.replacen(removed, &added, 1)
        }
        None => format!("\n{added}{LEAST}"),
    };
    let said = match Scenario::parse("x.toml", &text) {
        Ok(_) => "accepted".into(),
        Err(error) => error.to_string(),
    };
    let change = case.lines().filter(|line| line.starts_with(['-', '+']));
    change.chain([said.as_str()]).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_empty_file_lists_everything_that_is_needed() {
    let error = Scenario::parse("empty.toml", "").expect_err("nothing is there");
    let expected = "\
empty.toml:1:1: clients.count is missing; it is needed, for example count = 100
empty.toml:1:1: controller is missing; it is needed, for example [[controller]] with name = \"breakwater\"
empty.toml:1:1: demand has none of of_capacity, requests_per_second, steps; one of them is needed
empty.toml:1:1: server.service is missing; it is needed, for example service = { distribution = \"exponential\", mean = \"10us\" }
empty.toml:1:1: slo is missing; it is needed, for example slo = \"400us\"";
    assert_eq!(error.to_string(), expected);
}

/// A page of text was only told where its first line is no TOML.
#[test]
fn a_file_that_is_named_like_no_scenario_is_told_what_is_needed() {
    let said = |file: &str| {
        Scenario::parse(file, "# Words\n\nAn RPC runtime").expect_err("no TOML").to_string()
    };
    let mend = "; a scenario file is needed, and tailwater new NAME writes one";
    assert!(said("README.md").ends_with(mend), "{}", said("README.md"));
    for ours in ["x.toml", "-"] {
        assert!(said(ours).starts_with(&format!("{ours}:3:")), "{}", said(ours));
        assert!(!said(ours).contains(mend), "{}", said(ours));
    }
}

#[test]
fn a_file_or_text_that_is_too_long_is_refused_with_its_limit() {
    let huge = "#".repeat(limits::FILE_BYTES_MAX + 1);
    let error = Scenario::parse("huge.toml", &huge).expect_err("it is too long");
    assert_eq!(
        error.to_string(),
        "huge.toml:1:1: the file has 262145 bytes; 262144 at most are needed"
    );

    let title = |length| format!("title = {:?}{LEAST}", "µ".repeat(length));
    assert!(Scenario::parse("x.toml", &title(200)).is_ok());
    let error = Scenario::parse("x.toml", &title(201)).expect_err("the title is too long");
    let expected = format!(
        "x.toml:1:9: title is \"{}…\"; a text of 1 to 200 characters is needed",
        "µ".repeat(40)
    );
    assert_eq!(error.to_string(), expected);
}

/// `tailwater check` wrote them as they were, and they drove the terminal.
#[test]
fn what_people_read_holds_no_control_characters() {
    let refused = |text: String, found: &str| {
        let error = Scenario::parse("x.toml", &text).expect_err(found).to_string();
        let needed = "; a text without line breaks and other control characters is needed";
        assert!(error.contains(&format!("{found}{needed}")), "{error}");
    };
    refused(format!("title = \"a\\u001b[2J\"{LEAST}"), "title is \"a\\u{1b}[2J\"");
    let label = LEAST.replace("\"none\"", "\"none\", label = \"a\\nb\"");
    refused(label, "controller.label is \"a\\nb\"");
}

/// Both were `none (default)` in results, and their runs repetitions of one.
#[test]
fn a_label_is_not_what_results_call_another_controller() {
    let both = |label: &str| {
        let other = format!("{{ name = \"none\" }}, {{ name = \"none\", label = \"{label}\" }}");
        Scenario::parse("x.toml", &LEAST.replace("{ name = \"none\" }", &other))
    };
    assert!(both("other").is_ok());
    let error = both("default").expect_err("it is the other's profile").to_string();
    assert!(error.contains("a label of its own is needed"), "{error}");
}

#[test]
fn a_list_that_is_too_long_is_refused_with_its_limit() {
    let counts: Vec<String> = (1..=65).map(|count: u32| count.to_string()).collect();
    let text = LEAST.replace("count = 100", &format!("count = [{}]", counts.join(",")));
    let error = Scenario::parse("x.toml", &text).expect_err("the list is too long");
    assert_eq!(
        error.to_string(),
        "x.toml:4:17: clients.count is a list of 65 entries; a list of 1 to 64 entries is needed"
    );
}

#[test]
fn more_problems_than_anyone_reads_are_counted() {
    let keys: String = (0..5_000).map(|key| format!("k{key} = 1\n")).collect();
    let error = Scenario::parse("x.toml", &(keys + LEAST)).expect_err("no key is known");
    assert_eq!(error.problems.len(), limits::PROBLEMS_MAX);
    assert_eq!(error.omitted, 4_980);
    let text = error.to_string();
    assert_eq!(text.lines().last(), Some("x.toml: and 4980 more"));
}
