//! What `tailwater profile diff` names between two builds of which one is slower in one function, and between recordings of
//! one build. For a pair either build is recorded often, a short process at a time, by turns. Pairs of either kind take turns,
//! too.

use crate::Result;
use crate::trial::Trial;
use clap::Args;
use machine::Origin;
use machine::command;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Args, Debug)]
pub(crate) struct ComparedArgs {
    #[command(flatten)]
    of: Trial,
    /// The same, slower in one function. Both take a number of seconds, and print how many rounds they have made and what
    /// each has found.
    #[arg(long)]
    slower: PathBuf,
    /// That function's name.
    #[arg(long)]
    function: String,
    /// By how much it is slower, for the page.
    #[arg(long, value_name = "PERCENT")]
    percent: f64,
    /// Pairs of recordings of the program itself.
    #[arg(long, default_value_t = 20)]
    identical: usize,
    /// Pairs of recordings of it and of the slower build.
    #[arg(long, default_value_t = 5)]
    planted: usize,
    /// Recordings of either build in a pair.
    #[arg(long, default_value_t = 20)]
    recordings: usize,
    /// How long each runs.
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
}

#[derive(Debug, Default, Serialize)]
struct Compared {
    title: String,
    #[serde(flatten)]
    origin: Origin,
    recordings: usize,
    seconds: f64,
    function: String,
    percent: f64,
    identical: Vec<Pair>,
    planted: Vec<Pair>,
}

/// What was found of the recordings of two builds.
#[derive(Debug, PartialEq, Serialize)]
struct Pair {
    /// Functions that were compared, and how many comparisons were corrected for.
    functions: usize,
    comparisons: u64,
    /// Rounds that each recording of either build has made: how far other work disturbed them.
    rounds: [Vec<u64>; 2],
    /// Those that are named, by themselves or with what they call, as `profile diff --json` has them.
    moved: Vec<Value>,
    /// Those that are not, though the function itself has surely moved.
    itself: Vec<Value>,
    /// The planted one, named or not.
    function: Option<Value>,
}

/// Records and compares the pairs, and writes what was found.
pub(crate) fn compared(args: &ComparedArgs) -> Result {
    args.of.make_folder()?;
    let mut found = Compared {
        title: args.of.title.clone(),
        origin: Origin::now(),
        recordings: args.recordings,
        seconds: args.seconds,
        function: args.function.clone(),
        percent: args.percent,
        ..Compared::default()
    };
    for (number, is_planted) in turns(args.identical, args.planted).into_iter().enumerate() {
        let second = if is_planted { &args.slower } else { &args.of.program };
        let pair = pair(args, second, number % 2 == 1)?;
        println!("{}: {}", if is_planted { "planted" } else { "identical" }, pair.line());
        let pairs = if is_planted { &mut found.planted } else { &mut found.identical };
        pairs.push(pair);
    }
    machine::result::write(&args.of.out, &found)?;
    println!("{}", found.summary());
    Ok(())
}

/// Which pairs are planted: as many as are wanted, spread evenly among the others.
fn turns(identical: usize, planted: usize) -> Vec<bool> {
    let all = identical + planted;
    let until = |number: usize| number * planted / all.max(1);
    (0..all).map(|number| until(number + 1) > until(number)).collect()
}

/// Recordings of the program and as many of `second`, compared; backwards the second begins.
fn pair(args: &ComparedArgs, second: &Path, backwards: bool) -> Result<Pair> {
    let folders = ["a", "b"].map(|name| args.of.folder.join(name));
    folders.iter().try_for_each(|folder| empty(folder))?;
    let programs = [args.of.program.as_path(), second];
    let (mut expected, mut rounds) = (None, [vec![], vec![]]);
    for (number, side) in order(args.recordings, backwards).into_iter().enumerate() {
        let trace = folders[side].join(format!("{number:03}.trace"));
        let said = command::output(&mut record(programs[side], &trace, args.seconds))?;
        let found = answer(&said)?.to_owned();
        let expected = expected.get_or_insert_with(|| found.clone());
        if found != *expected {
            return Err(format!("the builds found {expected} and {found}"));
        }
        rounds[side].push(made(&said)?);
    }
    Pair::read(&diff(&folders)?, &args.function, rounds)
}

/// Which of two is recorded when: A, B, B, A and so on, so that what drifts meets both alike.
fn order(recordings: usize, backwards: bool) -> Vec<usize> {
    let first = usize::from(backwards);
    let turn = |number: usize| {
        if number.is_multiple_of(2) { [first, 1 - first] } else { [1 - first, first] }
    };
    (0..recordings).flat_map(turn).collect()
}

/// A folder without the traces of before.
fn empty(folder: &Path) -> Result {
    let trouble = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(trouble)?;
    }
    std::fs::create_dir_all(folder).map_err(trouble)
}

fn record(program: &Path, trace: &Path, seconds: f64) -> Command {
    let mut record = Command::new("tailwater");
    record.args(["profile", "record", "-o"]).arg(trace).arg("--").arg(program);
    record.arg(seconds.to_string());
    record
}

/// How many rounds it has made: the first word.
fn made(said: &str) -> Result<u64> {
    let made = said.split_whitespace().next().and_then(|word| word.parse().ok());
    made.ok_or_else(|| format!("a program said `{}`", said.trim()))
}

/// What each round has found: the second word.
fn answer(said: &str) -> Result<&str> {
    said.split_whitespace().nth(1).ok_or_else(|| format!("a program said `{}`", said.trim()))
}

fn diff(folders: &[PathBuf; 2]) -> Result<String> {
    let mut diff = Command::new("tailwater");
    let done = diff.args(["profile", "diff", "--json"]).args(folders).output();
    let done = done.map_err(|error| format!("could not start tailwater: {error}"))?;
    // 1: functions have moved.
    if !matches!(done.status.code(), Some(0 | 1)) {
        return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

impl Pair {
    fn read(verdict: &str, function: &str, rounds: [Vec<u64>; 2]) -> Result<Self> {
        let verdict: Value =
            serde_json::from_str(verdict).map_err(|error| format!("{verdict}: {error}"))?;
        let all = verdict["functions"].as_array().ok_or("the comparison has no functions")?;
        let comparisons = verdict["comparisons"].as_u64().ok_or("it has no comparisons")?;
        let of = |wanted: &dyn Fn(&&Value) -> bool| all.iter().filter(wanted).cloned().collect();
        let moved: Vec<Value> = of(&|one| one["moved"] == true);
        let itself: Vec<Value> = of(&|one| {
            let has = |quantile: &str| one[quantile]["self"]["moved"] == true;
            one["moved"] != true && (has("p50") || has("p99"))
        });
        let function = of(&|one| one["name"] == function).into_iter().next();
        Ok(Self { functions: all.len(), comparisons, rounds, moved, itself, function })
    }

    /// Those that are named; with a mark, those that moved with what they call.
    fn names(&self) -> Vec<String> {
        let name = |one: &Value| {
            let mark = if one["by_itself"] == true { "" } else { " (with its calls)" };
            Some(format!("{}{mark}", one["name"].as_str()?))
        };
        self.moved.iter().filter_map(name).collect()
    }

    /// Whether this function is named by itself, and no other in any way.
    fn is_alone(&self, function: &str) -> bool {
        let is_it = |one: &Value| one["name"] == function && one["by_itself"] == true;
        matches!(&self.moved[..], [one] if is_it(one))
    }

    fn line(&self) -> String {
        let names = self.names();
        let named = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("{} functions, {} comparisons; named: {named}", self.functions, self.comparisons)
    }
}

impl Compared {
    fn summary(&self) -> String {
        let named = self.identical.iter().filter(|pair| !pair.moved.is_empty()).count();
        let alone = self.planted.iter().filter(|pair| pair.is_alone(&self.function)).count();
        format!(
            "{}: of {} pairs of one build {named} name a function; of {} planted ones {alone} name {} and only it",
            self.title,
            self.identical.len(),
            self.planted.len(),
            self.function
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_recorded_by_turns_in_which_each_is_first_as_often() {
        assert_eq!(order(3, false), [0, 1, 1, 0, 0, 1]);
        assert_eq!(order(2, true), [1, 0, 0, 1]);
    }

    #[test]
    fn a_program_says_how_many_rounds_it_made_and_what_it_found() {
        let said = "412 00000000000000ff\n";
        assert_eq!((made(said), answer(said)), (Ok(412), Ok("00000000000000ff")));
        for said in ["", "none found", "-1 ff"] {
            assert!(made(said).is_err(), "{said}");
        }
    }

    #[test]
    fn planted_pairs_lie_among_the_others() {
        let all = turns(20, 5);
        assert_eq!((all.len(), all.iter().filter(|planted| **planted).count()), (25, 5));
        assert!(all.chunks(5).all(|five| five.iter().filter(|planted| **planted).count() == 1));
        assert_eq!((turns(2, 0), turns(0, 2)), (vec![false; 2], vec![true; 2]));
    }

    #[test]
    fn a_pair_that_names_another_beside_the_planted_one_does_not_name_it_alone() {
        let verdict = |moved: [bool; 2], itself: bool| {
            let one = |name: &str, moved: bool, by_itself: bool| serde_json::json!({ "name": name, "moved": moved, "by_itself": by_itself });
            let functions = [one("f", moved[0], itself), one("g", moved[1], false)];
            let verdict = serde_json::json!({ "comparisons": 4, "functions": functions });
            Pair::read(&verdict.to_string(), "f", [vec![7], vec![8]]).expect("a verdict")
        };
        let found = Compared {
            title: "x".into(),
            function: "f".into(),
            identical: vec![verdict([false, false], false), verdict([false, true], false)],
            planted: vec![
                verdict([true, false], true),
                verdict([true, false], false),
                verdict([true, true], true),
                verdict([false, false], false),
            ],
            ..Compared::default()
        };
        assert_eq!(
            found.summary(),
            "x: of 2 pairs of one build 1 name a function; of 4 planted ones 1 name f and only it"
        );
        assert_eq!(
            found.planted[2].line(),
            "2 functions, 4 comparisons; named: f, g (with its calls)"
        );
        assert_eq!(found.identical[0].function.as_ref().expect("compared")["name"], "f");
        assert!(found.identical[0].itself.is_empty());
        let alone = serde_json::json!({ "name": "f", "moved": false, "p50": { "self": { "moved": true } } });
        let verdict = serde_json::json!({ "comparisons": 4, "functions": [alone] });
        let rounds = [vec![7], vec![8]];
        let pair = Pair::read(&verdict.to_string(), "f", rounds).expect("a verdict");
        assert_eq!((pair.moved.len(), pair.itself.len()), (0, 1));
        assert!(Pair::read("{}", "f", [vec![], vec![]]).is_err());
    }
}
