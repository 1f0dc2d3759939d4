//! The Firefox Profiler's processed format: the tables of `src/types/profile.ts`, as version 55 has them.

use super::shape::{
    Checked, Fault, ensure, hold_to, list, number, object, parsed, place, text, whole, without,
};
use super::{REQUEST, Stacks, expected};
use crate::profile_trace::export::{MAIN_US, REQUEST_US, export, requests};
use crate::profile_trace::made::{US, function, trace, vague};
use serde_json::Value;
use tailwater_profile::record::{Clock, Record};

/// Columns come and go with versions.
const VERSION: u64 = 55;
const FILE: &[&str] = &["meta", "libs", "threads", "pages?", "profilerOverhead?", "counters?"];
const META: &[&str] = &[
    "categories",
    "debug?",
    "extensions?",
    "interval",
    "preprocessedProfileVersion",
    "processType",
    "product",
    "oscpu?",
    "sampleUnits?",
    "startTime",
    "symbolicated?",
    "pausedRanges?",
    "version",
    "usesOnlyOneStackType?",
    "sourceCodeIsNotOnSearchfox?",
    "markerSchema",
    "initialVisibleThreads?",
    "initialSelectedThreads?",
];
const THREAD: &[&str] = &[
    "processType",
    "processStartupTime",
    "processShutdownTime",
    "registerTime",
    "unregisterTime",
    "pausedRanges",
    "showMarkersInTimeline?",
    "name",
    "isMainThread",
    "processName?",
    "pid",
    "tid",
    "samples",
    "markers",
    "stackTable",
    "frameTable",
    "stringArray",
    "funcTable",
    "resourceTable",
    "nativeSymbols",
    "nativeAllocations?",
];
const FUNCTIONS: &[&str] =
    &["name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber", "columnNumber"];
const FRAMES: &[&str] = &[
    "address",
    "inlineDepth",
    "category",
    "subcategory",
    "func",
    "nativeSymbol",
    "innerWindowID",
    "line",
    "column",
];
const SAMPLES: &[&str] = &["stack", "timeDeltas", "weight", "threadCPUDelta"];
const MARKERS: &[&str] = &["data", "name", "startTime", "endTime", "phase", "category"];

/// The stacks of the samples of the one thread that the file has, each with its weight.
fn read(json: &str) -> Checked<Stacks> {
    let file = parsed(json)?;
    object(&file, "the file", FILE)?;
    let categories = categories(&file["meta"])?;
    let libs = list(&file["libs"], "libs")?.len();
    let threads = list(&file["threads"], "threads")?;
    match threads {
        [thread] => stacks(thread, categories, libs),
        _ => Err(format!("{} threads", threads.len())),
    }
}

/// How many there are. Stacks without one get the grey one.
fn categories(meta: &Value) -> Checked<usize> {
    object(meta, "meta", META)?;
    let version = whole(&meta["preprocessedProfileVersion"], "preprocessedProfileVersion")?;
    ensure(version == VERSION, || format!("preprocessedProfileVersion is {version}"))?;
    for key in ["version", "processType", "startTime"] {
        number(&meta[key], key)?;
    }
    let interval = number(&meta["interval"], "interval")?;
    ensure(interval > 0.0, || format!("interval is {interval}"))?;
    let categories = list(&meta["categories"], "categories")?;
    for category in categories {
        object(category, "a category", &["name", "color", "subcategories"])?;
    }
    let is_grey = categories.iter().any(|category| category["color"] == "grey");
    ensure(is_grey, || "no category is grey".to_owned())?;
    Ok(categories.len())
}

/// How long a table is, all columns of which are as long.
fn length(thread: &Value, name: &str, columns: &[&str], beside: Option<&str>) -> Checked<usize> {
    let table = &thread[name];
    let keys: Vec<&str> = columns.iter().copied().chain(["length"]).chain(beside).collect();
    object(table, name, &keys)?;
    let length = whole(&table["length"], name)? as usize;
    for column in columns {
        let found = list(&table[*column], column)?.len();
        ensure(found == length, || format!("{name} has {found} of {column}, of {length}"))?;
    }
    Ok(length)
}

fn stacks(thread: &Value, categories: usize, libs: usize) -> Checked<Stacks> {
    object(thread, "a thread", THREAD)?;
    let mut strings = vec![];
    for one in list(&thread["stringArray"], "stringArray")? {
        strings.push(text(one, "stringArray")?);
    }
    let resources = length(thread, "resourceTable", &["lib", "name", "host", "type"], None)?;
    let symbols = ["libIndex", "address", "name", "functionSize"];
    let symbols = length(thread, "nativeSymbols", &symbols, None)?;
    let functions = length(thread, "funcTable", FUNCTIONS, None)?;
    let frames = length(thread, "frameTable", FRAMES, None)?;
    let stacks = length(thread, "stackTable", &["frame", "prefix"], None)?;
    length(thread, "samples", SAMPLES, Some("weightType"))?;
    length(thread, "markers", MARKERS, None)?;
    let (null, none) = (Value::Null, Value::from(-1));
    for (table, column, bound, missing) in [
        ("resourceTable", "lib", libs, Some(&null)),
        ("resourceTable", "name", strings.len(), None),
        ("nativeSymbols", "libIndex", libs, None),
        ("nativeSymbols", "name", strings.len(), None),
        ("funcTable", "name", strings.len(), None),
        ("funcTable", "resource", resources, Some(&none)),
        ("frameTable", "func", functions, None),
        ("frameTable", "category", categories, Some(&null)),
        ("frameTable", "nativeSymbol", symbols, Some(&null)),
        ("stackTable", "frame", frames, None),
        ("stackTable", "prefix", stacks, Some(&null)),
        ("samples", "stack", stacks, None),
        ("markers", "name", strings.len(), None),
        ("markers", "category", categories, None),
    ] {
        for at in list(&thread[table][column], column)? {
            if Some(at) != missing {
                place(at, bound, column)?;
            }
        }
    }
    // Readers walk the table once, from its beginning.
    let prefixes = list(&thread["stackTable"]["prefix"], "prefix")?;
    for (at, prefix) in prefixes.iter().enumerate() {
        let is_after = prefix.as_u64().is_none_or(|prefix| prefix < at as u64);
        ensure(is_after, || format!("stack {at} comes before its prefix"))?;
    }
    let path = |stack: &Value| -> Checked<Vec<String>> {
        let (mut path, mut at) = (vec![], stack);
        while let Some(stack) = at.as_u64() {
            let frame = place(&thread["stackTable"]["frame"][stack as usize], frames, "frame")?;
            let function = place(&thread["frameTable"]["func"][frame], functions, "func")?;
            let name = place(&thread["funcTable"]["name"][function], strings.len(), "name")?;
            path.push(strings[name].to_owned());
            at = &prefixes[stack as usize];
        }
        path.reverse();
        Ok(path)
    };
    samples(&thread["samples"], path)
}

fn samples(samples: &Value, path: impl Fn(&Value) -> Checked<Vec<String>>) -> Checked<Stacks> {
    let kind = text(&samples["weightType"], "weightType")?;
    ensure(kind == "samples", || format!("weightType is {kind}"))?;
    for delta in list(&samples["timeDeltas"], "timeDeltas")? {
        let ms = number(delta, "timeDeltas")?;
        ensure(ms >= 0.0, || format!("time goes back by {ms} ms"))?;
    }
    let mut found = vec![];
    let weights = list(&samples["weight"], "weight")?;
    for (stack, weight) in list(&samples["stack"], "stack")?.iter().zip(weights) {
        let weight = whole(weight, "weight")?;
        let is_one = (1..=i32::MAX as u64).contains(&weight);
        ensure(is_one, || format!("weight is {weight}, and has 31 bits"))?;
        found.push((path(stack)?, weight));
    }
    Ok(found)
}

#[test]
fn firefoxes_tables_fit_one_another_and_have_all_the_time() {
    let json = export(&requests("firefox.trace"), &["--to", "firefox"]);
    assert_eq!(read(&json), Ok(expected(REQUEST, US)), "a sample for each microsecond");
    let file = parsed(&json).expect("it was read");
    let deltas = list(&file["threads"][0]["samples"]["timeDeltas"], "times").expect("a column");
    // Each begins where the one before it ends.
    for (delta, us) in deltas.iter().zip([0, MAIN_US, REQUEST_US]) {
        let ms = delta.as_f64().expect("a number");
        assert!((ms - us as f64 / 1e3).abs() < 1e-6, "{deltas:?}");
    }
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
    let stacks = read(&export(&trace("hours.trace", &records, 0), &["--to", "firefox"]));
    let stacks = stacks.expect("no weight has more bits");
    assert_eq!(stacks.iter().map(|(_, weight)| weight).sum::<u64>(), hours + 7);
    assert_eq!(stacks.len(), 5, "four entries of two hours, and one of what came after");
}

const FAULTS: &[Fault] = &[
    ("the file lacks libs", |file| without(file, "libs")),
    ("meta has a key colour", |file| file["meta"]["colour"] = "red".into()),
    ("preprocessedProfileVersion is 54", |file| {
        file["meta"]["preprocessedProfileVersion"] = 54.into();
    }),
    ("interval is 0", |file| file["meta"]["interval"] = 0.into()),
    ("no category is grey", |file| file["meta"]["categories"][0]["color"] = "red".into()),
    ("a thread lacks stringArray", |file| without(&mut file["threads"][0], "stringArray")),
    ("samples has a key rss", |file| file["threads"][0]["samples"]["rss"] = Value::Null),
    ("samples has 3 of stack, of 9", |file| file["threads"][0]["samples"]["length"] = 9.into()),
    ("stringArray is no text", |file| file["threads"][0]["stringArray"][0] = 7.into()),
    ("name is 99", |file| file["threads"][0]["funcTable"]["name"][0] = 99.into()),
    ("resource is 0, of 0", |file| file["threads"][0]["funcTable"]["resource"][0] = 0.into()),
    ("func is 99", |file| file["threads"][0]["frameTable"]["func"][0] = 99.into()),
    ("category is 99", |file| file["threads"][0]["frameTable"]["category"][0] = 99.into()),
    ("frame is 99", |file| file["threads"][0]["stackTable"]["frame"][0] = 99.into()),
    ("prefix is 99", |file| file["threads"][0]["stackTable"]["prefix"][0] = 99.into()),
    ("stack 1 comes before", |file| file["threads"][0]["stackTable"]["prefix"][1] = 1.into()),
    ("stack is no whole number", |file| file["threads"][0]["samples"]["stack"][0] = Value::Null),
    ("time goes back", |file| file["threads"][0]["samples"]["timeDeltas"][1] = (-1).into()),
    ("weight is 0", |file| file["threads"][0]["samples"]["weight"][0] = 0.into()),
    ("weightType is bytes", |file| file["threads"][0]["samples"]["weightType"] = "bytes".into()),
];

#[test]
fn files_that_are_not_the_firefox_profilers_are_refused() {
    let json = export(&requests("firefox-broken.trace"), &["--to", "firefox"]);
    hold_to(&json, FAULTS, read);
}
