//! Bytes to commands of memcached's text protocol. Borrows from the input; never panics, never copies.

/// Longest command line: some thousands of the longest keys in one `get`.
pub const LINE_MAX: usize = 1 << 20;

use crate::store::{KEY_MAX, VALUE_MAX};

/// One command. Its words are those of memcached's `protocol.txt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the protocol's own words")]
pub enum Command<'a> {
    /// get, gets
    Get { keys: Words<'a>, with_cas: bool },
    /// set, add, replace, append, prepend, cas
    Store { how: How, key: &'a [u8], flags: u32, exptime: i64, value: &'a [u8], noreply: bool },
    /// delete
    Delete { key: &'a [u8], noreply: bool },
    /// incr, decr
    Add { key: &'a [u8], delta: u64, up: bool, noreply: bool },
    /// touch
    Touch { key: &'a [u8], exptime: i64, noreply: bool },
    /// stats
    Stats { topic: &'a [u8] },
    /// flush_all
    FlushAll { delay: i64, noreply: bool },
    /// verbosity
    Verbosity { noreply: bool },
    /// version
    Version,
    /// quit
    Quit,
}

/// The storage commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the protocol's own words")]
pub enum How {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Cas(u64),
}

/// What stands at the start of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parsed<'a> {
    /// The beginning of a command.
    Incomplete(Wait),
    /// A command of so many bytes.
    Command(Command<'a>, usize),
    /// An error.
    Bad(Bad<'a>),
}

/// What the beginning of a command waits for. With it no read makes the parser look again at what came
/// before: a peer that sends single bytes would otherwise cost a walk over a mebibyte for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The line's end.
    Line {
        /// Among so many first bytes it is not.
        scanned: usize,
    },
    /// So many bytes altogether: the line, its value and the value's end.
    Bytes(usize),
}

impl Default for Wait {
    fn default() -> Self {
        Self::Line { scanned: 0 }
    }
}

/// What to do about bytes that are no command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bad<'a> {
    /// What to answer, without the line's end; empty for nothing.
    pub answer: &'static str,
    /// Bytes to skip, of which some may be still to come: the line, and a value's.
    pub skip: usize,
    /// Skip the rest of the line after these, too.
    pub skip_line: bool,
    /// A stored value that is out of date since a `set` of this key failed.
    pub stale: Option<&'a [u8]>,
    /// The client reads no answer to it.
    pub noreply: bool,
    /// The connection cannot go on.
    pub fatal: bool,
}

pub(super) const BAD_LINE: &str = "CLIENT_ERROR bad command line format";
pub(super) const TOO_LARGE: &str = "SERVER_ERROR object too large for cache";
const BAD_CHUNK: &str = "CLIENT_ERROR bad data chunk";
const BAD_DELTA: &str = "CLIENT_ERROR invalid numeric delta argument";
const BAD_EXPTIME: &str = "CLIENT_ERROR invalid exptime argument";

/// Words of a line, of which there may be many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|byte| *byte != b' ')?;
        let rest = &self.0[start..];
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        self.0 = &rest[end..];
        Some(&rest[..end])
    }
}

impl<'a> Words<'a> {
    /// The words of `line`, which is without its end.
    pub const fn of(line: &'a [u8]) -> Self {
        Self(line)
    }

    /// Bytes that are left, which end where the line does.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }
}

/// The first command of `input`, of which the `scanned` first bytes are known to hold no line's end.
pub fn parse(input: &[u8], scanned: usize) -> Parsed<'_> {
    let window = &input[..input.len().min(LINE_MAX)];
    let Some(end) = line_end(window, scanned) else {
        if input.len() < LINE_MAX {
            return Parsed::Incomplete(Wait::Line { scanned: input.len() });
        }
        let bad = Bad { fatal: true, ..bad("CLIENT_ERROR line too long", input.len()) };
        return Parsed::Bad(bad);
    };
    let line = window[..end].strip_suffix(b"\r").unwrap_or(&window[..end]);
    let used = end + 1;
    let mut words = Words(line);
    let verb = words.next().unwrap_or_default();
    if let Some(parsed) = parse_storage(verb, words, input, used) {
        return parsed;
    }
    match parse_line(verb, words) {
        Ok(command) => Parsed::Command(command, used),
        Err(answer) => Parsed::Bad(bad(answer, used)),
    }
}

fn line_end(window: &[u8], scanned: usize) -> Option<usize> {
    let end = window.get(scanned..)?.iter().position(|byte| *byte == b'\n')?;
    Some(scanned + end)
}

const fn bad<'a>(answer: &'static str, skip: usize) -> Bad<'a> {
    Bad { answer, skip, skip_line: false, stale: None, noreply: false, fatal: false }
}

/// The commands that are one line.
fn parse_line<'a>(verb: &[u8], mut words: Words<'a>) -> Result<Command<'a>, &'static str> {
    match verb {
        b"get" | b"gets" => {
            let with_cas = verb == b"gets";
            words.clone().next().ok_or("ERROR")?;
            if !words.clone().all(is_key) {
                return Err(BAD_LINE);
            }
            Ok(Command::Get { keys: words, with_cas })
        }
        b"delete" => {
            let key = key(words.next())?;
            // A time of zero is what is left of an old version of the protocol.
            let noreply = match (words.next(), words.next()) {
                (None | Some(b"0"), None) => false,
                (Some(b"noreply"), None) | (Some(b"0"), Some(b"noreply")) => true,
                _ => {
                    return Err(
                        "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]",
                    );
                }
            };
            Ok(Command::Delete { key, noreply })
        }
        b"incr" | b"decr" => {
            let (key, up) = (key(words.next())?, verb == b"incr");
            let delta = words.next().ok_or("ERROR")?;
            let delta = number(delta).ok_or(BAD_DELTA)?;
            Ok(Command::Add { key, delta, up, noreply: noreply(words)? })
        }
        b"touch" => {
            let key = key(words.next())?;
            let exptime = number(words.next().ok_or("ERROR")?).ok_or(BAD_EXPTIME)?;
            Ok(Command::Touch { key, exptime, noreply: noreply(words)? })
        }
        b"flush_all" => {
            let first = words.clone().next();
            let delay = match first {
                None | Some(b"noreply") => 0,
                Some(delay) => {
                    words.next();
                    number(delay).ok_or(BAD_EXPTIME)?
                }
            };
            Ok(Command::FlushAll { delay, noreply: noreply(words)? })
        }
        b"verbosity" => {
            let level = words.next().ok_or("ERROR")?;
            Ok(Command::Verbosity { noreply: level == b"noreply" || noreply(words)? })
        }
        b"stats" => Ok(Command::Stats { topic: words.next().unwrap_or_default() }),
        b"version" => last(words, Command::Version),
        b"quit" => last(words, Command::Quit),
        _ => Err("ERROR"),
    }
}

/// memcached 1.4, whose protocol this is, has these commands take no words; later ones ignore them.
fn last<'a>(mut words: Words<'_>, command: Command<'a>) -> Result<Command<'a>, &'static str> {
    words.next().map_or(Ok(command), |_| Err("ERROR"))
}

/// A storage command with its value; `None` if `verb` is no such command.
fn parse_storage<'a>(
    verb: &[u8],
    mut words: Words<'a>,
    input: &'a [u8],
    used: usize,
) -> Option<Parsed<'a>> {
    let cas = verb == b"cas";
    let mut how = match verb {
        b"set" => How::Set,
        b"add" => How::Add,
        b"replace" => How::Replace,
        b"append" => How::Append,
        b"prepend" => How::Prepend,
        b"cas" => How::Cas(0),
        _ => return None,
    };
    let [key, flags, exptime, length] = std::array::from_fn(|_| words.next());
    let Some(length) = length else { return Some(Parsed::Bad(bad("ERROR", used))) };
    let Some(length) = number::<i64>(length) else {
        return Some(Parsed::Bad(bad(BAD_LINE, used)));
    };
    let Ok(length) = usize::try_from(length) else {
        return Some(Parsed::Bad(bad(BAD_CHUNK, used)));
    };
    // From here on it is known where the value ends, so that no byte of it is taken for a command.
    let skip = used.saturating_add(length).saturating_add(2);
    let key = key.unwrap_or_default();
    let unique = if cas { words.next().map(number) } else { Some(Some(0)) };
    let (Some(flags), Some(exptime), Some(Some(unique)), Ok(noreply), true) =
        (flags.and_then(number), exptime.and_then(number), unique, noreply(words), is_key(key))
    else {
        return Some(Parsed::Bad(bad(BAD_LINE, skip)));
    };
    if length > VALUE_MAX {
        let stale = (how == How::Set).then_some(key);
        return Some(Parsed::Bad(Bad { stale, noreply, ..bad(TOO_LARGE, skip) }));
    }
    if cas {
        how = How::Cas(unique);
    }
    if input.len() < skip {
        return Some(Parsed::Incomplete(Wait::Bytes(skip)));
    }
    let (value, end) = input[used..skip].split_at(length);
    if end != b"\r\n" {
        // The value is longer than announced, or shorter: where the next command begins is a guess.
        let skip_line = !end.contains(&b'\n') && value.last() != Some(&b'\n');
        let skip = if skip_line { skip } else { used + resume(&input[used..skip]) };
        return Some(Parsed::Bad(Bad { skip_line, ..bad(BAD_CHUNK, skip) }));
    }
    Some(Parsed::Command(Command::Store { how, key, flags, exptime, value, noreply }, skip))
}

/// Behind the last line's end.
fn resume(data: &[u8]) -> usize {
    data.iter().rposition(|byte| *byte == b'\n').map_or(data.len(), |end| end + 1)
}

fn key(word: Option<&[u8]>) -> Result<&[u8], &'static str> {
    word.ok_or("ERROR").and_then(|key| if is_key(key) { Ok(key) } else { Err(BAD_LINE) })
}

/// Keys have no control characters, as the protocol says. memcached takes them, but ends a line at a NUL: the value
/// of `set a\0 0 0 9` would be its next command.
#[must_use]
pub fn is_key(word: &[u8]) -> bool {
    word.len() <= KEY_MAX && !word.iter().any(|byte| *byte <= b' ' || *byte == 0x7f)
}

/// The rest of a line: nothing or `noreply`.
fn noreply(mut words: Words<'_>) -> Result<bool, &'static str> {
    match (words.next(), words.next()) {
        (None, _) => Ok(false),
        (Some(b"noreply"), None) => Ok(true),
        _ => Err(BAD_LINE),
    }
}

/// Strictly decimal; a minus only where the type has one.
fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(word).ok()?;
    (!text.starts_with('+')).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bad_answer(input: &[u8]) -> (&'static str, usize) {
        match parse(input, 0) {
            Parsed::Bad(bad) => (bad.answer, bad.skip),
            other => panic!("{other:?} is no error"),
        }
    }

    #[test]
    fn a_command_is_complete_with_its_last_byte() {
        let whole = b"set key 7 -1 5 noreply\r\nab\r\nc\r\n";
        let line = b"set key 7 -1 5 noreply\r\n".len();
        for cut in 0..whole.len() {
            let wait =
                if cut < line { Wait::Line { scanned: cut } } else { Wait::Bytes(whole.len()) };
            assert_eq!(parse(&whole[..cut], 0), Parsed::Incomplete(wait), "{cut} bytes");
        }
        let command = Command::Store {
            how: How::Set,
            key: b"key",
            flags: 7,
            exptime: -1,
            value: b"ab\r\nc",
            noreply: true,
        };
        assert_eq!(parse(whole, 0), Parsed::Command(command, whole.len()));
    }

    #[test]
    fn errors_are_memcacheds() {
        assert_eq!(bad_answer(b"nonsense\r\n"), ("ERROR", 10));
        assert_eq!(bad_answer(b"\r\n"), ("ERROR", 2));
        assert_eq!(bad_answer(b"get\r\n"), ("ERROR", 5));
        assert_eq!(bad_answer(b"set k 0 0\r\n"), ("ERROR", 11));
        assert_eq!(bad_answer(b"set k 0 0 -1\r\n"), (BAD_CHUNK, 14));
        assert_eq!(bad_answer(b"set k x 0 3\r\n"), (BAD_LINE, 18));
        assert_eq!(bad_answer(b"set k 0 0 2000000\r\n"), (TOO_LARGE, 2_000_021));
        assert_eq!(bad_answer(b"set k 0 0 2\r\nabc\r\n").0, BAD_CHUNK);
        assert_eq!(bad_answer(b"incr k x\r\n").0, BAD_DELTA);
        assert_eq!(bad_answer(b"version of\r\n"), ("ERROR", 12));
        assert_eq!(bad_answer(b"quit it\r\n"), ("ERROR", 9));
        assert_eq!(bad_answer(&[b'g'; LINE_MAX]).0, "CLIENT_ERROR line too long");
        let long = [b"get ", &[b'k'; KEY_MAX + 1][..], b"\r\n"].concat();
        assert_eq!(bad_answer(&long).0, BAD_LINE);
    }

    /// memcached would stop at the NUL, and take the value for a command.
    #[test]
    fn keys_with_control_characters_are_refused_and_their_values_swallowed() {
        for byte in (0..=0x1f).chain([0x7f]).filter(|byte| *byte != b'\n') {
            let bad = |line: &[u8]| {
                let input = line.iter().map(|it| if *it == b'?' { byte } else { *it });
                bad_answer(&input.collect::<Vec<_>>())
            };
            assert_eq!(bad(b"set a? 0 0 9\r\nflush_all\r\n"), (BAD_LINE, 25), "{byte}");
            assert_eq!(bad(b"set ? 0 0 2000000\r\n"), (BAD_LINE, 2_000_021), "{byte}");
            for line in
                [&b"get b a?b\r\n"[..], b"delete a?b\r\n", b"incr a?b 1\r\n", b"touch a?b 1\r\n"]
            {
                assert_eq!(bad(line), (BAD_LINE, line.len()), "{byte}");
            }
        }
    }

    proptest! {
        /// Whatever comes, something is consumed or more is asked for, within a bound.
        #[test]
        fn no_bytes_are_beyond_it(input in prop::collection::vec(any::<u8>(), 0..200)) {
            match parse(&input, 0) {
                Parsed::Incomplete(_) => prop_assert!(input.len() < LINE_MAX + VALUE_MAX + 2),
                Parsed::Command(_, used) => prop_assert!((1..=input.len()).contains(&used)),
                Parsed::Bad(bad) => prop_assert!(bad.skip > 0 || bad.fatal),
            }
        }

        /// The same with bytes that look like commands.
        #[test]
        fn no_words_are_beyond_it(words in prop::collection::vec(
            prop::sample::select(vec![
                "get", "gets", "set", "cas", "append", "delete", "incr", "touch", "flush_all", "stats",
                "noreply", "key", "0", "1", "-1", "99999999999999999999", "18446744073709551615",
                "\r\n", "\n", "\r", " ", "",
            ]), 0..40)) {
            let text = words.join(" ");
            let mut rest = text.as_bytes();
            while !rest.is_empty() {
                match parse(rest, 0) {
                    Parsed::Incomplete(_) => break,
                    Parsed::Command(_, used) => rest = &rest[used..],
                    Parsed::Bad(bad) => {
                        prop_assert!(bad.skip > 0);
                        rest = rest.get(bad.skip..).unwrap_or_default();
                    }
                }
            }
        }
    }
}
