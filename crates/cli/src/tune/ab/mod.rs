//! `tailwater tune ab`: a comparison of two settings, from the pilot to the verdict.

mod options;
mod conduct;
mod conducted;
mod outcome;
mod text;
mod page;

pub(super) use conduct::{Budget, compare, pilot, promise};
pub(super) use conducted::Compared;
pub(crate) use options::AbOptions;
pub(super) use options::QUADS_MAX;
pub(super) use page::evidence;
pub(super) use text::{change, forecast, percent};

use super::bench::Bench;
use super::dial::{self, Dial, Setting};
use super::machine::{Root, Session, may_be_turned};
use super::plan::plan;
use super::targets::Target;
use super::tell;
use crate::failure::{Failure, say};
use crate::folder::Folder;
use crate::machine;
use crate::run::tell_of_others;
use conduct::conduct;
use options::rules;
use outcome::Outcome;
use std::time::{Duration, Instant};
use tailwater_program::interrupt::Interrupt;

/// Everything that is decided before the machine is touched.
struct Prepared {
    target: Target,
    dials: Vec<Dial>,
    a: Setting,
    b: Setting,
}

fn prepare(options: &AbOptions, root: &Root) -> Result<Prepared, Failure> {
    let target = Target::new(&options.target)?;
    let against = &options.against;
    if !against.is_empty() && against.len() != options.knobs.len() {
        return Err(Failure::usage(format!(
            "{} values --against stand beside {} of --knob; give one for each, or none",
            against.len(),
            options.knobs.len()
        )));
    }
    let (mut dials, mut a, mut b) = (Vec::<Dial>::new(), Vec::new(), Vec::new());
    for (at, (name, value)) in options.knobs.iter().enumerate() {
        let dial = Dial::find(name, target.offer(), root)?;
        if dials.iter().any(|known| known.name == dial.name) {
            return Err(Failure::usage(format!("{name} is given twice; give each knob once")));
        }
        let stock = || {
            dial.stock.clone().ok_or_else(|| {
                Failure::usage(format!(
                    "{name} has no one value now; say by --against what it is compared with"
                ))
            })
        };
        a.push(match against.get(at) {
            Some(said) => dial.parse(said, root)?,
            None => stock()?,
        });
        b.push(dial.parse(value, root)?);
        dials.push(dial);
    }
    if a == b {
        let value = b.join(", ");
        return Err(Failure::usage(format!(
            "both arms have {value}; two settings that differ are needed"
        )));
    }
    dial::stand_together(&dials)?;
    target.check(&dials, &a)?;
    target.check(&dials, &b)?;
    Ok(Prepared { target, dials, a, b })
}

/// `tailwater tune plan`.
pub(super) fn dry(options: &AbOptions) -> Result<(), Failure> {
    let root = Root::new(&options.root)?;
    if let Some(note) = may_be_turned(&root) {
        tell(&note);
    }
    let Prepared { target, dials, a, b } = prepare(options, &root)?;
    let arms = [("A", &a), ("B", &b)];
    let text = plan(&root, (&dials, &target), &arms, options.seed);
    let rules = text::rules(&rules(options, &target)?, options, &target);
    say(&format!("{text}\n\n{rules}"))
}

pub(super) fn ab(options: &AbOptions) -> Result<(), Failure> {
    if options.dry_run {
        return dry(options);
    }
    let root = Root::new(&options.root)?;
    let interrupt = Interrupt::watch_to_the_end()?;
    let (manifest, began) = (machine::here(), Instant::now());
    let mut session = Session::begin(&root, &mut tell)?;
    let Prepared { target, dials, a, b } = prepare(options, &root)?;
    let rules = rules(options, &target)?;
    // Before the work: a result that cannot be written would be lost.
    let folder = options.out.as_deref().map(Folder::prepare_for_more).transpose()?;
    note(&mut session, &dials, &[&a, &b])?;
    // Runs of blocks look for them too. What these say is told only where a block does not count.
    tell_of_others();
    let until = began + options.time;
    let mut bench = Bench::new(session, (&dials, &target), &interrupt, (until, options.seed));
    let budget =
        Budget { pilot: options.pilot, accept_weak: options.accept_weak, seed: options.seed };
    let conducted = conduct(&mut bench, &rules, (&a, &b), &budget);
    // Knobs first: whatever is wrong with the result, the machine is as it was.
    let put_back = end(bench.session);
    let told = conducted.and_then(|conducted| {
        let settings = (&a, &b);
        let of = (manifest, began.elapsed());
        let there: Vec<Option<String>> = dials.iter().map(|dial| dial.stock.clone()).collect();
        let keeping = [&a, &b].map(|arm| dial::keeping(&dials, (arm, &there), &root));
        let outcome =
            Outcome::new(options, (&dials, &target), settings, &rules, &conducted, of, keeping);
        deliver(options, &outcome, folder.as_ref())?;
        match &conducted.compared.ended {
            None => conducted.is_sound(),
            Some(ended) => Err(ended.clone()),
        }
    });
    both(told, put_back)
}

/// What went wrong with the test and with putting knobs back: neither hides the other.
pub(super) fn both(
    test: Result<(), Failure>,
    put_back: Result<(), Failure>,
) -> Result<(), Failure> {
    match (test, put_back) {
        (Err(test), Err(put_back)) => Err(test.and(&put_back.to_string())),
        (test, put_back) => test.and(put_back),
    }
}

/// Notes what files say, before any is written.
pub(super) fn note(
    session: &mut Session,
    dials: &[Dial],
    settings: &[&Setting],
) -> Result<(), Failure> {
    for (at, dial) in dials.iter().enumerate() {
        let values = settings.iter().filter_map(|of| of.get(at));
        let mut values: Vec<String> = values.cloned().collect();
        values.sort_unstable();
        values.dedup();
        dial.intend(session, &values)?;
    }
    Ok(())
}

/// Puts knobs back.
pub(super) fn end(session: Session) -> Result<(), Failure> {
    session.end()?.iter().for_each(|line| tell(line));
    Ok(())
}

fn deliver(
    options: &AbOptions,
    outcome: &Outcome<'_>,
    folder: Option<&Folder<'_>>,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(outcome).map_err(Failure::work)?;
    let told = say(&if options.json { json.clone() } else { text::of(outcome) });
    if let Some(folder) = folder {
        page::write(folder, outcome, &json)?;
    }
    told?;
    if let (false, Some(folder)) = (options.json, folder) {
        say(&format!("\nWritten: {}", folder.path().join("index.html").display()))?;
    }
    Ok(())
}

/// For people: minutes where there are several.
pub(super) fn for_people(time: Duration) -> String {
    match time.as_secs_f64() {
        long if long >= 600.0 => format!("{:.0} min", long / 60.0),
        short => tailwater_report::time(short * 1e6),
    }
}
