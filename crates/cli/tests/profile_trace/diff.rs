//! `diff`: two traces, or two folders of them, side by side.

use super::made::{function, trace, vague};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tailwater_core::rng::Rng;
use tailwater_profile::record::{Call, Clock, FunctionId, Record};

/// Twelve functions, each called 4,000 times in two seconds for some ten microseconds and more; `slow` takes so many times as
/// long.
fn recorded(name: &str, seed: u64, slow: f64) -> PathBuf {
    let mut rng = Rng::from_seed(seed);
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let mut records = vec![Record::Clock(clock)];
    for n in 0..12 {
        records.push(function(n, &if n == 5 { "slow".to_owned() } else { format!("f{n}") }));
        for nth in 0..4_000u64 {
            let times = if n == 5 { slow } else { 1.0 };
            let ns = 10_000.0 * f64::from(n + 1) * times * (1.0 + rng.exponential(0.3));
            let start = nth * 500_000;
            let call = vague(n, (0, 0), (0, 0), 0);
            records.push(Record::Call(Call {
                start,
                end: start + ns as u64,
                generation: nth,
                ..call
            }));
        }
    }
    trace(name, &records, 0)
}

fn diff(before: &Path, after: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater"));
    command.args(["profile", "diff"]).args([before, after]).args(flags).output().expect("it starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn traces_of_one_program_do_not_differ_and_five_percent_are_found() {
    let before = recorded("before.trace", 1, 1.0);
    let same = diff(&before, &recorded("same.trace", 2, 1.0), &[]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    assert!(
        text(&same).contains(
            "0 of 12 functions have moved by themselves by more than 1 %, 0 with what they call, at 99 %"
        ),
        "{same:?}"
    );
    let after = recorded("after.trace", 3, 1.05);
    let moved = diff(&before, &after, &[]);
    assert_eq!(moved.status.code(), Some(1), "{moved:?}");
    let said = text(&moved);
    assert!(said.contains("1 of 12 functions have moved by themselves"), "{said}");
    assert!(said.contains("type: tailwater profile diff FOLDER-OF-A FOLDER-OF-B"), "{said}");
    let row =
        said.lines().find(|line| line.starts_with("slow")).unwrap_or_else(|| panic!("{said}"));
    assert!(row.contains("p50") && row.contains("+4.9 %"), "{row}");
    assert_eq!(diff(&before, &after, &["--within", "10%"]).status.code(), Some(0));
    assert_eq!(diff(&before, &after, &["-f", "f*"]).status.code(), Some(0));
}

#[test]
fn the_verdict_is_json_too_with_all_that_was_compared() {
    let before = recorded("json-before.trace", 4, 1.0);
    let after = recorded("json-after.trace", 5, 1.0 / 1.05);
    let output = diff(&before, &after, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&text(&output)).expect("JSON");
    assert_eq!((&json["confidence"], &json["comparisons"]), (&0.99.into(), &48.into()));
    let functions = json["functions"].as_array().expect("a list");
    assert_eq!(functions.len(), 12);
    assert_eq!((&functions[0]["name"], &functions[0]["moved"]), (&"slow".into(), &true.into()));
    assert_eq!(functions[0]["by_itself"], true);
    assert_eq!(
        (&json["recordings"], &functions[0]["p50"]["self"]["moved"]),
        (&[1, 1].into(), &true.into())
    );
    let change = &functions[0]["p50"];
    let number = |name: &str| change[name].as_f64().expect("a number");
    assert!(
        number("low") <= 1.0 / 1.05 && 1.0 / 1.05 <= number("high") && number("high") < 1.0,
        "{change}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let few = [function(1, "once"), Record::Call(vague(1, (1, 0), (9_000, 0), 0))];
    let path = trace("once.trace", &few, 0);
    let refused = diff(&path, &path, &[]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("record for longer"), "{refused:?}");
    // Longer recordings would not help there.
    let refused = diff(&path, &path, &["--function", "twice"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(said.contains("no function that is called twice"), "{said}");
    assert!(!said.contains("record for longer"), "{said}");
    assert_eq!(diff(&path, &path, &["--confidence", "100%"]).status.code(), Some(2));
    assert_eq!(diff(&path, Path::new("/nowhere"), &[]).status.code(), Some(2));
}

/// Two thousand functions end a call before the one that matters does.
#[test]
fn the_most_called_functions_are_compared_and_none_vanishes() {
    let many = |name: &str, seed: u64, slow: f64| {
        let mut rng = Rng::from_seed(seed);
        let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
        let mut records = vec![Record::Clock(clock)];
        for n in 0..2_100 {
            records.push(function(n, &format!("init{n}")));
            let start = u64::from(n) * 1_000;
            let call = vague(n, (0, 0), (0, 0), 0);
            records.push(Record::Call(Call { start, end: start + 900, ..call }));
        }
        records.push(function(5_000, "late"));
        for nth in 0..2_000 {
            let ns = 10_000.0 * slow * (1.0 + rng.exponential(0.3));
            let start = (nth + 3) * 1_000_000;
            let call = vague(5_000, (0, 0), (0, 0), 0);
            let end = start + ns as u64;
            records.push(Record::Call(Call { start, end, generation: nth, ..call }));
        }
        trace(name, &records, 0)
    };
    let (before, after) = (many("many-before.trace", 6, 1.0), many("many-after.trace", 7, 1.5));
    let output = diff(&before, &after, &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output).replace('\n', " ");
    assert!(said.contains("1 of 1 functions have moved by themselves"), "{said}");
    assert!(said.contains("1,077 called less often than the 1,024 that are read"), "{said}");
    assert!(said.contains("0 with calls in A only, 0 in B only"), "{said}");
}

/// A process: `outer` does something itself and calls `inner`, which takes so many times as long. All that it does takes so
/// many times as long as in other processes of the build.
fn process(path: &str, seed: u64, slow: f64, luck: f64) -> PathBuf {
    process_of(path, seed, [20_000.0, 100_000.0 * slow], luck, 10)
}

/// The same, of so many nanoseconds that `outer` and `inner` do themselves. Of ten calls of `inner` so many were seen.
fn process_of(
    path: &str,
    seed: u64,
    [own, within]: [f64; 2],
    luck: f64,
    seen_of_ten: u64,
) -> PathBuf {
    let mut rng = Rng::from_seed(seed);
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let mut records = vec![Record::Clock(clock), function(1, "outer"), function(2, "inner")];
    for nth in 0..400u64 {
        let mut some = |ns: f64| (ns * luck * (1.0 + rng.exponential(0.1))) as u64;
        let (own, within) = (some(own), some(within));
        let start = nth * 500_000;
        let end = start + own + within;
        let call = Call { start, end, generation: 2 * nth, ..vague(1, (0, 0), (0, 0), 0) };
        let inner = Call {
            function: FunctionId(2),
            parent: Some(FunctionId(1)),
            depth: 1,
            start: start + own,
            generation: 2 * nth + 1,
            ..call
        };
        records.extend((nth % 10 < seen_of_ten).then_some(Record::Call(inner)));
        records.push(Record::Call(call));
    }
    trace(path, &records, 0)
}

/// So many processes of a build, which differ by up to 3 % either way.
fn folder(name: &str, seed: u64, processes: u64, slow: f64) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the target folder can be written to");
    let mut rng = Rng::from_seed(seed);
    for nth in 0..processes {
        let luck = 0.97 + 0.06 * rng.unit();
        process(&format!("{name}/{nth:02}.trace"), seed + nth, slow, luck);
    }
    std::fs::write(folder.join("00.trace.kernel"), "not a trace").expect("a file");
    folder
}

#[test]
fn folders_of_recordings_tell_builds_apart_and_a_callee_from_its_caller() {
    let before = folder("diff-before", 100, 12, 1.0);
    let same = diff(&before, &folder("diff-same", 200, 12, 1.0), &[]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    assert!(text(&same).contains("over 12 recordings of A and 12 of B"), "{same:?}");
    assert!(!text(&same).contains("type: tailwater profile diff"), "{same:?}");
    let after = folder("diff-after", 300, 12, 1.1);
    let output = diff(&before, &after, &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output);
    let at = |words: &str| said.find(words).unwrap_or_else(|| panic!("no {words} in {said}"));
    assert!(said.starts_with("1 of 2 functions have moved by themselves by more than 1 %, 1 with"));
    assert!(
        at("\ninner") < at("\nWith what they call") && at("With what they call") < at("\nouter")
    );
    assert!(said.contains("A: 12 recordings, "), "{said}");
    // What the folders are for: one process of each build, and its luck is taken for the build's.
    let one = |path: &str, luck: f64| process(path, 7, 1.0, luck);
    let lucky = diff(&one("diff-slow.trace", 1.02), &one("diff-quick.trace", 0.98), &[]);
    assert_eq!(lucky.status.code(), Some(1), "{lucky:?}");
}

/// What `outer` calls takes from one to four times as long, whichever the build.
#[test]
fn what_moved_itself_within_calls_that_vary_is_named_unless_fewer_calls_were_seen_within() {
    let build = |name: &str, seed: u64, own: f64, seen_of_ten: u64| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("the target folder can be written to");
        for nth in 0..12 {
            let within = 100_000.0 * (1 + nth % 4) as f64;
            let path = format!("{name}/{nth:02}.trace");
            process_of(&path, seed + nth, [own, within], 1.0, seen_of_ten);
        }
        folder
    };
    let before = build("diff-varied-before", 500, 40_000.0, 10);
    let output = diff(&before, &build("diff-varied-after", 600, 60_000.0, 10), &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output);
    assert!(said.starts_with("1 of 2 functions have moved by themselves"), "{said}");
    assert!(said.contains("\nouter") && !said.contains("\ninner"), "{said}");
    let output = diff(&before, &build("diff-unseen-after", 700, 60_000.0, 7), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output);
    assert!(said.starts_with("0 of 2 functions have moved by themselves"), "{said}");
    let (_, list) = said.split_once("In themselves, while whole calls vary").expect("a list");
    assert!(list.contains("\nouter") && !list.contains("\ninner"), "{said}");
}

#[test]
fn a_folder_has_as_many_recordings_as_can_be_compared() {
    let (few, one) = (folder("diff-few", 400, 3, 1.0), process("diff-one.trace", 8, 1.0, 1.0));
    for (before, after) in [(&few, &few), (&few, &one), (&one, &few)] {
        let refused = diff(before, after, &[]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("one of each is needed, or 8 to 40 of each"), "{said}");
    }
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diff-empty");
    std::fs::create_dir_all(&empty).expect("the target folder can be written to");
    let refused = diff(&empty, &few, &[]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    let record = "ends in .trace; type: tailwater profile record -o ";
    assert!(said.contains(record) && said.contains("diff-empty/01.trace"), "{said}");
}
