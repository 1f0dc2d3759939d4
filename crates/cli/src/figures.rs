//! `tailwater figures`: the papers' figures, redrawn from simulation beside what their texts state.

use crate::args::FiguresOptions;
use crate::failure::{Failure, say};
use crate::folder::Folder;
use crate::machine::built;
use crate::progress::Progress;
use crate::run::is_short;
use crate::scenarios;
use std::path::Path;
use std::thread;
use tailwater_figures::data::Figure;
use tailwater_figures::{Compared, Plan, Results, catalogue, choose, pictures};
use tailwater_sim::Failure as Trouble;
use tailwater_stats::result::Experiment;

/// What was compared.
const COMPARED: &str = "compared.json";

pub(crate) fn figures(options: &FiguresOptions) -> Result<(), Failure> {
    let all = catalogue().map_err(Failure::work)?;
    let chosen = choose(all, options.paper.as_deref(), options.number).map_err(Failure::usage)?;
    let short = is_short(options.short);
    let out = Folder::prepare(&options.out)?;
    out.refuse_short(COMPARED, short)?;
    let asked = (&chosen[..], options.seeds);
    let file = options.into.as_deref().map(|path| Kept::prepare(path, asked, short)).transpose()?;
    let results = play(&chosen, options, short)?;
    let compared = Compared::new(&chosen, &results);
    // What cannot be written afterwards has been seen by then.
    let told = say(&match options.json {
        true => serde_json::to_string_pretty(&compared).map_err(Failure::work)?,
        false => compared.markdown().trim_end().to_owned(),
    });
    // Before our own file, which may be the same.
    let merged = file.as_ref().map(|file| file.with(&compared));
    let written = write_all(&results, &compared, &out);
    if let (Some(file), Some(merged)) = (file, merged) {
        file.write(&merged?)?;
    }
    written?;
    if !options.claims {
        draw(&chosen, &results, &out)?;
    }
    told?;
    if options.json {
        return Ok(());
    }
    say(&format!("\nWritten: {}", options.out.display()))
}

/// A file that keeps what was compared over several commands.
struct Kept<'a> {
    path: &'a Path,
    folder: Folder<'a>,
    name: &'a str,
    /// The figures that are played, and with how many seeds.
    asked: (&'a [Figure], u32),
}

impl<'a> Kept<'a> {
    /// Tried before the work begins.
    fn prepare(path: &'a Path, asked: (&'a [Figure], u32), short: bool) -> Result<Self, Failure> {
        let shown = path.display();
        if short {
            return Err(Failure::usage("short runs are no results; leave --into out"));
        }
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
            Failure::usage(format!("{shown} names no file; give one, such as results/figures.json"))
        })?;
        let above = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = Folder::prepare(above.unwrap_or(Path::new(".")))?;
        let kept = Self { path, folder, name, asked };
        kept.earlier()?;
        Ok(kept)
    }

    /// What it holds by now. Refused where it has these figures with more seeds.
    fn earlier(&self) -> Result<Compared, Failure> {
        let Self { path, asked: (figures, seeds), .. } = self;
        let compared = earlier(path)?;
        match compared.with_more_seeds(figures, *seeds) {
            None => Ok(compared),
            Some(row) => Err(Failure::usage(format!(
                "{} has figure {} of {} with {} seeds, and --seeds is {seeds}; give --seeds {}, or another file",
                path.display(),
                row.figure,
                row.paper,
                row.seeds,
                row.seeds
            ))),
        }
    }

    /// What was compared now, in place of the same figures' rows. Other commands may have put theirs there meanwhile.
    fn with(&self, now: &Compared) -> Result<Compared, Failure> {
        Ok(self.earlier()?.replaced_by(now))
    }

    fn write(&self, all: &Compared) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(all).map_err(Failure::work)?;
        self.folder.write(self.name, &format!("{text}\n"))
    }
}

/// Nothing of a file that is not there.
fn earlier(path: &Path) -> Result<Compared, Failure> {
    if !path.exists() {
        return Ok(Compared::default());
    }
    serde_json::from_str(&scenarios::read(path)?).map_err(|error| {
        let shown = path.display();
        Failure::usage(format!(
            "{shown}: this is no {COMPARED} of tailwater figures ({error}); give such a file by --into, or a name that is \
             not there yet"
        ))
    })
}

fn play(chosen: &[Figure], options: &FiguresOptions, short: bool) -> Result<Results, Failure> {
    let available = thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(available).clamp(1, available);
    let plan = Plan::new(chosen, options.seeds, short).map_err(failure)?;
    let plan = if options.claims { plan.for_claims(chosen) } else { plan };
    let progress = Progress::new(plan.pieces());
    plan.play(threads, &|| progress.step()).map_err(failure)
}

fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Broken(broken) => Failure::work(broken),
        author => Failure::usage(author),
    }
}

fn draw(chosen: &[Figure], results: &Results, folder: &Folder<'_>) -> Result<(), Failure> {
    for drawing in chosen.iter().flat_map(|figure| pictures(figure, results)) {
        folder.write(&drawing.file, &drawing.svg)?;
    }
    Ok(())
}

fn write_all(results: &Results, compared: &Compared, folder: &Folder<'_>) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(compared).map_err(Failure::work)?;
    folder.write(COMPARED, &json)?;
    folder.write("compared.md", &compared.markdown())?;
    // As `run --on sim` tells it: what comes out depends on program and seed alone.
    let told = |played: Experiment| Experiment { manifest: built(played.manifest), ..played };
    let runs: Vec<_> = results.experiments().into_iter().map(told).collect();
    folder.write("runs.json", &serde_json::to_string_pretty(&runs).map_err(Failure::work)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// One row of a figure of Breakwater.
    fn row(figure: u32, seeds: u32) -> Compared {
        let row = serde_json::json!({
            "paper": "breakwater",
            "figure": figure,
            "subject": "breakwater",
            "what": "a number",
            "place": "§5",
            "unit": "%",
            "theirs": 9.0,
            "asked": "± 3 points",
            "seeds": seeds,
            "ours": null,
            "counted": false,
            "met": null,
        });
        let all = serde_json::json!({ "tailwater": "0.1.0", "rows": [row] });
        serde_json::from_value(all).expect("what was compared")
    }

    fn figure(number: u32) -> Vec<Figure> {
        let all = catalogue().expect("the files are right");
        choose(all, Some("breakwater"), Some(number)).expect("it is there")
    }

    fn folder(name: &str) -> std::path::PathBuf {
        let name = format!("tailwater-figures-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// The file was read before the work alone: rows of another command that ended meanwhile were lost.
    #[test]
    fn what_other_commands_put_into_the_file_meanwhile_stays() {
        let folder = folder("meanwhile");
        let file = folder.join("kept.json");
        let figures = [3, 5].map(figure);
        let [one, other] =
            figures.each_ref().map(|it| Kept::prepare(&file, (&it[..], 1), false).expect("kept"));
        for (kept, number) in [(&one, 3), (&other, 5)] {
            kept.write(&kept.with(&row(number, 1)).expect("read")).expect("written");
        }
        let rows = earlier(&file).expect("both").rows;
        assert_eq!(rows.iter().map(|row| row.figure).collect::<Vec<_>>(), [3, 5]);
        // Nor does it take the place of what came with more seeds.
        one.write(&row(3, 3)).expect("written");
        assert!(one.with(&row(3, 1)).is_err());
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn rows_of_more_seeds_stay() {
        let folder = folder("seeds");
        let file = folder.join("kept.json");
        let prepare = |number, seeds| {
            let figure = figure(number);
            let kept = Kept::prepare(&file, (&figure[..], seeds), false);
            kept.map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(prepare(3, 1), Ok(()), "it is not there yet");
        fs::write(&file, serde_json::to_string(&row(3, 3)).expect("text")).expect("written");
        let why = prepare(3, 1).expect_err("fewer");
        assert!(why.contains("with 3 seeds, and --seeds is 1; give --seeds 3"), "{why}");
        assert_eq!((prepare(3, 3), prepare(5, 1)), (Ok(()), Ok(())));
        fs::remove_dir_all(folder).expect("removed");
    }
}
