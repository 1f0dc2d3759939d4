//! Speedscope's own format: one profile of weighted stacks.
//!
//! Its schema: `https://www.speedscope.app/file-format-schema.json`.

use serde::Serialize;
use std::io::{self, Write};
use tailwater_profile::stacks::Report;

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    exporter: &'a str,
    name: &'a str,
    #[serde(rename = "activeProfileIndex")]
    active_profile: usize,
    shared: Shared<'a>,
    profiles: [Profile<'a>; 1],
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Profile<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    name: &'a str,
    unit: &'a str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<&'a [u32]>,
    weights: Vec<u64>,
}

pub(super) fn write(report: &Report, program: &str, to: &mut impl Write) -> io::Result<()> {
    let frames = report.frames.iter().map(|frame| Frame {
        name: &frame.name,
        file: &frame.file,
        line: (frame.line > 0).then_some(frame.line),
    });
    let profile = Profile {
        kind: "sampled",
        name: program,
        unit: "nanoseconds",
        start: 0,
        end: report.total_ns,
        samples: report.stacks.iter().map(|stack| stack.frames.as_slice()).collect(),
        weights: report.stacks.iter().map(|stack| stack.ns).collect(),
    };
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("tailwater ", env!("CARGO_PKG_VERSION")),
        name: program,
        active_profile: 0,
        shared: Shared { frames: frames.collect() },
        profiles: [profile],
    };
    serde_json::to_writer(&mut *to, &file)?;
    writeln!(to)
}
