//! Comparisons of programs whose costs are known: what is planted is found, and nothing else.

use super::common::eventually;
use super::machine::{Machine, SWAPPINESS, json, stderr, stdout};
use serde_json::Value;

/// No noise of this machine decides: the programs' costs are made up.
/// Nor has its root anything that must settle.
const QUIET: [&str; 4] = ["--steal-max", "100%", "--settle", "0ms"];
/// Whose cost the programs make depend on it.
const KNOB: [&str; 2] = ["--knob", "netdev-budget=600"];

/// Costs 5 % less with a larger budget.
const GAIN: &str = "read b <\"$root/proc/sys/net/core/netdev_budget\"; f=1; [ $b = 600 ] && f=0.95
awk -v f=$f -v z=$noise 'BEGIN { printf \"{\\\"cost\\\": %.6f, \\\"errors\\\": 0}\\n\", 1000 * f * z }'";

/// Costs the same whatever the knobs.
const NULL: &str = "awk -v z=$noise 'BEGIN { printf \"{\\\"cost\\\": %.6f}\\n\", 1000 * z }'";

fn flags<'a>(more: &[&'a str], program: &'a str) -> Vec<&'a str> {
    // Chance decides nothing here.
    let seed: &[&str] = if more.contains(&"--seed") { &[] } else { &["--seed", "1"] };
    [&QUIET[..], seed, more, &["--", "sh", program]].concat()
}

#[test]
fn a_planted_gain_is_found_with_its_size_and_the_knob_is_put_back() {
    let machine = Machine::new("gain");
    let program = machine.program("gain", GAIN);
    let out = machine.path("out").display().to_string();
    let more = ["--metric", "/cost", "--guard", "/errors", "--json", "--out", &out, "--pilot", "5"];
    let output = machine.tune("ab", &flags(&[&KNOB[..], &more].concat(), &program));
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(result["verdict"], "better", "{result}");
    assert!(result["manifest"]["cpus"].as_u64().is_some_and(|cpus| cpus > 0), "{result}");
    let last = result["looks"].as_array().and_then(|looks| looks.last()).expect("looks");
    let mean = last["mean"].as_f64().expect("a number");
    assert!((mean - 0.95_f64.ln()).abs() < 0.01, "{mean}");
    let (low, high) = (last["interval"][0].as_f64(), last["interval"][1].as_f64());
    let wanted = 0.95_f64.ln();
    assert!(
        low.is_some_and(|low| low <= wanted) && high.is_some_and(|high| high >= wanted),
        "{last}"
    );
    assert_eq!(
        (&result["a"]["netdev-budget"], &result["b"]["netdev-budget"]),
        (&"300".into(), &"600".into())
    );
    assert!(stderr(&output).contains("the pilot says: with 60 quads"), "{}", stderr(&output));
    let page = machine.read("out/index.html");
    assert!(
        page.contains("netdev-budget=600 against 300")
            && page.contains("a difference is shown: 20")
    );
    assert!(machine.has("out/evidence.svg") && machine.has("out/tune.json"));
    assert!(machine.read("out/evidence.svg").contains("minutes"));
    let list = |key: &str| result[key].as_array().expect("a list").clone();
    let seconds: Vec<f64> = list("look_seconds").iter().filter_map(Value::as_f64).collect();
    assert_eq!(seconds.len(), list("looks").len());
    assert!(seconds[0] > 0.0 && seconds.is_sorted(), "{seconds:?}");
    machine.is_as_before().expect("the knob is put back");
}

#[test]
fn without_an_effect_nothing_is_found() {
    for seed in ["1", "2", "3"] {
        let machine = Machine::new(&format!("null-{seed}"));
        let program = machine.program("null", NULL);
        let more = ["--metric", "/cost", "--json", "--quads", "24", "--pilot", "4", "--seed", seed];
        let knob = ["--knob", "malloc-arenas=1"];
        let output = machine.tune("ab", &flags(&[&knob[..], &more].concat(), &program));
        let verdict = &json(&output)["verdict"];
        assert!(verdict == "alike" || verdict == "open", "{verdict}: {}", stderr(&output));
        assert!(!machine.has("run"), "no file is written for a knob of the process");
    }
}

#[test]
fn words_in_braces_are_knobs_and_more_may_be_better() {
    let machine = Machine::new("words");
    let program = machine.program(
        "words",
        "awk -v z=$noise -v t=$1 'BEGIN { print 100 * z * (t == 4 ? 1.08 : 1) }'",
    );
    let more = ["--knob", "threads=4", "--against", "2", "--better", "more", "--pilot", "4"];
    let mut arguments = flags(&more, &program);
    arguments.push("{threads}");
    let output = machine.tune("ab", &arguments);
    let text = stdout(&output);
    assert!(text.contains("A: threads=2\nB: threads=4\nthe printed number of sh"), "{text}");
    // 8 %, within a deviation of the blocks.
    let found = ["+7.", "+8."].map(|change| format!("B is better: the printed number {change}"));
    assert!(found.iter().any(|found| text.contains(found)), "{text}{}", stderr(&output));
    let end = "To keep B:\n  put 4 in place of {threads} in the command";
    assert!(text.trim_end().ends_with(end), "{text}");
}

#[test]
fn a_result_ends_with_what_was_decided_and_what_to_type() {
    let machine = Machine::new("decided");
    let program = machine.program("gain", GAIN);
    let more = ["--metric", "/cost", "--guard", "/errors", "--pilot", "5"];
    let output = machine.tune("ab", &flags(&[&KNOB[..], &more].concat(), &program));
    let text = stdout(&output);
    let (guards, decided) = (text.find("p that it is worse"), text.find("B is better: /cost -"));
    assert!(guards.is_some() && guards < decided, "{text}{}", stderr(&output));
    let file = machine.path("proc/sys/net/core/netdev_budget");
    let file = file.display();
    let end =
        format!("To keep B:\n  echo '600' | tee {file}   # as root; until the machine restarts");
    assert!(text.trim_end().ends_with(&end), "{text}");
}

#[test]
fn a_test_that_decides_nothing_says_how_long_a_new_one_takes_and_what_none_finds() {
    let machine = Machine::new("undecided");
    let program = machine.program("null", NULL);
    let more = ["--metric", "/cost", "--quads", "16", "--pilot", "4", "--accept-weak"];
    let knob = ["--knob", "malloc-arenas=1", "--effect", "0.01%"];
    let output = machine.tune("ab", &flags(&[&knob[..], &more].concat(), &program));
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    let end = "Nothing is decided, so keep what is there. To find 0.01 %, more than 10000 quads are needed";
    assert!(
        text.contains(end) && text.ends_with("a larger --effect."),
        "{text}{}",
        stderr(&output)
    );
    // Within reach it is sized by its noise.
    let knob = ["--knob", "malloc-arenas=1", "--effect", "0.2%"];
    let output = machine.tune("ab", &flags(&[&knob[..], &more].concat(), &program));
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, flags) =
        text.split_once("so keep what is there. For a new test, ").expect("it is open");
    let (_, quads) = flags.split_once("--quads ").expect("a number of quads");
    let (quads, _) = quads.split_once(" --time ").expect("a time");
    let quads: u32 = quads.parse().expect("a number");
    assert!((32..2_000).contains(&quads), "{text}{}", stderr(&output));
}

#[test]
fn an_arm_that_is_not_what_the_machine_has_is_to_be_typed_where_it_is_kept() {
    let machine = Machine::new("against");
    let program = machine.program("gain", GAIN);
    let more = ["--metric", "/cost", "--guard", "/errors", "--pilot", "5"];
    // The machine has 300, which costs more than 600.
    let file = machine.path("proc/sys/net/core/netdev_budget");
    let keep = format!("echo '600' | tee {}   # as root", file.display());
    for (knob, end) in [
        (["--knob", "netdev-budget=200", "--against", "600"], format!("To keep A:\n  {keep}")),
        (["--knob", "netdev-budget=300", "--against", "600"], format!("To keep A:\n  {keep}")),
        (["--knob", "netdev-budget=600", "--against", "200"], format!("To keep B:\n  {keep}")),
    ] {
        let output = machine.tune("ab", &flags(&[&knob[..], &more].concat(), &program));
        let text = stdout(&output);
        assert!(text.contains(&end), "{knob:?}: {text}{}", stderr(&output));
    }
    machine.is_as_before().expect("the knob is put back");
}

#[test]
fn a_guard_that_gets_worse_ends_it() {
    let machine = Machine::new("guard");
    let lines = "read b <\"$root/proc/sys/net/core/netdev_budget\"
awk -v b=$b -v z=$noise 'BEGIN { printf \"{\\\"cost\\\": %.6f, \\\"errors\\\": %d}\\n\", 1000 * z, b == 600 ? 3 : 0 }'";
    let program = machine.program("guard", lines);
    let more =
        ["--metric", "/cost", "--guard", "/errors", "--json", "--pilot", "4", "--effect", "0.5%"];
    let output =
        machine.tune("ab", &flags(&[&KNOB[..], &more, &["--accept-weak"]].concat(), &program));
    assert_eq!(json(&output)["verdict"]["alarm"], "/errors", "{}", stderr(&output));
    machine.is_as_before().expect("the knob is put back");
}

#[test]
fn a_setting_without_a_quantity_is_an_alarm_though_no_quad_counts() {
    let machine = Machine::new("spoilt");
    let lines = "read b <\"$root/proc/sys/net/core/netdev_budget\"\nif [ $b = 600 ]; then echo 0; else echo $noise; fi";
    let program = machine.program("spoilt", lines);
    let more = ["--pilot", "4", "--effect", "0.5%", "--accept-weak"];
    let output = machine.tune("ab", &flags(&[&KNOB[..], &more].concat(), &program));
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("A guard ended it: blocks that cannot count of B"),
        "{text}{}",
        stderr(&output)
    );
    machine.is_as_before().expect("the knob is put back");
}

#[test]
fn too_weak_a_test_is_not_begun_and_one_without_noise_neither() {
    let machine = Machine::new("weak");
    let program = machine.program("weak", NULL);
    let more = ["--knob", "malloc-arenas=1", "--metric", "/cost", "--pilot", "4", "--quads", "12"];
    let output =
        machine.tune("ab", &flags(&[&more[..], &["--effect", "0.01%"]].concat(), &program));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("so weak a test is not begun"), "{}", stderr(&output));
    let same = machine.program("same", "echo 5");
    let output = machine.tune("ab", &flags(&["--knob", "malloc-arenas=1", "--pilot", "4"], &same));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("every block of the pilot measured the same"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_program_that_fails_or_says_nothing_ends_it_with_what_it_said() {
    let machine = Machine::new("fails");
    for (lines, why) in [
        ("exit 3", "it did not end well (exit status: 3)"),
        ("echo ready", "'ready' is no JSON"),
        ("echo '{\"p99\": 3}'", "at /cost is nothing (it has p99)"),
    ] {
        let program = machine.program("fails", lines);
        let more = [&KNOB[..], &["--metric", "/cost"]].concat();
        let output = machine.tune("ab", &flags(&more, &program));
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        machine.is_as_before().expect("the knob is put back");
    }
    // What it leaves in the background holds its output open, and ends with the block.
    let leaves = machine.program("leaves", &format!("sleep 600 &\n{NULL}"));
    let more = ["--metric", "/cost", "--pilot", "4", "--quads", "12", "--accept-weak"];
    let output = machine.tune("ab", &flags(&[&["--knob", "nice=5"], &more[..]].concat(), &leaves));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let slow = machine.program("slow", "exec sleep 600");
    let output = machine.tune("ab", &flags(&["--knob", "nice=5", "--block-limit", "100ms"], &slow));
    assert!(stderr(&output).contains("it took longer than 100ms"), "{}", stderr(&output));
}

/// Costs 2 % less with a larger budget, which is found before an interval is. `lines` come first.
fn gain_but(lines: &str) -> String {
    format!(
        "read b <\"$root/proc/sys/net/core/netdev_budget\"; f=1; [ $b = 600 ] && f=0.98
{lines}
awk -v f=$f -v z=$noise 'BEGIN {{ printf \"{{\\\"cost\\\": %.6f}}\\n\", 1000 * f * z }}'"
    )
}

#[test]
fn a_gain_whose_block_fails_before_its_interval_is_cut_short_and_not_better() {
    let machine = Machine::new("cut");
    // Behind trial and pilot, in the fifteenth quad.
    let fails = "if [ $b = 600 ] && [ $n -gt 73 ]; then exit 3; fi";
    let program = machine.program("cut", &gain_but(fails));
    let more = ["--metric", "/cost", "--pilot", "4"];
    let arguments = flags(&[&KNOB[..], &more].concat(), &program);
    let output = machine.tune("ab", &[&["--json"][..], &arguments].concat());
    let result = json(&output);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(result["verdict"], "cut_short", "{result}");
    assert_eq!(result["failed"], true, "{result}");
    let why = result["cut_short"].as_str().expect("why");
    assert!(why.contains("exit status: 3") && why.contains("the 14 quads before"), "{why}");
    let last = result["looks"].as_array().and_then(|looks| looks.last()).expect("looks");
    assert!(last["p_value"].as_f64().is_some_and(|p_value| p_value <= 0.05), "{last}");
    machine.write("cut.count", "0\n");
    let text = stdout(&machine.tune("ab", &arguments));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let seen = "It was cut short before its interval, so nothing is claimed. Seen so far: /cost -";
    let end = "keep what is there. Mend what ended it, and type the same.";
    assert!(words.contains(seen) && words.ends_with(end), "{text}");
    assert!(!words.contains("is better") && !words.contains("To keep B"), "{text}");
    machine.is_as_before().expect("the knob is put back");
}

#[test]
fn a_gain_without_quads_for_its_interval_is_cut_short() {
    let machine = Machine::new("few");
    let program = machine.program("few", &gain_but(""));
    let more = ["--metric", "/cost", "--pilot", "4", "--quads", "15"];
    let arguments = flags(&[&KNOB[..], &more].concat(), &program);
    let output = machine.tune("ab", &arguments);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("no gain can be claimed, as its interval takes 16"), "{told}");
    assert!(told.contains("so weak a test is not begun"), "{told}");
    let output = machine.tune("ab", &[&["--accept-weak", "--json"][..], &arguments].concat());
    let result = json(&output);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!((&result["verdict"], &result["failed"]), (&"cut_short".into(), &false.into()));
    assert_eq!(result["cut_short"], "its quads were spent");
    assert!(stderr(&output).contains("there is no result"), "{}", stderr(&output));
}

#[test]
fn a_block_with_a_late_generator_is_void_and_made_again() {
    let machine = Machine::new("late");
    // What a late one measures is ten times as much.
    let lines = "late=20; t=1; if [ $((n % 7)) = 0 ]; then late=1001; t=10; fi
awk -v t=$t -v z=$noise -v l=$late 'BEGIN { printf \"{\\\"cost\\\": %.6f, \\\"sent_late_p99_us\\\": %d}\\n\", 1000 * t * z, l }'";
    let program = machine.program("late", lines);
    let knob = ["--knob", "malloc-arenas=1", "--metric", "/cost", "--pilot", "4", "--quads", "20"];
    let arguments = flags(&knob, &program);
    let output = machine.tune("ab", &[&["--json"][..], &arguments].concat());
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let count = |key: &str| result[key].as_u64().expect("a number");
    // Of 17 blocks and those made again, each seventh.
    assert_eq!(count("void_before"), 2, "{result}");
    let void = &result["void"];
    let of_test = void["a"].as_u64().zip(void["b"].as_u64()).map(|(a, b)| a + b);
    let played = machine.read("late.count").trim().parse::<u64>().expect("a number");
    assert_eq!(of_test, Some(played / 7 - 2), "{void}");
    let quads = result["quads"].as_array().expect("a list").iter();
    let blocks = quads.flat_map(|quad| quad["blocks"].as_array().expect("four"));
    let costs = blocks.map(|block| block["metric"].as_f64().expect("a number"));
    assert!(costs.fold(0.0, f64::max) < 2_000.0, "a late block counts: {result}");
    let text = stdout(&machine.tune("ab", &arguments));
    assert!(text.contains("Blocks that were void, as their generator was late:"), "{text}");
    // A larger bound takes them.
    let more = ["--late-max", "2ms", "--accept-weak", "--json"];
    let taken = json(&machine.tune("ab", &[&more[..], &arguments].concat()));
    assert_eq!((&taken["void"]["a"], &taken["void_before"]), (&0.into(), &0.into()), "{taken}");
}

#[test]
fn a_setting_that_makes_blocks_void_is_an_alarm_though_what_is_left_of_them_is_better() {
    let machine = Machine::new("selected");
    // B is late in every other of its blocks, and the others cost less.
    let lines = "late=20
if [ $b = 600 ]; then
  if [ -e \"$root/late\" ]; then rm \"$root/late\"; else late=5000; : >\"$root/late\"; fi
fi
awk -v f=$f -v z=$noise -v l=$late 'BEGIN { printf \"{\\\"cost\\\": %.6f, \\\"sent_late_p99_us\\\": %d}\\n\", 1000 * f * z, l }'; exit";
    let program = machine.program("selected", &gain_but(lines));
    let more = ["--metric", "/cost", "--pilot", "4", "--json"];
    let output = machine.tune("ab", &flags(&[&KNOB[..], &more].concat(), &program));
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(result["verdict"]["alarm"], "blocks that cannot count", "{result}");
    let void = [&result["void"]["a"], &result["void"]["b"]];
    assert!(void[0] == 0 && void[1].as_u64().is_some_and(|void| void > 4), "{result}");
}

#[test]
fn a_setting_whose_generator_is_always_late_ends_it() {
    let machine = Machine::new("always-late");
    // From the second quad of the test on.
    let late = "late=20; if [ $b = 600 ] && [ $n -gt 21 ]; then late=5000; fi
awk -v z=$noise -v l=$late 'BEGIN { printf \"{\\\"cost\\\": %.6f, \\\"sent_late_p99_us\\\": %d}\\n\", 1000 * z, l }'; exit";
    let program = machine.program("always", &gain_but(late));
    let more = ["--metric", "/cost", "--pilot", "4", "--json"];
    let output = machine.tune("ab", &flags(&[&KNOB[..], &more].concat(), &program));
    let result = json(&output);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let why = result["cut_short"].as_str().expect("why");
    let said = "the generator was late in 4 blocks, one after the other; in the last, its lateness (p99) was 5000 µs, above 1ms";
    assert!(why.contains(said), "{why}");
    assert_eq!((&result["void"]["a"], &result["void"]["b"]), (&0.into(), &4.into()), "{result}");
    machine.is_as_before().expect("the knob is put back");
}

#[test]
fn blocks_of_a_quad_have_one_seed_and_each_quad_its_own() {
    let machine = Machine::new("seeds");
    let lines = "echo $TAILWATER_TUNE_SEED $1 >> \"$root/seeds.log\"; echo $noise";
    let program = machine.program("seeds", lines);
    let more = [
        "--knob",
        "malloc-arenas=1",
        "--pilot",
        "4",
        "--quads",
        "12",
        "--accept-weak",
        "--seed",
        "7",
    ];
    let mut arguments = flags(&more, &program);
    arguments.push("{seed}");
    machine.tune("ab", &arguments);
    let seeds = machine.read("seeds.log");
    let lines: Vec<&str> = seeds.lines().collect();
    assert!(lines.len() >= 21, "{seeds}");
    assert_eq!(lines[0], "7 7", "B's trial");
    for (quad, four) in lines[1..].chunks(4).enumerate() {
        let wanted = format!("{0} {0}", 8 + quad);
        assert!(four.iter().all(|line| *line == wanted), "{four:?}");
    }
}

#[test]
fn what_something_else_writes_meanwhile_ends_it_and_is_kept() {
    let machine = Machine::new("foreign");
    let lines = "if [ $n = 6 ]; then echo 33 > \"$root/proc/sys/vm/swappiness\"; fi; echo $noise";
    let program = machine.program("foreign", lines);
    let more = ["--knob", "swappiness=10", "--knob", "netdev-budget=600", "--pilot", "4"];
    let output = machine.tune("ab", &flags(&more, &program));
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("something else has written 33 where 60 was set"), "{told}");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("it was 60 before the test"), "{told}");
    assert_eq!(machine.read(SWAPPINESS), "33\n");
    machine.write(SWAPPINESS, "60\n");
    machine.is_as_before().expect("the other knob is put back, and no journal is left");
}

#[test]
fn a_setting_that_cannot_be_measured_is_told_before_the_pilot() {
    let machine = Machine::new("trial");
    let lines = "if [ \"$1\" = bad ]; then exit 3; fi; echo $noise";
    let program = machine.program("trial", lines);
    let mut arguments = flags(&["--knob", "mode=bad", "--against", "good"], &program);
    arguments.push("{mode}");
    let output = machine.tune("ab", &arguments);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("(exit status: 3); it was B's trial before the pilot"), "{told}");
    assert_eq!(machine.read("trial.count"), "1\n", "nothing else was measured");
    // A knob of the process that the kernel refuses: nobody has a CPU of this number alone.
    let output = machine.tune("ab", &flags(&["--knob", "cpus=1023"], &program));
    assert!(stderr(&output).contains("it was B's trial"), "{}", stderr(&output));
    assert_eq!(machine.read("trial.count"), "1\n");
}

#[test]
fn two_at_a_time_are_refused_also_where_no_knob_is_a_file() {
    let machine = Machine::new("two-processes");
    let program = machine.program("two", "exec sleep 600");
    let knob = ["--knob", "malloc-arenas=1"];
    let mut first = machine.start("ab", &flags(&knob, &program));
    eventually("the first measures", || machine.has("two.count"));
    let second = machine.tune("ab", &flags(&knob, &program));
    assert_eq!(second.status.code(), Some(2));
    let told = stderr(&second);
    assert!(told.contains(&format!("another tailwater tune (process {})", first.id())), "{told}");
    first.kill().expect("our child");
    first.wait().expect("our child");
    assert!(!machine.has("run"), "no file is written for a knob of the process");
}

#[test]
fn links_out_of_the_root_are_not_followed() {
    let machine = Machine::new("links");
    let outside = Machine::new("links-outside");
    let link = machine.path(SWAPPINESS);
    std::fs::remove_file(&link).expect("in the test's folder");
    std::os::unix::fs::symlink(outside.path(SWAPPINESS), &link).expect("in the test's folder");
    let output = machine.tune("ab", &["--knob", "swappiness=10", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("is missing"), "{}", stderr(&output));
    outside.is_as_before().expect("nothing was written there");
}

#[test]
fn two_at_a_time_are_refused() {
    let machine = Machine::new("two");
    let program = machine.program("two", "exec sleep 600");
    let mut first = machine.start("ab", &flags(&KNOB, &program));
    eventually("the first has turned the knob", || machine.has("two.count"));
    let second = machine.tune("ab", &flags(&KNOB, &program));
    assert_eq!(second.status.code(), Some(2));
    let told = stderr(&second);
    assert!(told.contains(&format!("another tailwater tune (process {})", first.id())), "{told}");
    first.kill().expect("our child");
    first.wait().expect("our child");
    assert_eq!(machine.tune("undo", &[]).status.code(), Some(0));
    machine.is_as_before().expect("the knob is put back");
}

/// No rule of its own sets a run aside, however busy the machine is with other tests.
const EVERY_RUN_COUNTS: &str = "[validity]\nlateness_of_slo_max = 10\nsteal_max = 1024\n\
    server_involuntary_max_per_s = 1000000\nload_involuntary_max_per_s = 1000000\n";

#[test]
fn keys_of_a_scenario_are_knobs_and_a_run_is_a_block() {
    let machine = Machine::new("scenario");
    let text = "slo = \"60s\"\nwarm_up = \"10ms\"\nduration = \"60ms\"\n[server]\ntransport = \"unix\"\n\
                service = { distribution = \"constant\", mean = \"1ms\", work = \"sleep\" }\n[clients]\ncount = 4\n\
                [demand]\nrequests_per_second = 1000\n[capacity]\nfixed_rps = 20000\n[[controller]]\nname = \"none\"\n";
    let text = format!("{text}{EVERY_RUN_COUNTS}");
    machine.write("one.toml", &text);
    let file = machine.path("one.toml").display().to_string();
    // The key reaches the run: what takes a hundred times as long is found to, on a full machine too.
    let more = [
        "--knob",
        "server.service.mean=100ms",
        "--scenario",
        &file,
        "--metric",
        "p50",
        "--pilot",
        "4",
        "--quads",
        "24",
        "--accept-weak",
        "--json",
        "--effect",
        "50%",
        "--tolerate",
        "100%",
        "--late-max",
        "60s",
    ];
    let arguments = [&QUIET[..], &["--seed", "1"], &more].concat();
    let plan = stdout(&machine.tune("plan", &arguments));
    assert!(plan.contains("--seed 1 [server.service.mean = 100ms]"), "{plan}");
    let output = machine.tune("ab", &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = json(&output);
    let quads = result["quads"].as_array().expect("a list");
    assert!(quads.iter().all(|quad| quad["set_aside"].is_null()), "{result}");
    let last = result["looks"].as_array().and_then(|looks| looks.last()).expect("looks");
    let mean = last["mean"].as_f64().expect("a number");
    assert!((0.5..5.0).contains(&mean), "a hundred times as long is 4.6: {mean}");
    // Of a server without tiers, too.
    let guards = result["guards"].as_array().expect("a list");
    assert!(guards.iter().any(|guard| guard["name"] == "memory"), "{result}");
    machine.write("two.toml", &text.replace("fixed_rps = 20000", ""));
    let file = machine.path("two.toml").display().to_string();
    let output = machine.tune("ab", &["--knob", "server.loops=2", "--scenario", &file]);
    assert!(stderr(&output).contains("without [capacity] fixed_rps"), "{}", stderr(&output));
    let wrong = ["--knob", "server.model=zip", "--scenario", more[3]];
    let output = machine.tune("ab", &wrong);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("cannot be played with the values zip"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_same_seed_and_costs_give_the_same_result() {
    let played = || {
        let machine = Machine::new("same-twice");
        let program = machine.program("gain", GAIN);
        let more =
            ["--metric", "/cost", "--json", "--pilot", "4", "--quads", "12", "--accept-weak"];
        let output = machine
            .tune("ab", &flags(&[&["--knob", "bind-now=now"], &more[..]].concat(), &program));
        let mut result = json(&output);
        let object = result.as_object_mut().expect("an object");
        object.remove("seconds");
        object.remove("look_seconds").expect("when it was looked");
        // Of the machine itself, and of when it began.
        object.remove("manifest").expect("what it was measured on");
        for quad in ["pilot", "quads"] {
            let quads = object.get_mut(quad).and_then(Value::as_array_mut).expect("a list");
            for block in
                quads.iter_mut().flat_map(|quad| quad["blocks"].as_array_mut().expect("four"))
            {
                block["noise"] = Value::Null;
            }
        }
        result
    };
    assert_eq!(played(), played());
}
