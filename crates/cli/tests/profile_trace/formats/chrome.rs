//! The Chrome trace format, which Perfetto reads: what "Trace Event Format" (Google, 2016) asks of the events that there are.

use super::REQUEST;
use super::shape::{
    Checked, Fault, ensure, hold_to, list, number, object, parsed, text, whole, without,
};
use crate::profile_trace::export::{export, requests};
use crate::profile_trace::made::{fig1, trace};
use crate::profile_trace::slowest::kernel;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What the kernel did is told as a process of this number.
const KERNEL: u64 = 1 << 30;

/// A process and a thread.
type Track = (u64, u64);

/// An event, with times in nanoseconds.
#[derive(Debug)]
struct Event {
    name: String,
    cat: String,
    ph: String,
    start_ns: u64,
    ns: u64,
    track: Track,
    id: Option<u64>,
    args: Value,
}

impl Event {
    fn end_ns(&self) -> u64 {
        self.start_ns + self.ns
    }
}

/// The file's events, in its order.
fn read(json: &str) -> Checked<Vec<Event>> {
    let file = parsed(json)?;
    object(&file, "the file", &["traceEvents", "displayTimeUnit"])?;
    let unit = text(&file["displayTimeUnit"], "displayTimeUnit")?;
    ensure(["ms", "ns"].contains(&unit), || format!("displayTimeUnit is {unit}"))?;
    let events = list(&file["traceEvents"], "traceEvents")?;
    let events: Vec<Event> = events.iter().map(event).collect::<Checked<_>>()?;
    tracks_are_named(&events)?;
    halves_meet(&events)?;
    around(&events)?;
    Ok(events)
}

fn event(event: &Value) -> Checked<Event> {
    let ph = text(&event["ph"], "ph")?;
    let more: &[&str] = match ph {
        "X" => &["cat?", "dur"],
        "b" | "e" => &["cat", "id"],
        "i" => &["cat?", "s"],
        "M" => &[],
        _ => return Err(format!("ph is {ph}")),
    };
    let keys = ["name", "ph", "ts", "pid", "tid", "args"];
    let keys: Vec<&str> = keys.iter().chain(more).copied().collect();
    object(event, "an event", &keys)?;
    let name = text(&event["name"], "name")?;
    if ph == "M" {
        let is_known = ["process_name", "thread_name"].contains(&name);
        ensure(is_known, || format!("nothing is called {name}"))?;
        object(&event["args"], "args", &["name"])?;
        text(&event["args"]["name"], "name")?;
    }
    if ph == "i" {
        let scope = text(&event["s"], "s")?;
        ensure(["g", "p", "t"].contains(&scope), || format!("s is {scope}"))?;
    }
    ensure(event["args"].is_object(), || format!("args are {}", event["args"]))?;
    let ns = |key: &str| -> Checked<u64> {
        let us = number(&event[key], key)?;
        ensure(us >= 0.0, || format!("{key} is {us}"))?;
        Ok((us * 1e3).round() as u64)
    };
    Ok(Event {
        name: name.to_owned(),
        cat: event.get("cat").map_or(Ok(""), |cat| text(cat, "cat"))?.to_owned(),
        ph: ph.to_owned(),
        start_ns: ns("ts")?,
        ns: if ph == "X" { ns("dur")? } else { 0 },
        track: (whole(&event["pid"], "pid")?, whole(&event["tid"], "tid")?),
        id: event.get("id").map(|id| whole(id, "id")).transpose()?,
        args: event["args"].clone(),
    })
}

fn of<'a>(events: &'a [Event], ph: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.ph == ph).collect()
}

/// Each process has a name, and each thread of which something is told.
fn tracks_are_named(events: &[Event]) -> Checked {
    let names = of(events, "M").into_iter();
    let (processes, threads): (Vec<&Event>, Vec<&Event>) =
        names.partition(|event| event.name == "process_name");
    let processes: BTreeSet<u64> = processes.iter().map(|event| event.track.0).collect();
    let threads: BTreeSet<Track> = threads.iter().map(|event| event.track).collect();
    for event in events.iter().filter(|event| event.ph != "M") {
        let is_named = processes.contains(&event.track.0) && threads.contains(&event.track);
        ensure(is_named, || format!("{} is in a thread without a name", event.name))?;
    }
    Ok(())
}

/// What begins under a number ends under it, once and not before.
fn halves_meet(events: &[Event]) -> Checked {
    let mut open: BTreeMap<(&str, Option<u64>), &Event> = BTreeMap::new();
    for event in events {
        let key = (event.cat.as_str(), event.id);
        let meets = match event.ph.as_str() {
            "b" => open.insert(key, event).is_none(),
            "e" => open
                .remove(&key)
                .is_some_and(|begin| begin.name == event.name && begin.start_ns <= event.start_ns),
            _ => true,
        };
        ensure(meets, || format!("{} of {} has no other half", event.ph, event.name))?;
    }
    open.values().next().map_or(Ok(()), |event| Err(format!("{} never ends", event.name)))
}

/// What each call lies in, and its name. On a thread calls begin one after another, and end as they are nested.
fn around(events: &[Event]) -> Checked<Vec<(&str, &str)>> {
    let mut tracks: BTreeMap<Track, (u64, Vec<&Event>)> = BTreeMap::new();
    let mut found = vec![];
    for event in of(events, "X") {
        let (last_ns, open) = tracks.entry(event.track).or_default();
        ensure(*last_ns <= event.start_ns, || format!("{} comes late in the file", event.name))?;
        *last_ns = event.start_ns;
        while open.pop_if(|outer| outer.end_ns() <= event.start_ns).is_some() {}
        let outer = open.last().copied();
        let is_within = outer.is_none_or(|outer| event.end_ns() <= outer.end_ns());
        ensure(is_within, || format!("{} ends after what it lies in", event.name))?;
        found.push((outer.map_or("", |outer| outer.name.as_str()), event.name.as_str()));
        open.push(event);
    }
    Ok(found)
}

#[test]
fn perfettos_calls_lie_within_one_another_on_their_threads() {
    let json = export(&requests("perfetto.trace"), &["--to", "perfetto"]);
    let events = read(&json).expect("as the format has it");
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for call in around(&events).expect("they are nested") {
        *counts.entry(call).or_default() += 1;
    }
    let expected = [(("", "main"), 1), (("main", REQUEST), 1_000), ((REQUEST, "parse"), 1_000)];
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn perfetto_is_told_of_threads_waits_and_marks() {
    let json = export(&trace("marks.trace", &fig1(), 0), &["--to", "perfetto"]);
    let events = read(&json).expect("as the format has it");
    let of = |ph: &str| of(&events, ph);
    let names: Vec<_> = of("M").iter().map(|event| event.args["name"].clone()).collect();
    assert_eq!(names, ["bin/fig1", "requests (100)", "snapshot (101)"]);
    let [begin, end] = ["b", "e"].map(|ph| of(ph)[0]);
    assert_eq!((&begin.cat, begin.track), (&end.cat, end.track));
    assert_eq!(end.start_ns - begin.start_ns, 900_000, "{begin:?} {end:?}");
    assert_eq!(begin.args["held in"], "fig1::snapshot");
    assert_eq!(begin.args["thread"], "requests (100)");
    assert_eq!(begin.name, "requests (100) waits for mutex 0x5000");
    let marks: Vec<_> = of("i").iter().map(|event| event.name.as_str()).collect();
    assert_eq!(marks, ["request 42 start", "request 42 end"]);
    let is_sound = |event: &Event| {
        let (pid, tid) = event.track;
        // 0 is the kernel's idle thread.
        pid == 1 && if event.ph == "M" { event.start_ns == 0 } else { tid > 0 }
    };
    assert!(events.iter().all(is_sound), "{events:?}");
}

/// What a program and the kernel did, in one file.
fn with_kernel(name: &str) -> String {
    trace(&format!("{name}.kernel"), &kernel(), 0);
    export(&trace(name, &fig1(), 0), &["--to", "perfetto"])
}

#[test]
fn what_the_kernel_did_is_a_process_of_its_own() {
    let events = read(&with_kernel("lanes.trace")).expect("as the format has it");
    let of_kernel = events.iter().filter(|event| event.track.0 == KERNEL && event.ph == "X");
    let states: BTreeSet<(u64, &str)> =
        of_kernel.map(|event| (event.track.1, event.name.as_str())).collect();
    let expected =
        [(100, "asleep"), (100, "running"), (101, "running"), (101, "waiting for a core")];
    assert_eq!(states, BTreeSet::from(expected));
}

/// The first event of a kind.
fn first<'a>(file: &'a mut Value, ph: &str) -> &'a mut Value {
    let events = file["traceEvents"].as_array_mut().expect("a list");
    events.iter_mut().find(|event| event["ph"] == ph).expect("an event")
}

const FAULTS: &[Fault] = &[
    ("the file has a key colour", |file| file["colour"] = "red".into()),
    ("displayTimeUnit is s", |file| file["displayTimeUnit"] = "s".into()),
    ("ph is Q", |file| first(file, "X")["ph"] = "Q".into()),
    ("an event has a key colour", |file| first(file, "X")["colour"] = "red".into()),
    ("an event lacks dur", |file| without(first(file, "X"), "dur")),
    ("an event lacks id", |file| without(first(file, "b"), "id")),
    ("ts is -1", |file| first(file, "X")["ts"] = (-1).into()),
    ("dur is no number", |file| first(file, "X")["dur"] = "1".into()),
    ("tid is no whole number", |file| first(file, "i")["tid"] = Value::Null),
    ("s is q", |file| first(file, "i")["s"] = "q".into()),
    ("args are 7", |file| first(file, "i")["args"] = 7.into()),
    ("nothing is called color", |file| first(file, "M")["name"] = "color".into()),
    ("args lacks name", |file| without(&mut first(file, "M")["args"], "name")),
    ("in a thread without a name", |file| first(file, "X")["tid"] = 99.into()),
    ("e of requests", |file| first(file, "e")["id"] = 77.into()),
    ("e of requests", |file| first(file, "e")["ts"] = 0.into()),
    ("never ends", |file| {
        let events = file["traceEvents"].as_array_mut().expect("a list");
        events.retain(|event| event["ph"] != "e");
    }),
];

/// Of `main` around all requests.
const NESTING: &[Fault] = &[
    ("ends after what it lies in", |file| first(file, "X")["dur"] = 1.into()),
    ("comes late in the file", |file| first(file, "X")["ts"] = 30_000_000.into()),
];

#[test]
fn files_that_are_not_in_the_chrome_trace_format_are_refused() {
    hold_to(&with_kernel("lanes-broken.trace"), FAULTS, read);
    let nested = export(&requests("perfetto-broken.trace"), &["--to", "perfetto"]);
    hold_to(&nested, NESTING, read);
}
