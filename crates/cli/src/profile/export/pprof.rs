//! The format of pprof: two values for each stack, calls and nanoseconds.
//!
//! Messages and numbers are those of pprof's `profile.proto`. Readers take it without compression, too.

use prost::Message;
use std::collections::HashMap;
use std::io::{self, Write};
use tailwater_profile::stacks::Report;
use tailwater_profile::trace::Header;

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

/// Both are places in the table of strings.
#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    /// The innermost first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
    #[prost(int64, tag = "5")]
    start_line: i64,
}

/// Each text once; the first is empty, as the format has it.
struct Strings {
    all: Vec<String>,
    places: HashMap<String, i64>,
}

impl Strings {
    fn place(&mut self, text: &str) -> i64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.all.len() as i64;
        self.places.insert(text.to_owned(), place);
        self.all.push(text.to_owned());
        place
    }
}

pub(super) fn write(report: &Report, header: &Header, to: &mut impl Write) -> io::Result<()> {
    let mut strings = Strings { all: vec![], places: HashMap::new() };
    strings.place("");
    let value_type = |kind, unit, strings: &mut Strings| ValueType {
        kind: strings.place(kind),
        unit: strings.place(unit),
    };
    let sample_type = vec![
        value_type("calls", "count", &mut strings),
        value_type("time", "nanoseconds", &mut strings),
    ];
    let default_sample_type = strings.place("time");
    // Numbers begin at one.
    let (mut location, mut function) = (vec![], vec![]);
    for (id, frame) in (1..).zip(&report.frames) {
        let name = strings.place(&frame.name);
        let (filename, start_line) = (strings.place(&frame.file), i64::from(frame.line));
        function.push(Function { id, name, system_name: name, filename, start_line });
        location.push(Location { id, line: vec![Line { function_id: id, line: start_line }] });
    }
    let value = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let sample = report.stacks.iter().map(|stack| Sample {
        location_id: stack.frames.iter().rev().map(|at| u64::from(*at) + 1).collect(),
        value: vec![value(stack.calls), value(stack.ns)],
    });
    let sample = sample.collect();
    let string_table = strings.all;
    let time_nanos = value(header.clock.real_ns);
    let profile = Profile {
        sample_type,
        sample,
        location,
        function,
        string_table,
        time_nanos,
        default_sample_type,
    };
    to.write_all(&profile.encode_to_vec())
}
