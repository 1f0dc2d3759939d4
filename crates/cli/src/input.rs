//! Texts that people name: a file, or `-` for standard input. Each is read whole, up to a bound.

use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes of what people write. Parsers have bounds of their own, and say more where a text is beyond these.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// Bytes of what tailwater wrote: a result with the courses of many runs.
pub(crate) const RESULT_BYTES_MAX: u64 = 1 << 30;
/// Where the system lists what this process has open: standard input, and what a shell means by `<(…)`.
const OPEN: [&str; 2] = ["/dev/fd", "/proc/self/fd"];

/// Whether standard input has been read, which a process can once. Nothing else is ordered by it.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The text of a file; `-` is standard input.
///
/// # Errors
/// Where it cannot be read, need not end, is too long, is no text, or is standard input for a second time.
pub(crate) fn text_of(file: &Path) -> io::Result<String> {
    text_within(file, TEXT_BYTES_MAX)
}

/// The same of at most so many bytes.
pub(crate) fn text_within(file: &Path, most: u64) -> io::Result<String> {
    if file != Path::new("-") {
        return whole(open(file, ", or - for standard input")?, most);
    }
    if TAKEN.swap(true, Relaxed) {
        let why = "standard input was read already; give a file for one of the two";
        return Err(io::Error::other(why));
    }
    whole(io::stdin(), most)
}

/// Opens a file, or what the process has open already. To open a named pipe would wait for its writer, and a device may never
/// end. The error says what is needed, and `or` what else.
pub(crate) fn open(file: &Path, or: &str) -> io::Result<File> {
    match other_kind(fs::metadata(file)?.file_type()) {
        Some(kind) if kind != FOLDER && !is_open(file) => {
            let why = format!("it is {kind}, which need not end; a regular file is needed{or}");
            Err(io::Error::new(ErrorKind::InvalidInput, why))
        }
        _ => File::open(file),
    }
}

/// See [`other_kind`].
const FOLDER: &str = "a folder";

/// What it is, where it is no regular file.
pub(crate) fn other_kind(found: FileType) -> Option<&'static str> {
    if found.is_file() {
        return None;
    }
    Some(if found.is_dir() {
        FOLDER
    } else if found.is_fifo() {
        "a pipe"
    } else if found.is_socket() {
        "a socket"
    } else {
        "a device"
    })
}

fn is_open(file: &Path) -> bool {
    let is_listed = OPEN.iter().any(|folder| file.parent() == Some(Path::new(folder)));
    is_listed || file == Path::new("/dev/stdin")
}

fn whole(from: impl Read, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it has more than {most} bytes, the most that are read");
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `check` and `run` waited for its writer.
    #[test]
    fn a_named_pipe_is_refused_before_it_is_opened() {
        let pipe = std::env::temp_dir().join(format!("tailwater-input-{}", std::process::id()));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).expect("a pipe");
        // Or the test would hang where it is opened.
        let held = File::options().read(true).write(true).open(&pipe).expect("it is there");
        let why = open(&pipe, ", or - for standard input").expect_err("a pipe");
        std::fs::remove_file(&pipe).expect("it was made");
        drop(held);
        let expected =
            "it is a pipe, which need not end; a regular file is needed, or - for standard input";
        assert_eq!(why.to_string(), expected);
    }

    #[test]
    fn what_is_open_already_is_read_whatever_it_is() {
        use std::os::fd::AsRawFd as _;
        let (reader, writer) = io::pipe().expect("a pipe");
        io::Write::write_all(&mut &writer, b"seed = 1").expect("there is room");
        drop(writer);
        for folder in OPEN {
            let named = Path::new(folder).join(reader.as_raw_fd().to_string());
            assert!(open(&named, "").is_ok(), "{}", named.display());
        }
        let named = Path::new(OPEN[0]).join(reader.as_raw_fd().to_string());
        assert_eq!(text_of(&named).expect("a text"), "seed = 1");
        assert!(is_open(Path::new("/dev/stdin")) && !is_open(Path::new("/dev/zero")));
    }

    /// What never ends took all memory.
    #[test]
    fn no_more_is_read_than_the_bound() {
        assert_eq!(whole(&b"four"[..], 4).expect("as long as may be"), "four");
        // It is cut within a character, and is not no text for that.
        for endless in ["a", "é"].map(|text| text.repeat(100)) {
            let why = whole(endless.as_bytes(), 16).expect_err("too long").to_string();
            assert_eq!(why, "it has more than 16 bytes, the most that are read");
        }
        assert!(whole(io::repeat(b'a'), 1 << 10).is_err());
        let no_text = whole(&b"\xff"[..], 16).expect_err("no text");
        assert_eq!(no_text.kind(), ErrorKind::InvalidData);
    }
}
