//! What a short version, which proves that something works, takes the place of: of no full result.

use crate::common::{Folder, SMALL, tailwater};
use std::path::Path;
use std::process::{Command, Output};

fn ended(mut command: Command) -> Output {
    command.output().expect("it starts")
}

fn is_refused(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("holds a full result") && said.contains("by --out"), "{said}");
}

/// By a command of the history, with the flag that only tries the file.
#[test]
fn a_short_run_takes_the_place_of_no_full_one() {
    let folder = Folder::new("short-run");
    let file = folder.write("small.toml", SMALL);
    let [out, short] = ["out", "short"].map(|name| folder.0.join(name));
    let run = |out: &Path, more: &[&str]| {
        let mut command = tailwater(&["run", "--on", "sim"], &[&file]);
        command.arg("--out").arg(out).args(more);
        command
    };
    assert!(ended(run(&out, &[])).status.success());
    // One that is short gives way to another, and to a full one.
    for _ in 0..2 {
        assert!(ended(run(&short, &["--short"])).status.success());
    }
    let shards = ["0/2", "1/2"].map(|shard| {
        let flags = ["run", "--on", "sim", "--short", "--json", "--shard", shard];
        let told = ended(tailwater(&flags, &[&file])).stdout;
        folder.write(&shard.replace('/', " of "), &String::from_utf8_lossy(&told))
    });
    let read = |of: &Path| std::fs::read(of.join("result.json")).expect("a result");
    let before = read(&out);
    let mut by_environment = run(&out, &[]);
    by_environment.env("TAILWATER_SHORT", "1");
    let drawn = tailwater(&["draw", "--out"], &[&out, &short]);
    let merged = tailwater(&["merge", "--out"], &[&out, &shards[0], &shards[1]]);
    for refused in [run(&out, &["--short"]), by_environment, drawn, merged] {
        is_refused(&ended(refused));
    }
    assert_eq!(read(&out), before);
    assert!(ended(run(&short, &[])).status.success());
    assert_eq!(read(&short), before);
}

#[test]
fn a_short_validation_takes_the_place_of_no_full_one() {
    let folder = Folder::new("short-validation");
    let full = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/accelerate-aes.json");
    let text = std::fs::read_to_string(full).expect("a result");
    let short = text.replace("\"short\": false", "\"short\": true");
    assert_ne!(short, text);
    let (full, short) = (Path::new(full), folder.write("short.json", &short));
    let [out, other] = ["out", "other"].map(|name| folder.0.join(name));
    let drawn = |from: &Path, out: &Path| {
        let mut command = tailwater(&["accelerate", "validate", "--draw"], &[from]);
        command.arg("--out").arg(out);
        ended(command)
    };
    let read = |of: &Path| std::fs::read(of.join("validation.json")).expect("a result");
    assert!(drawn(full, &out).status.success());
    let before = read(&out);
    let tried = tailwater(&["accelerate", "validate", "--short", "--out"], &[&out]);
    for refused in [ended(tried), drawn(&short, &out)] {
        is_refused(&refused);
    }
    assert_eq!(read(&out), before);
    for from in [&*short, &*short, full] {
        assert!(drawn(from, &other).status.success());
    }
    assert_eq!(read(&other), before);
}

#[test]
fn short_traits_take_the_place_of_no_full_ones() {
    let folder = Folder::new("short-traits");
    let full = folder.write("traits.json", "{ \"short\": false }");
    let traits = |more: &[&str]| {
        let mut command = tailwater(&["suite", "traits", "router", "--out"], &[&folder.0]);
        command.args(more).env("TAILWATER_DATA", folder.0.join("data"));
        command
    };
    let mut by_environment = traits(&[]);
    by_environment.env("TAILWATER_SHORT", "1");
    for refused in [traits(&["--short"]), by_environment] {
        is_refused(&ended(refused));
    }
    assert_eq!(std::fs::read_to_string(full).expect("it stays"), "{ \"short\": false }");
}

#[test]
fn short_figures_take_the_place_of_no_full_ones() {
    let folder = Folder::new("short-figures");
    let text = "{ \"tailwater\": \"0.1.0\", \"rows\": [] }";
    let full = folder.write("compared.json", text);
    let figures = |more: &[&str]| {
        let mut command = tailwater(&["figures", "breakwater", "10", "--out"], &[&folder.0]);
        command.args(more);
        command
    };
    let mut by_environment = figures(&[]);
    by_environment.env("TAILWATER_SHORT", "1");
    for refused in [figures(&["--short"]), by_environment] {
        is_refused(&ended(refused));
    }
    assert_eq!(std::fs::read_to_string(full).expect("it stays"), text);
}

/// Where the disk was full behind hours of simulation, nothing was told.
#[test]
fn numbers_of_figures_are_told_before_they_are_written() {
    let folder = Folder::new("figures-unwritten");
    std::fs::create_dir(folder.0.join("compared.json")).expect("a folder in the way");
    let flags = ["figures", "breakwater", "10", "--short", "--claims", "--out"];
    let output = ended(tailwater(&flags, &[&folder.0]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("compared.json"), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("| figure |"), "{output:?}");
}
