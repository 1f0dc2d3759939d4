//! `report` and `requests`, from a trace file to the text that people read.

use super::made::{US, fig1, function, profile, told, trace, vague};
use std::path::Path;
use std::process::Command;
use tailwater_profile::record::{Call, CallFlags, Clock, Function, FunctionId, Record, Wait};

#[test]
fn the_slow_request_is_blamed_on_the_snapshot() {
    let path = trace("blame.trace", &fig1(), 0);
    let text = told(&profile("requests", &path, &[]));
    for line in [
        "waited 900 µs for mutex 0x5000 in handle_request()",
        "held by thread snapshot (101) in fig1::snapshot",
        "which was in fig1::snapshot 895 µs",
        "10 records. Lost: 0 calls",
    ] {
        assert!(text.contains(line), "{line} in:\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&told(&profile("requests", &path, &["--json"]))).expect("JSON");
    assert_eq!(json["slowest"][0]["parts"]["waiting_ns"], 900_000);
}

#[test]
fn the_report_names_functions_locks_and_what_is_missing() {
    let path = trace("report.trace", &fig1(), 30);
    let flags = ["--locks", "--callers", "--by-line", "--function", "handle*"];
    let text = told(&profile("report", &path, &flags));
    for part in
        ["handle_request()", "fig1.cc:7", "928 µs", "mutex 0x5000", "← (bottom", "The file is cut"]
    {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    let rows = text.lines().filter(|line| line.starts_with("fig1::snapshot")).count();
    assert_eq!(rows, 0, "the filter leaves it out:\n{text}");
    let json: serde_json::Value =
        serde_json::from_str(&told(&profile("report", &path, &["--json"]))).expect("JSON");
    assert_eq!(json["quality"]["ending"], "cut");
    assert_eq!(json["functions"][0]["name"], "fig1::snapshot");
    // Slacks of 500 ns are stored as 512.
    let most = &json["functions"][0]["p9999"];
    assert_eq!((&most["low_ns"], &most["high_ns"]), (&1_011_712.into(), &1_016_024.into()));
}

/// Requests of 20 µs, of which one takes a path of 76 ms while the scanner comes by every 4 ms. The loop around
/// them was there before the recording and after it; of one request not even the scanner's last look is known.
fn shared_core() -> Vec<Record> {
    let function = |id, name: &str| {
        let (name, file) = (name.to_owned(), "fig1.cc".to_owned());
        Record::Function(Function { id: FunctionId(id), address: 64, name, file, line: 7 })
    };
    let cut = CallFlags::STARTED_BEFORE | CallFlags::UNFINISHED;
    let mut records = vec![
        Record::Clock(Clock { ticks: 900_000_000, raw_ns: 900_000_000, real_ns: 900_000_000 }),
        function(1, "request"),
        function(2, "planted_slow_path"),
        function(3, "event_loop"),
    ];
    let requests = (1..200).map(|n| vague(1, (n * 4_000, 0), (n * 4_000 + 20, 0), 0));
    let tail = [
        vague(2, (802_000, 2_000), (878_000, 2_000), CallFlags::GAP),
        vague(1, (801_000, 3_000), (879_000, 3_000), CallFlags::GAP),
        Call { end_slack: u32::MAX, ..vague(1, (890_000, 0), (896_000, 0), CallFlags::GAP) },
        vague(3, (10, 0), (900_000, 0), cut),
    ];
    records.extend(requests.chain(tail).map(Record::Call));
    records
}

#[test]
fn the_report_does_not_leave_out_the_tail() {
    let path = trace("shared.trace", &shared_core(), 0);
    let text = told(&profile("report", &path, &[]));
    let rows: Vec<&str> = text.lines().skip(4).take(3).collect();
    // Slacks are stored rounded up, by an eighth at most.
    for (row, cells) in rows.iter().zip([
        ["planted_slow_path", "71.8–80.2 ms"],
        ["request", "71.7–84.3 ms"],
        ["event_loop", "≥ 900 ms"],
    ]) {
        assert!(cells.iter().all(|cell| row.contains(cell)), "{cells:?} in:\n{text}");
    }
    assert!(rows[1].contains("20.0 µs"), "its median:\n{text}");
    assert!(text.contains("nothing is known: 1, the longest at most 4.30 s"), "{text}");
}

#[test]
fn sums_stand_in_the_place_of_quantiles_where_it_is_sorted_by_one() {
    let path = trace("sums.trace", &shared_core(), 0);
    let flags = ["--sort", "total", "--function", "request", "--function", "planted*"];
    let text = told(&profile("report", &path, &flags));
    let heads = text.lines().find(|line| line.starts_with("function ")).expect("a table");
    let heads: Vec<&str> = heads.split_whitespace().collect();
    assert_eq!(heads, ["function", "calls", "mean", "in", "all", "self", "max", "open"]);
    // 199 of 20 µs and one of 71.7 to 84.3 ms; of one more nothing is known but that it ended.
    assert!(text.contains("75.7–88.3 ms"), "{text}");
    assert!(
        text.contains("Together, 2 functions took ") && text.contains("in 202 calls, "),
        "{text}"
    );
    assert!(!text.contains("event_loop"), "{text}");
}

/// Two calls of `outer` of 1 ms and 3 ms, in which `inner` takes half; within that, half is another's.
#[test]
fn of_a_set_of_functions_the_mean_and_the_self_time_are_told() {
    let mut records =
        vec![Record::Clock(Clock { ticks: 1 << 30, raw_ns: 1 << 30, real_ns: 1 << 30 })];
    records.extend([function(1, "outer"), function(2, "inner"), function(3, "other")]);
    let call = |path: &[u32], generation, (start, end): (u64, u64)| {
        let parent = path.iter().rev().nth(1).map(|id| FunctionId(*id));
        let depth = path.len() as u32 - 1;
        let id = path[path.len() - 1];
        Record::Call(Call { parent, depth, generation, ..vague(id, (start, 0), (end, 0), 0) })
    };
    for (nth, start, length) in [(0, 1_000, 1_000), (1, 5_000, 3_000)] {
        records.push(call(&[1, 2, 3], 3 * nth + 3, (start, start + length / 4)));
        records.push(call(&[1, 2], 3 * nth + 2, (start, start + length / 2)));
        records.push(call(&[1], 3 * nth + 1, (start, start + length)));
    }
    let path = trace("set.trace", &records, 0);
    let text = head(&path, &["-f", "outer", "-f", "inner"]);
    for part in [
        "Together, 2 functions took 4.00 ms of the ",
        "in 2 calls, 2.00 ms on average; 2 more were within these, and count once. Self time, without",
        "that were seen: 3.00 ms.",
    ] {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    let flags = ["-f", "outer", "-f", "inner", "--json"];
    let json: serde_json::Value = serde_json::from_str(&head(&path, &flags)).expect("JSON");
    let ns = |key: &str| (&json["together"][key]["low_ns"], &json["together"][key]["high_ns"]);
    assert_eq!(ns("mean"), (&2_000_000.into(), &2_000_000.into()));
    assert_eq!(ns("self"), (&3_000_000.into(), &3_000_000.into()));
    let one = head(&path, &["-f", "other"]);
    assert!(one.contains("Together, 1 function took 1.00 ms of the "), "{one}");
}

#[test]
fn what_was_inlined_is_said_to_be_in_no_table() {
    let path = trace("inlined.trace", &fig1(), 0);
    let text = head(&path, &["-f", "*planted*"]);
    for part in
        ["is called *planted*. ", "--limit 0` lists", "inlined is not", "`--callees`", "`--lines`"]
    {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    assert!(!text.contains("--min-count 0") && !text.contains("Together"), "{text}");
}

#[test]
fn a_trace_without_marks_is_told_what_needs_none() {
    let unmarked: Vec<Record> =
        fig1().into_iter().filter(|one| !matches!(one, Record::Mark(_))).collect();
    let path = trace("unmarked.trace", &unmarked, 0);
    let instead = "`tailwater profile report --slowest 20 -f NAME` needs none";
    assert!(told(&profile("requests", &path, &[])).contains(instead));
    let kept = path.with_file_name("unmarked-kept.trace");
    let kept = profile("keep", &path, &["-o", kept.to_str().expect("a path")]);
    assert_eq!(kept.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&kept.stderr).contains(instead), "{kept:?}");
}

/// Runs it in a folder of its own, and gives what it said when it was refused.
fn refused(folder: &str, arguments: &[&str]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater"));
    let done = command.current_dir(&folder).arg("profile").args(arguments).output();
    let done = done.expect("it starts");
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    String::from_utf8_lossy(&done.stderr).into_owned()
}

#[test]
fn where_no_trace_is_it_is_said_how_one_is_made() {
    let record = "record one: `tailwater profile record -- ./program`";
    let export = ["export", "--to", "folded"];
    for verb in [&["report"][..], &["requests"], &["keep", "-o", "x"], &["flame"], &export] {
        let said = refused("fresh", verb);
        assert!(said.contains("tailwater.trace: No such file") && said.contains(record), "{said}");
    }
    let said = refused("fresh", &["report", "out/my.trace"]);
    assert!(said.contains("`tailwater profile record -o out/my.trace -- ./program`"), "{said}");
    let trace = trace("before-perf.trace", &fig1(), 0);
    let said = refused("fresh", &["import", "--trace", trace.to_str().expect("a path")]);
    assert!(
        said.contains("perf.data: No such file") && said.contains("type: perf sched record -k"),
        "{said}"
    );
}

#[test]
fn a_program_that_lies_in_the_folder_is_named_as_shells_want_it() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unslashed");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    std::fs::write(folder.join("my-server"), "").expect("room");
    let said = refused("unslashed", &["record", "--", "my-server"]);
    assert!(said.contains("my-server: No such file") && said.contains("`./my-server`?"), "{said}");
    let said = refused("unslashed", &["record", "--", "no-server"]);
    assert!(said.contains("no-server: No such file") && !said.contains('`'), "{said}");
}

#[test]
fn what_is_no_trace_is_refused_with_what_to_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = profile("report", &path, &[]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("tailwater profile record"), "{message}");
}

#[test]
fn what_record_writes_unless_it_is_told_is_what_the_others_read() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("by-default");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let made = trace("by-default.trace", &fig1(), 0);
    std::fs::copy(made, folder.join("tailwater.trace")).expect("a trace");
    let exports = ["export", "--to", "folded"];
    for verb in [&["report"][..], &["requests"], &["keep", "-o", "kept.trace"], &exports] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater"));
        let command = command.current_dir(&folder).arg("profile").args(verb);
        told(&command.output().expect("it starts"));
    }
}

fn head(path: &Path, flags: &[&str]) -> String {
    told(&profile("report", path, flags))
}

#[test]
fn functions_whose_short_names_are_alike_are_told_apart() {
    let poll = |of: &str| {
        format!("<tokio::runtime::task::core::Core<{of}, S> as core::future::future::Future>::poll")
    };
    let names = ["hyper::server::conn::Connection", "axum::serve::WithGracefulShutdown"].map(poll);
    let mut records =
        vec![Record::Clock(Clock { ticks: 1 << 30, raw_ns: 1 << 30, real_ns: 1 << 30 })];
    for (id, name) in names.iter().enumerate() {
        records.push(function(id as u32, name));
        records.push(Record::Call(vague(id as u32, (1_000, 1), (9_000 + id as u64, 1), 0)));
    }
    let text = head(&trace("alike.trace", &records, 0), &[]);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("poll")).collect();
    let name = |row: &str| row.split("::poll").next().expect("a name").to_owned();
    assert_eq!(rows.len(), 2, "{text}");
    assert_ne!(name(rows[0]), name(rows[1]), "{text}");
}

/// Many waits for one lock are more than a long one for another, whichever functions are long.
#[test]
fn locks_are_ranked_by_what_was_waited_in_all() {
    let mut records = fig1();
    let Some(Record::Wait(long)) =
        records.iter().find(|one| matches!(one, Record::Wait(_))).cloned()
    else {
        unreachable!("a request waits")
    };
    for n in 0..20 {
        let start = 6_000 * US + n * 100 * US;
        let (end, object) = (start + 60 * US, 0x7000);
        records.push(Record::Wait(Wait { start, end, released: end, object, ..long }));
    }
    let path = trace("ranked.trace", &records, 0);
    let text = head(&path, &["--locks"]);
    let at = |lock: &str| {
        text.lines()
            .position(|line| line.starts_with(lock))
            .unwrap_or_else(|| panic!("{lock} in:\n{text}"))
    };
    assert!(at("mutex 0x7000") < at("mutex 0x5000"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&head(&path, &["--json"])).expect("JSON");
    assert_eq!(json["locks"][0]["total_ns"], 1_200_000);
}

/// Its callers have the same wait within their calls, and do not tell of it again.
#[test]
fn a_wait_stands_with_the_function_that_waited_and_with_none_that_called_it() {
    let around = [function(3, "serve"), function(4, "main")];
    let calls = [(3, (4_000, 0), (6_500, 0)), (4, (1_000, 0), (9_000, 0))]
        .map(|(id, start, end)| Record::Call(vague(id, start, end, 0)));
    let path = trace("around.trace", &[&fig1()[..], &around, &calls].concat(), 0);
    let text = head(&path, &["--locks"]);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("mutex 0x5000")).collect();
    // By lock, and by function.
    let [by_lock, by_function] = rows[..] else { panic!("{text}") };
    assert!(by_lock.starts_with("mutex 0x5000"), "{text}");
    assert!(by_function.starts_with("handle_request() "), "{text}");
    let json: serde_json::Value = serde_json::from_str(&head(&path, &["--json"])).expect("JSON");
    let functions = json["functions"].as_array().expect("a list");
    let within = functions.iter().filter(|row| row["locks"][0]["waits"] == 1);
    assert_eq!(within.count(), 3, "each with what lay within its calls");
}

#[test]
fn functions_and_locks_that_are_not_listed_are_counted() {
    let mut records = fig1();
    let Some(Record::Wait(one)) =
        records.iter().find(|one| matches!(one, Record::Wait(_))).cloned()
    else {
        unreachable!("a request waits")
    };
    for n in 0..7 {
        let start = 6_000 * US + n * 100 * US;
        let (end, object) = (start + 60 * US, 0x7000 + 64 * n);
        records.push(Record::Wait(Wait { start, end, released: end, object, ..one }));
    }
    records.push(Record::Call(vague(1, (5_950, 0), (10_000, 0), 0)));
    let path = trace("unlisted.trace", &records, 0);
    let text = head(&path, &["--locks"]);
    assert!(text.contains("and 3 more; --json lists them"), "of eight five are listed: {text}");
    assert!(!text.contains("--limit 0"), "both functions are there: {text}");
    let text = head(&path, &["--limit", "1"]);
    assert!(text.contains("\nand 1 more function; --limit 0 lists them\n"), "{text}");
}

/// Nothing was said of those that the call of a loop lacks.
#[test]
fn waits_beyond_what_is_looked_back_on_are_told_with_the_locks() {
    let mut records = fig1();
    let Some(Record::Wait(one)) =
        records.iter().find(|one| matches!(one, Record::Wait(_))).cloned()
    else {
        unreachable!("a request waits")
    };
    for n in 0..1_500 {
        let start = 6_000 * US + n * 100 * US;
        let end = start + 60 * US;
        records.push(Record::Wait(Wait { start, end, released: end, ..one }));
    }
    records.push(Record::Call(vague(1, (5_950, 0), (200_000, 0), 0)));
    let path = trace("loop-waits.trace", &records, 0);
    let said = "476 waits and holds are beyond what is kept";
    assert!(head(&path, &["--locks"]).contains(said), "{}", head(&path, &["--locks"]));
    assert!(!head(&path, &[]).contains("left out for want of memory"));
    let json: serde_json::Value = serde_json::from_str(&head(&path, &["--json"])).expect("JSON");
    assert_eq!(json["locks_left_out"], 476);
    assert_eq!(json["quality"]["beyond_bounds"], 0, "calls and names are all there");
}

#[test]
fn a_trace_without_locks_says_which_are_known() {
    let records = [function(1, "main"), Record::Call(vague(1, (1_000, 1), (9_000, 1), 0))];
    let text = head(&trace("lockless.trace", &records, 0), &["--locks"]);
    assert!(text.contains("No wait for a lock of pthreads is in the trace"), "{text}");
    assert!(!text.contains("above the recorder's threshold lay within"), "{text}");
    // A trace with locks says of which functions none is told.
    let text = head(&trace("elsewhere.trace", &fig1(), 0), &["--locks", "-f", "*snapshot"]);
    assert!(text.contains("No wait above the recorder's threshold lay within these"), "{text}");
}

#[test]
fn children_of_the_program_are_told_of() {
    use tailwater_profile::record::{Loss, LossKind};
    let forks = Record::Loss(Loss { thread: None, kind: LossKind::Children, count: 3 });
    let text = head(&trace("children.trace", &[fig1(), vec![forks]].concat(), 0), &[]);
    let said = "3 processes were forked: at least the first 20 ms of each are not recorded";
    assert!(text.contains(said), "{text}");
    assert!(
        !text.contains("at most 20 ms") && !text.contains("60.0 ms"),
        "no upper bound is known: {text}"
    );
}

#[test]
fn calls_from_more_places_than_are_kept_count_and_are_told_of() {
    let mut records = vec![function(1, "many")];
    for site in 1..=16_500 {
        let parent = Some(FunctionId(2));
        records.push(Record::Call(Call { parent, site, ..vague(1, (1_000, 1), (9_000, 1), 0) }));
    }
    let path = trace("places.trace", &records, 0);
    let text = head(&path, &[]);
    assert!(text.contains("The places of 116 calls are not told"), "{text}");
    assert!(text.contains("16,500"), "all of them count:\n{text}");
    let json: serde_json::Value = serde_json::from_str(&head(&path, &["--json"])).expect("JSON");
    assert_eq!((&json["unplaced"], &json["functions"][0]["count"]), (&116.into(), &16_500.into()));
}
