//! Ratings from a file: `user,item,rating` in each line, further columns ignored.
//!
//! Users and items may be numbers or words. Commas, tabs, semicolons and `::` separate, by what the first line
//! has; a first line whose rating is no number is a heading. MovieLens' `ratings.csv`, `u.data` and
//! `ratings.dat` are such files.
//!
//! A column may stand in quotes, and ends in its line. A quote that stays open would hide the ratings after it.

use super::{RATINGS_MAX, Rating, Ratings};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;

/// Ratings with the words that the file has for users and items.
#[derive(Clone, PartialEq, Debug)]
pub struct Named {
    /// By numbers.
    pub ratings: Ratings,
    /// The user of each number, in the order of the file.
    pub users: Vec<String>,
    /// The item of each number, likewise.
    pub items: Vec<String>,
}

/// Why a file of ratings cannot be used: the line, what was found there and what is needed.
#[derive(Debug)]
pub enum CsvError {
    /// It cannot be read.
    Io(io::Error),
    /// One of its lines is wrong.
    Line {
        /// Counted from one.
        line: u64,
        /// What was found and what is needed.
        message: String,
    },
    /// It has no ratings.
    Empty,
    /// The receiver of the progress had enough, and said this.
    Stopped(String),
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Line { line, message } => write!(f, "line {line}: {message}"),
            Self::Empty => f.write_str("found no rating; lines of user,item,rating are needed"),
            Self::Stopped(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for CsvError {}

/// Longest word for a user or an item.
const WORD_BYTES_MAX: usize = 256;

/// Longest line: three words and a long text in the other columns.
const LINE_BYTES_MAX: usize = 1 << 16;

/// Opens a file of ratings, and says how many bytes it has.
///
/// # Errors
/// When it is not there, or is a folder, a device, a pipe or a socket.
pub fn open_csv(path: &Path) -> io::Result<(File, u64)> {
    // To open a pipe is to wait for a writer, and some devices have no end.
    if !path.metadata()?.is_file() {
        let found = if path.is_dir() { "a folder" } else { "a device, a pipe or a socket" };
        return Err(io::Error::other(format!(
            "found {found}; a file of ratings is needed; write what comes through a pipe to one first"
        )));
    }
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

/// Reads ratings. `told` hears now and then how many bytes were read; its error ends the reading.
///
/// # Errors
/// As [`CsvError`] says; two ratings of one cell are an error of the later line.
pub fn read_csv(
    input: impl BufRead,
    mut told: impl FnMut(u64) -> Result<(), String>,
) -> Result<Named, CsvError> {
    let mut lines = Lines::new(input);
    let (mut users, mut items) = (Numbers::default(), Numbers::default());
    let mut all: Vec<(Rating, u64)> = Vec::new();
    while let Some((line, fields)) = lines.next_line()? {
        let wrong = |message: String| CsvError::Line { line, message };
        if line % 65_536 == 0 {
            told(lines.bytes).map_err(CsvError::Stopped)?;
        }
        let [user, item, value] = &fields;
        let Some(value) = value else {
            let found = fields.iter().flatten().count();
            return Err(wrong(format!("found {found} columns; user, item and rating are needed")));
        };
        let number: Option<f32> = value.parse().ok();
        let value = match number.filter(|number| number.is_finite() && *number >= 0.0) {
            Some(value) => value,
            // A heading says what the columns are.
            None if all.is_empty() && line == 1 && number.is_none() => continue,
            None => {
                let needed = "a number from 0 on is needed";
                return Err(wrong(format!("the rating is \"{}\"; {needed}", shortened(value))));
            }
        };
        if all.len() == RATINGS_MAX {
            return Err(wrong(format!("found more than {RATINGS_MAX} ratings, which is the most")));
        }
        let number = |numbers: &mut Numbers, what: &str, word: &Option<String>| {
            let word = word.as_deref().unwrap_or_default();
            if word.is_empty() || word.len() > WORD_BYTES_MAX {
                let found = format!("the {what} has {} bytes", word.len());
                return Err(wrong(format!("{found}; 1 to {WORD_BYTES_MAX} are needed")));
            }
            Ok(numbers.of(word))
        };
        let user = number(&mut users, "user", user)?;
        let item = number(&mut items, "item", item)?;
        all.push((Rating { user, item, value }, line));
    }
    let (users, items) = (users.words, items.words);
    no_cell_twice(&mut all, &users, &items)?;
    if all.is_empty() {
        return Err(CsvError::Empty);
    }
    let all = all.into_iter().map(|(rating, _)| rating).collect();
    Ok(Named { ratings: Ratings::new(users.len(), items.len(), all), users, items })
}

fn no_cell_twice(
    all: &mut [(Rating, u64)],
    users: &[String],
    items: &[String],
) -> Result<(), CsvError> {
    all.sort_unstable_by_key(|(rating, line)| (rating.user, rating.item, *line));
    let cell = |(rating, _): &(Rating, u64)| (rating.user, rating.item);
    let twice = all.windows(2).filter(|two| cell(&two[0]) == cell(&two[1]));
    let Some([first, second]) = twice.min_by_key(|two| two[1].1).map(|two| [two[0], two[1]]) else {
        return Ok(());
    };
    let (user, item) = (&users[first.0.user as usize], &items[first.0.item as usize]);
    let message = format!(
        "user {user} has rated item {item} before, in line {}; one rating each is needed",
        first.1
    );
    Err(CsvError::Line { line: second.1, message })
}

/// Words, numbered as they come.
#[derive(Default)]
struct Numbers {
    of: BTreeMap<String, u32>,
    words: Vec<String>,
}

impl Numbers {
    fn of(&mut self, word: &str) -> u32 {
        if let Some(number) = self.of.get(word) {
            return *number;
        }
        // There are no more words than ratings.
        let number = self.words.len() as u32;
        self.of.insert(word.to_owned(), number);
        self.words.push(word.to_owned());
        number
    }
}

/// A line's number and its first three columns.
type Line = (u64, [Option<String>; 3]);

/// The lines that are not empty.
struct Lines<R> {
    input: R,
    /// How many bytes were read.
    bytes: u64,
    /// The number of the line in `line`.
    number: u64,
    line: Vec<u8>,
    /// The last line ended with a carriage return; a line feed after it belongs to the same end.
    has_returned: bool,
    /// `None` before the first line.
    columns: Option<Columns>,
}

impl<R: BufRead> Lines<R> {
    fn new(input: R) -> Self {
        Self { input, bytes: 0, number: 0, line: vec![], has_returned: false, columns: None }
    }

    fn next_line(&mut self) -> Result<Option<Line>, CsvError> {
        while self.read_line()? {
            let number = self.number;
            let wrong = |message: &str| CsvError::Line { line: number, message: message.into() };
            let text = std::str::from_utf8(&self.line)
                .map_err(|_| wrong("found bytes that are no UTF-8 text"))?;
            let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { text };
            if text.is_empty() {
                continue;
            }
            let columns = self.columns.get_or_insert_with(|| Columns::of(text));
            let columns = columns.read(text).ok_or_else(|| {
                wrong("found a quote without its end; both in one line, or none, are needed")
            })?;
            return Ok(Some((number, columns)));
        }
        Ok(None)
    }

    /// Whether there was one more line.
    fn read_line(&mut self) -> Result<bool, CsvError> {
        self.line.clear();
        let mut has_begun = false;
        loop {
            let found = self.input.fill_buf().map_err(CsvError::Io)?;
            let Some(first) = found.first() else { return Ok(has_begun) };
            if std::mem::take(&mut self.has_returned) && *first == b'\n' {
                self.input.consume(1);
                self.bytes += 1;
                continue;
            }
            if !has_begun {
                has_begun = true;
                self.number += 1;
            }
            let end = found.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &found[..end.unwrap_or(found.len())];
            if self.line.len() + part.len() > LINE_BYTES_MAX {
                let message = format!(
                    "found more than {LINE_BYTES_MAX} bytes; user,item,rating are needed: are these ratings?"
                );
                return Err(CsvError::Line { line: self.number, message });
            }
            self.line.extend_from_slice(part);
            self.has_returned = end.is_some_and(|at| found[at] == b'\r');
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            self.bytes += used as u64;
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

/// The columns of lines, one by one.
struct Columns {
    reader: csv_core::Reader,
    /// Between two separators lies an empty column.
    doubled: bool,
    /// What the columns of a line say, and where each ends there.
    said: Vec<u8>,
    ends: Vec<usize>,
}

impl Columns {
    /// Of a file with this first line.
    fn of(first: &str) -> Self {
        let doubled = first.contains("::");
        let often = |byte: &u8| (first.matches(char::from(*byte)).count(), *byte == b',');
        let separator = [b',', b'\t', b';'].into_iter().max_by_key(often).unwrap_or(b',');
        let separator = if doubled { b':' } else { separator };
        let reader = csv_core::ReaderBuilder::new().delimiter(separator).build();
        // No line has more bytes, or more columns.
        let (said, ends) = (vec![0; LINE_BYTES_MAX + 1], vec![0; LINE_BYTES_MAX + 1]);
        Self { reader, doubled, said, ends }
    }

    /// The first three of a line; none where a quote stays open in any.
    fn read(&mut self, line: &str) -> Option<[Option<String>; 3]> {
        self.reader.reset();
        let (mut said, mut ends) = (0, 0);
        let mut is_whole = false;
        // Within quotes the end of a line is text: then the record is not over.
        for part in [line.as_bytes(), b"\n"] {
            let place = (&mut self.said[said..], &mut self.ends[ends..]);
            let (found, _, written, ended) = self.reader.read_record(part, place.0, place.1);
            is_whole = found == csv_core::ReadRecordResult::Record;
            (said, ends) = (said + written, ends + ended);
        }
        is_whole.then(|| {
            let step = if self.doubled { 2 } else { 1 };
            [0, step, 2 * step].map(|at| {
                let end = *self.ends[..ends].get(at)?;
                let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
                Some(String::from_utf8_lossy(&self.said[from..end]).trim().to_owned())
            })
        })
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read as _;

    fn read(text: &str) -> Result<Named, CsvError> {
        read_csv(text.as_bytes(), |_| Ok(()))
    }

    #[test]
    fn the_usual_files_are_read_alike() {
        let files = [
            "userId,movieId,rating,timestamp\n7,31,2.5,1260759144\n9,31,3.0,1\n7,1029,3,2\n",
            "7\t31\t2.5\t881250949\n9\t31\t3\t1\n7\t1029\t3\t2\n",
            "7::31::2.5::978300760\n9::31::3::1\n7::1029::3::2\n",
            "7;31;2.5\r\n\r\n9;31;3\r\n7;1029;3",
            "\"7\",\"31\", 2.5\n9,31,3\n7,1029,3\n",
            "\"7\";\"31\";\"2.5\";\"of; a \"\"kind\"\"\"\n9;31;3\n7;1029;3\n",
            "\u{feff}7,31,2.5\n9,31,3\n7,1029,3, \"so\n",
        ];
        for file in files {
            let named = read(file).expect(file);
            assert_eq!(
                (&named.users[..], &named.items[..]),
                (&["7", "9"].map(String::from)[..], &["31", "1029"].map(String::from)[..]),
                "{file}"
            );
            let cells: Vec<_> =
                named.ratings.all().iter().map(|it| (it.user, it.item, it.value)).collect();
            assert_eq!(cells, [(0, 0, 2.5), (0, 1, 3.0), (1, 0, 3.0)], "{file}");
        }
    }

    #[test]
    fn errors_name_the_line_what_was_found_and_what_is_needed() {
        let wrong = [
            ("1,2,3\n1,3\n", "line 2: found 2 columns; user, item and rating are needed"),
            ("u,i,r\n1,3,good\n", "line 2: the rating is \"good\"; a number from 0 on is needed"),
            ("1,3,-1\n", "line 1: the rating is \"-1\"; a number from 0 on is needed"),
            ("1,3,inf\n", "line 1: the rating is \"inf\"; a number from 0 on is needed"),
            (",3,1\n", "line 1: the user has 0 bytes; 1 to 256 are needed"),
            (
                "1,2,3\n4,2,3\n1,2,5\n",
                "line 3: user 1 has rated item 2 before, in line 1; one rating each is needed",
            ),
            ("u,i,r\n", "found no rating; lines of user,item,rating are needed"),
            (
                "1,1,3,\"great\n1,2,4,b\n2,1,5,c\n",
                "line 1: found a quote without its end; both in one line, or none, are needed",
            ),
            (
                "1,1,3\r\n\r\n1,2,4,\"\r\n2,1,5\"\r\n",
                "line 3: found a quote without its end; both in one line, or none, are needed",
            ),
        ];
        for (text, error) in wrong {
            assert_eq!(read(text).expect_err(text).to_string(), error);
        }
        let bytes = read_csv(&b"1,2,3\n\xff,2,3\n"[..], |_| Ok(())).expect_err("no text");
        assert_eq!(bytes.to_string(), "line 2: found bytes that are no UTF-8 text");
    }

    #[test]
    fn a_line_without_end_is_an_error_after_so_many_bytes() {
        let first: &[u8] = b"1,2,3\n";
        for byte in [0, b'"', b','] {
            let endless = io::BufReader::new(first.chain(io::repeat(byte)));
            let error = read_csv(endless, |_| Ok(())).expect_err("no end").to_string();
            assert!(error.starts_with("line 2: found more than 65536 bytes;"), "{error}");
        }
        let long = format!("1,2,3,{}\n", "x".repeat(LINE_BYTES_MAX - 6));
        assert_eq!(read(&long).expect("the longest line").ratings.all().len(), 1);
    }

    #[test]
    fn only_files_are_opened() {
        for (path, found) in [("/", "a folder"), ("/dev/zero", "a device, a pipe or a socket")] {
            let error = open_csv(Path::new(path)).expect_err(path).to_string();
            assert!(error.starts_with(&format!("found {found}; a file of ratings")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_beyond_it(input in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_csv(&input[..], |_| Ok(()));
        }

        #[test]
        fn no_fields_are_beyond_it(fields in prop::collection::vec(
            prop::sample::select(vec!["1", "2", "-1", "nan", "a", "\"", ",", "\n", "::", "\t", " "]),
            0..40,
        )) {
            if let Ok(named) = read(&fields.concat()) {
                prop_assert!(!named.ratings.all().is_empty());
            }
        }
    }
}
