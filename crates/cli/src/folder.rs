//! The folder of `--out`: tried before the work begins, and never a mix of two results.

use crate::failure::Failure;
use serde::Deserialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};
use tailwater_report::{Look, TITLE_END, plots};
use tailwater_stats::result::{Experiment, ShardMark};

/// All of a run's result.
pub(crate) const RESULT: &str = "result.json";

/// What changed within runs, bin by bin; only of scenarios whose demand does.
pub(crate) const SERIES: &str = "series.csv";

/// A line for each tier of each run; only of scenarios that have tiers.
pub(crate) const TIERS: &str = "tiers.csv";

/// The JSON of a run that something ended, beside an earlier whole result.
pub(crate) const PARTIAL: &str = "result-cut-short.json";

/// A folder that can be written to.
pub(crate) struct Folder<'a> {
    path: &'a Path,
    /// Whether an earlier result lies there, and of all its runs.
    holds_whole_result: bool,
    /// Which shard it is of, where it is of one.
    holds_shard: Option<ShardMark>,
    /// Files of an earlier result that a new one may lack, which end when it is written: pictures, series, tiers.
    stale: Vec<PathBuf>,
}

impl<'a> Folder<'a> {
    /// Makes it where it is missing, and tries to write there. Nothing in it changes.
    ///
    /// # Errors
    /// What must be changed, by its name.
    pub(crate) fn prepare(path: &'a Path) -> Result<Self, Failure> {
        let shown = path.display();
        if path.exists() && !path.is_dir() {
            return Err(Failure::usage(format!(
                "{shown} is no folder; give another name by --out"
            )));
        }
        let trouble = |error: io::Error| {
            Failure::usage(format!(
                "{shown}: nothing can be written there ({error}); give another folder by --out"
            ))
        };
        fs::create_dir_all(path).map_err(trouble)?;
        let trial = path.join(format!("tailwater-{}.part", std::process::id()));
        fs::File::create(&trial).map_err(trouble)?;
        fs::remove_file(&trial).map_err(trouble)?;
        Ok(Self { path, holds_whole_result: false, holds_shard: None, stale: Vec::new() })
    }

    /// The same for a result with pictures, where those of an earlier one may lie.
    ///
    /// # Errors
    /// As above, and for a page, pictures or values that are of no result there.
    pub(crate) fn prepare_for_result(path: &'a Path) -> Result<Self, Failure> {
        refuse_foreign_page(path)?;
        let folder = Self::prepare(path)?;
        let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_picture = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "svg");
        let mut stale: Vec<PathBuf> = entries.filter(is_picture).collect();
        let result = earlier(path);
        if result.is_none() {
            refuse_unreadable(path)?;
        }
        let holds_whole_result = result.as_ref().is_some_and(|it| it.cut_short.is_none());
        let earlier = result.as_ref().map(pictures).unwrap_or_default();
        let holds_shard = result.and_then(|it| it.shard);
        let is_known = |file: &&PathBuf| {
            let name = file.file_stem().and_then(|name| name.to_str());
            name.is_some_and(|name| earlier.iter().any(|known| known == name))
        };
        // A result with series or tiers has pictures too.
        let tables = [SERIES, TIERS].map(|name| path.join(name));
        let lonely = tables.iter().find(|table| earlier.is_empty() && table.exists());
        let foreign = stale.iter().find(|file| !is_known(file)).or(lonely);
        if let Some(foreign) = foreign {
            return Err(Failure::usage(format!(
                "{} is of no result in its folder, and would lie among the new files; remove it, or give another \
                 folder by --out",
                foreign.display()
            )));
        }
        stale.extend(tables);
        stale.push(path.join(PARTIAL));
        Ok(Self { holds_whole_result, holds_shard, stale, ..folder })
    }

    /// The same for what is no result of a run, whose page would take the place of that.
    ///
    /// # Errors
    /// As above, and where the result of a run or the page of another program lies.
    pub(crate) fn prepare_for_more(path: &'a Path) -> Result<Self, Failure> {
        if path.join(RESULT).exists() {
            return Err(Failure::usage(format!(
                "{} holds the result of a run; give another folder by --out",
                path.display()
            )));
        }
        refuse_foreign_page(path)?;
        Self::prepare(path)
    }

    pub(crate) const fn path(&self) -> &Path {
        self.path
    }

    /// Whether a result of all its runs lay there when it was prepared.
    pub(crate) const fn holds_whole_result(&self) -> bool {
        self.holds_whole_result
    }

    /// Refuses a short version where this file is of a full one, which took minutes or hours: it would take its place.
    pub(crate) fn refuse_short(&self, file: &str, short: bool) -> Result<(), Failure> {
        if !short || !is_full(&self.path.join(file)) {
            return Ok(());
        }
        let shown = self.path.display();
        Err(Failure::usage(format!(
            "{shown} holds a full result, and a short one would take its place; give another folder by --out, or remove \
             {shown} first"
        )))
    }

    /// Refuses a shard where the result of all runs lies, or that of another shard: a merge needs each of them.
    pub(crate) fn refuse_shard(&self, shard: Option<&ShardMark>) -> Result<(), Failure> {
        let Some(ShardMark { index, of, .. }) = shard else { return Ok(()) };
        let held = match &self.holds_shard {
            Some(held) if (held.index, held.of) == (*index, *of) => return Ok(()),
            Some(held) => format!("the result of shard {}/{}", held.index, held.of),
            None if self.holds_whole_result => "a whole result".to_owned(),
            None => return Ok(()),
        };
        Err(Failure::usage(format!(
            "{} holds {held}, and that of shard {index}/{of} would take its place; give another folder by --out",
            self.path.display()
        )))
    }

    /// Refuses both of any result, and one that was cut short where a whole one lies.
    pub(crate) fn refuse_less(&self, result: &Experiment) -> Result<(), Failure> {
        self.refuse_short(RESULT, result.short)?;
        self.refuse_shard(result.shard.as_ref())?;
        if result.cut_short.is_none() || !self.holds_whole_result {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} holds a whole result, and this one was cut short; give another folder by --out",
            self.path.display()
        )))
    }

    /// Removes what is left of an earlier result, but for files that were `written` anew.
    pub(crate) fn clear_but(&self, written: &[String]) -> Result<(), Failure> {
        let is_new = |file: &&PathBuf| {
            let name = file.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| written.iter().any(|written| written == name))
        };
        self.stale.iter().filter(|file| !is_new(file)).try_for_each(|file| gone(file))
    }

    /// Removes what an earlier result left under this name, if anything.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Failure> {
        gone(&self.path.join(name))
    }

    /// Under another name first: a reader never sees half a file.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        let draft = path.with_extension(format!("{}.part", std::process::id()));
        let whole = || {
            fs::File::create(&draft)?.write_all(text.as_bytes())?;
            fs::rename(&draft, &path)
        };
        whole().map_err(|error| {
            // Nothing else would ever remove it: its name has this process' number.
            let _ = fs::remove_file(&draft);
            Failure::work(format!("{}: {error}", path.display()))
        })
    }
}

/// Refuses the folder of a site, whose page ours would take the place of.
fn refuse_foreign_page(folder: &Path) -> Result<(), Failure> {
    let page = folder.join("index.html");
    let end = format!("{TITLE_END}</title>");
    let is_foreign = |text: &[u8]| !String::from_utf8_lossy(text).contains(&end);
    match fs::read(&page) {
        Ok(text) if is_foreign(&text[..]) => Err(Failure::usage(format!(
            "{} is no page of tailwater's, and would be replaced; give another folder by --out",
            page.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses files that ours would take the place of, where no result lies there: they are of another program, or of a
/// later tailwater.
fn refuse_unreadable(folder: &Path) -> Result<(), Failure> {
    let files = [RESULT, "result.csv", "index.html"].map(|name| folder.join(name));
    match files.iter().find(|file| file.is_file()) {
        None => Ok(()),
        Some(file) => Err(Failure::usage(format!(
            "{} is of no result of a run that can be read, and would be replaced; remove it, or give another folder by \
             --out",
            file.display()
        ))),
    }
}

/// Removes a file, where it is still there.
fn gone(file: &Path) -> Result<(), Failure> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::work(format!("{}: {error}", file.display())))
        }
        _ => Ok(()),
    }
}

/// The result that lies there.
fn earlier(folder: &Path) -> Option<Experiment> {
    let text = fs::read_to_string(folder.join(RESULT)).ok()?;
    serde_json::from_str(&text).ok()
}

/// What a result says of the version that was run.
#[derive(Deserialize)]
struct Version {
    /// Results of full versions need not say so.
    #[serde(default)]
    short: bool,
}

/// Whether this file is a result, and of no short version.
fn is_full(file: &Path) -> bool {
    let text = fs::read(file).unwrap_or_default();
    serde_json::from_slice::<Version>(&text).is_ok_and(|it| !it.short)
}

/// The names of its pictures.
fn pictures(result: &Experiment) -> Vec<String> {
    plots(result, Look::WHOLE).into_iter().map(|plot| plot.name).collect()
}
