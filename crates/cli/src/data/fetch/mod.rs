//! `tailwater data fetch`: a set of a package, by the machine's own package manager. `client` starts it, `archive` reads what
//! it brought, `draft` is where that lies until all of it is verified.

mod archive;
mod client;
mod draft;

use super::{Entry, shown};
use crate::data_folder::DataFolder;
use crate::failure::{Failure, complain, say};
use crate::progress::Progress;
use archive::Trouble;
use clap::{Args, ValueEnum};
use draft::Draft;
use serde::Serialize;
use std::io::{BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};
use tailwater_data::text::WORDNET_PACKAGE;
use tailwater_data::{Package, Unfit};
use tailwater_program::interrupt::Interrupt;
use tailwater_stats::result::DataUsed;

pub(super) const HELP: &str = "Examples:
  tailwater data fetch wordnet
  tailwater data fetch wordnet --data /srv/tailwater
  tailwater data make setalgebra

apt-get downloads the package as it would to install it, from the archives that this system knows, and nothing is \
installed: neither root nor a change of the system is needed. Of the package the needed files are taken, and kept only \
where size and SHA-256 of each are the known ones, in DIR/fetched. While it is fetched 128 MiB of room are needed.

Services find a fetched set by themselves where it is not installed (suite list: text, vectors); data make and suite run \
convert it. A second fetch reads what is there, and does nothing where that is sound. Where apt-get is missing, \
--set text=FOLDER names a set from elsewhere to setalgebra and search, or generated data stand in. Exit code 1: nothing was \
fetched, and nothing of what came was kept.";

#[derive(Args, Debug)]
pub(crate) struct FetchOptions {
    /// Which set.
    #[arg(value_name = "NAME")]
    set: Set,
    /// Print what was fetched, or is there, as one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataFolder,
}

/// What can be fetched.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum Set {
    /// WordNet 3.0, for setalgebra, hdsearch and search: 6.5 MB of Debian's package wordnet-base, 22 MB unpacked. Its
    /// licence (Princeton University) allows any use with its notice
    #[value(name = "wordnet")]
    WordNet,
}

impl Set {
    const fn package(self) -> Package {
        match self {
            Self::WordNet => WORDNET_PACKAGE,
        }
    }
}

/// A set that is there and sound.
#[derive(Serialize)]
struct Fetched {
    folder: PathBuf,
    /// Whether this call has brought it.
    is_new: bool,
    #[serde(flatten)]
    used: DataUsed,
    /// What its files were compared with.
    verified: String,
}

pub(super) fn fetch(options: &FetchOptions) -> Result<(), Failure> {
    let (package, data) = (options.set.package(), options.data.path()?);
    let fetched = bring(&package, &data, &Interrupt::watch()?)?;
    if options.json {
        return say(&serde_json::to_string_pretty(&fetched).map_err(Failure::work)?);
    }
    let Fetched { folder, is_new, used, verified } = fetched;
    let done = if is_new { "Fetched to" } else { "Nothing to do: it is sound, in" };
    let place = folder.display().to_string();
    say(&shown(&Entry { file: folder, used: Some(used), problem: None }))?;
    say(&format!("Verified by {verified}."))?;
    let flag = options.data.flag();
    say(&format!("{done} {place}; next, type tailwater data make setalgebra{flag}"))
}

/// Sets that were fetched to this folder of prepared data, each read and compared with what is known.
pub(super) fn entries(data: &DataFolder) -> Result<Vec<Entry>, Failure> {
    let (data, flag) = (data.path()?, data.flag());
    let packages = Set::value_variants().iter().map(|set| set.package());
    let there = packages.filter(|package| package.fetched(&data).exists());
    let entry = |package: Package| {
        let file = package.fetched(&data);
        match package.verify(&file) {
            Ok(sha256) => Entry { file, used: Some(used(&package, sha256)), problem: None },
            Err(why) => {
                let set = package.set;
                let problem = format!(
                    "{}: {why}; it is fetched anew by tailwater data fetch {set}{flag}",
                    file.display()
                );
                Entry { file, used: None, problem: Some(problem) }
            }
        }
    };
    Ok(there.map(entry).collect())
}

/// For people: what can be fetched.
pub(super) fn names() -> String {
    let names: Vec<&str> = Set::value_variants().iter().map(|set| set.package().set).collect();
    names.join(", ")
}

/// Brings a set where it is not there, or not sound.
fn bring(package: &Package, data: &Path, interrupt: &Interrupt) -> Result<Fetched, Failure> {
    let place = package.fetched(data);
    let fetched = |is_new, sha256| Fetched {
        folder: package.fetched(data),
        is_new,
        used: used(package, sha256),
        verified: format!(
            "size and SHA-256 of each of its {} files, known from {} {}",
            package.files.len(),
            package.name,
            package.version
        ),
    };
    if let Ok(sha256) = package.verify(&place) {
        return Ok(fetched(false, sha256));
    }
    let draft = Draft::beside(&place)?;
    // Another process may have brought it before the draft's lock was held.
    if let Ok(sha256) = package.verify(&place) {
        return Ok(fetched(false, sha256));
    }
    let (progress, what) = (Progress::new(1), format!("fetching {} by apt-get", package.name));
    if !std::io::stderr().is_terminal() {
        complain(&format!("{what} to {}", place.display()));
    }
    let told = |bytes: u64| progress.say(&format!("{what}, {:.1} MB", bytes as f64 / 1e6));
    told(0);
    let file = client::download(package.name, &draft, interrupt, &told)?;
    progress.say(&format!("unpacking {}", package.name));
    let content = BufReader::new(client::open(&file, &draft, interrupt)?);
    archive::extract(content, package.installed, package.files, &draft.files())
        .map_err(|error| unpacked(package, &draft, &error))?;
    let sha256 = package.verify(&draft.files()).map_err(|why| refused(package, &why))?;
    draft.put_at(&place)?;
    Ok(fetched(true, sha256))
}

/// Why an archive was not unpacked.
fn unpacked(package: &Package, draft: &Draft, trouble: &Trouble) -> Failure {
    match trouble {
        Trouble::Folder(error) => draft.trouble(error),
        Trouble::Archive(error) => Failure::work(format!(
            "the package {} that apt-get brought is damaged: {error}; nothing was kept, try again",
            package.name
        )),
    }
}

/// What is verified is what was published, whoever packaged it.
fn used(package: &Package, sha256: String) -> DataUsed {
    DataUsed {
        name: format!("fetched/{}", package.set),
        about: package.about.into(),
        source: format!("package {}, as published ({})", package.name, package.version),
        licence: package.licence.into(),
        sha256,
        bytes: package.bytes(),
    }
}

fn refused(package: &Package, why: &Unfit) -> Failure {
    let Package { name, version, set, .. } = package;
    Failure::work(format!(
        "the package {name} that apt-get brought is not as known from {version}: {why}; nothing was kept. Where this system has \
         another version (apt-cache policy {name}), apt-get install {name} makes it this system's {set}, which may be any"
    ))
}
