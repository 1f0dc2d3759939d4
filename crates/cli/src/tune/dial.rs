//! A knob of a comparison: how its values reach the machine, the program or its arguments.

use super::machine::{Root, Session};
use crate::failure::Failure;
use std::time::Duration;
use tailwater_core::words::{clip, suggestion};
use tailwater_tune::knobs::{self, Form, INHERITED, Knob, Launch, Lever};

/// One knob that is turned.
#[derive(Clone, Debug)]
pub(super) struct Dial {
    pub(super) name: String,
    way: Way,
    /// The value that it has without us; `None` where there is none, or files differ.
    pub(super) stock: Option<String>,
}

/// How a value gets where it works.
#[derive(Clone, Debug)]
enum Way {
    /// Into files of the kernel.
    Files { knob: &'static Knob, form: Form, paths: Vec<String> },
    /// Into the process that the program runs in.
    Launch(Launch),
    /// Into the scenario, under this key.
    Key,
    /// Into the command's words, in place of `{name}`.
    Word,
}

/// The knobs of a comparison with one value each, in order.
pub(super) type Setting = Vec<String>;

/// Words in braces that each block fills with something else. A knob called so would never reach the command, and both arms
/// be the same.
const TAKEN: [&str; 2] = ["seed", "tailwater"];

/// What a target offers beside the catalogue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer<'a> {
    /// The command's words; none of a scenario.
    pub(super) words: &'a [String],
    pub(super) is_scenario: bool,
}

impl Dial {
    /// The knob of this name.
    pub(super) fn find(name: &str, offer: Offer<'_>, root: &Root) -> Result<Self, Failure> {
        if let Some(knob) = knobs::find(name) {
            return match knob.lever {
                Lever::Files { pattern, form, absent } => {
                    of_files(knob, (pattern, form, absent), root)
                }
                Lever::Launch(launch) => {
                    let stock = Some(INHERITED.into());
                    Ok(Self { name: name.into(), way: Way::Launch(launch), stock })
                }
            };
        }
        if let Some(refused) = knobs::refused(name) {
            return Err(Failure::usage(format!("{name} is not set here: {}", refused.reason)));
        }
        if TAKEN.contains(&name) {
            return Err(Failure::usage(format!(
                "{{{name}}} in a command is not a knob's value, as each block fills it; give the knob another name"
            )));
        }
        let placeholder = format!("{{{name}}}");
        if offer.words.iter().any(|word| word.contains(&placeholder)) {
            return Ok(Self { name: name.into(), way: Way::Word, stock: None });
        }
        if offer.is_scenario && name.contains('.') {
            return Ok(Self { name: name.into(), way: Way::Key, stock: Some(INHERITED.into()) });
        }
        let known: Vec<&str> = knobs::all().map(|knob| knob.name).collect();
        let more = if offer.is_scenario {
            "a key of the scenario, such as server.model"
        } else {
            "a word in braces of the command, such as {threads}"
        };
        Err(Failure::usage(format!(
            "no knob is called '{}', nor {more}; {} listed by tailwater tune knobs: {}",
            clip(name),
            suggestion(name, &known),
            known.join(", ")
        )))
    }

    /// The value that is meant.
    pub(super) fn parse(&self, said: &str, root: &Root) -> Result<String, Failure> {
        let value = match &self.way {
            Way::Files { form, paths, .. } => {
                let text = paths.first().map(|path| root.read(path)).transpose();
                let text = text.map_err(Failure::work)?.unwrap_or_default();
                form.parse(said, &text, &beside(*form, root))
            }
            Way::Launch(launch) => launch.parse(said),
            Way::Key | Way::Word => Ok(said.to_owned()),
        };
        value.map_err(|why| Failure::usage(format!("{}: {why}", self.name)))
    }

    pub(super) const fn is_file(&self) -> bool {
        matches!(self.way, Way::Files { .. })
    }

    pub(super) fn settle(&self) -> Duration {
        match &self.way {
            Way::Files { knob, .. } => knob.settle,
            _ => Duration::ZERO,
        }
    }

    /// Files that a value is written to.
    pub(super) fn paths(&self) -> &[String] {
        match &self.way {
            Way::Files { paths, .. } => paths,
            _ => &[],
        }
    }

    /// Notes what the files say, before any is written.
    pub(super) fn intend(&self, session: &mut Session, values: &[String]) -> Result<(), Failure> {
        if self.is_file() { session.intend(&self.name, self.paths(), values) } else { Ok(()) }
    }

    /// What `tailwater tune exec` is told.
    pub(super) fn launch(&self, value: &str) -> Option<String> {
        let told = matches!(self.way, Way::Launch(_)) && value != INHERITED;
        told.then(|| format!("{}={value}", self.name))
    }

    /// The key and the value of a scenario.
    pub(super) fn key<'a>(&'a self, value: &'a str) -> Option<(&'a str, &'a str)> {
        (matches!(self.way, Way::Key) && value != INHERITED).then_some((&self.name, value))
    }

    /// What keeps a value when the comparison is over, for a person to type or to write. The process's knobs are left to
    /// [`keeping`], since one command has them all.
    fn keep(&self, value: &str, root: &Root) -> Option<String> {
        match &self.way {
            Way::Files { knob: Knob { lever: Lever::Files { pattern, .. }, .. }, .. } => {
                let files = root.join(pattern);
                let files = files.display();
                Some(format!(
                    "echo '{value}' | tee {files}   # as root; until the machine restarts"
                ))
            }
            Way::Key => Some(format!("set {} to {value} in the scenario", self.name)),
            Way::Word => Some(format!("put {value} in place of {{{}}} in the command", self.name)),
            Way::Files { .. } | Way::Launch(_) => None,
        }
    }

    /// The same word with the value in place of the name in braces.
    pub(super) fn fill(&self, word: &str, value: &str) -> String {
        match self.way {
            Way::Word => word.replace(&format!("{{{}}}", self.name), value),
            _ => word.to_owned(),
        }
    }
}

/// Knobs of which the first moves what the second's file says: intel_pstate holds `scaling_max_freq` to the rate without
/// turbo while `no_turbo` is 1. That would be taken for another program's value, which is kept.
const MOVED: [(&str, &str); 1] = [("no-turbo", "frequency-max-khz")];

/// Refuses knobs that cannot be turned in one test.
///
/// # Errors
/// With two of which one moves the other.
pub(super) fn stand_together(dials: &[Dial]) -> Result<(), Failure> {
    let has = |name: &str| dials.iter().any(|dial| dial.name == name);
    match MOVED.iter().find(|(one, other)| has(one) && has(other)) {
        None => Ok(()),
        Some((one, other)) => Err(Failure::usage(format!(
            "{one} moves what the file of {other} says, so that it could not be put back; turn them in two tests"
        ))),
    }
}

/// Writes a setting's values to the files of the kernel; all of them, so that both arms are disturbed alike.
pub(super) fn turn(
    session: &mut Session,
    dials: &[Dial],
    setting: &Setting,
) -> Result<(), Failure> {
    for (dial, value) in dials.iter().zip(setting) {
        for path in dial.paths() {
            session.set(path, value)?;
        }
    }
    Ok(())
}

/// What keeps a setting: a line for each thing to type or to write. A value that is there needs none; what is there is
/// `None` where nobody knows it.
pub(super) fn keeping(
    dials: &[Dial],
    (kept, there): (&Setting, &[Option<String>]),
    root: &Root,
) -> Vec<String> {
    let all = dials.iter().zip(kept).zip(there);
    let changed: Vec<(&Dial, &String)> = all
        .filter(|((_, kept), there)| there.as_ref() != Some(*kept))
        .map(|(kept, _)| kept)
        .collect();
    let mut lines: Vec<String> =
        changed.iter().filter_map(|(dial, value)| dial.keep(value, root)).collect();
    let flags: Vec<String> = changed
        .iter()
        .filter_map(|(dial, value)| dial.launch(value))
        .map(|said| format!("--knob {said} "))
        .collect();
    if !flags.is_empty() {
        lines.push(format!("tailwater tune exec {}-- CMD", flags.concat()));
    }
    lines
}

/// What a person does who keeps a setting by these lines, which stand below it.
pub(super) fn to_keep(what: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        format!("Keep {what}: nothing is to be typed, as every knob is what it was.")
    } else {
        format!("To keep {what}:")
    }
}

fn of_files(
    knob: &'static Knob,
    (pattern, form, absent): (&'static str, Form, &'static str),
    root: &Root,
) -> Result<Dial, Failure> {
    let paths = root.files(pattern);
    if paths.is_empty() {
        return Err(Failure::usage(format!(
            "{} cannot be set here: {absent} ({} is missing)",
            knob.name,
            root.join(pattern).display()
        )));
    }
    if let Some(why) = paths.iter().find_map(|path| root.refuses(path)) {
        return Err(Failure::usage(format!("{} cannot be set here: {why}", knob.name)));
    }
    let values = paths.iter().map(|path| root.value(path, form));
    let values = values.collect::<Result<Vec<_>, _>>().map_err(Failure::work)?;
    let same = values.windows(2).all(|two| two[0] == two[1]);
    let stock = values.into_iter().next().filter(|_| same);
    Ok(Dial { name: knob.name.into(), way: Way::Files { knob, form, paths }, stock })
}

/// What the other file says that a knob's values depend on.
pub(super) fn beside(form: Form, root: &Root) -> String {
    form.beside().and_then(|path| root.read(path).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_there_needs_no_line_and_all_else_does_whatever_it_was_compared_with() {
        let root = Root::new(Path::new("/")).expect("a folder");
        let words = ["{threads}".to_owned()];
        let offer = Offer { words: &words, is_scenario: true };
        let dials: Vec<Dial> = ["server.model", "server.loops", "nice", "threads"]
            .iter()
            .map(|name| Dial::find(name, offer, &root).expect("a knob"))
            .collect();
        let there: Vec<Option<String>> = dials.iter().map(|dial| dial.stock.clone()).collect();
        let lines = |values: [&str; 4]| {
            keeping(&dials, (&values.map(str::to_owned).to_vec(), &there), &root)
        };
        // A scenario keeps its own value of a key that is inherited.
        assert_eq!(
            lines([INHERITED, "2", INHERITED, "4"]),
            ["set server.loops to 2 in the scenario", "put 4 in place of {threads} in the command"]
        );
        assert_eq!(
            lines(["aip", INHERITED, "5", "2"]),
            [
                "set server.model to aip in the scenario",
                "put 2 in place of {threads} in the command",
                "tailwater tune exec --knob nice=5 -- CMD"
            ]
        );
    }

    #[test]
    fn knobs_of_which_one_moves_the_other_do_not_stand_together() {
        let dial = |name: &str| Dial { name: name.into(), way: Way::Word, stock: None };
        let [turbo, most, nice] = ["no-turbo", "frequency-max-khz", "nice"].map(dial);
        for alone in [[turbo.clone(), nice.clone()], [nice, most.clone()]] {
            assert!(stand_together(&alone).is_ok(), "{alone:?}");
        }
        let why = stand_together(&[most, turbo]).unwrap_err().to_string();
        assert!(why.contains("turn them in two tests"), "{why}");
    }

    #[test]
    fn words_that_each_block_fills_are_no_knobs() {
        let root = Root::new(Path::new("/")).expect("a folder");
        let words = ["{seed}", "{tailwater}", "{seeds}"].map(str::to_owned);
        let offer = Offer { words: &words, is_scenario: false };
        for name in TAKEN {
            let why = Dial::find(name, offer, &root).unwrap_err().to_string();
            assert!(why.contains("give the knob another name"), "{why}");
        }
        assert!(Dial::find("seeds", offer, &root).is_ok());
    }

    #[test]
    fn without_a_line_there_is_nothing_to_type() {
        assert_eq!(
            to_keep("A", &[]),
            "Keep A: nothing is to be typed, as every knob is what it was."
        );
        assert_eq!(to_keep("A", &["echo 1".into()]), "To keep A:");
    }
}
