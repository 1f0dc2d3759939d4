//! Searches for the setting of several knobs, of a program whose costs are known.

use super::machine::{BUDGET, Machine, SWAPPINESS, json, stderr, stdout};
use serde_json::Value;

/// `a` brings 5 %, `d` brings 4 % at its second value and costs 4 % at its first, `c` costs 3 %, `b` does nothing.
const COST: &str = "awk -v z=$noise -v a=$1 -v b=$2 -v c=$3 -v d=$4 'BEGIN {
  f = (a == 1 ? 0.95 : 1) * (c == 1 ? 1.03 : 1) * (d == 1 ? 1.04 : d == 2 ? 0.96 : 1)
  printf \"{\\\"cost\\\": %.6f}\\n\", 1000 * z * f }'";

/// Searches among knobs that do nothing. Noise is by the number of a block, so what these find is the same each time.
const NULL_SEARCHES: u32 = 6;

fn file(machine: &Machine, program: &str, more: &str) -> String {
    let knob = |name: &str, values: &str| {
        format!("[[knob]]\nname = \"{name}\"\nstock = \"0\"\nvalues = {values}\n")
    };
    let knobs = [
        knob("a", "[\"1\"]"),
        knob("b", "[\"1\"]"),
        knob("c", "[\"1\"]"),
        knob("d", "[\"1\", \"2\"]"),
    ];
    let text = format!(
        "title = \"Made up\"\ncommand = [\"sh\", \"{program}\", \"{{a}}\", \"{{b}}\", \"{{c}}\", \"{{d}}\"]\n\
         metric = \"/cost\"\neffect = \"2%\"\nsteal_max = \"100%\"\nquads = 30\nseed = 1\n{more}\n{}",
        knobs.concat()
    );
    machine.write("sku.toml", &text);
    machine.path("sku.toml").display().to_string()
}

#[test]
fn what_was_planted_is_screened_tested_composed_and_confirmed() {
    let machine = Machine::new("sku");
    let program = machine.program("cost", COST);
    let rival = "[[rival]]\nname = \"by hand\"\nset = { a = \"1\" }\n";
    let file = file(&machine, &program, "");
    machine.write("sku.toml", &format!("{}{rival}", machine.read("sku.toml")));
    let out = machine.path("out").display().to_string();
    let output = machine.tune("sku", &[&file, "--json", "--out", &out]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(found["knobs"], Value::from(vec!["a", "b", "c", "d"]));
    assert!(found["manifest"]["cpus"].as_u64().is_some_and(|cpus| cpus > 0), "{found}");
    assert_eq!(found["sku"], Value::from(vec!["1", "0", "0", "2"]), "{}", stderr(&output));
    // Of a with one value and d with two; of b by chance.
    let told = stderr(&output);
    let again =
        [3, 4].map(|tests| format!("of {tests} tests that are left, each: with 30 quads of"));
    assert!(again.iter().any(|again| told.contains(again)), "{told}");
    let kept = |at: usize| found["screening"]["knobs"][at]["kept"].as_bool();
    assert_eq!((kept(0), kept(2), kept(3)), (Some(true), Some(false), Some(true)));
    let gain = |at: usize| {
        let test = &found["confirmed"][at];
        // Against stock at half the level; what was shown leaves all of it to the rival (Holm).
        let level = if at == 0 { 0.025 } else { 0.05 };
        assert_eq!((&test["verdict"], &test["level"]), (&"better".into(), &level.into()), "{test}");
        let looks = test["looks"].as_array().expect("looks");
        looks[looks.len() - 1]["mean"].as_f64().expect("a number")
    };
    assert!((gain(0) - (0.95_f64 * 0.96).ln()).abs() < 0.01, "{} against stock", gain(0));
    assert!((gain(1) - 0.96_f64.ln()).abs() < 0.01, "{} against the rival", gain(1));
    assert!(machine.read("out/index.html").contains("the soft SKU against by hand"));
}

#[test]
fn a_rival_that_is_better_is_what_is_kept() {
    let machine = Machine::new("sku-rival");
    let cost = COST.replace("(a == 1 ? 0.95 : 1)", "(a == 1 ? 0.95 : a == 7 ? 0.8 : 1)");
    let program = machine.program("cost", &cost);
    let file = file(&machine, &program, "");
    let rival = "[[rival]]\nname = \"by hand\"\nset = { a = \"7\" }\n";
    machine.write("rivals.toml", rival);
    let rivals = machine.path("rivals.toml").display().to_string();
    let output = machine.tune("sku", &[&file, "--rival", &rivals]);
    let text = stdout(&output);
    let end = "To keep the rival by hand, which is shown to be better; guards do not watch rivals:\n  put 7 in place of {a} in the command";
    assert!(text.trim_end().ends_with(end), "{text}{}", stderr(&output));
}

#[test]
fn where_no_knob_matters_nothing_is_claimed() {
    let machine = Machine::new("sku-null");
    // By the shell alone: these are some thousand blocks.
    let program = machine.program("cost", "echo \"{\\\"cost\\\": $noise}\"");
    let file = file(&machine, &program, "replicates = 1\n");
    let text = machine.read("sku.toml");
    for seed in 1..=NULL_SEARCHES {
        machine.write("sku.toml", &text.replace("seed = 1\n", &format!("seed = {seed}\n")));
        let output = machine.tune("sku", &[&file]);
        let text = stdout(&output);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = format!("seed {seed}: {text}{}", stderr(&output));
        assert!(text.contains("Nothing was found that is worth turning."), "{told}");
        // What was not tested is not claimed.
        let screened = text.contains("Screened and not tested: ")
            && text.contains("% of one is kept in four of five");
        let tested = text.contains("would have been found in four of five tests.");
        assert!(screened || tested, "{told}");
    }
}

#[test]
fn where_nothing_is_found_a_rival_may_still_be_better_than_stock() {
    let machine = Machine::new("sku-by-hand");
    let cost = "awk -v z=$noise -v a=$1 'BEGIN { print 1000 * z * (a == 7 ? 0.9 : 1) }'";
    let program = machine.program("cost", cost);
    let file = file(&machine, &program, "metric = \"\"\nreplicates = 1\n");
    let text = machine.read("sku.toml").replace("metric = \"/cost\"\n", "");
    machine.write("sku.toml", &text);
    let output = machine.tune("sku", &[&file, "--rival", "a=7"]);
    let text = stdout(&output);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let held = "On fresh blocks stock is held against a=7: worse";
    assert!(words.contains(held), "{text}{}", stderr(&output));
    assert!(
        words.contains(
            "To keep the rival a=7, which is shown to be better; guards do not watch rivals:"
        ),
        "{text}"
    );
}

#[test]
fn one_bad_value_costs_itself_alone() {
    let machine = Machine::new("sku-bad");
    // b cannot be measured at all, and c only until the tests.
    let lines = format!("if [ $2 = 1 ] || [ $3 = 1 -a $n -gt 70 ]; then exit 3; fi\n{COST}");
    let program = machine.program("cost", &lines);
    let file = file(&machine, &program, "");
    // Where c is good, it is kept for tests, and fails there.
    let good = machine.read("cost").replace("(c == 1 ? 1.03 : 1)", "(c == 1 ? 0.9 : 1)");
    machine.write("cost", &good);
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let left = &found["left_out"][0];
    assert_eq!((&left["knob"], &left["value"]), (&"b".into(), &"1".into()), "{found}");
    assert!(left["because"].as_str().is_some_and(|why| why.contains("exit status: 3")), "{left}");
    let tested = found["tested"].as_array().expect("a list");
    let of_c = tested.iter().find(|test| test["name"] == "c=1").expect("it was kept");
    assert!(of_c["failed"].as_str().is_some_and(|why| why.contains("exit status: 3")), "{of_c}");
    assert_eq!(found["sku"], Value::from(vec!["1", "0", "0", "2"]), "{}", stderr(&output));
    assert_eq!(found["confirmed"][0]["verdict"], "better");
    let none =
        machine.program("none", "if [ $1$2$3$4 != 0000 ]; then exit 3; fi; echo '{\"cost\": 1}'");
    let output = machine.tune("sku", &[&self::file(&machine, &none, "")]);
    assert!(
        stderr(&output).contains("no value can be measured, d=2 for this"),
        "{}",
        stderr(&output)
    );
}

/// A search over one knob that brings 2 %, of a program that fails with it from a start on. Trial, pilot and screening take 37
/// blocks; the test that finds the gain ends with its interval after 16 quads, which are 64.
fn failing_after(machine: &Machine, start: u32) -> String {
    let lines = format!(
        "if [ $1 = 1 ] && [ $n -gt {start} ]; then exit 3; fi
awk -v z=$noise -v a=$1 'BEGIN {{ printf \"{{\\\"cost\\\": %.6f}}\\n\", 1000 * z * (a == 1 ? 0.98 : 1) }}'"
    );
    let program = machine.program("fails", &lines);
    let text = format!(
        "command = [\"sh\", \"{program}\", \"{{a}}\"]\nmetric = \"/cost\"\neffect = \"1%\"\nsteal_max = \"100%\"\n\
         quads = 30\nseed = 1\n[[knob]]\nname = \"a\"\nstock = \"0\"\nvalues = [\"1\"]\n"
    );
    machine.write("sku.toml", &text);
    machine.path("sku.toml").display().to_string()
}

#[test]
fn a_setting_that_fails_before_its_interval_is_not_adopted() {
    let machine = Machine::new("sku-fails");
    // In the fifteenth quad of its test.
    let file = failing_after(&machine, 37 + 14 * 4);
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "nothing was claimed: {}", stderr(&output));
    let test = &found["tested"][0];
    assert_eq!(test["verdict"], "cut_short", "{test}");
    assert!(test["failed"].as_str().is_some_and(|why| why.contains("exit status: 3")), "{test}");
    assert_eq!(test["looks"].as_array().map(Vec::len), Some(14), "{test}");
    assert_eq!(found["sku"], found["stock"], "{found}");
    assert_eq!(found["confirmed"].as_array().map(Vec::len), Some(0), "{found}");
}

#[test]
fn a_setting_that_fails_before_the_interval_of_its_confirmation_is_not_confirmed() {
    let machine = Machine::new("sku-unconfirmed");
    // In the fifteenth quad of its confirmation.
    let start = 37 + 64 + 14 * 4;
    let file = failing_after(&machine, start);
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("the test against stock was cut short, so it confirms nothing"),
        "{told}"
    );
    assert_eq!(found["tested"][0]["verdict"], "better", "{found}");
    assert_eq!(found["sku"], Value::from(vec!["1"]));
    let claim = &found["confirmed"][0];
    assert_eq!(
        (&claim["verdict"], &claim["looks"][13]["quads"]),
        (&"cut_short".into(), &14.into())
    );
    assert!(claim["failed"].as_str().is_some_and(|why| why.contains("exit status: 3")), "{claim}");
    machine.write("fails.count", "0\n");
    let text = stdout(&machine.tune("sku", &[&file]));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let seen = "The soft SKU is not confirmed: a=1. On fresh blocks, against stock: cut short before its interval; so far -";
    assert!(words.contains(seen), "{text}");
    assert!(
        words.ends_with("Keep stock. To decide, mend what ended it, and type the same."),
        "{text}"
    );
}

#[test]
fn a_setting_whose_generator_is_always_late_ends_its_test_and_what_is_tolerated_is_told() {
    let machine = Machine::new("sku-late");
    let file = failing_after(&machine, 37);
    let program = machine.read("fails").replace("exit 3", "late=5000");
    let program = program.replace("awk", "awk -v l=${late:-20}");
    let program =
        program.replace("\\\"cost\\\": %.6f}", "\\\"cost\\\": %.6f, \\\"sent_late_p99_us\\\": %d}");
    machine.write("fails", &program.replace(": 1) }", ": 1), l }"));
    let guarded = "guards = [\"/sent_late_p99_us\"]\ntolerate = \"20%\"\n[[knob]]";
    machine.write("sku.toml", &machine.read("sku.toml").replace("[[knob]]", guarded));
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let test = &found["tested"][0];
    let why = test["failed"].as_str().unwrap_or_default();
    assert!(why.contains("the generator was late in 4 blocks"), "{test}");
    assert_eq!((&test["void"]["b"], &found["void"]), (&4.into(), &4.into()), "{found}");
    assert_eq!(found["sku"], found["stock"], "{found}");
    let tolerated = found["guards"][0]["tolerated"].as_f64().expect("a share");
    assert!((tolerated - 0.2).abs() < 1e-9, "{tolerated}");
    machine.write("fails.count", "0\n");
    let text = stdout(&machine.tune("sku", &[&file]));
    let told = "Guarded, and how much worse is tolerated: /sent_late_p99_us 20 %.";
    assert!(text.contains(told), "{text}");
    assert!(text.contains("(0 blocks of A and 4 of B void)"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Blocks that were void, as their generator was late: 4."), "{text}");
}

#[test]
fn a_value_that_is_tried_in_a_busy_moment_is_tested_all_the_same() {
    // A trial has four tries. After four late ones stock is in time, and the value, too; of eight the fifth is stock's.
    for late in [4, 8] {
        let machine = Machine::new(&format!("sku-busy-{late}"));
        let lines = format!("if [ $n -le {late} ]; then late=5000; fi");
        let file = sometimes_late(&machine, &lines);
        let output = machine.tune("sku", &[&file, "--json"]);
        let found = json(&output);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!((&found["left_out"], &found["void"]), (&Value::Array(Vec::new()), &late.into()));
        assert_eq!(found["sku"], Value::from(vec!["1"]), "{found}");
    }
}

/// Program `fails` of a machine, of which a is the one knob: `lines` may set `late`, by the number `n` of the block.
fn sometimes_late(machine: &Machine, lines: &str) -> String {
    let file = failing_after(machine, 0);
    let cost = "awk -v z=$noise -v a=$1 -v l=${late:-20} 'BEGIN {
  printf \"{\\\"cost\\\": %.6f, \\\"sent_late_p99_us\\\": %d}\\n\", 1000 * z * (a == 1 ? 0.98 : 1), l }'";
    machine.program("fails", &format!("{lines}\n{cost}"));
    file
}

#[test]
fn a_failure_of_stock_beside_a_late_value_is_not_the_values() {
    let machine = Machine::new("sku-stock-fails");
    let lines = "if [ $n -le 4 ]; then late=5000; fi\nif [ $n = 5 ]; then exit 3; fi";
    let file = sometimes_late(&machine, lines);
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!((&found["left_out"], &found["void"]), (&Value::Array(Vec::new()), &4.into()));
    assert!(
        stderr(&output).contains("tried again later: stock did not count either: "),
        "{}",
        stderr(&output)
    );
    assert_eq!(found["sku"], Value::from(vec!["1"]), "{found}");
}

#[test]
fn a_value_that_is_always_late_is_found_out_once_stock_is_in_time() {
    let machine = Machine::new("sku-late-again");
    let lines = "if [ $1 = 1 ] || [ $n = 5 ]; then late=5000; fi";
    let file = sometimes_late(&machine, lines);
    let output = machine.tune("sku", &[&file, "--json"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("a=1 was late, and is tried again later"), "{told}");
    assert!(told.contains("no value can be measured, a=1 for this reason"), "{told}");
}

#[test]
fn a_value_whose_generator_is_always_late_costs_itself_alone() {
    let machine = Machine::new("sku-always");
    let lines = COST.replace("awk", "late=20\nif [ $4 = 1 ]; then late=5000; fi\nawk -v l=$late");
    let lines = lines
        .replace("%.6f}", "%.6f, \\\"sent_late_p99_us\\\": %d}")
        .replace("z * f }", "z * f, l }");
    let program = machine.program("cost", &lines);
    let file = file(&machine, &program, "");
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let left = &found["left_out"][0];
    assert_eq!((&left["knob"], &left["value"]), (&"d".into(), &"1".into()), "{found}");
    let why = left["because"].as_str().unwrap_or_default();
    assert!(why.contains("the generator was late in 4 blocks"), "{left}");
    // Four on either side of a block of stock.
    assert_eq!((&found["void"], &found["screening"]["skipped"]), (&8.into(), &Value::Null));
    assert_eq!(found["sku"], Value::from(vec!["1", "0", "0", "2"]), "{found}");
}

#[test]
fn a_block_that_fails_once_in_screening_costs_a_turn_and_not_the_screening() {
    let machine = Machine::new("sku-turn");
    // Trials and the pilot take 37 blocks, the two replicates of screening eight each.
    let program = machine.program("cost", &format!("if [ $n = 41 ]; then exit 3; fi\n{COST}"));
    let file = file(&machine, &program, "");
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let screening = &found["screening"];
    assert!(screening["skipped"].is_null(), "{screening}");
    let kept = |at: usize| screening["knobs"][at]["kept"].as_bool();
    assert_eq!((kept(0), kept(2), kept(3)), (Some(true), Some(false), Some(true)), "{screening}");
}

#[test]
fn a_signal_leaves_what_was_found_so_far() {
    let machine = Machine::new("sku-cut");
    let lines = format!("if [ $n -gt 150 ]; then kill -TERM $PPID; exec sleep 600; fi\n{COST}");
    let program = machine.program("cost", &lines);
    let file = file(&machine, &program, "");
    let out = machine.path("out").display().to_string();
    let output = machine.tune("sku", &[&file, "--json", "--out", &out]);
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    let found = json(&output);
    assert!(found["cut_short"].as_str().is_some_and(|why| why.contains("SIGTERM")), "{found}");
    assert_eq!(found["tested"][0]["verdict"], "better", "{found}");
    assert_eq!(found["screening"]["knobs"].as_array().map(Vec::len), Some(4));
    assert_eq!(machine.read("out/tune.json").trim(), stdout(&output).trim());
}

#[test]
fn what_is_forecast_is_that_of_each_test_in_its_share_of_the_time_and_of_confirming() {
    let machine = Machine::new("sku-share");
    let program = machine.program("cost", COST);
    let text = file(&machine, &program, "time = \"2min\"\n");
    let weak = machine.read("sku.toml").replace("effect = \"2%\"", "effect = \"0.001%\"");
    machine.write("sku.toml", &weak.replace("quads = 30", "quads = 10000"));
    let output = machine.tune("sku", &[&text]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("so weak a search is not begun"), "{told}");
    let quads = |what: &str| {
        let (_, rest) = told.split_once(&format!("the pilot says of {what}: with ")).expect(what);
        rest.split(' ').next().and_then(|quads| quads.parse::<f64>().ok()).expect("a number")
    };
    // 65 % of the time for five values, less what is over and what screening takes, and 35 % for one claim.
    let share = 5.0 * quads("each of 5 tests") / quads("confirming");
    assert!((1.0..1.9).contains(&share), "{share}: {told}");
}

/// What a search of four knobs finds within this time, with a pilot of four quads: trials and pilot take 21 blocks.
fn found_within(name: &str, lines: &str, time: &str) -> Value {
    let machine = Machine::new(name);
    let program = machine.program("cost", lines);
    let file = file(&machine, &program, "pilot = 4\n");
    let output = machine.tune("sku", &[&file, "--json", "--accept-weak", "--within", time]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    json(&output)
}

#[test]
fn within_its_time_it_ends_and_says_what_was_not_tried() {
    // Behind trials, pilot and screening no test of it fits into what is left. These take two seconds where nothing else runs.
    let lines = format!("if [ $n -gt 37 ]; then sleep 2; fi\n{COST}");
    let found = found_within("sku-within", &lines, "32s");
    let over = found["untried"].as_array().is_some_and(|untried| !untried.is_empty());
    let tests = found["tested"].as_array().into_iter().flatten();
    let cut = tests.filter(|test| test["timed_out"] == true).count();
    assert!(over || cut > 0, "the file's time is 60 minutes: {found}");
}

/// Of the blocks in which screening begins so many take so many seconds. All others are quick, by the shell alone.
fn slow(blocks: u32, seconds: u32) -> String {
    let last = 21 + blocks;
    let is_slow = format!("[ $n -gt 21 ] && [ $n -le {last} ]");
    format!("if {is_slow}; then sleep {seconds}; fi\necho \"{{\\\"cost\\\": $noise}}\"")
}

#[test]
fn screening_leaves_half_of_the_time_to_tests_however_slow_its_blocks_are() {
    // Both have 26 seconds. Five blocks of eight take more than half of that.
    let found = found_within("sku-slow", &slow(5, 3), "40s");
    let why = found["screening"]["skipped"].as_str().unwrap_or_default();
    assert!(why.contains("took more than half of the time for tests"), "{found}");
    assert!(found["tested"].as_array().is_some_and(|tested| !tested.is_empty()), "{found}");
}

#[test]
fn screening_is_not_played_again_where_it_would_take_more_than_half_of_the_time() {
    let found = found_within("sku-once", &slow(8, 1), "40s");
    let screening = &found["screening"];
    assert_eq!((&screening["replicates"], &screening["skipped"]), (&1.into(), &Value::Null));
    let why = screening["cut_short"].as_str().unwrap_or_default();
    assert!(why.contains("would take more than half"), "{screening}");
}

#[test]
fn knobs_that_are_files_are_put_back_after_a_search_and_plans_name_each_value() {
    let machine = Machine::new("sku-files");
    let lines = "read b <\"$root/proc/sys/net/core/netdev_budget\"
awk -v z=$noise -v b=$b 'BEGIN { print 100 * z * (b == 600 ? 0.9 : 1) }'";
    let program = machine.program("cost", lines);
    let text = format!(
        "command = [\"sh\", \"{program}\"]\neffect = \"2%\"\nsteal_max = \"100%\"\nsettle = \"0ms\"\nquads = 20\npilot = 4\nseed = 1\n\
         [[knob]]\nname = \"netdev-budget\"\nvalues = [\"600\"]\n"
    );
    machine.write("sku.toml", &text);
    let file = machine.path("sku.toml").display().to_string();
    // One of the rival's knobs is in no table of the file.
    let rival = ["--rival", "netdev-budget=400,swappiness=10"];
    let plan = stdout(&machine.tune("sku", &[&[&*file, "--dry-run"], &rival[..]].concat()));
    assert!(plan.contains("Before each block of netdev-budget=600:\n  write 600 to"), "{plan}");
    let of_rival = format!("Before each block of the rival {}:\n  write 400 to", rival[1]);
    let writes = format!("write 10 to {}", machine.path(SWAPPINESS).display());
    assert!(plan.contains(&of_rival) && plan.contains(&writes), "{plan}");
    assert!(!machine.has("run"));
    let output = machine.tune("sku", &[&[&*file], &rival[..]].concat());
    let text = stdout(&output);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("against netdev-budget=400,swappiness=10: better"), "{text}");
    assert!(
        text.contains("The soft SKU is confirmed: netdev-budget=600."),
        "{text}{}",
        stderr(&output)
    );
    let path = machine.path("proc/sys/net/core/netdev_budget");
    let end = format!(
        "To keep it:\n  echo '600' | tee {}   # as root; until the machine restarts",
        path.display()
    );
    assert!(text.trim_end().ends_with(&end), "{text}");
    assert_eq!(machine.read(BUDGET), "300\n");
    machine.is_as_before().expect("the knob is put back");
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_a_mend() {
    let machine = Machine::new("sku-wrong");
    for (text, why) in [
        ("command = [\"true\"]\n", "[[knob]] tables: 0 found, 1 to 16 are needed"),
        ("comand = [\"true\"]\n", "unknown field `comand`"),
        ("[[knob]]\nname = \"nice\"\nvalues = [\"5\"]\n", "there is nothing to measure"),
        (
            "command = [\"true\"]\n[[knob]]\nname = \"nice\"\nvalues = [\"50\"]\n",
            "-20–19 is needed",
        ),
        (
            "command = [\"true\"]\n[[knob]]\nname = \"swappiness\"\nvalues = [\"60\"]\n",
            "60 is stock; leave it out",
        ),
        (
            "command = [\"true\"]\neffect = \"0%\"\n[[knob]]\nname = \"nice\"\nvalues = [\"5\"]\n",
            "above that is needed",
        ),
        (
            "command = [\"true\"]\n[[knob]]\nname = \"nice\"\nvalues = [\"5\"]\n[[rival]]\nname = \"x\"\nset = { tph = \"always\" }\n",
            "rival x: no knob is called 'tph'",
        ),
    ] {
        machine.write("sku.toml", text);
        let file = machine.path("sku.toml").display().to_string();
        let output = machine.tune("sku", &[&file]);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(why) && told.contains("sku.toml"), "{why}: {told}");
    }
}
