//! Slow requests and calls as time lines, on a page or in a terminal: what each thread did meanwhile.

mod subject;
mod threads;

pub(super) use subject::Subject;

use super::companion::Companion;
use super::reading::Trace;
use crate::failure::Failure;
use crate::terminal::style;
use std::collections::BTreeSet;
use std::path::Path;
use subject::Whose;
use tailwater_profile::history::{self, History};
use tailwater_profile::kernel::{KernelSpan, Lanes, LanesReport};
use tailwater_profile::names::Names;
use tailwater_profile::record::ThreadId;
use tailwater_report::{Timeline, TimelineRow};
use threads::{Drawn, arrows, by_thread, chosen};

/// Characters of a line, where a terminal does not say.
const WIDTH: u16 = 100;

/// What bars are of. Each has a colour; the ninth has that of the first, beside which it is never drawn.
const SERIES: [&str; 9] = [
    "queued",
    "waiting for a lock",
    "in a function",
    "pending",
    "waiting for a core",
    "running",
    "asleep or stopped",
    "unknown",
    "interrupted",
];
const QUEUED: usize = 0;
const LOCK: usize = 1;
const FUNCTION: usize = 2;
const PENDING: usize = 3;
const CORE: usize = 4;
const RUNNING: usize = 5;
const ASLEEP: usize = 6;
const UNKNOWN: usize = 7;
const INTERRUPTED: usize = 8;

/// How much of a time line is drawn.
#[derive(Clone, Copy)]
struct Room {
    /// Threads: its own, those that held these up, and those that did most.
    threads: usize,
    /// Levels of calls of each, the outermost.
    levels: usize,
}

const PAGE: Room = Room { threads: 12, levels: 16 };
const TERMINAL: Room = Room { threads: 4, levels: 6 };

/// What a trace and the kernel's file beside it tell of the times of some requests or calls.
pub(super) struct Told<'a> {
    subjects: Vec<Subject<'a>>,
    names: &'a Names,
    history: history::Report,
    kernel: LanesReport,
    /// When the recording began, in nanoseconds of `CLOCK_MONOTONIC_RAW`.
    began_ns: u64,
}

impl<'a> Told<'a> {
    /// Reads both. Damage and losses are told of in the report that the subjects are from.
    pub(super) fn read(
        trace: &Path,
        subjects: Vec<Subject<'a>>,
        names: &'a Names,
    ) -> Result<Self, Failure> {
        let reading = Trace::open(trace)?;
        let header = reading.header().clone();
        let mut history = History::new(&header).within(subjects.iter().map(|one| one.span));
        let ending = reading.read(|item| {
            if let Ok(record) = item {
                history.add(record);
            }
        });
        let began_ns = header.clock.raw_ns;
        let window = |one: &Subject<'_>| {
            (began_ns.saturating_add(one.window.from), began_ns.saturating_add(one.window.to))
        };
        let mut lanes = Lanes::default().within(subjects.iter().map(window));
        if let Some(kernel) = Companion::Kernel.open(trace, &header) {
            kernel.read(|item| {
                if let Ok(record) = item {
                    lanes.add(record);
                }
            });
        }
        let (history, kernel) = (history.finish(&ending), lanes.finish());
        Ok(Self { subjects, names, history, kernel, began_ns })
    }

    /// The time lines of a page, with their names on it.
    pub(super) fn on_page(&self) -> Vec<(String, Timeline)> {
        let named = |one: &Subject<'_>| (one.id.clone(), self.timeline(one, PAGE));
        self.subjects.iter().map(named).collect()
    }

    /// Those of a terminal, as text.
    pub(super) fn in_terminal(&self) -> Vec<String> {
        self.subjects.iter().map(|one| text(&self.timeline(one, TERMINAL))).collect()
    }

    /// The time of one from left to right: its own state above, and below what each thread did meanwhile.
    fn timeline(&self, subject: &Subject<'_>, room: Room) -> Timeline {
        let window = subject.window;
        let threads = by_thread(&self.history, window);
        let mut ids = chosen(&threads, &self.own(subject), window);
        let left_out = ids.len().saturating_sub(room.threads);
        ids.truncate(room.threads);
        let none = threads::Did::default();
        let drawn = |id: ThreadId| {
            let did = threads.get(&id).unwrap_or(&none);
            (id, Drawn::new(did, self.of_kernel(id), subject, room.levels))
        };
        let drawn: Vec<(ThreadId, Drawn<'_>)> = ids.into_iter().map(drawn).collect();
        let arrows = arrows(&drawn, subject);
        let row = |(id, drawn): (ThreadId, Drawn<'_>)| TimelineRow {
            label: self.names.of_thread(id),
            bars: drawn.bars,
        };
        let own = TimelineRow { label: subject.label.to_owned(), bars: subject.states() };
        let more = match left_out {
            0 => String::new(),
            more => format!("; {more} more threads did less"),
        };
        Timeline {
            title: subject.title.clone(),
            subtitle: format!(
                "what each thread did meanwhile, callers above callees; times since it began{more}"
            ),
            ends: window.ends(),
            series: SERIES.map(str::to_owned).to_vec(),
            rows: std::iter::once(own).chain(drawn.into_iter().map(row)).collect(),
            arrows,
        }
    }

    /// The threads that worked for it.
    fn own(&self, subject: &Subject<'_>) -> BTreeSet<ThreadId> {
        match subject.whose {
            Whose::Thread(thread) => BTreeSet::from([thread]),
            Whose::Request(number) => {
                // Of a size the number is its bytes.
                let marks = self.history.marks.iter().filter(|mark| mark.kind != "size");
                let own =
                    marks.filter(|mark| mark.request == number && subject.window.holds(mark.at_ns));
                own.map(|mark| mark.thread).collect()
            }
        }
    }

    /// What the kernel did with a thread, with when that began in nanoseconds since the recording did: before, maybe.
    fn of_kernel(&self, thread: ThreadId) -> impl Iterator<Item = (i64, &KernelSpan)> + Clone {
        let (tid, began_ns) = (self.names.tid(thread), self.began_ns);
        let spans = &self.kernel.spans;
        let first = tid.map_or(spans.len(), |tid| spans.partition_point(|span| span.tid < tid));
        let own = spans[first..].iter().take_while(move |span| Some(span.tid) == tid);
        own.map(move |span| (span.from_ns as i64 - began_ns as i64, span))
    }
}

/// A time line in a terminal, as wide as that is.
pub(super) fn text(line: &Timeline) -> String {
    line.text(style().width.unwrap_or(WIDTH).into())
}
