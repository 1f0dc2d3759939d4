//! A threading model as one word: how requests are received, where handlers run, and who waits for the answers
//! of the next tier (µTune, Sriraman and Wenisch, OSDI '18, §2; thesis §3.2).

use super::{Placement, Reception};
use crate::words::WordError;
use std::fmt;
use std::str::FromStr;

/// What waits for the answers that a handler awaits from other servers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Completion {
    /// The handler rests, and its thread goes on with others until the answers wake it. The thread that sent the
    /// calls reads the answers.
    #[default]
    Async,
    /// As `Async`, but so many response threads make the calls and take the answers (thesis §3.2.3). The one that
    /// has the last answer wakes the handler.
    Responders(usize),
    /// The handler's thread sleeps until the handler has its answers, and does nothing else meanwhile.
    Sync,
    /// As `Sync`, but each call is made by one of so many threads, which is woken for it and waits for its answer alone.
    /// The last of them wakes the handler's thread: fork-join as in the thesis (§3.2.2), as a baseline.
    ForkJoin(usize),
}

impl Completion {
    /// Most threads that make handlers' calls.
    pub const CREW_MAX: usize = 1_024;

    /// The threads that make handlers' calls; zero where the handlers' own do.
    #[must_use]
    pub const fn crew(self) -> usize {
        match self {
            Self::Async | Self::Sync => 0,
            Self::Responders(count) | Self::ForkJoin(count) => count,
        }
    }

    /// Whether a handler holds its thread while it awaits its calls.
    #[must_use]
    pub const fn is_sync(self) -> bool {
        matches!(self, Self::Sync | Self::ForkJoin(_))
    }
}

/// How a server's threads share its work, the eight models of µTune and those between them.
///
/// As a word it is three letters: `s` or `a` for synchronous or asynchronous completion; `i` or `d` for handlers on
/// the loops (in-line) or on workers (dispatched); `b` or `p` for loops that sleep (block) or never do (poll). `:4`
/// behind it is the number of workers. `+2` behind that is the number of threads that make handlers' calls:
/// responders of an asynchronous model, and fork-join's threads of a synchronous one. `@spin:20us` is how long a loop
/// looks before it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Model {
    /// How loops wait for requests.
    pub reception: Reception,
    /// Where handlers run.
    pub placement: Placement,
    /// What waits for the next tier.
    pub completion: Completion,
}

impl Model {
    /// Examples of all, for messages.
    pub const EXAMPLES: [&'static str; 12] = [
        "sib",
        "sip",
        "sdb:4",
        "sdp:4",
        "aib",
        "aip",
        "adb:4",
        "adp:4",
        "aib@spin:20us",
        "aib+2",
        "adp:4+2",
        "sib+8",
    ];

    const UNKNOWN: WordError = WordError::Unknown(&Self::EXAMPLES);

    /// Its workers; zero where handlers run on the loops.
    #[must_use]
    pub const fn workers(&self) -> usize {
        match self.placement {
            Placement::Inline => 0,
            Placement::Workers(count) => count,
        }
    }
}

impl From<Placement> for Model {
    fn from(placement: Placement) -> Self {
        Self { placement, ..Self::default() }
    }
}

impl From<Reception> for Model {
    fn from(reception: Reception) -> Self {
        Self { reception, ..Self::default() }
    }
}

impl From<Completion> for Model {
    fn from(completion: Completion) -> Self {
        Self { completion, ..Self::default() }
    }
}

impl FromStr for Model {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let (text, spin) = split(text, '@');
        let (text, crew) = split(text, '+');
        let (letters, count) = split(text, ':');
        let crew = crew.map(crew_of).transpose()?;
        let &[completion, placement, reception] = letters.as_bytes() else {
            return Err(Self::UNKNOWN);
        };
        Ok(Self {
            completion: match completion {
                b's' => crew.map_or(Completion::Sync, Completion::ForkJoin),
                b'a' => crew.map_or(Completion::Async, Completion::Responders),
                _ => return Err(Self::UNKNOWN),
            },
            placement: match placement {
                b'i' => inline(count)?,
                b'd' => dispatched(count)?,
                _ => return Err(Self::UNKNOWN),
            },
            reception: match reception {
                b'b' => sleeping(spin)?,
                b'p' if spin.is_none() => Reception::Poll,
                b'p' => return Err(SPIN),
                _ => return Err(Self::UNKNOWN),
            },
        })
    }
}

const SPIN: WordError = WordError::Amount(
    "\"@spin:\" with a duration above 0s and up to 1s, behind a model that sleeps, such as \"aib@spin:20us\"",
);

/// A text, and what stands behind the first `mark` in it.
fn split(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

fn inline(count: Option<&str>) -> Result<Placement, WordError> {
    let none = "no number behind a model whose handlers run on the loops, such as \"aib\"";
    if count.is_none() { Ok(Placement::Inline) } else { Err(WordError::Amount(none)) }
}

fn dispatched(count: Option<&str>) -> Result<Placement, WordError> {
    let fitting = |count: &usize| (1..=Placement::WORKERS_MAX).contains(count);
    let count = count.and_then(|count| count.parse().ok()).filter(fitting);
    let needed =
        "the number of workers, from 1 to 1024, behind a model that dispatches, such as \"adb:4\"";
    count.map(Placement::Workers).ok_or(WordError::Amount(needed))
}

fn crew_of(count: &str) -> Result<usize, WordError> {
    let fitting = |count: &usize| (1..=Completion::CREW_MAX).contains(count);
    let needed = "behind \"+\" the number of threads that make handlers' calls, from 1 to 1024, such as \"aib+2\"";
    count.parse().ok().filter(fitting).ok_or(WordError::Amount(needed))
}

fn sleeping(spin: Option<&str>) -> Result<Reception, WordError> {
    match spin.map(str::parse) {
        None => Ok(Reception::Block),
        Some(Ok(spin @ Reception::SpinThenBlock(_))) => Ok(spin),
        Some(_) => Err(SPIN),
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.completion.is_sync() { "s" } else { "a" })?;
        f.write_str(if self.placement == Placement::Inline { "i" } else { "d" })?;
        f.write_str(if self.reception == Reception::Poll { "p" } else { "b" })?;
        if let Placement::Workers(count) = self.placement {
            write!(f, ":{count}")?;
        }
        match self.completion.crew() {
            0 => {}
            count => write!(f, "+{count}")?,
        }
        match self.reception {
            spin @ Reception::SpinThenBlock(_) => write!(f, "@{spin}"),
            Reception::Block | Reception::Poll => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_written_reads_back() {
        for text in Model::EXAMPLES.into_iter().chain(["sdb:1024+8@spin:1.5us", "adb:1"]) {
            assert_eq!(text.parse::<Model>().map(|found| found.to_string()), Ok(text.into()));
        }
    }

    #[test]
    fn each_letter_says_one_thing() {
        let model = |text: &str| text.parse::<Model>().unwrap();
        assert_eq!(model("aib"), Model::default());
        assert_eq!(model("sib").completion, Completion::Sync);
        assert_eq!(model("sip+8").completion, Completion::ForkJoin(8));
        assert_eq!(model("adb:3+2").completion, Completion::Responders(2));
        assert_eq!((model("adb:3").completion.crew(), model("adb:3+2").completion.crew()), (0, 2));
        assert_eq!(model("adb:3").placement, Placement::Workers(3));
        assert_eq!((model("aib").workers(), model("adp:3").workers()), (0, 3));
        assert_eq!(model("aip").reception, Reception::Poll);
        let spin = Reception::SpinThenBlock(Duration::from_micros(20));
        assert_eq!(model("sdb:2@spin:20us").reception, spin);
    }

    #[test]
    fn what_is_no_model_says_what_is_needed() {
        for text in ["", "ai", "aibx", "xib", "axb", "aix", "é", "@spin:20us"] {
            assert_eq!(text.parse::<Model>(), Err(Model::UNKNOWN), "{text}");
        }
        for (text, needed) in [
            ("aib:4", "no number"),
            ("adb", "the number of workers"),
            ("adb:0", "from 1 to 1024"),
            ("adb:1025", "from 1 to 1024"),
            ("aib+0", "from 1 to 1024"),
            ("adb:4+", "from 1 to 1024"),
            ("aib+2:4", "from 1 to 1024"),
            ("sib+1025", "from 1 to 1024"),
            ("aip@spin:20us", "behind a model that sleeps"),
            ("aib@spin:0s", "above 0s"),
            ("aib@poll", "\"@spin:\""),
        ] {
            let error = text.parse::<Model>().unwrap_err().to_string();
            assert!(error.contains(needed), "{text}: {error}");
        }
    }
}
