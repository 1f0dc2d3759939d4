//! Debian's clients: apt-get brings a package, dpkg-deb opens it. Neither needs to be root for that.

use super::draft::Draft;
use crate::bound::bound_to_this;
use crate::complaints::Complaints;
use crate::failure::Failure;
use rustix::process::{PidfdFlags, pidfd_open};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tailwater_program::group::{Group, find};
use tailwater_program::interrupt::Interrupt;

/// Between two looks at what has come: a few a second for people, and a bound that is kept within as much as comes meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Far beyond what 6.5 MB take on a slow line, and short of forever.
const PATIENCE: Duration = Duration::from_secs(600);

/// What clients say in the language C, and what mends it; the first that fits counts.
const MENDS: [(&[&str], &str); 4] = [
    (
        &["No space left", "Disk quota exceeded", "enough free space"],
        "more room is needed there, or another folder: --data DIR",
    ),
    (
        &[
            "Unable to locate package",
            "has no candidate",
            "has no installation candidate",
            "Hash Sum mismatch",
            // Two spaces follow a status of HTTP; paths and ports have digits, too.
            "404  ",
        ],
        "a newer list of packages is needed: apt-get update, as root; then try again",
    ),
    (
        &["resolv", "connect", "unreachable", "timed out", "timeout", "Connection failed"],
        "a network is needed, or a proxy that http_proxy names",
    ),
    (&["Permission denied"], "another folder is needed: --data DIR"),
];

/// Brings a package into the draft's folder, and says where it lies. `told` hears how many bytes have come.
pub(super) fn download(
    name: &str,
    draft: &Draft,
    interrupt: &Interrupt,
    told: &dyn Fn(u64),
) -> Result<PathBuf, Failure> {
    let mut command = command("apt-get")?;
    command.args(["-q", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30"]);
    command.args(["-o", "Acquire::https::Timeout=30", "download", name]);
    command.current_dir(draft.path()).stdout(Stdio::null());
    let ended = run("apt-get", &mut command, draft, interrupt, told)?;
    let found = || {
        let entries = fs::read_dir(draft.path()).ok()?.flatten().map(|entry| entry.path());
        entries.into_iter().find(|path| path.extension().is_some_and(|it| it == "deb"))
    };
    found().filter(|_| ended.status.success()).ok_or_else(|| {
        let what = format!("apt-get brought no {name}");
        Failure::work(ended.refusal(&what, "apt-get download says more"))
    })
}

/// Writes what is in a package into the draft's folder, as a tar archive.
pub(super) fn open(package: &Path, draft: &Draft, interrupt: &Interrupt) -> Result<File, Failure> {
    let archive = draft.path().join("content.tar");
    let written = File::create(&archive).map_err(|error| draft.trouble(&error))?;
    let mut command = command("dpkg-deb")?;
    // A path in its words could look like a sign of what is wrong.
    let name = package.file_name().unwrap_or_default();
    command.arg("--fsys-tarfile").arg(name).current_dir(draft.path()).stdout(written);
    let ended = run("dpkg-deb", &mut command, draft, interrupt, &|_| ())?;
    if !ended.status.success() {
        let why = ended.refusal("dpkg-deb could not open the package", "try again");
        return Err(Failure::work(why).and("nothing was kept"));
    }
    File::open(archive).map_err(|error| draft.trouble(&error))
}

/// One that ends with this program, however that ends: a later fetch would clear the folder beneath it.
fn command(name: &str) -> Result<Command, Failure> {
    if find(name.as_ref()).is_none() {
        return Err(Failure::work(format!(
            "found no {name}, which systems of Debian's family have; one of these is needed, or the set's files from \
             elsewhere: --set text=FOLDER names them to setalgebra and search (docs/data.md)"
        )));
    }
    let mut command = bound_to_this(&[], &[name.to_owned()])?;
    command.env("LC_ALL", "C");
    Ok(command)
}

/// How a client has ended, and what it said is wrong.
struct Ended {
    status: ExitStatus,
    said: String,
}

/// Runs a client to its end. Its group ends with a signal, with too much in the draft, and with too long a time.
fn run(
    name: &str,
    command: &mut Command,
    draft: &Draft,
    interrupt: &Interrupt,
    told: &dyn Fn(u64),
) -> Result<Ended, Failure> {
    let complaints = Complaints::new()?;
    command.stdin(Stdio::null()).stderr(complaints.end()?);
    let mut group =
        Group::start(command).map_err(|error| Failure::work(format!("{name}: {error}")))?;
    let ended = pidfd_open(group.pid()?, PidfdFlags::empty()).map_err(Failure::work)?;
    let until = Instant::now() + PATIENCE;
    while !interrupt
        .wait_beside_until(&ended, Instant::now() + LOOK_EVERY)
        .map_err(|why| why.and("nothing was kept"))?
    {
        told(draft.within_bounds(complaints.bytes())?);
        if Instant::now() >= until {
            return Err(Failure::work(format!(
                "{name} was not done after {} minutes, and was ended; nothing was kept, try again where the network is faster",
                PATIENCE.as_secs() / 60
            )));
        }
    }
    let status = group.end()?;
    draft.within_bounds(complaints.bytes())?;
    Ok(Ended { status, said: complaints.text() })
}

impl Ended {
    /// For people: what was refused, in the client's words, and what mends it; `otherwise`, where that is not known.
    fn refusal(&self, what: &str, otherwise: &str) -> String {
        let Self { status, said } = self;
        let errors = || said.lines().filter(|line| is_error(line));
        let known = MENDS.iter().find_map(|(signs, mend)| {
            let is_sign = |line: &&str| signs.iter().any(|sign| line.contains(sign));
            Some((errors().find(is_sign)?, *mend))
        });
        let last = || errors().next_back().or_else(|| said.lines().last()).unwrap_or("nothing");
        let (why, mend) = known.unwrap_or_else(|| (last(), otherwise));
        format!("{what} ({status}), and said: {why}; {mend}")
    }
}

/// Warnings tell of what is not in the way. A download as root has one of a permission each time.
fn is_error(line: &str) -> bool {
    line.starts_with("E: ") || line.starts_with("dpkg-deb") && !line.contains(" warning: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    fn refusal(said: &str) -> String {
        let ended = Ended { status: ExitStatus::from_raw(100 << 8), said: said.into() };
        ended.refusal("none came", "it says more")
    }

    #[test]
    fn a_refusal_has_the_clients_words_and_what_mends_it() {
        let told = refusal(
            "W: a warning\nE: Failed to fetch http://a/small.deb  Temporary failure resolving 'a'\n",
        );
        assert!(told.contains("exit status: 100") && told.contains("resolving 'a'"), "{told}");
        assert!(told.ends_with("a network is needed, or a proxy that http_proxy names"), "{told}");
        let newer_list = [
            "E: Unable to locate package small\n",
            "E: Can't select candidate version from package small as it has no candidate\n",
            "E: Package 'small' has no installation candidate\n",
            // A connection that brought other bytes is no missing network.
            "E: Failed to fetch http://a  Hash Sum mismatch, connected to a\n",
            "E: Failed to fetch http://a  404  Not Found [IP: 1.2.3.4 80]\n",
        ];
        for said in newer_list {
            let told = refusal(said);
            assert!(told.contains("apt-get update"), "{told}");
        }
        let told = refusal("E: Failed to fetch http://a:4040/b  Could not connect to a:4040\n");
        assert!(told.contains("a network is needed"), "{told}");
        let told = refusal("E: You don't have enough free space in /a.\n");
        assert!(told.contains("--data DIR"), "{told}");
        assert!(refusal("").ends_with("said: nothing; it says more"));
    }

    #[test]
    fn a_warning_is_no_sign_of_what_mends_an_error() {
        let told = refusal(
            "W: Download is performed unsandboxed as root - pkgAcquire::Run (13: Permission denied)\n\
             E: Sub-process http returned an error code (112)\n",
        );
        assert!(told.ends_with("error code (112); it says more"), "{told}");
        let told = refusal("dpkg-deb: warning: Permission denied\ndpkg-deb: error: another\n");
        assert!(told.ends_with("error: another; it says more"), "{told}");
    }

    /// As dpkg-deb 1.21 says it on a full file system.
    #[test]
    fn a_full_disk_is_told_from_the_line_that_names_it() {
        let told = refusal(
            "dpkg-deb (subprocess): decompressing archive 'a.deb' (size=6467132) member 'data.tar': lzma write error: No space \
             left on device\ndpkg-deb: error: <decompress> subprocess returned error exit status 2\n",
        );
        assert!(told.contains("No space left on device; more room is needed"), "{told}");
    }
}
