//! `export`: each format is read back by what its readers ask for.

use super::made::{US, fig1, function, profile, told, trace, vague};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tailwater_profile::record::{Call, Clock, FunctionId, Record};

/// A thousand requests of 100 µs, of which each hundredth takes 10 ms, in a parser.
pub(crate) fn requests(name: &str) -> PathBuf {
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let mut records = vec![Record::Clock(clock)];
    records.extend([
        function(1, "main"),
        function(2, "ns::request(int; char)"),
        function(3, "parse"),
    ]);
    let nested = |generation, depth, function, parent, start, took| {
        let call = vague(function, (start, 0), (start + took, 0), 0);
        Record::Call(Call { generation, depth, parent: Some(FunctionId(parent)), ..call })
    };
    for n in 0..1_000 {
        let (start, parse) = (n * 20_000, if n % 100 == 0 { 9_900 } else { 40 });
        records.push(nested(3 + n * 2, 2, 3, 2, start + 30, parse));
        records.push(nested(2 + n * 2, 1, 2, 1, start, parse + 60));
    }
    records.push(Record::Call(Call { generation: 1, ..vague(1, (0, 0), (20_000_000, 0), 0) }));
    trace(name, &records, 0)
}

pub(crate) const PARSE_US: u64 = 990 * 40 + 10 * 9_900;
const REQUEST_US: u64 = 60_000;
const MAIN_US: u64 = 20_000_000 - PARSE_US - REQUEST_US;

pub(crate) fn export(path: &Path, flags: &[&str]) -> String {
    told(&profile("export", path, flags))
}

#[test]
fn folded_stacks_are_lines_of_names_and_a_number() {
    let text = export(&requests("folded.trace"), &["--to", "folded"]);
    // As inferno and flamegraph.pl read it: the last blank separates, semicolons do before.
    let stacks: HashMap<Vec<&str>, u64> = text
        .lines()
        .map(|line| {
            let (path, number) = line.rsplit_once(' ').expect("two fields");
            (path.split(';').collect(), number.parse().expect("a number"))
        })
        .collect();
    let expected = [
        (vec!["main"], MAIN_US * US),
        (vec!["main", "ns::request(int: char)"], REQUEST_US * US),
        (vec!["main", "ns::request(int: char)", "parse"], PARSE_US * US),
    ];
    assert_eq!(stacks, HashMap::from(expected));
}

#[test]
fn the_tail_alone_is_exported_above_a_percentile() {
    let flags = ["--to", "folded", "--above", "p98", "-f", "ns::request*"];
    let text = export(&requests("above.trace"), &flags);
    let expected =
        "main;ns::request(int: char) 600000\nmain;ns::request(int: char);parse 99000000\n";
    assert_eq!(text, expected);
    let path = requests("refused.trace");
    for flags in [
        &["--to", "folded", "--above", "p99"][..],
        &["--to", "folded", "--above", "p100", "-f", "parse"],
        &["--to", "folded", "-f", "nowhere"],
        &["--to", "perfetto", "-f", "parse"],
        &["--to", "parquet", "-f", "parse"],
        &["--to", "nothing"],
    ] {
        let refused = profile("export", &path, flags);
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {refused:?}");
        assert!(refused.stdout.is_empty(), "{flags:?}");
    }
}

/// What `https://www.speedscope.app/file-format-schema.json` asks of a file with sampled profiles.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "fields that only need to be there")]
struct Speedscope {
    #[serde(rename = "$schema")]
    schema: String,
    shared: SpeedscopeShared,
    profiles: Vec<SpeedscopeProfile>,
    name: Option<String>,
    #[serde(rename = "activeProfileIndex")]
    active: Option<usize>,
    exporter: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct SpeedscopeShared {
    frames: Vec<SpeedscopeFrame>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "fields that only need to be there")]
struct SpeedscopeFrame {
    name: String,
    file: Option<String>,
    line: Option<u32>,
    col: Option<u32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "fields that only need to be there")]
struct SpeedscopeProfile {
    r#type: String,
    name: String,
    unit: String,
    #[serde(rename = "startValue")]
    start: f64,
    #[serde(rename = "endValue")]
    end: f64,
    samples: Vec<Vec<usize>>,
    weights: Vec<f64>,
}

#[test]
fn speedscopes_file_is_as_its_schema_asks() {
    let text = export(&requests("speedscope.trace"), &["--to", "speedscope"]);
    let file: Speedscope = serde_json::from_str(&text).expect("as the schema says");
    assert_eq!(file.schema, "https://www.speedscope.app/file-format-schema.json");
    let profile = &file.profiles[0];
    let units = ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"];
    assert!(profile.r#type == "sampled" && units.contains(&profile.unit.as_str()));
    assert_eq!(profile.samples.len(), profile.weights.len());
    assert_eq!(profile.weights.iter().sum::<f64>(), profile.end);
    let names: Vec<&str> = file.shared.frames.iter().map(|frame| frame.name.as_str()).collect();
    let deepest = profile.samples.iter().max_by_key(|sample| sample.len()).expect("samples");
    let path: Vec<&str> = deepest.iter().map(|at| names[*at]).collect();
    assert_eq!(path, ["main", "ns::request(int; char)", "parse"]);
}

/// The columns of a table of the Firefox Profiler are as long as it says, and its indexes lie in their tables.
#[test]
fn firefoxes_tables_fit_one_another_and_have_all_the_time() {
    let text = export(&requests("firefox.trace"), &["--to", "firefox"]);
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert!(
        file["meta"]["version"].is_number()
            && file["meta"]["preprocessedProfileVersion"].is_number()
    );
    let thread = &file["threads"][0];
    let length = |table: &Value| table["length"].as_u64().expect("a length");
    let samples = &thread["samples"];
    let column = |table: &'_ Value, name: &str| -> Vec<Value> {
        table[name].as_array().unwrap_or_else(|| panic!("{name} in {table}")).clone()
    };
    let all = column(samples, "stack");
    assert_eq!(all.len() as u64, length(samples));
    let bound = length(&thread["stackTable"]);
    assert!(all.iter().all(|at| at.as_u64().is_some_and(|at| at < bound)), "{all:?}");
    let stacks = &thread["stackTable"];
    for (name, bound) in [("frame", length(&thread["frameTable"])), ("prefix", length(stacks))] {
        let all = column(stacks, name);
        assert_eq!(all.len() as u64, length(stacks), "{name}");
        assert!(all.iter().filter_map(Value::as_u64).all(|at| at < bound), "{name}");
    }
    let weights = column(samples, "weight");
    let sum: u64 = weights.iter().filter_map(Value::as_u64).sum();
    assert_eq!(sum, MAIN_US + REQUEST_US + PARSE_US, "a sample for each microsecond");
    assert!(text.contains("ns::request(int; char)"));
}

/// A weight of the format has 32 bits: 35.8 min in microseconds.
#[test]
fn firefoxes_samples_have_the_time_of_hours_too() {
    let clock = Clock { ticks: 1 << 44, raw_ns: 1 << 44, real_ns: 1 << 44 };
    let hours = 2 * 3_600 * 1_000_000;
    let records = [
        Record::Clock(clock),
        function(1, "main"),
        function(2, "after"),
        Record::Call(vague(1, (0, 0), (hours, 0), 0)),
        Record::Call(vague(2, (hours + 5, 0), (hours + 12, 0), 0)),
    ];
    let text = export(&trace("hours.trace", &records, 0), &["--to", "firefox"]);
    let file: Value = serde_json::from_str(&text).expect("JSON");
    let samples = &file["threads"][0]["samples"];
    let weights: Vec<u64> = samples["weight"]
        .as_array()
        .expect("a column")
        .iter()
        .map(|weight| weight.as_u64().expect("positive"))
        .collect();
    assert_eq!(weights.iter().sum::<u64>(), hours + 7);
    assert!(weights.iter().all(|weight| *weight <= i32::MAX as u64), "{weights:?}");
}

/// The fields of a message of protocol buffers: numbers with what they hold. Varints and what has a length are all that
/// pprof's messages have.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Result<u64, &[u8]>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first().expect("a number ends");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut found = vec![];
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        found.push(match key & 7 {
            0 => (key >> 3, Ok(varint(&mut bytes))),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (held, rest) = bytes.split_at(length);
                bytes = rest;
                (key >> 3, Err(held))
            }
            other => panic!("a field of kind {other}"),
        });
    }
    found
}

/// Read by the numbers of pprof's `profile.proto`: 1 types, 2 samples, 4 locations, 5 functions, 6 strings.
#[test]
fn pprofs_samples_lead_to_names_and_have_all_calls_and_time() {
    let done = profile("export", &requests("pprof.trace"), &["--to", "pprof"]);
    assert!(done.status.success(), "{done:?}");
    let all = fields(&done.stdout);
    let of = |number: u64| {
        let held = all.iter().filter(move |(found, _)| *found == number);
        held.map(|(_, held)| held.expect_err("it has a length")).collect::<Vec<&[u8]>>()
    };
    let strings: Vec<&str> =
        of(6).into_iter().map(|text| std::str::from_utf8(text).expect("text")).collect();
    assert_eq!(strings[0], "", "as the format has it");
    let number = |message: &[u8], field: u64| {
        let found = fields(message).into_iter().find(|(number, _)| *number == field);
        found.map_or(0, |(_, value)| value.expect("a number"))
    };
    // Repeated numbers are packed: lengths before varints without keys, each below 2³² here and of one byte for places.
    let packed = |message: &[u8], field: u64| {
        let found = fields(message).into_iter().find(|(number, _)| *number == field);
        let mut rest = found.expect("it is there").1.expect_err("it is packed");
        let mut values = vec![];
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| byte & 0x80 == 0).expect("a number ends") + 1;
            let digits = rest[..end].iter().enumerate();
            values.push(digits.map(|(at, byte)| u64::from(byte & 0x7f) << (7 * at)).sum::<u64>());
            rest = &rest[end..];
        }
        values
    };
    let kinds: Vec<&str> = of(1).iter().map(|kind| strings[number(kind, 1) as usize]).collect();
    assert_eq!(kinds, ["calls", "time"]);
    let name = |location: u64| {
        let found = of(4).into_iter().find(|one| number(one, 1) == location).expect("a location");
        let line = fields(found).into_iter().find(|(field, _)| *field == 4).expect("a line").1;
        let function = number(line.expect_err("a message"), 1);
        let found = of(5).into_iter().find(|one| number(one, 1) == function).expect("a function");
        strings[number(found, 2) as usize]
    };
    let samples: Vec<(Vec<&str>, Vec<u64>)> = of(2)
        .into_iter()
        .map(|sample| (packed(sample, 1).into_iter().map(name).collect(), packed(sample, 2)))
        .collect();
    let request = "ns::request(int; char)";
    let expected = [
        (vec!["main"], vec![1, MAIN_US * US]),
        (vec![request, "main"], vec![1_000, REQUEST_US * US]),
        (vec!["parse", request, "main"], vec![1_000, PARSE_US * US]),
    ];
    assert_eq!(samples, expected);
}

/// An event of the Chrome trace format.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Event {
    name: String,
    #[serde(default)]
    cat: String,
    ph: String,
    ts: f64,
    dur: Option<f64>,
    pid: u32,
    tid: u32,
    id: Option<u64>,
    s: Option<String>,
    args: serde_json::Map<String, Value>,
}

fn events(path: &Path) -> Vec<Event> {
    let file: Value = serde_json::from_str(&export(path, &["--to", "perfetto"])).expect("JSON");
    assert_eq!(file["displayTimeUnit"], "ns");
    serde_json::from_value(file["traceEvents"].clone()).expect("events")
}

#[test]
fn perfettos_calls_lie_within_one_another_on_their_threads() {
    let events = events(&requests("perfetto.trace"));
    let mut open: Vec<(f64, &str)> = vec![];
    let mut seen = HashMap::new();
    for event in events.iter().filter(|event| event.ph == "X") {
        let end = event.ts + event.dur.expect("a length");
        while open.pop_if(|(until, _)| *until <= event.ts).is_some() {}
        assert!(open.last().is_none_or(|(until, _)| end <= *until + 1e-3), "{event:?} in {open:?}");
        let around = open.last().map_or("", |(_, name)| name);
        *seen.entry((around.to_owned(), event.name.as_str())).or_insert(0) += 1;
        open.push((end, &event.name));
    }
    let request = "ns::request(int; char)";
    let expected = [(("", "main"), 1), (("main", request), 1_000), ((request, "parse"), 1_000)];
    let expected = expected.map(|((around, name), count)| ((around.to_owned(), name), count));
    assert_eq!(seen, HashMap::from(expected));
}

#[test]
fn perfetto_is_told_of_threads_waits_and_marks() {
    let events = events(&trace("marks.trace", &fig1(), 0));
    let of = |ph: &str| events.iter().filter(|event| event.ph == ph).collect::<Vec<_>>();
    let names: Vec<_> = of("M").iter().map(|event| event.args["name"].clone()).collect();
    assert_eq!(names, ["bin/fig1", "requests (100)", "snapshot (101)"]);
    let [begin, end] = ["b", "e"].map(|ph| of(ph)[0]);
    assert_eq!((begin.id, &begin.cat, begin.tid), (end.id, &end.cat, end.tid));
    assert!((end.ts - begin.ts - 900.0).abs() < 1e-6, "{begin:?} {end:?}");
    assert_eq!(begin.args["held in"], "fig1::snapshot");
    assert_eq!(begin.name, "requests (100) waits for mutex 0x5000");
    assert_eq!((&begin.args["thread"], &end.name), (&"requests (100)".into(), &begin.name));
    let marks: Vec<_> =
        of("i").iter().map(|event| (event.name.as_str(), event.s.as_deref())).collect();
    assert_eq!(marks, [("request 42 start", Some("t")), ("request 42 end", Some("t"))]);
    assert!(events.iter().all(|event| event.pid == 1 && (event.ph != "M" || event.ts == 0.0)));
    assert!(events.iter().all(|event| event.tid > 0 || event.ph == "M"), "0 is the kernel's");
}

#[test]
fn a_file_is_written_where_it_is_asked_for_and_what_is_missing_told() {
    let path = requests("file.trace");
    let to = path.with_extension("folded");
    let to = to.to_str().expect("a path");
    let done = profile("export", &path, &["--to", "folded", "-o", to]);
    assert_eq!(told(&done), "");
    assert_eq!(std::fs::read_to_string(to).expect("it is written").lines().count(), 3);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("1 calls in 3 stacks") && said.contains("Lost: 0 calls"), "{said}");
    let refused = profile("export", &path, &["--to", "folded", "-o", "/nowhere/x"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_trace_is_never_written_over_and_what_was_there_stays_where_an_export_fails() {
    let path = requests("kept.trace");
    let before = std::fs::read(&path).expect("a trace");
    let link = path.with_extension("link");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    for to in [&path, &link] {
        let to = to.to_str().expect("a path");
        let refused = profile("export", &path, &["--to", "folded", "-o", to]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("is the trace itself; name another file"), "{said}");
    }
    assert_eq!(std::fs::read(&path).expect("still there"), before);
    let earlier = path.with_extension("earlier");
    std::fs::write(&earlier, "an earlier result").expect("written");
    let to = earlier.to_str().expect("a path");
    for (from, flags) in [
        (PathBuf::from("/nowhere.trace"), &["--to", "folded", "-o", to][..]),
        (path.clone(), &["--to", "folded", "-f", "nowhere", "-o", to]),
    ] {
        assert_eq!(profile("export", &from, flags).status.code(), Some(2));
        assert_eq!(std::fs::read(&earlier).expect("still there"), b"an earlier result");
    }
    assert!(profile("export", &path, &["--to", "folded", "-o", to]).status.success());
    assert_eq!(std::fs::read_to_string(&earlier).expect("written").lines().count(), 3);
    let folder = path.parent().expect("a folder");
    let left = std::fs::read_dir(folder).expect("a folder").flatten();
    let left = left.map(|one| one.file_name().to_string_lossy().into_owned());
    let drafts: Vec<String> = left.filter(|name| name.starts_with(".kept.earlier.")).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
}

#[test]
fn what_is_no_regular_file_is_written_to_as_it_is() {
    let done = profile("export", &requests("null.trace"), &["--to", "folded", "-o", "/dev/null"]);
    assert!(done.status.success(), "{done:?}");
    use std::os::unix::fs::FileTypeExt as _;
    let there = std::fs::metadata("/dev/null").expect("still there");
    assert!(there.file_type().is_char_device());
}

#[test]
fn a_tail_of_too_few_calls_is_refused_with_how_many_it_takes() {
    let few = [
        function(1, "handle"),
        Record::Call(Call { generation: 1, ..vague(1, (0, 0), (10, 0), 0) }),
        Record::Call(Call { generation: 2, ..vague(1, (20, 0), (90, 0), 0) }),
    ];
    let path = trace("few.trace", &few, 0);
    let to = path.with_extension("none");
    let flags = ["--to", "folded", "-f", "handle", "--above", "p99", "-o"];
    let flags: Vec<&str> = flags.into_iter().chain([to.to_str().expect("a path")]).collect();
    let refused = profile("export", &path, &flags);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("2 calls; p99 needs 100 or more"), "{said}");
    assert!(!to.exists());
}
