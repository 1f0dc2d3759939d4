//! A file beside a trace, as it is written: whole, or what happened last.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tailwater_kernel::now_ns;
use tailwater_profile::record::{Clock, Record, ThreadId};
use tailwater_profile::retention::{Gone, Last};
use tailwater_profile::trace::{Header, Writer};
use tailwater_report::{count, time};

/// Whose the file is, and from when on.
pub(super) struct Source {
    /// The program that the header names: `kernel`, or what told of it.
    pub(super) teller: &'static str,
    /// The process.
    pub(super) root: u32,
    pub(super) began: Clock,
}

/// Records on their way to the file.
pub(super) struct Written {
    out: Out,
    /// Where the last alone are kept.
    last: Option<(Duration, Last)>,
}

/// Where the last alone are kept: of how long, and what went.
pub(super) type Kept = Option<(Duration, Gone)>;

impl Written {
    pub(super) fn create(path: &Path, source: Source, last: Option<Duration>) -> io::Result<Self> {
        let header = Header {
            architecture: std::env::consts::ARCH.into(),
            pid: source.root,
            program: source.teller.into(),
            build_id: vec![],
            clock: source.began,
        };
        let file = BufWriter::new(File::create(path)?);
        Ok(Self {
            out: Out { writer: Writer::new(file, &header)?, failed: None },
            last: last.map(|length| (length, Last::new(&header, length))),
        })
    }

    pub(super) fn add(&mut self, record: Record) {
        match &mut self.last {
            Some((_, last)) => last.add(record, |record| self.out.add(record)),
            None => self.out.add(&record),
        }
    }

    /// Writes what is held back. Of the last alone, time goes on: what has become too old goes with what comes next.
    pub(super) fn flush(&mut self) {
        if self.last.is_some() {
            self.add(Record::Clock(reading(now_ns())));
        }
        self.out.flush();
    }

    /// Where the last alone are kept: forgets the names of all threads but those that are answered.
    pub(super) fn forget_threads(&mut self) -> Option<HashSet<ThreadId>> {
        self.last.as_mut().map(|(_, last)| last.forget_threads())
    }

    /// Answers how many bytes the file has, too.
    pub(super) fn finish(mut self, end: Clock) -> io::Result<(u64, Kept)> {
        self.add(Record::Clock(end));
        let kept =
            self.last.map(|(length, last)| (length, last.finish(|record| self.out.add(record))));
        Ok((self.out.finish()?, kept))
    }
}

/// What of a recording went, in words.
pub(super) fn gone(kept: Kept) -> String {
    let Some((last, gone)) = kept else { return String::new() };
    let (last, old) = (time(last.as_secs_f64() * 1e6), count(gone.old));
    let mut text = format!(" Kept: those of the last {last}; {old} before are gone.");
    if gone.crowded > 0 {
        let crowded = count(gone.crowded);
        text.push_str(&format!(" For want of memory {crowded} later ones are, too."));
    }
    text
}

/// The first failure is kept: a full disk ends no program.
struct Out {
    writer: Writer<BufWriter<File>>,
    failed: Option<io::Error>,
}

impl Out {
    fn add(&mut self, record: &Record) {
        if self.failed.is_none() {
            self.failed = self.writer.write(record).err();
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.writer.flush().err();
        }
    }

    /// Answers how many bytes it has.
    fn finish(mut self) -> io::Result<u64> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.writer.finish()?;
        Ok(self.writer.written())
    }
}

/// The file's ticks are nanoseconds of the clock that the kernel's events have.
pub(super) fn reading(raw_ns: u64) -> Clock {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let real_ns = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
    let real_ns = real_ns.saturating_sub(now_ns().saturating_sub(raw_ns));
    Clock { ticks: raw_ns, raw_ns, real_ns }
}
