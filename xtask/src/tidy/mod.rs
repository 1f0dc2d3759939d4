//! `tidy`: the promises of ARCHITECTURE.md that no compiler checks.
//!
//! Each check is a function from the repository's texts to problems; each problem says what was
//! found where and how to mend it.

mod circles;
mod comments;
mod documents;
mod files;
mod layers;
mod map;
mod names;
mod packages;
mod patches;
mod paths;
mod programs;
mod prose;
mod reasons;
mod shipped;
mod rooms;
mod safety;
mod sentences;
mod targets;
mod types;

use crate::Result;
use crate::tally::Tally;
use crate::tree::Tree;
use std::fmt;
use std::path::Path;

/// Something that is not as promised.
#[derive(PartialEq, Eq, Debug)]
struct Problem {
    /// A file, with `:line` where one is to blame.
    place: String,
    found: String,
    mend: String,
}

type Check = fn(&Tree) -> Vec<Problem>;

const CHECKS: &[(&str, Check)] = &[
    ("paths named in ARCHITECTURE.md exist", map::paths_exist),
    ("crates are named in ARCHITECTURE.md", map::crates_are_named),
    ("crates depend downwards", layers::depend_downwards),
    ("unsafe code is forbidden where it does not belong", safety::unsafe_is_forbidden),
    ("unsafe code stays in its crates", safety::unsafe_stays),
    ("pure crates ban clocks, threads and random order", safety::pure_crates_ban),
    ("no file names one machine's folders", files::no_private_paths),
    ("source files stay readable", files::short_enough),
    ("the changelog has an Unreleased section", documents::changelog_is_open),
    ("controllers are named in their folders alone", names::stay_in_their_folders),
    ("orderings say why", reasons::orderings_say_why),
    ("constants of controllers say whence", reasons::constants_say_whence),
    ("numbers in laws say why", reasons::numbers_in_laws_say_why),
    ("scenarios say what they show", documents::scenarios_say_why),
    ("scenarios are mentioned to users", documents::scenarios_are_mentioned),
    ("pages are listed for readers", documents::pages_are_listed),
    ("rooms use those before them", rooms::depend_upwards),
    ("modules need each other in no circle", circles::there_are_none),
    ("names of public types have one meaning", types::have_one_meaning),
    ("packages that tests ask for are set up", packages::are_set_up),
    ("targets that are not tested have no tests", targets::have_no_tests),
    ("tests of a crate are one program, or say why not", programs::are_few),
    ("sentences of documents are short", prose::sentences_are_short),
    ("things in documents are no persons", prose::things_are_no_persons),
    ("sentences of comments are short", comments::sentences_are_short),
    ("things in comments are no persons", comments::things_are_no_persons),
    ("controllers are listed in README.md", names::are_listed_for_users),
    ("patches of the guide's programs are unified diffs", patches::are_unified_diffs),
];

/// `cargo xtask tidy`.
pub(crate) fn main(root: &Path, _args: &[String]) -> Result {
    check(root)?.verdict("tidy")
}

/// Runs every check, each counted as one.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    let tree = Tree::read(root)?;
    let mut tally = Tally::default();
    for (name, check) in CHECKS {
        tally.count(name, answer(&check(&tree)));
    }
    Ok(tally)
}

fn answer(problems: &[Problem]) -> Result {
    if problems.is_empty() {
        return Ok(());
    }
    Err(problems.iter().map(|problem| format!("\n  {problem}")).collect())
}

impl Problem {
    fn new(place: impl Into<String>, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { place: place.into(), found: found.into(), mend: mend.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; to mend: {}", self.place, self.found, self.mend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_place_fault_and_remedy() {
        assert_eq!(answer(&[]), Ok(()));
        let problem = Problem::new("a.md:3", "found x", "write y");
        assert_eq!(answer(&[problem]).unwrap_err(), "\n  a.md:3: found x; to mend: write y");
    }

    #[test]
    fn an_empty_repository_passes_what_needs_no_file_and_fails_the_rest() {
        let failing: Vec<&str> = CHECKS
            .iter()
            .filter(|(_, check)| !check(&Tree::default()).is_empty())
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(failing, [CHECKS[0].0, CHECKS[8].0], "the map and the changelog must be there");
    }
}
