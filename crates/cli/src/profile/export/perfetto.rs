//! What Perfetto reads: each call at its time, waits on lines of their own.

use super::chrome::{Event, Events, us};
use super::lanes;
use crate::profile::reading::near;
use serde_json::json;
use std::collections::HashMap;
use std::io::{self, Write};
use tailwater_profile::history::{CallSpan, MarkPoint, Report, WaitSpan};
use tailwater_profile::kernel::LanesReport;
use tailwater_profile::record::ThreadId;
use tailwater_profile::trace::Header;

pub(super) fn write(
    report: &Report,
    header: &Header,
    kernel: &LanesReport,
    to: &mut impl Write,
) -> io::Result<()> {
    writeln!(to, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut events = Events::new(to, header.pid.max(1));
    events.name("process_name", 0, near(&header.program))?;
    for (id, name) in &report.threads {
        events.name("thread_name", tid(*id), name)?;
    }
    report.calls.iter().try_for_each(|call| events.call(call))?;
    let names: HashMap<ThreadId, &str> =
        report.threads.iter().map(|(id, name)| (*id, name.as_str())).collect();
    for (nth, wait) in report.waits.iter().enumerate() {
        let thread = names.get(&wait.thread).copied().unwrap_or_default();
        events.wait(wait, nth, thread)?;
    }
    report.marks.iter().try_for_each(|mark| events.mark(mark))?;
    if !kernel.spans.is_empty() {
        lanes::write(kernel, header.clock.raw_ns, &mut events)?;
    }
    writeln!(to, "\n]}}")
}

/// The trace's own number, since fibers share the kernel's; none is zero, which is the kernel's idle thread.
const fn tid(thread: ThreadId) -> u32 {
    thread.0.saturating_add(1)
}

impl<W: Write> Events<'_, W> {
    fn name(&mut self, what: &str, tid: u32, name: &str) -> io::Result<()> {
        self.put(Event { name: what, args: json!({ "name": name }), ..self.at("M", tid, 0) })
    }

    fn call(&mut self, call: &CallSpan) -> io::Result<()> {
        let args = json!({
            "at least µs": us(call.took.low_ns),
            "at most µs": call.took.high_ns.map(us),
        });
        let (name, dur) = (&*call.function, Some(us(call.ns)));
        self.put(Event {
            name,
            cat: "call",
            dur,
            args,
            ..self.at("X", tid(call.thread), call.start_ns)
        })
    }

    /// On a line of its own: calls are known by when the scanner looked, so a wait may seem to go beyond the one that
    /// it lay in. What overlaps on a line is not shown. Such lines belong to the process, so the name says the
    /// thread.
    fn wait(&mut self, wait: &WaitSpan, nth: usize, thread: &str) -> io::Result<()> {
        let name = format!("{thread} waits for {} {:#x}", wait.kind, wait.object);
        let args = json!({ "thread": thread, "holder": wait.holder, "held in": wait.held_in });
        let (name, cat, id, tid) = (&*name, "wait", Some(nth), tid(wait.thread));
        self.put(Event { name, cat, id, args, ..self.at("b", tid, wait.start_ns) })?;
        let end = self.at("e", tid, wait.start_ns + wait.ns);
        self.put(Event { name, cat, id, ..end })
    }

    fn mark(&mut self, mark: &MarkPoint) -> io::Result<()> {
        let name = match mark.kind {
            // Not a request's: its number is bytes.
            "size" => format!("size {} B", mark.request),
            kind => format!("request {} {kind}", mark.request),
        };
        let at = self.at("i", tid(mark.thread), mark.at_ns);
        self.put(Event { name: &name, cat: "mark", s: Some("t"), ..at })
    }
}
