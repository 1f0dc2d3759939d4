//! What the kernel did with threads, as a process of its own in the Chrome trace format.

use super::chrome::{Event, Events, us};
use serde_json::json;
use std::io::{self, Write};
use tailwater_profile::kernel::{KernelSpan, LanesReport};

/// In place of a process's number: Linux has none above 2²² (`PID_MAX_LIMIT`).
const PID: u32 = 1 << 30;

/// Writes each state and interruption of each thread that overlaps the recording, which began at `began_ns`.
pub(super) fn write<W: Write>(
    report: &LanesReport,
    began_ns: u64,
    events: &mut Events<'_, W>,
) -> io::Result<()> {
    let at = |ph, tid, ts| Event { pid: PID, ..events.at(ph, tid, ts) };
    let mut told = vec![Event {
        name: "process_name",
        args: json!({ "name": "what the kernel did with them" }),
        ..at("M", 0, 0)
    }];
    for (tid, name) in &report.threads {
        told.push(Event { name: "thread_name", args: json!({ "name": name }), ..at("M", *tid, 0) });
    }
    told.extend(report.spans.iter().filter_map(|span| {
        let to_ns = (span.from_ns + span.ns).checked_sub(began_ns)?;
        let from_ns = span.from_ns.saturating_sub(began_ns);
        let ph = if span.ns == 0 { "i" } else { "X" };
        let dur = (span.ns > 0).then(|| us(to_ns - from_ns));
        let s = (span.ns == 0).then_some("t");
        let (name, args) = (span.name.as_str(), args(span));
        Some(Event { name, cat: "kernel", dur, s, args, ..at(ph, span.tid, from_ns) })
    }));
    told.into_iter().try_for_each(|event| events.put(event))
}

fn args(span: &KernelSpan) -> serde_json::Value {
    match (span.cpu, &span.why) {
        (Some(cpu), Some(why)) => json!({ "cpu": cpu, "why": why }),
        (Some(cpu), None) => json!({ "cpu": cpu }),
        (None, Some(why)) => json!({ "why": why }),
        (None, None) => json!({}),
    }
}
