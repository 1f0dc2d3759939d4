//! What to type where a line was not understood: clap's nearest word is often not what was meant.

use crate::args::Arguments;
use crate::keys;
use crate::quoted::quoted;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, Error, Parser as _};
use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::Path;

/// Reads the command line, or says what is wrong with it, with a tip, and ends the process.
pub(crate) fn arguments() -> Arguments {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    Arguments::try_parse().unwrap_or_else(|error| advised(error, &words).exit())
}

/// With our tip in place of clap's, where there is one.
fn advised(mut error: Error, words: &[String]) -> Error {
    if let Some(tip) = tip(&error, words) {
        for clap in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
            error.remove(clap);
        }
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

fn tip(error: &Error, words: &[String]) -> Option<String> {
    let verb = words.first()?;
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(unknown))) if unknown == verb => {
            instead_of_verb(verb, &words[1..])
        }
        (ErrorKind::UnknownArgument, _) => {
            let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
                return None;
            };
            match &**verb {
                _ if is_below_zero(unknown) => {
                    Some("what stands before it takes no number below zero".into())
                }
                "controllers" if !unknown.starts_with('-') => {
                    Some("it takes no name, and lists all with their settings".into())
                }
                "run" => instead_of_argument(unknown, &words[1..]),
                "data" | "suite" if unknown == "--from" => own_file(&words[1..]),
                _ => None,
            }
        }
        (ErrorKind::ValueValidation, _) => number(error).map(str::to_owned),
        _ => None,
    }
}

/// Of an option that takes no such number the parser thinks that it is another option.
fn is_below_zero(word: &str) -> bool {
    let digits = word.strip_prefix('-');
    digits.is_some_and(|digits| digits.starts_with(|first: char| first.is_ascii_digit()))
}

/// What is needed where a number is: the reason of the parser's is what it did not find ("invalid digit found in string").
fn number(error: &Error) -> Option<&'static str> {
    let why = error.source()?;
    if why.is::<ParseFloatError>() {
        return Some("a number is needed, such as 0.5");
    }
    match why.downcast_ref::<ParseIntError>()?.kind() {
        IntErrorKind::Empty | IntErrorKind::InvalidDigit => {
            Some("a whole number is needed, in digits alone")
        }
        _ => None,
    }
}

/// What does that which no verb of ours is called.
fn instead_of_verb(unknown: &str, rest: &[String]) -> Option<String> {
    let file = || rest.iter().find(|word| is_scenario(word)).map_or("FILE".into(), |it| quoted(it));
    if is_scenario(unknown) {
        return Some(format!("to run a scenario file, type: tailwater run {}", quoted(unknown)));
    }
    match unknown {
        "sim" | "simulate" | "simulation" => Some(format!(
            "to run a scenario in virtual time, type: tailwater run {} --on sim",
            file()
        )),
        "start" | "server" => Some("to start a server, type: tailwater serve".into()),
        "validate" | "lint" => Some(format!(
            "to read a scenario file without running it, type: tailwater check {}",
            file()
        )),
        _ => holder(unknown).map(|holder| format!("type: tailwater {holder} {unknown}")),
    }
}

/// The verb that alone has a verb of this name below it.
fn holder(name: &str) -> Option<String> {
    let tailwater = Arguments::command();
    let has_it = |verb: &&Command| {
        !verb.is_hide_set() && verb.get_subcommands().any(|below| below.get_name() == name)
    };
    let mut holders = tailwater.get_subcommands().filter(has_it);
    let first = holders.next()?.get_name().to_owned();
    holders.next().is_none().then_some(first)
}

/// What does that which `run` has no argument for.
fn instead_of_argument(unknown: &str, rest: &[String]) -> Option<String> {
    let Some(flag) = unknown.strip_prefix("--") else {
        let files: Vec<_> = rest.iter().filter(|word| is_scenario(word)).collect();
        let lines = files.iter().map(|file| format!("tailwater run {}", quoted(file)));
        return (files.len() > 1)
            .then(|| format!("one file each, type: {}", lines.collect::<Vec<_>>().join(" && ")));
    };
    match flag {
        "sim" | "simulate" | "simulation" | "simulated" => Some("type: --on sim".into()),
        "loopback" | "sockets" => Some("type: --on loopback".into()),
        "set" => {
            Some("what is run stands in the file: change it there; tailwater keys lists all".into())
        }
        _ => {
            let key = flag.replace('-', "_");
            keys::is_known(&key).then(|| {
                format!("{key} is a key of the file: set it there; tailwater keys {key} says how")
            })
        }
    }
}

/// What has a service work on a file of the user's.
const OWN_FILES: [(&str, &str); 3] = [
    ("hdsearch", "vectors=FILE"),
    ("setalgebra", "text=FILE, or text=lines:FILE"),
    ("recommend", "ratings=FILE"),
];

/// What names a file of one's own, where a service is named that works on one.
fn own_file(rest: &[String]) -> Option<String> {
    let is_named = |service: &str| rest.iter().any(|word| word == service);
    let (_, setting) = OWN_FILES.iter().find(|(service, _)| is_named(service))?;
    Some(format!("a file of yours is a setting of its service, type: --set {setting}"))
}

fn is_scenario(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed of a line that is wrong.
    fn printed(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let all = std::iter::once("tailwater".to_owned()).chain(words.iter().cloned());
        let error = Arguments::try_parse_from(all).expect_err(line);
        advised(error, &words).to_string()
    }

    #[test]
    fn the_line_that_does_what_was_meant_is_told_alone() {
        let tips = [
            ("my.toml", "to run a scenario file, type: tailwater run my.toml\n"),
            ("simulate my.toml", "type: tailwater run my.toml --on sim\n"),
            ("simulate", "type: tailwater run FILE --on sim\n"),
            ("start", "type: tailwater serve\n"),
            ("validate a.toml", "type: tailwater check a.toml\n"),
            ("record ./program", "type: tailwater profile record\n"),
            ("run my.toml --sim", "type: --on sim\n"),
            ("run my.toml --clients 100", "clients is a key of the file: set it there"),
            ("run my.toml --set rate=5", "change it there; tailwater keys lists all\n"),
            ("run a.toml b.toml", "type: tailwater run a.toml && tailwater run b.toml\n"),
            ("data make hdsearch --from glove.txt", "type: --set vectors=FILE\n"),
            ("suite run recommend --from=r.csv", "type: --set ratings=FILE\n"),
            ("run a.toml --seed -1", "a whole number is needed, in digits alone\n"),
            (
                "load --connect 127.0.0.1:1 --rate -5",
                "what stands before it takes no number below zero\n",
            ),
            ("run a.toml --threads 2.5", "a whole number is needed, in digits alone\n"),
            ("run a.toml --threads two", "a whole number is needed, in digits alone\n"),
            ("controllers breakwater", "it takes no name, and lists all with their settings\n"),
        ];
        for (line, tip) in tips {
            let printed = printed(line);
            assert!(printed.contains(tip), "{line}: {printed}");
            assert_eq!(printed.matches("tip:").count(), 1, "{line}: {printed}");
        }
    }

    #[test]
    fn other_lines_keep_the_tips_that_the_parser_has() {
        for (line, tip) in [("chek a.toml", "'check'"), ("run a.toml --sed 5", "'--seed'")] {
            let printed = printed(line);
            assert!(printed.contains(tip), "{line}: {printed}");
        }
        // No verb alone has one of this name.
        assert!(!printed("list").contains("type: tailwater"));
    }
}
