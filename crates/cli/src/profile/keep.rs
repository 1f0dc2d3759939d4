//! `tailwater profile keep`: a trace cut down to its slowest requests, with all that happened meanwhile.

use super::output::Output;
use super::percentile::{percentile, percentile_name};
use super::reading::Trace;
use super::requests::UNMARKED;
use crate::failure::{Failure, say};
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tailwater_profile::record::{Measured, Record};
use tailwater_profile::retention::{Found, Retention, SLOWEST_KEPT};
use tailwater_profile::trace::{Ending, Header, Writer};
use tailwater_report::{count, time};

#[derive(Args, Debug)]
pub(crate) struct KeepOptions {
    /// What `tailwater profile record` wrote.
    #[arg(default_value = "tailwater.trace")]
    trace: PathBuf,
    /// The percentile of all requests above which they are kept, such as p99 or p99.9.
    #[arg(long, value_name = "PERCENTILE", default_value = "p99.9", value_parser = percentile)]
    above: f64,
    /// Where the smaller trace is written.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn keep(options: &KeepOptions) -> Result<(), Failure> {
    let kept = Kept::of(&options.trace, &options.output, options.above)?;
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    let (whole, part) = (size(&options.trace), size(&options.output));
    say(&format!(
        "{}: {}; {} bytes of {}.\n",
        options.output.display(),
        kept.text(options.above),
        count(part),
        count(whole),
    ))
}

/// What was kept of a trace.
pub(super) struct Kept {
    found: Found,
    damages: u64,
}

impl Kept {
    /// Reads a trace twice, and writes the smaller one.
    pub(super) fn of(trace: &Path, to: &Path, above: f64) -> Result<Self, Failure> {
        let reading = Trace::open(trace)?;
        let header = reading.header().clone();
        let mut retention = Retention::of_slowest(&header, SLOWEST_KEPT);
        let (mut damages, mut is_part) = (0, false);
        reading.read(|item| match item {
            Ok(record) => {
                is_part |= matches!(record, Record::Figure(it) if it.what == Measured::Requests);
                retention.add(record.clone(), |_| {});
            }
            Err(_) => damages += 1,
        });
        if is_part {
            return Err(Failure::usage(format!(
                "{} is a kept part already, in which percentiles of all requests cannot be found; name the whole trace",
                trace.display()
            )));
        }
        let found = retention.finish(above, |_| {});
        if found.requests == 0 && found.unfinished > 0 {
            return Err(Failure::usage(format!(
                "{}: {} requests were marked and none had ended, so none is slowest",
                trace.display(),
                count(found.unfinished)
            )));
        }
        if found.requests == 0 {
            return Err(Failure::usage(format!(
                "{}: no request was marked, so none is slowest; docs/profiling-requests.md, \"Mark requests\"; {UNMARKED}",
                trace.display()
            )));
        }
        write(trace, &header, to, &found)?;
        Ok(Self { found, damages })
    }

    pub(super) const fn new(found: Found, damages: u64) -> Self {
        Self { found, damages }
    }

    /// In words, without a full stop.
    pub(super) fn text(&self, above: f64) -> String {
        if self.found.requests == 0 && self.found.unfinished == 0 {
            return format!(
                "nothing, as no request was marked; docs/profiling-requests.md, \"Mark requests\"; {UNMARKED}, of a recording \
                 without --keep"
            );
        }
        let Found { requests, at_least_ns, is_short, incomplete, .. } = &self.found;
        let mut text = format!(
            "of {} requests those above {}, {} and longer, with all that happened meanwhile",
            count(*requests),
            percentile_name(above),
            time(*at_least_ns as f64 / 1e3)
        );
        if *is_short {
            let kept = count(SLOWEST_KEPT as u64);
            text.push_str(&format!("; more are above it, and the {kept} longest are kept"));
        }
        if *incomplete > 0 {
            let incomplete = count(*incomplete);
            text.push_str(&format!(
                "; {incomplete} lack something: told of more than a second late, lost, or given up when too many were open"
            ));
        }
        if self.found.unfinished > 0 {
            let (open, oldest) = (self.found.unfinished, self.found.unfinished_max_ns);
            text.push_str(&format!(
                "; {} more had not ended, the oldest after {}, and all that happened meanwhile is kept, too",
                count(open),
                time(oldest as f64 / 1e3)
            ));
        }
        if self.damages > 0 {
            text.push_str(&format!("; {} damaged parts were passed over", count(self.damages)));
        }
        text
    }
}

/// The second reading, of a trace or of the candidates from it.
pub(super) fn write(
    trace: &Path,
    header: &Header,
    to: &Path,
    found: &Found,
) -> Result<(), Failure> {
    let trouble = |error: io::Error| Failure::work(format!("{}: {error}", to.display()));
    let mut output = Output::open(Some(to), trace)?;
    let mut out = Sink::new(&mut output, header).map_err(trouble)?;
    let mut retention = Retention::of_found(header, found);
    let ending = Trace::open(trace)?.read(|item| {
        // Damage was counted in the first reading.
        if let Ok(record) = item {
            retention.add(record.clone(), |record| out.add(record));
        }
    });
    retention.finish(0.0, |record| out.add(record));
    found.figures().iter().for_each(|figure| out.add(figure));
    out.finish(&ending).map_err(trouble)?;
    output.finish().map_err(trouble)
}

/// A trace in the making; the first failure is kept.
pub(super) struct Sink<W: Write> {
    writer: Writer<W>,
    failed: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    pub(super) fn new(to: W, header: &Header) -> io::Result<Self> {
        Ok(Self { writer: Writer::new(to, header)?, failed: None })
    }

    pub(super) fn add(&mut self, record: &Record) {
        if self.failed.is_none() {
            self.failed = self.writer.write(record).err();
        }
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// A trace that did not come to its end stays one.
    pub(super) fn finish(mut self, ending: &Ending) -> io::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match ending {
            Ending::Finished(_) => self.writer.finish(),
            Ending::Unfinished | Ending::Cut => self.writer.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::header;
    use super::*;
    use tailwater_profile::record::{Mark, MarkKind, ThreadId};

    /// One that is never ended keeps hours, as what happens meanwhile may be its cause.
    #[test]
    fn requests_that_had_not_ended_are_told() {
        let mut retention = Retention::of_slowest(&header(), 10);
        let marks = [
            (1, MarkKind::Start, 1_000),
            (2, MarkKind::Start, 1_001_000),
            (2, MarkKind::End, 2_001_000),
        ];
        for (request, kind, at) in marks {
            let mark = Mark { thread: ThreadId(0), request, kind, at };
            retention.add(Record::Mark(mark), |_| {});
        }
        let found = retention.finish(0.999, |_| {});
        assert_eq!((found.requests, found.unfinished), (1, 1));
        assert_eq!(found.unfinished_max_ns, 2_000_000);
        let text = Kept::new(found, 0).text(0.999);
        assert!(text.contains("; 1 more had not ended, the oldest after 2"), "{text}");
    }
}
