//! Where an export goes: whole or not at all, and never into the trace that it is made of.

use crate::failure::Failure;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Standard output or a file.
pub(super) struct Output {
    to: BufWriter<Box<dyn Write + Send>>,
    draft: Option<Draft>,
}

/// Writes a page of this trace.
pub(super) fn write_whole(path: &Path, trace: &Path, page: &str) -> Result<(), Failure> {
    let mut to = Output::open(Some(path), trace)?;
    let written = to.write_all(page.as_bytes()).and_then(|()| to.finish());
    written.map_err(|error| Failure::work(format!("{}: {error}", path.display())))
}

/// A file under another name until it is whole.
struct Draft {
    path: PathBuf,
    target: PathBuf,
}

impl Output {
    /// Opens `path`, or standard output. A regular file is written beside its place, and comes there by
    /// [`Output::finish`]; pipes and devices are written to as they are.
    pub(super) fn open(path: Option<&Path>, trace: &Path) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::of(io::stdout(), None)) };
        let trouble = |error: io::Error| Failure::usage(format!("{}: {error}", path.display()));
        let there = match fs::metadata(path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(trouble(error)),
        };
        if there.as_ref().is_some_and(|there| is_same(there, trace)) {
            return Err(Failure::usage(format!(
                "{} is the trace itself; name another file by -o",
                path.display()
            )));
        }
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            let file = File::options().write(true).open(path).map_err(trouble)?;
            return Ok(Self::of(file, None));
        }
        // Through a link to what it means: the link itself stays.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = target.file_name().map_or_else(Default::default, ToOwned::to_owned);
        let name = format!(".{}.{}.part", name.display(), std::process::id());
        let draft = Draft { path: target.with_file_name(name), target };
        let file = File::create(&draft.path).map_err(trouble)?;
        if let Some(there) = there {
            file.set_permissions(there.permissions()).map_err(trouble)?;
        }
        Ok(Self::of(file, Some(draft)))
    }

    fn of(to: impl Write + Send + 'static, draft: Option<Draft>) -> Self {
        Self { to: BufWriter::new(Box::new(to)), draft }
    }

    /// Puts what was written in its place.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.to.flush()?;
        self.draft.take().map_or(Ok(()), |draft| fs::rename(&draft.path, &draft.target))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Where it was renamed nothing is left under this name.
        let _ = fs::remove_file(&self.path);
    }
}

fn is_same(file: &Metadata, trace: &Path) -> bool {
    fs::metadata(trace).is_ok_and(|trace| (file.dev(), file.ino()) == (trace.dev(), trace.ino()))
}
