//! What a knob's file says, and what may be written to it.

use tailwater_core::words::clip;

/// CPUs of a mask, four to a digit: more than any kernel supports today (`NR_CPUS` is 8,192 at most).
const MASK_DIGITS_MAX: usize = 2_048;
/// Digits of a mask between commas: `bitmap_parse` of the kernel reads 32 bits at a time.
const GROUP: usize = 8;

/// What the kernel says of its memory.
const MEMORY: &str = "/proc/meminfo";

/// The text of a knob's file: how a value is read from it, and which are written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Form {
    /// All words, the chosen one in brackets, as `always [madvise] never`; these are known where a file lists none.
    Marked(&'static [&'static str]),
    /// One of the words that another file lists, whose path this is.
    Listed(&'static str),
    /// A whole number.
    Number {
        /// The smallest.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// How many pages of memory there shall be, of which the kernel may find fewer. What is set aside is gone for all
    /// else, so half of the memory that is available is the most that may be added.
    Reserve {
        /// The most.
        high: u64,
    },
    /// Three whole numbers: least, usual, most. Those that may be written do not fall.
    Triple {
        /// The smallest.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// A set of CPUs as a hexadecimal number.
    Mask,
}

impl Form {
    /// The value that a file's text says; `None` where it is no text of this form.
    #[must_use]
    pub fn now(self, text: &str) -> Option<String> {
        let text = text.trim();
        match self {
            Self::Marked(_) => match marked(text) {
                Some(word) => Some(word.to_owned()),
                None => is_word(text).then(|| text.to_owned()),
            },
            Self::Listed(_) => is_word(text).then(|| text.to_owned()),
            Self::Number { .. } | Self::Reserve { .. } => {
                text.parse().ok().map(|n: u64| n.to_string())
            }
            Self::Triple { .. } => triple(text).map(joined),
            Self::Mask => mask(text),
        }
    }

    /// Another file that what is allowed depends on.
    #[must_use]
    pub const fn beside(self) -> Option<&'static str> {
        match self {
            Self::Listed(path) => Some(path),
            Self::Reserve { .. } => Some(MEMORY),
            _ => None,
        }
    }

    /// The value that is meant by what a person says, where it is allowed. `text` is what the file says now, `beside`
    /// what that of [`Form::beside`] says.
    ///
    /// # Errors
    /// Says what was found and what is needed.
    pub fn parse(self, said: &str, text: &str, beside: &str) -> Result<String, String> {
        let needed = || format!("'{}' found, {} is needed", clip(said), self.allowed(text, beside));
        let within = |(low, high): (u64, u64)| {
            let number = said.trim().parse().ok();
            number.filter(|n: &u64| (low..=high).contains(n)).map(|n| n.to_string())
        };
        let value = match self {
            Self::Marked(_) | Self::Listed(_) => {
                let word = said.trim();
                self.words(text, beside).contains(&word).then(|| word.to_owned())
            }
            Self::Number { low, high } => within((low, high)),
            Self::Reserve { high } => within((0, room(text, beside, high))),
            Self::Triple { low, high } => {
                let is_allowed = |three: &[u64; 3]| {
                    three.is_sorted() && three.iter().all(|number| (low..=high).contains(number))
                };
                triple(&said.replace(',', " ")).filter(is_allowed).map(joined)
            }
            Self::Mask => mask(said),
        };
        value.ok_or_else(needed)
    }

    /// What may be written, for people.
    #[must_use]
    pub fn allowed(self, text: &str, beside: &str) -> String {
        match self {
            Self::Marked(_) | Self::Listed(_) => self.words(text, beside).join("|"),
            Self::Number { low, high } => format!("{low}–{high}"),
            Self::Reserve { high } => {
                let room = room(text, beside, high);
                format!("0–{room} (those now and half of the memory that is available)")
            }
            Self::Triple { low, high } => format!("least,usual,most from {low} up to {high}"),
            Self::Mask => "CPUs as a hexadecimal mask".into(),
        }
    }

    /// Whether a value that is found may come of our writing one of `ours` over `old`. All else was written by others.
    #[must_use]
    pub fn is_ours(self, found: &str, old: &str, ours: &[String]) -> bool {
        if found == old || ours.iter().any(|value| value == found) {
            return true;
        }
        match self {
            Self::Reserve { .. } => is_part(found, old, ours),
            Self::Triple { .. } => is_mixed(found, old, ours),
            _ => false,
        }
    }

    /// Words that may be written.
    fn words<'t>(self, text: &'t str, listed: &'t str) -> Vec<&'t str> {
        match self {
            Self::Marked(_) if marked(text).is_some() => {
                let bare = |word: &'t str| word.trim_matches(MARKS);
                text.split_whitespace().map(bare).collect()
            }
            Self::Marked(known) => known.to_vec(),
            Self::Listed(_) => listed.split_whitespace().collect(),
            _ => Vec::new(),
        }
    }
}

/// How many pages there may be: those now, and half of what is available, but `high` at most. No more than now where
/// that is not told.
fn room(text: &str, meminfo: &str, high: u64) -> u64 {
    let of = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
    };
    // Both in KiB (proc_meminfo(5)).
    let (available, page) = (of("MemAvailable").unwrap_or(0), of("Hugepagesize").unwrap_or(0));
    let now: u64 = text.trim().parse().unwrap_or(0);
    now.saturating_add((available / 2).checked_div(page).unwrap_or(0)).min(high)
}

/// Whether the kernel may have found so many of a reserve.
fn is_part(found: &str, old: &str, ours: &[String]) -> bool {
    // The kernel takes as many as it finds, between what was there and what was asked for.
    let number = |text: &str| text.parse::<u64>().ok();
    let Some((found, old)) = number(found).zip(number(old)) else { return false };
    let mut asked = ours.iter().filter_map(|value| number(value));
    asked.any(|asked| (asked.min(old)..=asked.max(old)).contains(&found))
}

/// Whether each member was there or was asked for: a write that failed has left those before the wrong one.
fn is_mixed(found: &str, old: &str, ours: &[String]) -> bool {
    let known: Vec<[u64; 3]> =
        std::iter::once(old).chain(ours.iter().map(String::as_str)).filter_map(triple).collect();
    let is_known = |(at, number): (usize, u64)| known.iter().any(|three| three[at] == number);
    triple(found).is_some_and(|three| three.into_iter().enumerate().all(is_known))
}

/// Around the chosen word; the scheduler's files have parentheses.
const MARKS: [char; 4] = ['[', ']', '(', ')'];

/// The word in brackets.
fn marked(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    words.find(|word| word.starts_with(['[', '('])).map(|word| word.trim_matches(MARKS))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.chars().all(|c| c.is_ascii_graphic())
}

fn triple(text: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let three: [u64; 3] = numbers?.try_into().ok()?;
    Some(three)
}

fn joined(three: [u64; 3]) -> String {
    three.map(|number| number.to_string()).join(" ")
}

/// Without leading zeros, a comma before each eight digits: the kernel takes no more in one piece.
fn mask(text: &str) -> Option<String> {
    let digits: String =
        text.trim().trim_start_matches("0x").chars().filter(|c| *c != ',').collect();
    let is_mask = !digits.is_empty()
        && digits.len() <= MASK_DIGITS_MAX
        && digits.chars().all(|c| c.is_ascii_hexdigit());
    let bare = digits.trim_start_matches('0').to_ascii_lowercase();
    is_mask.then(|| if bare.is_empty() { "0".into() } else { grouped(&bare) })
}

/// Commas before each eight digits from the right.
fn grouped(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() + digits.len() / GROUP);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(GROUP) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    const THP: Form = Form::Marked(&["always", "madvise", "never"]);

    #[test]
    fn the_marked_word_is_the_value_and_all_words_are_allowed() {
        let text = "always [madvise] never\n";
        assert_eq!(THP.now(text).as_deref(), Some("madvise"));
        assert_eq!(THP.parse(" never", text, ""), Ok("never".into()));
        assert_eq!(THP.allowed(text, ""), "always|madvise|never");
        let preempt = "none voluntary (full) lazy\n";
        assert_eq!(Form::Marked(&[]).now(preempt).as_deref(), Some("full"));
        assert_eq!(Form::Marked(&[]).parse("lazy", preempt, ""), Ok("lazy".into()));
        let error = THP.parse("sometimes", text, "").unwrap_err();
        assert!(error.contains("'sometimes' found, always|madvise|never is needed"), "{error}");
    }

    #[test]
    fn a_word_without_marks_is_a_value_too() {
        assert_eq!(THP.now("always\n").as_deref(), Some("always"));
        assert_eq!(THP.parse("never", "always\n", ""), Ok("never".into()));
        assert_eq!(THP.now("always madvise\n"), None);
        assert_eq!(THP.now(""), None);
    }

    #[test]
    fn listed_words_are_those_of_the_other_file() {
        let form = Form::Listed("/proc/x");
        assert_eq!(form.parse("bbr", "reno\n", "reno bbr cubic\n"), Ok("bbr".into()));
        assert!(form.parse("dctcp", "reno\n", "reno bbr cubic\n").is_err());
    }

    #[test]
    fn numbers_keep_to_their_limits() {
        let form = Form::Number { low: 1, high: 200 };
        assert_eq!(form.now("60\n").as_deref(), Some("60"));
        assert_eq!(form.parse("007", "60", ""), Ok("7".into()));
        for wrong in ["0", "201", "-1", "1.5", ""] {
            assert!(form.parse(wrong, "60", "").unwrap_err().contains("1–200"), "{wrong}");
        }
    }

    #[test]
    fn triples_have_one_form_whatever_is_between() {
        let form = Form::Triple { low: 4_096, high: 1 << 30 };
        assert_eq!(form.now("4096\t131072\t33554432\n").as_deref(), Some("4096 131072 33554432"));
        assert_eq!(form.parse("4096,16384,4194304", "", ""), Ok("4096 16384 4194304".into()));
        for wrong in ["9000,8000,7000", "5000,6000", "4095,16384,32768", "4096,16384,1073741825"] {
            assert!(form.parse(wrong, "", "").is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_triple_that_was_written_in_part_is_ours_and_can_be_read() {
        let form = Form::Triple { low: 4_096, high: 1 << 30 };
        let (old, ours) = ("4096 16384 32768", ["50000 60000 70000".to_owned()]);
        // The kernel stores a vector's members one by one, and keeps those before a wrong one.
        for mixed in ["50000\t16384\t32768\n", "50000\t60000\t32768\n"] {
            let found = form.now(mixed).expect("it can be read, whatever its order");
            assert!(form.is_ours(&found, old, &ours), "{found}");
        }
        for other in ["50000 16384 32769", "16384 16384 32768", "50000 16384"] {
            assert!(!form.is_ours(other, old, &ours), "{other}");
        }
    }

    #[test]
    fn masks_of_many_cpus_are_written_as_the_kernel_takes_them() {
        let forty = "ff,ffffffff";
        assert_eq!(Form::Mask.now("00ff,ffffffff\n").as_deref(), Some(forty));
        assert_eq!(Form::Mask.parse("ffffffffff", "", ""), Ok(forty.into()));
        assert_eq!(Form::Mask.parse("100000000", "", ""), Ok("1,00000000".into()));
        assert_eq!(Form::Mask.parse("ffffffff", "", ""), Ok("ffffffff".into()));
    }

    #[test]
    fn masks_lose_leading_zeros() {
        assert_eq!(Form::Mask.now("00000000,00000003\n").as_deref(), Some("3"));
        assert_eq!(Form::Mask.parse("0xF", "", ""), Ok("f".into()));
        assert_eq!(Form::Mask.now("0\n").as_deref(), Some("0"));
        assert!(Form::Mask.parse("two", "", "").is_err());
    }

    #[test]
    fn no_more_pages_are_set_aside_than_half_of_the_available_memory() {
        let form = Form::Reserve { high: 600 };
        let memory =
            "MemTotal: 8000000 kB\nMemAvailable:    1000000 kB\nHugepagesize:       2048 kB\n";
        assert_eq!(form.parse("250", "6\n", memory), Ok("250".into()));
        let error = form.parse("251", "6\n", memory).unwrap_err();
        assert!(error.contains("0–250 (those now and half of the memory"), "{error}");
        assert_eq!(form.parse("0", "6\n", memory), Ok("0".into()));
        // Where nothing is known there may be fewer, and not more.
        assert_eq!(form.parse("6", "6\n", ""), Ok("6".into()));
        assert!(form.parse("7", "6\n", "").is_err());
        let large = "MemAvailable: 90000000 kB\nHugepagesize: 2048 kB\n";
        assert!(form.parse("601", "0\n", large).unwrap_err().contains("0–600"));
    }

    #[test]
    fn what_was_neither_there_nor_written_is_of_others() {
        let form = Form::Number { low: 0, high: 200 };
        let ours = ["10".to_owned()];
        assert!(form.is_ours("60", "60", &ours) && form.is_ours("10", "60", &ours));
        assert!(!form.is_ours("30", "60", &ours));
        let pages = Form::Reserve { high: 600 };
        assert!(pages.is_ours("412", "0", &["600".to_owned()]), "the kernel found fewer");
        assert!(!pages.is_ours("700", "0", &["600".to_owned()]));
    }
}
