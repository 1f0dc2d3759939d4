//! What knobs were before they were turned: the text that survives the program.
//!
//! A journal is written before the first knob is turned. It holds for each file what it said and all that will be
//! written to it. So whatever ends the program, at whatever moment, another can put everything back. It can also tell
//! a value of ours from one that something else has written since. It also says on which start of the machine and in
//! which network namespace that was: elsewhere the same path is another file.
//!
//! The text has a line for the place and one for each entry, each with a checksum, and a last line that counts the
//! entries. Files are written whole under another name and then renamed, so a journal that is cut off or altered was
//! damaged by something else.

mod entry;
mod place;

pub use entry::Entry;
pub use place::{Place, Standing};

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::{self, Write as _};
use tailwater_core::fnv::{START, fnv1a};

/// The first line; the number is that of the format.
const HEAD: &str = "tailwater tune journal 2";
/// What the last line begins with.
const END: &str = "end ";
/// Entries of a journal. The catalogue has dozens of knobs in files, of which few have one for each CPU.
pub const ENTRIES_MAX: usize = 16_384;
/// Bytes of a journal's text.
pub const BYTES_MAX: usize = 8 * 1024 * 1024;

/// The entries of knobs that are turned, in the order in which they were first turned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Journal {
    /// Where they are turned.
    pub place: Place,
    /// One for each file.
    pub entries: Vec<Entry>,
}

/// A journal that does not say what it said once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// Where knobs were turned; `None` where that cannot be read, and then nothing may be put back.
    pub place: Option<Place>,
    /// The entries whose lines are whole.
    pub readable: Vec<Entry>,
    /// What is wrong, each with its line.
    pub faults: Vec<String>,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.faults.join("; "))
    }
}

impl std::error::Error for Damaged {}

impl Journal {
    /// The text that [`Journal::parse`] reads.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        put(&mut text, &self.place);
        self.entries.iter().for_each(|entry| put(&mut text, entry));
        let _ = writeln!(text, "{END}{}", self.entries.len());
        text
    }

    /// Reads a text.
    ///
    /// # Errors
    /// With what is wrong, and the entries that can be read nevertheless.
    pub fn parse(text: &str) -> Result<Self, Damaged> {
        let mut faults = Vec::new();
        let mut lines = text.lines().enumerate();
        if lines.next().is_none_or(|(_, line)| line != HEAD) {
            faults.push(format!("line 1 is not \"{HEAD}\""));
        }
        let mut place = None;
        match lines.next().map(|(_, line)| summed(line)) {
            Some(Ok(found)) => place = Some(found),
            Some(Err(why)) => faults.push(format!("line 2, the place: {why}")),
            None => {}
        }
        let (mut readable, mut seen, mut ended) = (Vec::new(), 0_usize, None);
        for (index, line) in lines {
            let number = index + 1;
            if ended.is_some() {
                faults.push(format!("line {number} stands behind the end"));
                break;
            }
            if let Some(count) = line.strip_prefix(END) {
                ended = Some((number, count.to_owned()));
                continue;
            }
            seen += 1;
            if seen > ENTRIES_MAX {
                faults.push(format!("more than {ENTRIES_MAX} entries stand from line {number} on"));
                break;
            }
            match entry(line) {
                Ok(entry) => readable.push(entry),
                Err(why) => faults.push(format!("line {number}: {why}")),
            }
        }
        match ended {
            None => faults.push("the end is missing: the text was cut off".into()),
            Some((number, count)) if count != seen.to_string() => {
                faults.push(format!("line {number} says {count} entries, and there are {seen}"));
            }
            Some(_) => {}
        }
        match place {
            Some(place) if faults.is_empty() => Ok(Self { place, entries: readable }),
            place => Err(Damaged { place, readable, faults }),
        }
    }
}

fn put(text: &mut String, of: &impl Serialize) {
    // Strings and lists of strings always have a text as JSON.
    let line = serde_json::to_string(of).unwrap_or_default();
    let _ = writeln!(text, "{:016x} {line}", checksum(line.as_bytes()));
}

fn entry(line: &str) -> Result<Entry, String> {
    let entry: Entry = summed(line)?;
    entry.check().map(|()| entry)
}

/// What a line says whose checksum holds.
fn summed<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    let altered = || "its checksum does not hold".to_owned();
    let (sum, json) = line.split_once(' ').ok_or_else(altered)?;
    if sum != format!("{:016x}", checksum(json.as_bytes())) {
        return Err(altered());
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// FNV-1a of 64 bits: against accidents, not against forgery, which `Entry::check` bounds.
fn checksum(bytes: &[u8]) -> u64 {
    fnv1a(START, bytes.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn swappiness(old: &str) -> Entry {
        Entry {
            knob: "swappiness".into(),
            path: "/proc/sys/vm/swappiness".into(),
            old: old.into(),
            ours: vec!["10".into(), "60".into()],
            place: None,
        }
    }

    fn place() -> Place {
        Place { boot: Some("0c4d".into()), network: Some("net:[4026531840]".into()) }
    }

    fn journal(entries: Vec<Entry>) -> Journal {
        Journal { place: place(), entries }
    }

    fn thp() -> Entry {
        Entry {
            knob: "thp".into(),
            path: "/sys/kernel/mm/transparent_hugepage/enabled".into(),
            old: "madvise".into(),
            ours: vec!["always".into()],
            place: None,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let elsewhere = Entry { place: Some(place()), ..swappiness("60") };
        for entries in [vec![], vec![swappiness("60")], vec![elsewhere, thp()]] {
            let journal = journal(entries);
            assert_eq!(Journal::parse(&journal.text()), Ok(journal));
        }
    }

    #[test]
    fn each_cut_off_text_is_damaged_and_keeps_its_whole_lines() {
        let text = journal(vec![swappiness("60"), thp()]).text();
        for cut in 0..text.len() - 1 {
            let damaged = Journal::parse(&text[..cut]).unwrap_err();
            let whole = text[..cut].matches('\n').count().saturating_sub(2);
            assert!(damaged.readable.len() >= whole.min(2), "{cut}: {damaged:?}");
            assert!(!damaged.faults.is_empty());
        }
    }

    #[test]
    fn only_files_of_the_catalogue_are_acted_on() {
        let elsewhere = Entry { path: "/etc/passwd".into(), ..swappiness("60") };
        let unknown = Entry { knob: "prefetchers".into(), ..swappiness("60") };
        let launch = Entry { knob: "nice".into(), ..swappiness("60") };
        let no_value = swappiness("x");
        for entry in [elsewhere, unknown, launch, no_value] {
            let text = journal(vec![entry, thp()]).text();
            let damaged = Journal::parse(&text).unwrap_err();
            assert_eq!(damaged.readable, vec![thp()], "{damaged}");
            assert!(damaged.to_string().starts_with("line 3: "), "{damaged}");
        }
    }

    #[test]
    fn without_its_place_a_journal_is_damaged_and_says_so() {
        let text = journal(vec![thp()]).text();
        let altered = text.replacen("0c4d", "0c4e", 1);
        let damaged = Journal::parse(&altered).unwrap_err();
        assert_eq!((damaged.place.as_ref(), damaged.readable.len()), (None, 1));
        assert!(damaged.to_string().starts_with("line 2, the place: "), "{damaged}");
        let other = text.replacen("thp", "tph", 1);
        assert_eq!(Journal::parse(&other).unwrap_err().place, Some(place()));
    }

    #[test]
    fn values_of_others_are_told_from_ours() {
        let entry = swappiness("60");
        assert!(entry.is_ours("60") && entry.is_ours("10") && !entry.is_ours("33"));
    }

    proptest! {
        #[test]
        fn one_altered_byte_never_passes(at in 0_usize..1_000, byte in 0_u8..128) {
            let text = journal(vec![swappiness("60"), thp()]).text();
            let mut bytes = text.clone().into_bytes();
            let at = at % (bytes.len() - 1);
            prop_assume!(bytes[at] != byte);
            bytes[at] = byte;
            let altered = String::from_utf8(bytes).expect("ASCII");
            // A line's end may change its kind, which says the same.
            prop_assume!(!altered.lines().eq(text.lines()));
            prop_assert!(Journal::parse(&altered).is_err(), "{altered}");
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,400}") {
            let _ = Journal::parse(&text);
        }
    }
}
