//! What a memcached answers: bytes to values. Borrows from the input.

use tailwater_keyvalue::memcached::parse::Words;
use tailwater_keyvalue::store::VALUE_MAX;

/// Longest line: a VALUE line has a key of 250 bytes and three numbers.
const LINE_MAX: usize = 2_048;
const END: &[u8] = b"END\r\n";
/// How a line begins that says that there is no memory, as memcached says it where it may not evict.
pub(crate) const FULL: &[u8] = b"SERVER_ERROR out of memory";

/// What is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected<'a> {
    /// The value of this key, or that there is none.
    Value(&'a [u8]),
    /// One line.
    Line,
}

/// An answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer<'a> {
    /// All of a value: its line, its bytes and their line's end.
    Value(&'a [u8]),
    /// There is no such key.
    Miss,
    /// Another line, without its end.
    Line(&'a [u8]),
}

/// What stands at the start of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read<'a> {
    /// The beginning of an answer, of which so many bytes are needed at least.
    Incomplete(usize),
    /// An answer of so many bytes.
    Whole(Answer<'a>, usize),
    /// Something that is no answer, in a word: the connection cannot go on.
    Broken(&'static str),
}

/// Reads the first answer.
pub(crate) fn read<'a>(input: &'a [u8], expected: Expected<'_>) -> Read<'a> {
    let window = &input[..input.len().min(LINE_MAX)];
    let Some(end) = window.iter().position(|byte| *byte == b'\n') else {
        let is_long = input.len() >= LINE_MAX;
        return if is_long {
            Read::Broken("a line without an end")
        } else {
            Read::Incomplete(input.len() + 1)
        };
    };
    let Some(line) = input[..end].strip_suffix(b"\r") else {
        return Read::Broken("a line that does not end as lines do");
    };
    let used = end + 1;
    match expected {
        Expected::Line => Read::Whole(Answer::Line(line), used),
        Expected::Value(_) if line == b"END" => Read::Whole(Answer::Miss, used),
        Expected::Value(key) => match line.strip_prefix(b"VALUE ") {
            Some(head) => value(input, used, head, key),
            None if is_error(line) => Read::Whole(Answer::Line(line), used),
            None => Read::Broken("neither a value nor an error"),
        },
    }
}

fn value<'a>(input: &'a [u8], used: usize, head: &[u8], key: &[u8]) -> Read<'a> {
    let mut words = Words::of(head);
    if words.next() != Some(key) {
        return Read::Broken("the value of another key");
    }
    let length = words.nth(1).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
    let Some(length) = length.filter(|length: &usize| *length <= VALUE_MAX) else {
        return Read::Broken("a value of no length, or longer than 1 MiB");
    };
    let whole = used + length + 2;
    let needed = whole + END.len();
    if input.len() < needed {
        return Read::Incomplete(needed);
    }
    if !input[..whole].ends_with(b"\r\n") || &input[whole..needed] != END {
        return Read::Broken("a value that does not end where it says");
    }
    Read::Whole(Answer::Value(&input[..whole]), needed)
}

/// Of a value's line, its bytes and their line's end, the bytes.
pub(crate) fn value_of(whole: &[u8]) -> Option<&[u8]> {
    let line = whole.iter().position(|byte| *byte == b'\n')?;
    whole[line + 1..].strip_suffix(b"\r\n")
}

/// Whether a line says that a command failed.
pub(crate) fn is_error(line: &[u8]) -> bool {
    [&b"ERROR"[..], b"CLIENT_ERROR", b"SERVER_ERROR"].iter().any(|word| line.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: Expected<'_> = Expected::Value(b"key");

    #[test]
    fn an_answer_is_complete_with_its_last_byte() {
        let whole = b"VALUE key 7 5\r\nab\r\nc\r\nEND\r\n";
        for cut in 0..whole.len() {
            let Read::Incomplete(needed) = read(&whole[..cut], KEY) else { panic!("{cut} bytes") };
            assert!(needed > cut && needed <= whole.len(), "{cut}: {needed}");
        }
        let value = &whole[..whole.len() - END.len()];
        assert_eq!(read(whole, KEY), Read::Whole(Answer::Value(value), whole.len()));
    }

    #[test]
    fn answers_are_told_apart() {
        let line = |text: &'static [u8]| Read::Whole(Answer::Line(text), text.len() + 2);
        assert_eq!(read(b"END\r\nEND\r\n", KEY), Read::Whole(Answer::Miss, 5));
        assert_eq!(read(b"STORED\r\n", Expected::Line), line(b"STORED"));
        assert_eq!(read(b"SERVER_ERROR busy\r\n", KEY), line(b"SERVER_ERROR busy"));
        let broken: [&[u8]; 7] = [
            b"VALUE other 0 1\r\na\r\nEND\r\n",
            b"VALUE key 0 9999999\r\n",
            b"VALUE key 0 -1\r\n",
            b"VALUE key 0 1\r\nabcEND\r\n",
            b"VALUE key 0 1\r\na\r\nEVE\r\n",
            b"STORED\r\n",
            &[b'x'; LINE_MAX],
        ];
        for input in broken {
            assert!(matches!(read(input, KEY), Read::Broken(_)), "{}", input.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_beyond_it(input in prop::collection::vec(any::<u8>(), 0..200)) {
            for expected in [KEY, Expected::Line] {
                match read(&input, expected) {
                    Read::Incomplete(needed) => prop_assert!(needed > input.len()),
                    Read::Whole(_, used) => prop_assert!((1..=input.len()).contains(&used)),
                    Read::Broken(_) => {}
                }
            }
        }
    }
}
