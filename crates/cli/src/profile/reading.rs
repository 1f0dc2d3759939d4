//! A trace file read from front to back, with a progress bar for people.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _};
use std::path::Path;
use tailwater_profile::record::Record;
use tailwater_profile::trace::{Ending, Header, Reader, TraceError};

/// Records between two looks at the bar.
const STRIDE: u64 = 1 << 18;

/// An open trace.
pub(crate) struct Trace {
    reader: Reader<File>,
    bar: ProgressBar,
}

impl Trace {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let trouble = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::open(path).map_err(|error| {
            let failure = Failure::usage(trouble(&error));
            if error.kind() == ErrorKind::NotFound { failure.and(&making(path)) } else { failure }
        })?;
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        let reader = Reader::new(file).map_err(|error| Failure::usage(trouble(&error)))?;
        Ok(Self { reader, bar: bar(size) })
    }

    pub(crate) const fn header(&self) -> &Header {
        self.reader.header()
    }

    /// Hands out what is in it, damage included, and says how it ended.
    pub(crate) fn read(mut self, mut take: impl FnMut(Result<&Record, &TraceError>)) -> Ending {
        while let Some(item) = self.reader.next() {
            take(item.as_ref());
            if self.reader.records().is_multiple_of(STRIDE) {
                self.bar.set_position(self.reader.offset());
            }
        }
        self.bar.finish_and_clear();
        self.reader.ending()
    }
}

/// How a trace comes to be.
fn making(path: &Path) -> String {
    let output = match path == Path::new("tailwater.trace") {
        true => String::new(),
        false => format!(" -o {}", path.display()),
    };
    format!("record one: `tailwater profile record{output} -- ./program`")
}

fn bar(size: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(4)
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("reading {bar:30} {bytes}/{total_bytes}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(size), target).with_style(style)
}

/// A path under the current folder as seen from there; all else as it is.
pub(super) fn near(path: &str) -> &str {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here.to_str()?)?.strip_prefix('/'));
    below.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_is_shortened() {
        let here = std::env::current_dir().expect("a folder");
        let below = format!("{}/src/a.c:7", here.display());
        assert_eq!(near(&below), "src/a.c:7");
        for path in ["src/a.c", "/", "", &format!("{}x/a.c", here.display())] {
            assert_eq!(near(path), path);
        }
    }
}
