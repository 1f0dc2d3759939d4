//! Searches in which a value is far worse than stock at sight: it has its turn last, and nothing is adopted from that.

use super::machine::{Machine, json, stderr, stdout};
use serde_json::Value;

/// A search over these knobs, whose stock is 0 each. `cost` is awk's factor, by the values `a` and `b`.
fn file(machine: &Machine, knobs: &[(&str, &[&str])], lines: &str, cost: &str) -> String {
    let awk = format!("awk -v z=$noise -v a=$1 -v b=$2 'BEGIN {{ print 1000 * z * ({cost}) }}'");
    let program = machine.program("cost", &format!("{lines}\n{awk}"));
    let words: String = knobs.iter().map(|(name, _)| format!(", \"{{{name}}}\"")).collect();
    let tables = knobs.iter().map(|(name, values)| {
        format!("[[knob]]\nname = \"{name}\"\nstock = \"0\"\nvalues = {values:?}\n")
    });
    let text = format!(
        "command = [\"sh\", \"{program}\"{words}]\neffect = \"2%\"\nsteal_max = \"100%\"\nquads = 20\nseed = 1\n{}",
        tables.collect::<String>()
    );
    machine.write("sku.toml", &text);
    machine.path("sku.toml").display().to_string()
}

fn names(tests: &Value) -> Vec<&str> {
    let tests = tests.as_array().expect("a list").iter();
    tests.map(|test| test["name"].as_str().expect("a name")).collect()
}

#[test]
fn what_is_far_worse_at_sight_is_tested_after_all_others() {
    let machine = Machine::new("sku-far");
    // Two settings at once fail, so that nothing is screened and every value is tested.
    let lines = "if [ $1 != 0 ] && [ $2 != 0 ]; then exit 3; fi
if [ $2 != 0 ] && [ $3 != 0 ]; then exit 3; fi";
    let knobs: [(&str, &[&str]); 3] = [("a", &["1"]), ("b", &["1"]), ("c", &["1"])];
    let file = file(&machine, &knobs, lines, "a == 1 ? 3 : 1");
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(found["screening"]["skipped"].is_string(), "{found}");
    assert_eq!(names(&found["tested"]), ["b=1", "c=1", "a=1"], "{found}");
    let deferred = &found["deferred"][0];
    assert_eq!((&deferred["knob"], &deferred["value"]), (&"a".into(), &"1".into()), "{found}");
    let change = deferred["change"].as_f64().expect("a number");
    assert!((change - 3.0_f64.ln()).abs() < 0.02, "{deferred}");
    assert_eq!(found["tested"][2]["verdict"], "worse", "{found}");
    assert!(stderr(&output).contains("with the last turns: a=1 (+"), "{}", stderr(&output));
}

#[test]
fn screening_plays_what_is_not_far_worse_and_a_knob_that_it_leaves_out_has_no_last_turn() {
    let machine = Machine::new("sku-far-first");
    let knobs: [(&str, &[&str]); 2] = [("a", &["1", "2"]), ("b", &["1", "2"])];
    let cost = "(a == 1 ? 5 : a == 2 ? 0.95 : 1) * (b == 1 ? 1.03 : b == 2 ? 5 : 1)";
    let file = file(&machine, &knobs, "", cost);
    let output = machine.tune("sku", &[&file]);
    let text = stdout(&output);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Screened and not tested: b=1;",
        "Deferred to the last turns: a=1 (+",
        "Not tried: b=2.",
        "The soft SKU is confirmed: a=2.",
    ] {
        assert!(words.contains(part), "{part}: {text}{}", stderr(&output));
    }
    let turns = ["a=2: better", "a=1: worse"].map(|test| text.find(test));
    assert!(turns[0].is_some() && turns[0] < turns[1], "{text}");
}

#[test]
fn where_every_value_is_far_worse_none_waits() {
    let machine = Machine::new("sku-far-all");
    let file = file(&machine, &[("a", &["1"])], "", "a == 1 ? 3 : 1");
    let output = machine.tune("sku", &[&file, "--json"]);
    let found = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(found["deferred"], Value::Array(Vec::new()), "{found}");
    assert_eq!(found["screening"]["knobs"][0]["value"], "1", "{found}");
}

/// A block may be slow for another's sake.
#[test]
fn what_is_far_worse_once_alone_does_not_wait() {
    let machine = Machine::new("sku-far-once");
    let lines = "if [ $1 = 1 ] && [ ! -e \"$root/first\" ]; then
: > \"$root/first\"; noise=$(awk -v z=$noise 'BEGIN { print 3 * z }'); fi";
    let file = file(&machine, &[("a", &["1"]), ("b", &["1"])], lines, "1");
    let output = machine.tune("sku", &[&file, "--json"]);
    assert!(machine.has("first"), "{}", stderr(&output));
    let found = json(&output);
    assert_eq!(found["deferred"], Value::Array(Vec::new()), "{found}");
}
