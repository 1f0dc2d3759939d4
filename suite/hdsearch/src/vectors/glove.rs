//! GloVe's text: a word and its vector on each line.

use super::{BYTES_MAX, DIMENSIONS_MAX, POINTS_MAX, vectors_max};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use tailwater_kernels::Table;

/// No line is longer: twenty characters a number, and a long word.
const LINE_BYTES_MAX: u64 = (DIMENSIONS_MAX * 20 + 1_000) as u64;

/// Larger values are none of a word's: their squares would leave the range of the sums.
const VALUE_MAX: f32 = 1e15;

/// Vectors with the words that they belong to.
#[derive(Debug)]
pub struct Words {
    /// The words, in the order of the file.
    pub words: Vec<String>,
    /// Their vectors.
    pub vectors: Table,
}

/// Why a file has no vectors.
#[derive(Debug)]
pub enum GloveError {
    /// It cannot be read.
    Io(PathBuf, io::Error),
    /// It is a folder, or a device, a pipe or a socket.
    NoFile(PathBuf),
    /// It has no line.
    Empty(PathBuf),
    /// It has more than so many vectors of so many dimensions, which is all that is held.
    TooMany(PathBuf, usize, usize),
    /// A line is not what it should be.
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from one.
        line: usize,
        /// What is wrong there, and how it is mended.
        why: String,
    },
}

/// Reads the first so many vectors of a file. `tell` hears how many there are so far.
///
/// # Errors
/// When the file is not there or is no such text, when it has more of these vectors than are held, and what `tell` returns.
pub fn read<E: From<GloveError>>(
    path: &Path,
    first: usize,
    tell: impl Fn(usize) -> Result<(), E>,
) -> Result<Words, E> {
    let trouble = |error| GloveError::Io(path.into(), error);
    // To open a pipe is to wait for a writer, and some devices have no end.
    if !path.metadata().map_err(trouble)?.is_file() {
        return Err(GloveError::NoFile(path.into()).into());
    }
    let file = File::open(path).map_err(trouble)?;
    let held_max = |dimensions| vectors_max(dimensions).min(POINTS_MAX);
    read_from(BufReader::with_capacity(1 << 18, file), path, (first, &held_max), tell)
}

/// `held_max` says how many vectors of so many dimensions may be.
fn read_from<E: From<GloveError>>(
    mut text: impl BufRead,
    path: &Path,
    (first, held_max): (usize, &dyn Fn(usize) -> usize),
    tell: impl Fn(usize) -> Result<(), E>,
) -> Result<Words, E> {
    let mut found: Option<Words> = None;
    let (mut bytes, mut vector) = (Vec::new(), Vec::new());
    for line in 1..=first {
        bytes.clear();
        let read = text.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        if read.map_err(|error| GloveError::Io(path.into(), error))? == 0 {
            break;
        }
        let needed = found.as_ref().map(|words| words.vectors.rows().dimensions());
        if let Some(dimensions) = needed.filter(|dimensions| line > held_max(*dimensions)) {
            return Err(GloveError::TooMany(path.into(), line - 1, dimensions).into());
        }
        let word = one(&bytes, needed, &mut vector).map_err(|why| GloveError::Line {
            path: path.into(),
            line,
            why,
        })?;
        let words = found
            .get_or_insert_with(|| Words { words: Vec::new(), vectors: Table::new(vector.len()) });
        words.words.push(word);
        words.vectors.push(&vector);
        if line % 4_096 == 0 {
            tell(line)?;
        }
    }
    Ok(found.ok_or_else(|| GloveError::Empty(path.into()))?)
}

/// A word and, in `vector`, its numbers: as many as are needed, or, on the first line, as there are.
fn one(bytes: &[u8], needed: Option<usize>, vector: &mut Vec<f32>) -> Result<String, String> {
    if bytes.len() as u64 == LINE_BYTES_MAX && bytes.last() != Some(&b'\n') {
        return Err(format!(
            "found more than {LINE_BYTES_MAX} bytes; a word and at most {DIMENSIONS_MAX} numbers are needed: \
             is this GloVe's text?"
        ));
    }
    let text = String::from_utf8_lossy(bytes);
    let mut fields: Vec<&str> = text.trim_end_matches(['\r', '\n', ' ']).split(' ').collect();
    if needed.is_none()
        && fields.len() == 2
        && fields.iter().all(|field| field.parse::<u64>().is_ok())
    {
        return Err(
            "found the two numbers of word2vec's first line; remove it: sed -i 1d FILE".into()
        );
    }
    let count = needed.unwrap_or(fields.len() - 1);
    if count == 0 || count > DIMENSIONS_MAX {
        let numbers = fields.len() - 1;
        return Err(format!(
            "found {numbers} numbers after the word; 1 to {DIMENSIONS_MAX} are needed: is this GloVe's text?"
        ));
    }
    // Words of the larger sets have spaces in them, so numbers are counted from the end.
    let Some(words) = fields.len().checked_sub(count).filter(|&words| words > 0) else {
        let numbers = fields.len() - 1;
        return Err(format!(
            "found {numbers} numbers after the word; {count} are needed, as in line 1: remove the line, or fetch \
             the file again if it is the last"
        ));
    };
    vector.clear();
    for (field, at) in fields[words..].iter().zip(1..) {
        let value = field.parse::<f32>().ok().filter(|value| value.abs() <= VALUE_MAX);
        vector.push(value.ok_or_else(|| {
            let field: String = field.chars().take(40).collect();
            format!(
                "found \"{field}\" as number {at} of {count}; a number of at most {VALUE_MAX:e} is needed: \
                 correct the line, or remove it"
            )
        })?);
    }
    fields.truncate(words);
    Ok(fields.join(" "))
}

impl fmt::Display for GloveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NoFile(path) => {
                let found = if path.is_dir() { "a folder" } else { "a device, a pipe or a socket" };
                let path = path.display();
                write!(
                    f,
                    "{path}: found {found}; a file with a word and its numbers on each line is needed"
                )
            }
            Self::Empty(path) => {
                let path = path.display();
                write!(f, "{path}: found no line; a word and its numbers on each line are needed")
            }
            Self::TooMany(path, most, dimensions) => write!(
                f,
                "{}: found more than {most} vectors of {dimensions} dimensions; no more are held (at most {POINTS_MAX}, in {} \
                 GiB): set points, of which and of queries there may be {most} together",
                path.display(),
                BYTES_MAX >> 30
            ),
            Self::Line { path, line, why } => write!(f, "{}:{line}: {why}", path.display()),
        }
    }
}

impl std::error::Error for GloveError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &[u8]) -> Result<Words, String> {
        let quiet = |_| Ok::<_, GloveError>(());
        let all = (usize::MAX, &vectors_max as &dyn Fn(usize) -> usize);
        read_from(text, Path::new("g.txt"), all, quiet).map_err(|error| error.to_string())
    }

    #[test]
    fn words_and_numbers_come_as_they_are_written() {
        let found = parse(b"the 0.5 -1e-2 3\n. . . 1 2 3\r\nlast 4 5 6").expect("three words");
        assert_eq!(found.words, ["the", ". . .", "last"]);
        let rows = found.vectors.rows();
        assert_eq!(rows.vector(0), [0.5, -0.01, 3.0]);
        assert_eq!((rows.vector(1), rows.vector(2)), (&[1.0, 2.0, 3.0][..], &[4.0, 5.0, 6.0][..]));
    }

    #[test]
    fn so_many_are_read() {
        let quiet = |_| Ok::<_, GloveError>(());
        let read = |first, held_max: &dyn Fn(usize) -> usize| {
            read_from(&b"a 1\nb 2\nc 3"[..], Path::new("g"), (first, held_max), quiet)
        };
        assert_eq!(read(2, &|_| 3).expect("two").words, ["a", "b"]);
        // Nothing is left out without a word.
        assert_eq!(read(usize::MAX, &|_| 3).expect("three").words, ["a", "b", "c"]);
        assert_eq!(read(2, &|_| 2).expect("two").words, ["a", "b"]);
        for first in [3, usize::MAX] {
            let error = read(first, &|dimensions| 1 + dimensions).expect_err("too many");
            let told = error.to_string();
            assert!(told.starts_with("g: found more than 2 vectors of 1 dimensions"), "{told}");
            assert!(told.contains("set points"), "{told}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_mend() {
        let why = |text: &[u8]| parse(text).expect_err("no vectors");
        assert!(why(b"").starts_with("g.txt: found no line"));
        assert_eq!(
            why(b"a 1 2\nb 1\n"),
            "g.txt:2: found 1 numbers after the word; 2 are needed, as in line 1: remove the line, or fetch the \
             file again if it is the last"
        );
        assert_eq!(
            why(b"a 1 2\nb 1 x2\n"),
            "g.txt:2: found \"x2\" as number 2 of 2; a number of at most 1e15 is needed: correct the line, or \
             remove it"
        );
        assert!(why(b"a 1 2\nb 1 inf\n").starts_with("g.txt:2: found \"inf\""));
        assert!(why(b"a 1 2\nb 1 NaN\n").starts_with("g.txt:2: found \"NaN\""));
        assert!(why(b"400000 50\nthe 1 2\n").contains("sed -i 1d FILE"));
        assert!(why(b"word\n").contains("found 0 numbers"));
        assert!(why(&[b'x'; 1 << 20]).contains("is this GloVe's text?"));
        let missing =
            read("/nowhere/g".as_ref(), 1, |_| Ok::<_, GloveError>(())).expect_err("not there");
        assert!(missing.to_string().starts_with("/nowhere/g: "));
    }

    /// The pipe has no writer: to open it would be to wait for ever.
    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let pipe =
            std::env::temp_dir().join(format!("tailwater-glove-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("there is mkfifo").success());
        let error = |path: &Path| {
            let found = read(path, 1, |_| Ok::<_, GloveError>(()));
            found.expect_err("no file").to_string()
        };
        let told = error(&pipe);
        std::fs::remove_file(&pipe).expect("removed");
        assert!(told.ends_with("found a device, a pipe or a socket; a file with a word and its numbers on each line is needed"), "{told}");
        assert!(error("/dev/zero".as_ref()).contains("found a device"));
        let folder = error(env!("CARGO_MANIFEST_DIR").as_ref());
        assert!(folder.contains(": found a folder; a file with a word"), "{folder}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text: Vec<u8>) {
            if let Ok(found) = parse(&text) {
                prop_assert_eq!(found.words.len(), found.vectors.rows().count());
            }
        }
    }
}
