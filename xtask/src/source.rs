//! `source`: a Debian source package, fetched by apt and unpacked in `out/source/PACKAGE`, for the
//! benches and examples that profile programs which are not ours.
//!
//! apt gets a list and a state of its own, so that the system's stay as they are and nobody need be
//! root. The last line that it prints is the folder of the sources.

use crate::Result;
use crate::process;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Where packages come from, unless this variable says otherwise.
const MIRROR: (&str, &str) = ("DEBIAN_MIRROR", "http://deb.debian.org/debian");
const NEEDS: [(&str, &str); 2] = [("apt-get", "apt"), ("dpkg-source", "dpkg-dev")];
/// What autotools make of what lies before it, in order: each must look newer than the one before, or
/// the program's own make would want autotools.
const GENERATED: [&[&str]; 2] = [&["aclocal.m4"], &["configure", "config.h.in", "Makefile.in"]];

/// `cargo xtask source PACKAGE`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let [package] = args else {
        return Err(format!("found {args:?}; `source` takes the name of one source package"));
    };
    if !package.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c)) {
        return Err(format!("found `{package}`, which is no name of a Debian package"));
    }
    let folder = root.join("out/source").join(package);
    let done = folder.join("fetched");
    if !done.exists() {
        fetch(&folder, package)?;
        settle(&unpacked(&folder, package)?)?;
        File::create(&done).map_err(|error| failed(&done, &error))?;
    }
    println!("{}", unpacked(&folder, package)?.display());
    Ok(())
}

fn fetch(folder: &Path, package: &str) -> Result {
    for (program, from) in NEEDS {
        Command::new(program)
            .arg("--version")
            .output()
            .map_err(|_| format!("found no {program}; type: apt-get install {from}"))?;
    }
    let lists = folder.join("lists/partial");
    fs::create_dir_all(&lists).map_err(|error| failed(&lists, &error))?;
    let list = folder.join("sources.list");
    let mirror = mirror();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let text = format!("deb-src {mirror} {} main\n", codename(&release));
    fs::write(&list, text).map_err(|error| failed(&list, &error))?;
    for words in [&["update"][..], &["source", package]] {
        process::run_quietly(apt(folder).args(words)).map_err(|why| {
            let variable = MIRROR.0;
            format!("{why}; name a mirror that has Debian's sources in {variable}")
        })?;
    }
    Ok(())
}

fn apt(folder: &Path) -> Command {
    let mut command = Command::new("apt-get");
    let here = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let options = [
        format!("Dir::Etc::sourcelist={}", here.join("sources.list").display()),
        "Dir::Etc::sourceparts=-".to_owned(),
        format!("Dir::State::lists={}", here.join("lists").display()),
        "APT::Get::List-Cleanup=0".to_owned(),
        "APT::Sandbox::User=".to_owned(),
    ];
    command.current_dir(folder).arg("-qq").args(options.iter().flat_map(|option| ["-o", option]));
    command
}

/// Where Debian's packages come from.
pub(crate) fn mirror() -> String {
    std::env::var(MIRROR.0).unwrap_or_else(|_| MIRROR.1.to_owned())
}

/// The release's name in `/etc/os-release`; `stable` where it is not Debian's.
pub(crate) fn codename(release: &str) -> &str {
    let is_debian = release.lines().any(|line| line == "ID=debian");
    let name = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    name.filter(|_| is_debian).unwrap_or("stable")
}

/// The one folder named `PACKAGE-VERSION`.
fn unpacked(folder: &Path, package: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.is_dir() && name.strip_prefix(package).is_some_and(|rest| rest.starts_with('-'))
    };
    let found = entries.flatten().map(|entry| entry.path()).find(is_it);
    found.ok_or_else(|| format!("found no sources of {package} in {}", folder.display()))
}

/// Dates what autotools generated, so that it counts as made from what it was made from.
fn settle(sources: &Path) -> Result {
    let now = SystemTime::now();
    for (step, names) in (1..).zip(GENERATED) {
        for path in named(sources, names)? {
            let file = File::options().append(true).open(&path);
            file.and_then(|file| file.set_modified(now + Duration::from_millis(step)))
                .map_err(|error| failed(&path, &error))?;
        }
    }
    Ok(())
}

/// All files of these names, however deep.
fn named(folder: &Path, names: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(named(&path, names)?);
        } else if names.iter().any(|wanted| name == *wanted) {
            found.push(path);
        }
    }
    Ok(found)
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_debians_own_releases_are_asked_for_by_name() {
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=bookworm\n"), "bookworm");
        assert_eq!(codename("ID=ubuntu\nVERSION_CODENAME=noble\n"), "stable");
        assert_eq!(codename(""), "stable");
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["../x", "a b", "Redis"] {
            let refused = main(Path::new("."), &[name.to_owned()]).unwrap_err();
            assert!(refused.contains(name), "{refused}");
        }
        assert!(main(Path::new("."), &[]).is_err());
    }
}
