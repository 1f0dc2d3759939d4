//! Debian's clients: apt-get brings a package, dpkg-deb opens it. Neither needs to be root for that.

use super::draft::Draft;
use crate::failure::Failure;
use crate::group::Group;
use crate::interrupt::Interrupt;
use rustix::process::{PidfdFlags, pidfd_open};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What is started: names that are looked for in PATH, or paths.
pub(super) struct Client {
    pub(super) apt_get: PathBuf,
    pub(super) dpkg_deb: PathBuf,
}

impl Default for Client {
    fn default() -> Self {
        Self { apt_get: "apt-get".into(), dpkg_deb: "dpkg-deb".into() }
    }
}

/// Between two looks at what has come: a few a second for people, and a bound that is kept within as much as comes meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Far beyond what 6.5 MB take on a slow line, and short of forever.
const PATIENCE: Duration = Duration::from_secs(600);

/// Of what a client has said, no more is read.
const SAID_MAX: u64 = 1 << 16;

/// Where clients say what is wrong.
const SAID: &str = "said";

/// What apt-get says in the language C, and what mends it; the first that fits counts.
const MENDS: [(&[&str], &str); 4] = [
    (
        &["No space left", "enough free space"],
        "more room is needed there, or another folder: --data DIR",
    ),
    (
        &["Unable to locate package", "Hash Sum mismatch", "404", "has no installation candidate"],
        "a newer list of packages is needed: apt-get update, as root; then try again",
    ),
    (
        &[
            "resolv",
            "connect",
            "Network is unreachable",
            "timed out",
            "timeout",
            "Connection failed",
        ],
        "a network is needed, or a proxy that http_proxy names",
    ),
    (&["Permission denied"], "another folder is needed: --data DIR"),
];

impl Client {
    /// Brings a package into the draft's folder, and says where it lies. `told` hears how many bytes have come.
    pub(super) fn download(
        &self,
        name: &str,
        draft: &Draft,
        interrupt: &Interrupt,
        told: &dyn Fn(u64),
    ) -> Result<PathBuf, Failure> {
        let mut command = Command::new(&self.apt_get);
        command.args(["-q", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30"]);
        command.args(["-o", "Acquire::https::Timeout=30", "download", name]);
        command.current_dir(draft.path()).env("LC_ALL", "C").stdout(Stdio::null());
        let status = run(&mut command, draft, interrupt, told)?;
        let found = || {
            let entries = fs::read_dir(draft.path()).ok()?.flatten().map(|entry| entry.path());
            entries.into_iter().find(|path| path.extension().is_some_and(|it| it == "deb"))
        };
        match found().filter(|_| status.success()) {
            Some(package) => Ok(package),
            None => Err(Failure::work(refusal(name, status, &said(draft)))),
        }
    }

    /// Writes what is in a package into the draft's folder, as a tar archive.
    pub(super) fn open(
        &self,
        package: &Path,
        draft: &Draft,
        interrupt: &Interrupt,
    ) -> Result<File, Failure> {
        let archive = draft.path().join("content.tar");
        let written = File::create(&archive).map_err(|error| draft.trouble(&error))?;
        let mut command = Command::new(&self.dpkg_deb);
        command.arg("--fsys-tarfile").arg(package).env("LC_ALL", "C").stdout(written);
        let status = run(&mut command, draft, interrupt, &|_| ())?;
        if !status.success() {
            let said = said(draft);
            let why = said.lines().last().unwrap_or("nothing");
            return Err(Failure::work(format!(
                "dpkg-deb could not open the package ({status}), and said: {why}; nothing was kept, try again"
            )));
        }
        File::open(archive).map_err(|error| draft.trouble(&error))
    }
}

/// Runs a client to its end. Its group ends with a signal, with too much in the draft, and with too long a time.
fn run(
    command: &mut Command,
    draft: &Draft,
    interrupt: &Interrupt,
    told: &dyn Fn(u64),
) -> Result<ExitStatus, Failure> {
    let name = PathBuf::from(command.get_program());
    let name = name.file_name().unwrap_or_default().display().to_string();
    let said = File::create(draft.path().join(SAID)).map_err(|error| draft.trouble(&error))?;
    command.stdin(Stdio::null()).stderr(said);
    let mut group = Group::start(command).map_err(|error| absent(&name, &error))?;
    let ended = pidfd_open(group.pid()?, PidfdFlags::empty()).map_err(Failure::work)?;
    let until = Instant::now() + PATIENCE;
    while !interrupt
        .wait_beside_until(&ended, Instant::now() + LOOK_EVERY)
        .map_err(|why| why.and("nothing was kept"))?
    {
        told(draft.within_bounds()?);
        if Instant::now() >= until {
            return Err(Failure::work(format!(
                "{name} was not done after {} minutes, and was ended; nothing was kept, try again where the network is faster",
                PATIENCE.as_secs() / 60
            )));
        }
    }
    let status = group.end()?;
    draft.within_bounds()?;
    Ok(status)
}

fn absent(name: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => Failure::work(format!(
            "found no {name}, which systems of Debian's family have; one of these is needed, or the set's files from \
             elsewhere: --set text=FOLDER names them to setalgebra and search (docs/data.md)"
        )),
        _ => Failure::work(format!("{name}: {error}")),
    }
}

/// For people: what apt-get refused, in its words, and what mends it.
fn refusal(package: &str, status: ExitStatus, said: &str) -> String {
    let errors = || said.lines().filter(|line| line.starts_with("E: "));
    let why = errors().next_back().or_else(|| said.lines().last()).unwrap_or("nothing");
    let fits = |(signs, _): &&(&[&str], &str)| signs.iter().any(|sign| said.contains(sign));
    let mend = MENDS.iter().find(fits).map_or("apt-get download says more", |(_, mend)| mend);
    format!("apt-get brought no {package} ({status}), and said: {why}; {mend}")
}

/// What a client has said.
fn said(draft: &Draft) -> String {
    let mut text = Vec::new();
    if let Ok(file) = File::open(draft.path().join(SAID)) {
        // What is unreadable of it is left out: it only explains.
        let _ = file.take(SAID_MAX).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn a_refusal_has_the_clients_words_and_what_mends_it() {
        let of = |said: &str| refusal("small", ExitStatus::from_raw(100 << 8), said);
        let gone = "W: a warning\nE: Failed to fetch http://a/small.deb  Temporary failure resolving 'a'\n";
        let told = of(gone);
        assert!(told.contains("exit status: 100") && told.contains("resolving 'a'"), "{told}");
        assert!(told.ends_with("a network is needed, or a proxy that http_proxy names"), "{told}");
        let told = of("E: Unable to locate package small\n");
        assert!(told.contains("apt-get update"), "{told}");
        // A connection that brought other bytes is no missing network.
        let told = of("E: Failed to fetch http://a  Hash Sum mismatch, connected to a\n");
        assert!(told.contains("apt-get update"), "{told}");
        let told = of("E: You don't have enough free space in /a.\n");
        assert!(told.contains("--data DIR"), "{told}");
        assert!(of("").contains("said: nothing; apt-get download says more"));
    }
}
