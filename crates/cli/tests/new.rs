//! `tailwater new`: what it writes can be checked as it is, with every line that is commented out, and with what stands for
//! other parts.

use crate::common::{Folder, TAILWATER};
use std::path::Path;
use std::process::{Command, Output};

fn tailwater(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(TAILWATER);
    command.args(arguments).current_dir(folder).output().expect("the program starts")
}

fn is_sound(file: &str, folder: &Path, runs: &str) {
    let output = tailwater(&["check", file], folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(runs), "{said}");
}

#[test]
fn a_new_file_is_sound_as_it_is_and_with_all_that_is_commented_out() {
    let folder = Folder::new("new");
    assert_eq!(tailwater(&["new"], &folder.0).status.code(), Some(0));
    is_sound("scenario.toml", &folder.0, "= 40 runs of 2.5s");
    let text = std::fs::read_to_string(folder.0.join("scenario.toml")).expect("it was written");
    let is_key = |line: &str| {
        let key = line.split(" = ").next().unwrap_or("");
        line.contains(" = ") && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    let commented = |line: &&str| line.strip_prefix("# ").is_some_and(is_key);
    assert!(text.lines().filter(commented).count() >= 14, "{text}");
    let all = text.lines().map(|line| if commented(&line) { &line[2..] } else { line });
    folder.write("all.toml", &all.collect::<Vec<_>>().join("\n"));
    is_sound("all.toml", &folder.0, "= 40 runs of 2.5s");
}

#[test]
fn a_new_file_is_sound_with_paths_locks_and_steps() {
    let folder = Folder::new("new-others");
    assert_eq!(tailwater(&["new"], &folder.0).status.code(), Some(0));
    let text = std::fs::read_to_string(folder.0.join("scenario.toml")).expect("it was written");
    let instead = ["duration = ", "service = ", "[demand]", "of_capacity = "];
    assert!(instead.iter().all(|part| text.lines().any(|line| line.starts_with(part))), "{text}");
    let kept = text.lines().filter(|line| !instead.iter().any(|part| line.starts_with(part)));
    let others = kept.map(|line| line.strip_prefix("#| ").unwrap_or(line));
    folder.write("others.toml", &others.collect::<Vec<_>>().join("\n"));
    is_sound("others.toml", &folder.0, "= 15 runs of 8.5s");
}

#[test]
fn a_file_that_is_there_is_never_overwritten() {
    let folder = Folder::new("new-twice");
    folder.write("mine.toml", "precious");
    for name in ["mine", "mine.toml"] {
        let output = tailwater(&["new", name], &folder.0);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("mine.toml is there already"), "{said}");
    }
    let kept = std::fs::read_to_string(folder.0.join("mine.toml")).expect("it stays");
    assert_eq!(kept, "precious");
}

#[test]
fn a_folder_that_is_not_there_is_named_with_what_to_do() {
    let folder = Folder::new("new-nowhere");
    let output = tailwater(&["new", "there/mine"], &folder.0);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there/mine.toml: its folder is not there; make that first"), "{said}");
}

/// As on a full disk: a part of it would be in the way of the next try.
#[test]
fn a_file_that_cannot_be_written_whole_is_not_left() {
    let folder = Folder::new("new-full");
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" new mine";
    let mut command = Command::new("sh");
    let output = command.args(["-c", script, TAILWATER]).current_dir(&folder.0).output();
    let output = output.expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("mine.toml: ") && !folder.0.join("mine.toml").exists(), "{said}");
    assert_eq!(tailwater(&["new", "mine"], &folder.0).status.code(), Some(0));
}

#[test]
fn what_is_to_be_typed_next_can_be_typed_as_it_is() {
    let folder = Folder::new("new-typed");
    let output = tailwater(&["new", "a b"], &folder.0);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("tailwater check 'a b.toml'; tailwater run 'a b.toml'"), "{said}");
}
