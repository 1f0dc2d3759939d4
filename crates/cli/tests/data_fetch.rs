//! `tailwater data fetch` with clients in shell that stand for Debian's: nothing here asks a network.

use crate::common::{Folder, TAILWATER, eventually, found, is_gone};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const FETCH: [&str; 3] = ["data", "fetch", "wordnet"];

const FILES: [&str; 4] = ["data.noun", "data.verb", "data.adj", "data.adv"];

/// Where `make ci` has the package installed.
const INSTALLED: &str = "/usr/share/wordnet";

/// A folder with clients, and with data.
struct Fake(Folder);

impl Fake {
    /// `apt_get` is what apt-get does, in shell, where it shall write the package.
    fn new(name: &str, apt_get: &str) -> Self {
        let fake = Self(Folder::new(name));
        fs::create_dir_all(fake.path("bin")).expect("a folder");
        fake.client("apt-get", apt_get);
        fake.client("dpkg-deb", "[ \"$1\" = --fsys-tarfile ] && cat \"$2\"");
        fake
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.0.join(name)
    }

    fn client(&self, name: &str, does: &str) {
        // A shell writes it: a child that this process forks meanwhile would hold it open, and it could not start.
        let write = "printf '#!/bin/sh\n%s\n' \"$1\" >\"$2\" && chmod 755 \"$2\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh", does]).arg(self.path(&format!("bin/{name}")));
        assert!(shell.status().expect("there is a shell").success());
    }

    /// A package with these files of WordNet's and another, which apt-get brings from now on.
    fn package(&self, write: impl Fn(&Path)) {
        let tree = self.path("tree");
        fs::create_dir_all(tree.join("usr/share/wordnet")).expect("a folder");
        for file in FILES {
            write(&tree.join("usr/share/wordnet").join(file));
        }
        fs::write(tree.join("usr/share/wordnet/index.noun"), "not needed").expect("written");
        let (package, mut tar) = (self.path("package.deb"), Command::new("tar"));
        tar.args(["--format=gnu", "-cf"]).arg(&package).arg("-C").arg(&tree).arg("./usr");
        assert!(tar.status().expect("there is tar").success());
        let bring = format!("echo \"$@\" >>{}", self.path("calls").display());
        let copy = format!("cp {} wordnet-base_1%3a3.0-37_all.deb", package.display());
        self.client("apt-get", &format!("{bring}\n{copy}"));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(TAILWATER);
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(arguments).env("TAILWATER_DATA", self.path("data"));
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// What lies where sets are fetched to.
    fn left(&self) -> Vec<String> {
        names(&self.path("data/fetched"))
    }

    fn refused(&self) -> String {
        refused(&self.run(&FETCH))
    }
}

/// What lies in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().display().to_string()).collect();
    names.sort();
    names
}

fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[test]
fn a_package_of_other_bytes_is_refused_and_nothing_is_left() {
    let fake = Fake::new("fetch-bytes", "");
    fake.package(|file| fs::write(file, "other").expect("written"));
    let said = fake.refused();
    assert!(said.contains("data.noun: found 5 bytes; 15300280 are needed"), "{said}");
    assert!(said.contains("apt-get install wordnet-base"), "{said}");
    assert_eq!(fake.left(), Vec::<String>::new());
    // As long as the known one.
    fake.package(|file| {
        let length = if file.ends_with("data.noun") { 15_300_280 } else { 0 };
        fs::File::create(file).and_then(|file| file.set_len(length)).expect("written");
    });
    let said = fake.refused();
    assert!(said.contains("data.noun: found SHA-256"), "{said}");
    assert!(said.contains("fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2"));
    assert_eq!(fake.left(), Vec::<String>::new());
    let asked = fs::read_to_string(fake.path("calls")).expect("apt-get was called");
    assert!(asked.lines().all(|line| line.ends_with("download wordnet-base")), "{asked}");
    fake.client("dpkg-deb", "echo 'not a Debian archive' >&2; exit 2");
    let said = fake.refused();
    assert!(said.contains("not a Debian archive; try again"), "{said}");
    fake.client("dpkg-deb", "echo 'dpkg-deb: a: write error: No space left on device' >&2; exit 2");
    let said = fake.refused();
    assert!(said.contains("more room is needed there, or another folder: --data DIR"), "{said}");
    // Not a tar archive, and one that was cut: the folder is not in the way.
    for damaged in ["head -c 1024 /dev/zero | tr '\\0' x", "head -c 700 \"$2\""] {
        fake.client("dpkg-deb", damaged);
        let said = fake.refused();
        assert!(said.contains("is damaged") && said.contains("try again"), "{said}");
        assert!(!said.contains("--data"), "{said}");
    }
    assert_eq!(fake.left(), Vec::<String>::new());
}

#[test]
fn what_a_client_refuses_is_told_with_what_mends_it() {
    let no_network =
        "echo 'E: Failed to fetch http://a  Temporary failure resolving a' >&2; exit 100";
    let fake = Fake::new("fetch-refused", no_network);
    let said = fake.refused();
    assert!(said.contains("Temporary failure resolving a; a network is needed"), "{said}");
    fake.client("apt-get", "echo 'E: Unable to locate package wordnet-base' >&2; exit 100");
    assert!(fake.refused().contains("apt-get update"));
    let none = fake.command(&FETCH).env("PATH", fake.path("none")).output().expect("it starts");
    let said = refused(&none);
    assert!(said.contains("found no apt-get, which systems of Debian's family have"), "{said}");
    assert_eq!(fake.left(), Vec::<String>::new());
}

#[test]
fn one_that_is_ended_half_way_leaves_no_client_and_what_was_there_stays() {
    let fake = Fake::new("fetch-ended", "");
    fake.package(|file| fs::write(file, "other").expect("written"));
    let old = fake.path("data/fetched/wordnet");
    fs::create_dir_all(&old).expect("a folder");
    fs::write(old.join("data.noun"), "old").expect("written");
    // The number is written last, under its name at once.
    let number = fake.path("number");
    let stays = format!("echo $$ >{0}.new; mv {0}.new {0}; exec sleep 1000", number.display());
    let open = format!("cat \"$2\"; {stays}");
    let half = format!("echo half >small.deb; {stays}");
    let drafts = || fake.left().len() - 1;
    for (name, does) in [("dpkg-deb", open), ("apt-get", half)] {
        fake.client(name, &does);
        for signal in [Signal::TERM, Signal::KILL] {
            let mut fetch = fake.command(&FETCH);
            let mut fetch = fetch.stderr(Stdio::null()).spawn().expect("the program starts");
            let client = found("a client at work", || fs::read_to_string(&number).ok());
            fs::remove_file(&number).expect("removed");
            let client: u32 = client.trim().parse().expect("a number");
            let pid = Pid::from_raw(i32::try_from(fetch.id()).expect("a number"));
            kill_process(pid.expect("not zero"), signal).expect("it is there");
            let status = fetch.wait().expect("it ends");
            if signal == Signal::TERM {
                assert_eq!(status.code(), Some(143));
                assert_eq!(drafts(), 0, "{:?}", fake.left());
            } else {
                assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
                // That of an earlier one is gone by now.
                assert_eq!(drafts(), 1, "{:?}", fake.left());
            }
            eventually("the end of the client, too", || is_gone(client));
            assert_eq!(names(&old), ["data.noun"]);
            assert_eq!(fs::read(old.join("data.noun")).expect("it stays"), b"old");
        }
    }
    // Whatever that left goes with the next.
    fake.client("apt-get", "exit 1");
    fake.refused();
    assert_eq!(fake.left(), ["wordnet"]);
}

#[test]
fn wordnet_is_fetched_listed_and_checked_from_the_installed_files() {
    let installed = |file: &str| Path::new(INSTALLED).join(file);
    if !FILES.iter().all(|file| installed(file).is_file()) {
        return;
    }
    let fake = Fake::new("fetch-wordnet", "");
    fake.package(|file| {
        let name = file.file_name().expect("a name").to_str().expect("text");
        fs::copy(installed(name), file).expect("copied");
    });
    let json = |arguments: &[&str]| {
        let output = fake.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice::<Value>(&output.stdout)
            .unwrap_or_else(|why| panic!("{why}: {said}"))
    };
    let fetch_json = ["data", "fetch", "wordnet", "--json"];
    let (first, second) = (json(&fetch_json), json(&fetch_json));
    assert_eq!((&first["is_new"], &second["is_new"]), (&true.into(), &false.into()));
    assert_eq!((&first["bytes"], &first["sha256"]), (&21_744_920.into(), &second["sha256"]));
    assert!(first["licence"].as_str().is_some_and(|it| it.contains("Princeton University")));
    let calls = || fs::read_to_string(fake.path("calls")).expect("called").lines().count();
    assert_eq!((calls(), fake.left()), (1, vec!["wordnet".to_owned()]));
    let mut needed = FILES;
    needed.sort_unstable();
    assert_eq!(names(&fake.path("data/fetched/wordnet")), needed, "no more than is needed");
    let other = fake.path("it's other");
    let named = fake.run(&[&FETCH[..], &["--data", other.to_str().expect("text")]].concat());
    let next = format!(
        "data make setalgebra --data '{}'",
        other.display().to_string().replace('\'', r"'\''")
    );
    let said = String::from_utf8_lossy(&named.stdout).into_owned();
    assert!(said.trim_end().ends_with(&next), "{said}");
    assert_eq!(json(&["data", "list", "--json"])[0]["sha256"], first["sha256"]);
    assert!(fake.run(&["data", "check"]).status.success());
    let file = fake.path("data/fetched/wordnet/data.adv");
    fs::write(&file, "short").expect("damaged");
    let said = refused(&fake.run(&["data", "check"]));
    assert!(said.contains("data.adv: found 5 bytes; 516696 are needed"), "{said}");
    assert!(said.contains("tailwater data fetch wordnet"), "{said}");
    assert_eq!((json(&fetch_json)["is_new"].as_bool(), calls()), (Some(true), 3));
    assert!(fake.run(&["data", "check"]).status.success());
}
