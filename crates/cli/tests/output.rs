//! What a run leaves: tables that fit, and files in a folder that was tried beforehand; the same on any number of
//! threads; an exit code that tells whether there is a result.

use crate::common::{Folder, SMALL, Serving, tailwater};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// [`SMALL`] in steps, the last of which changes nothing where the cycle begins anew.
fn stepped() -> String {
    let steps = "repeat = 2\ndemand.steps = [{ of_capacity = 0.5, for = \"20ms\" }, \
                 { of_capacity = 1.5, for = \"20ms\" }, { of_capacity = 0.5, for = \"20ms\" }]";
    SMALL.replace("duration = \"20ms\"\nrep", "rep").replace("of_capacity = [0.5, 2.0]", steps)
}

/// The same before two leaves.
fn tiered() -> String {
    let tiers = r#"
[[server.path]]
probability = 1.0
steps = [{ compute = "5us" }, { call = "leaf", fan_out = 2 }]

[[tier]]
name = "leaf"
nodes = 2
slo = "1ms"
service = { distribution = "exponential", mean = "5us" }
"#;
    SMALL.replace("server.service = { distribution = \"exponential\", mean = \"10us\" }\n", "")
        + tiers
}

fn simulate(file: &Path, flags: &[&str]) -> Output {
    tailwater(&["run", "--on", "sim"], &[file]).args(flags).output().expect("it starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn pictures(folder: &Path) -> Vec<String> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut pictures: Vec<String> = names.filter(|name| name.ends_with(".svg")).collect();
    pictures.sort();
    pictures
}

#[test]
fn shards_of_several_machines_are_merged_to_the_bytes_of_one() {
    let folder = Folder::new("shards");
    let crowds = |scenario: String| scenario.replace("count = 10", "count = [10, 7]");
    for scenario in [SMALL.to_owned(), stepped()].map(crowds) {
        let file = folder.write("small.toml", &scenario);
        let whole = simulate(&file, &["--json"]);
        let shard = |index: u32| {
            let found = simulate(&file, &["--json", "--shard", &format!("{index}/3")]);
            assert!(found.status.success(), "{}", text(&found.stderr));
            folder.write(&format!("shard-{index}.json"), text(&found.stdout))
        };
        let shards = [2, 0, 1].map(shard);
        let shards: Vec<&Path> = shards.iter().map(AsRef::as_ref).collect();
        let merged = tailwater(&["merge", "--json"], &shards).output().expect("it starts");
        assert!(merged.status.success(), "{}", text(&merged.stderr));
        assert!(merged.stdout == whole.stdout, "{}", text(&merged.stdout));
        let part = tailwater(&["merge"], &shards[1..]).output().expect("it starts");
        assert_eq!(part.status.code(), Some(2));
        assert!(text(&part.stderr).contains("shard 2 of 0 to 2 missing"), "{part:?}");
    }
    let many = simulate(&folder.write("small.toml", SMALL), &["--shard", "4/5"]);
    assert_eq!(many.status.code(), Some(2));
    assert!(text(&many.stderr).contains("there is no run for it"), "{many:?}");
}

/// By a typo of --out a part would be gone, and with it the rest could not be merged again.
#[test]
fn a_merged_result_takes_the_place_of_none_of_its_parts() {
    let folder = Folder::new("merged");
    let file = folder.write("small.toml", SMALL);
    let shards = ["0/2", "1/2"].map(|shard| {
        let out = folder.0.join(shard.replace('/', " of "));
        let flag = out.display().to_string();
        let found = simulate(&file, &["--shard", shard, "--out", &flag]);
        assert!(found.status.success(), "{}", text(&found.stderr));
        out
    });
    let read = |of: &Path| std::fs::read(of.join("result.json")).expect("a result");
    let before = shards.each_ref().map(|shard| read(shard));
    let merge = |parts: [&Path; 2], out: &Path| {
        tailwater(&["merge"], &parts).arg("--out").arg(out).output().expect("it starts")
    };
    // Files and folders, however they are called.
    let by_file = shards[1].join("result.json");
    for (parts, out) in [
        ([&*shards[0], &*shards[1]], shards[0].join(".")),
        ([&*shards[0], &*by_file], folder.0.join("0 of 2").join("../1 of 2")),
    ] {
        let refused = merge(parts, &out);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains("which is to be merged"), "{refused:?}");
    }
    assert_eq!(shards.each_ref().map(|shard| read(shard)), before);
    let whole = folder.0.join("whole");
    let [first, second] = shards.each_ref().map(|shard| &**shard);
    assert!(merge([first, second], &whole).status.success());
    // One that was merged before is replaced.
    assert!(merge([first, second], &whole).status.success());
}

/// It took the place of a whole result, or of the part before it in a loop with one folder.
#[test]
fn a_shard_takes_the_place_of_no_whole_result_and_of_no_other_shard() {
    let folder = Folder::new("shard-place");
    let file = folder.write("small.toml", SMALL);
    let [whole, part] = ["whole", "part"].map(|name| folder.0.join(name));
    let run = |out: &Path, more: &[&str]| {
        let mut command = tailwater(&["run", "--on", "sim", "--out"], &[out, &file]);
        command.args(more).output().expect("it starts")
    };
    assert!(run(&whole, &[]).status.success());
    // Its own place it takes again.
    for _ in 0..2 {
        assert!(run(&part, &["--shard", "0/2"]).status.success());
    }
    let read = |of: &Path| std::fs::read(of.join("result.json")).expect("a result");
    let before = [&whole, &part].map(|of| read(of));
    let drawn = tailwater(&["draw", "--out"], &[&whole, &part]).output().expect("it starts");
    for (refused, held) in [
        (run(&whole, &["--shard", "0/2"]), "holds a whole result"),
        (run(&part, &["--shard", "1/2"]), "holds the result of shard 0/2"),
        (run(&part, &["--shard", "0/3"]), "holds the result of shard 0/2"),
        (drawn, "holds a whole result"),
    ] {
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(held) && said.contains("by --out"), "{said}");
    }
    assert_eq!([&whole, &part].map(|of| read(of)), before);
    assert!(run(&part, &[]).status.success(), "all runs are more than a part of them");
}

/// As where a signal ended one of them: what ran for hours would be given for what it had by then.
#[test]
fn merged_loads_that_were_cut_short_take_the_place_of_no_whole_result() {
    let folder = Folder::new("merged-cut-short");
    let file = folder.write("small.toml", SMALL);
    let out = folder.0.join("out");
    assert!(simulate(&file, &["--out", &out.display().to_string()]).status.success());
    let read = || std::fs::read_to_string(out.join("result.json")).expect("a result");
    let before = read();
    let serving = Serving::start(&["--controller", "none"]);
    let flags = ["--connect", &serving.address, "--controller", "none", "--slo", "60s", "--json"];
    let load = |seed: &str| -> Value {
        let mut command = tailwater(&["load", "--rate", "1000", "--duration", "100ms"], &[]);
        command.args(flags).args(["--clients", "4", "--pace", "sleep", "--seed", seed]);
        let told = command.output().expect("it starts");
        let said = text(&told.stderr);
        serde_json::from_slice(&told.stdout).expect(said)
    };
    let (one, other) = (load("1"), load("2"));
    let mut part = other.clone();
    part["cut_short"] = "ended by SIGTERM, after 0.1 of 600.0 s".into();
    let first = folder.write("1.json", &one.to_string());
    let merge = |second: &Value| {
        let second = folder.write("2.json", &second.to_string());
        tailwater(&["merge", "--out"], &[&out, &first, &second]).output().expect("it starts")
    };
    let refused = merge(&part);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(text(&refused.stderr).contains("holds a whole result"), "{refused:?}");
    assert_eq!(read(), before);
    // They were at different times, so that none counts; all the same the result is whole.
    let merged = merge(&other);
    assert!(matches!(merged.status.code(), Some(0 | 1)), "{merged:?}");
    assert!(read().contains("2 loads at the same time"), "{merged:?}");
}

#[test]
fn the_same_comes_out_on_any_number_of_threads() {
    let folder = Folder::new("threads");
    for scenario in [SMALL.to_owned(), stepped()] {
        let file = folder.write("small.toml", &scenario);
        let one = simulate(&file, &["--json", "--threads", "1"]);
        assert!(one.status.success(), "{}", text(&one.stderr));
        for threads in ["2", "7"] {
            let several = simulate(&file, &["--json", "--threads", threads]);
            assert!(one.stdout == several.stdout, "{threads} threads change the result");
        }
    }
    let file = folder.write("small.toml", SMALL);
    for flag in [["--threads", "2"], ["--shard", "0/2"]] {
        let refused = tailwater(&["run"], &[&file]).args(flag).output().expect("it starts");
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains("type --on sim"), "{refused:?}");
    }
    let out = folder.0.join("out");
    let refused = tailwater(&["run", "--threads", "2", "--out"], &[&out, &file]).output();
    assert_eq!(refused.expect("it starts").status.code(), Some(2));
    assert!(!out.exists(), "a refusal makes no folder");
}

#[test]
fn values_lie_beside_the_json_and_those_of_an_earlier_result_end() {
    let folder = Folder::new("csv");
    let file = folder.write("small.toml", &stepped());
    let out = folder.0.join("out");
    let flag = out.display().to_string();
    assert!(simulate(&file, &["--out", &flag]).status.success());
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("it was written");
    let result: Value = serde_json::from_str(&read("result.json")).expect("JSON");
    let runs = result["runs"].as_array().expect("runs");
    assert_eq!(read("result.csv").lines().count(), 1 + runs.len());
    let bins = |run: &Value| run["series"]["offered_rps"].as_array().map_or(0, Vec::len);
    let bins: usize = runs.iter().map(bins).sum();
    assert!(bins > 0);
    assert_eq!(read("series.csv").lines().count(), 1 + bins);
    folder.write("small.toml", &tiered());
    assert!(simulate(&file, &["--out", &flag]).status.success());
    assert!(!out.join("series.csv").exists(), "it would be of another result");
    let result: Value = serde_json::from_str(&read("result.json")).expect("JSON");
    let runs = result["runs"].as_array().map_or(0, Vec::len);
    assert!(runs > 0, "{result}");
    assert_eq!(read("tiers.csv").lines().count(), 1 + 2 * runs, "front and leaves of each");
    assert!(read("index.html").contains("class=\"sortable tiers\""));
    folder.write("small.toml", SMALL);
    assert!(simulate(&file, &["--out", &flag]).status.success());
    assert!(!out.join("tiers.csv").exists(), "it would be of another result");
}

#[test]
fn a_result_is_drawn_again_without_titles_for_papers() {
    let folder = Folder::new("draw");
    let file = folder.write("small.toml", SMALL);
    let (out, paper) = (folder.0.join("out"), folder.0.join("paper"));
    let flag = out.display().to_string();
    assert!(simulate(&file, &["--out", &flag]).status.success());
    let drawn = tailwater(&["draw", "--untitled", "--out"], &[&paper, &out]).output();
    let drawn = drawn.expect("it starts");
    assert_eq!(drawn.status.code(), Some(0), "{}", text(&drawn.stderr));
    assert!(text(&drawn.stdout).contains("% of"), "{}", text(&drawn.stdout));
    let drawn = pictures(&out);
    assert!(!drawn.is_empty() && drawn == pictures(&paper), "{drawn:?}");
    let read = |folder: &Path, name: &str| {
        std::fs::read_to_string(folder.join(name)).expect("it was written")
    };
    for name in drawn {
        let titled = |svg: String| svg.contains("font-weight=\"600\"");
        assert!(titled(read(&out, &name)) && !titled(read(&paper, &name)), "{name}");
    }
    assert!(read(&out, "result.json") == read(&paper, "result.json"), "digit by digit");
    let lines = |folder: &Path| read(folder, "result.csv").lines().count();
    assert_eq!(lines(&out), lines(&paper));
    assert!(read(&paper, "index.html").contains("A small crowd"));
    let alone = simulate(&file, &["--untitled"]);
    assert_eq!(alone.status.code(), Some(2), "there is nothing to draw without --out");
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_anything_runs() {
    let folder = Folder::new("unwritable");
    let long = SMALL.replace("duration = \"20ms\"", "duration = \"3000s\"");
    let file = folder.write("long.toml", &long);
    let taken = folder.write("taken", "a file");
    for out in [taken.display().to_string(), "/proc/nowhere".into()] {
        let output = simulate(&file, &["--out", &out]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains(&out) && said.contains("by --out"), "{said}");
    }
}

/// As where --out names the folder of a site.
#[test]
fn a_page_that_is_not_tailwaters_is_not_replaced() {
    let folder = Folder::new("site");
    let file = folder.write("small.toml", SMALL);
    let (site, own) = (folder.0.join("site"), folder.0.join("own"));
    std::fs::create_dir(&site).expect("a folder");
    let page = site.join("index.html");
    std::fs::write(&page, "<title>Mine</title>").expect("a file");
    let run = |out: &Path| simulate(&file, &["--out", &out.display().to_string()]);
    assert!(run(&own).status.success() && run(&own).status.success(), "its own is");
    let compare = |out: &Path| {
        tailwater(&["compare", "--out"], &[out, &own, &own]).output().expect("it starts")
    };
    for refused in [run(&site), compare(&site)] {
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains("index.html is no page of"), "{refused:?}");
    }
    assert_eq!(std::fs::read_dir(&site).expect("a folder").count(), 1);
    assert_eq!(std::fs::read_to_string(&page).expect("it stays"), "<title>Mine</title>");
    let compared = folder.0.join("compared");
    assert!(compare(&compared).status.success() && compare(&compared).status.success());
}

/// A result was lost, its table too, where a file could not be written at the end.
#[test]
fn the_table_is_told_before_a_file_that_cannot_be_written_fails_the_work() {
    let folder = Folder::new("late");
    let file = folder.write("small.toml", SMALL);
    let out = folder.0.join("out");
    std::fs::create_dir_all(out.join("index.html/in-the-way")).expect("a folder");
    let output = simulate(&file, &["--out", &out.display().to_string()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains("goodput"), "{output:?}");
    assert!(text(&output.stderr).contains("index.html"), "{output:?}");
    let files = std::fs::read_dir(&out).expect("a folder");
    let names = files.map(|file| file.expect("an entry").file_name().into_string());
    let mut drafts = names.flatten().filter(|name| name.ends_with(".part"));
    assert_eq!(drafts.next(), None);
}

/// They were replaced without a word, be they of another program or of a later tailwater.
#[test]
fn files_of_no_readable_result_are_not_replaced() {
    let folder = Folder::new("unreadable");
    let file = folder.write("small.toml", SMALL);
    for name in ["result.json", "result.csv"] {
        let out = folder.0.join(format!("with-{name}"));
        std::fs::create_dir(&out).expect("a folder");
        std::fs::write(out.join(name), "mine").expect("a file");
        let refused = simulate(&file, &["--out", &out.display().to_string()]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains(&format!("{name} is of no result")), "{refused:?}");
        assert_eq!(std::fs::read_to_string(out.join(name)).expect("it stays"), "mine");
    }
}

/// As with `tailwater run … | head`: what nothing reads is written all the same.
#[test]
fn files_are_written_where_nothing_reads_what_is_printed() {
    let folder = Folder::new("unread");
    let file = folder.write("small.toml", SMALL);
    let out = folder.0.join("out");
    let mut command = tailwater(&["run", "--on", "sim", "--json", "--out"], &[&out, &file]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let result = std::fs::read(out.join("result.json")).expect("it was written");
    assert!(serde_json::from_slice::<Value>(&result).is_ok());
    assert!(!pictures(&out).is_empty() && out.join("index.html").exists());
}

#[test]
fn pictures_of_an_earlier_result_end_and_foreign_ones_are_refused() {
    let folder = Folder::new("stale");
    let file = folder.write("small.toml", SMALL);
    let out = folder.0.join("out");
    let flag = out.display().to_string();
    assert!(simulate(&file, &["--out", &flag]).status.success());
    let first = pictures(&out);
    folder.write("small.toml", &SMALL.replace("count = 10", "count = 11"));
    assert!(simulate(&file, &["--out", &flag]).status.success());
    let second = pictures(&out);
    assert!(!first.is_empty() && first.len() == second.len());
    assert!(second.iter().all(|name| name.contains("-11-clients-")), "{second:?}");
    std::fs::write(out.join("mine.svg"), "precious").expect("a file");
    let refused = simulate(&file, &["--out", &flag]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("mine.svg is of no result"), "{refused:?}");
    assert_eq!(pictures(&out).len(), second.len() + 1);
}

#[test]
fn tables_fit_the_columns_that_are_there_and_a_pipe_gets_all() {
    let folder = Folder::new("columns");
    let file = folder.write("stepped.toml", &stepped());
    let at = |columns: &str| {
        let output = tailwater(&["run", "--on", "sim"], &[&file]).env("COLUMNS", columns).output();
        String::from_utf8(output.expect("it starts").stdout).expect("text")
    };
    for columns in [80, 100, 120, 160] {
        let table = at(&columns.to_string());
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= columns, "{widest} of {columns} columns:\n{table}");
        for word in ["A small crowd", "goodput", "p99", "valid", "back after"] {
            assert!(table.contains(word), "{columns}: {word:?} was needed in:\n{table}");
        }
    }
    let all = simulate(&file, &[]);
    let all = text(&all.stdout);
    assert!(!all.contains("left out") && all.contains("µs/rq"), "{all}");
}

/// Only `run` did; the list of controllers was as wide as its longest sentence.
#[test]
fn what_other_verbs_print_fits_as_well() {
    let folder = Folder::new("columns-of-all");
    let file = folder.write("small.toml", SMALL);
    let [one, two] = ["one", "two"].map(|name| folder.0.join(name));
    for out in [&one, &two] {
        assert!(simulate(&file, &["--out", &out.display().to_string()]).status.success());
    }
    let serving = Serving::start(&["--controller", "none"]);
    let verbs: [(&[&str], &[&Path], &str); 5] = [
        (&["controllers"], &[], "Settings"),
        (&["keys"], &[], "of_capacity"),
        (&["compare"], &[&one, &two], "goodput"),
        (&["probe", "--seconds", "0.01"], &[], "stalls/s"),
        (&["locks", &serving.address], &[], "Mutex::named"),
    ];
    for (arguments, paths, word) in verbs {
        for columns in [80, 120] {
            let mut command = tailwater(arguments, paths);
            let output = command.env("COLUMNS", columns.to_string()).output().expect("it starts");
            let said = text(&output.stdout);
            assert!(said.contains(word), "{arguments:?}: {said} {}", text(&output.stderr));
            // What is to be copied into a file is never broken.
            let words = said.lines().filter(|line| !line.contains(" = "));
            let widest = words.map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= columns, "{widest} of {columns} columns, {arguments:?}:\n{said}");
        }
    }
}

#[test]
fn recoveries_and_titles_are_in_table_page_pictures_and_json() {
    let folder = Folder::new("recoveries");
    let file = folder.write("stepped.toml", &stepped());
    let out = folder.0.join("out");
    let output = simulate(&file, &["--out", &out.display().to_string()]);
    let table = text(&output.stdout);
    let steps = |from: &str, to: &str| table.matches(&format!("{from}→{to}")).count();
    assert_eq!((steps("0.5×", "1.5×"), steps("1.5×", "0.5×")), (2, 2), "{table}");
    assert_eq!(steps("0.5×", "0.5×"), 0, "{table}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("it was written");
    let page = read("index.html");
    assert!(page.contains("<h1>A small crowd</h1>") && page.contains("<h3>Recovery</h3>"));
    let result: Value = serde_json::from_str(&read("result.json")).expect("JSON");
    assert_eq!(result["title"], "A small crowd");
    assert_eq!(result["recoveries"].as_array().map(Vec::len), Some(4));
    let drawn = pictures(&out);
    let titled = drawn.iter().filter(|name| read(name).contains("A small crowd")).count();
    assert!(titled > 0 && titled == drawn.len(), "{titled} of {drawn:?}");
}

#[test]
fn two_folders_are_compared_on_a_page_and_differences_can_fail() {
    let folder = Folder::new("compare-folders");
    let file = folder.write("small.toml", SMALL);
    let (one, two) = (folder.0.join("one"), folder.0.join("two"));
    assert!(simulate(&file, &["--out", &one.display().to_string()]).status.success());
    let fewer = SMALL.replace("slo = \"1ms\"", "slo = \"1ms\"\nseed = 9\nserver.loops = 1");
    folder.write("small.toml", &fewer.replace("mean = \"10us\"", "mean = \"90us\""));
    assert!(simulate(&file, &["--out", &two.display().to_string()]).status.success());
    let page = folder.0.join("page");
    let flag = page.display().to_string();
    let alike = tailwater(&["compare", "--within", "0", "--out", &flag], &[&one, &one]).output();
    let alike = alike.expect("it starts");
    assert_eq!(alike.status.code(), Some(0), "{}", text(&alike.stderr));
    assert!(text(&alike.stdout).contains("in 4 of 4 configurations"), "{}", text(&alike.stdout));
    let drawn = std::fs::read_to_string(page.join("index.html")).expect("it was written");
    assert!(drawn.contains("none (default, second)") && drawn.contains("<svg"), "{drawn}");
    let csv = std::fs::read_to_string(page.join("comparison.csv")).expect("it was written");
    assert_eq!(csv.lines().count(), 1 + 4, "{csv}");
    let over = tailwater(&["compare", "--out"], &[&one, &one, &two]).output().expect("it starts");
    assert_eq!(over.status.code(), Some(2), "it would take the place of the run's page");
    assert!(text(&over.stderr).contains("holds the result of a run"), "{}", text(&over.stderr));
    let differ = tailwater(&["compare", "--within", "0"], &[&one, &two]).output();
    let differ = differ.expect("it starts");
    assert_eq!(differ.status.code(), Some(1), "{}", text(&differ.stdout));
    let said = text(&differ.stderr);
    assert!(said.contains("differ by more than 0 points"), "{said}");
    let service =
        "service is exponential, mean 10us in the first and exponential, mean 90us in the second";
    assert!(said.contains(&format!("may come of that: {service}\n")), "{said}");
    assert!(!text(&alike.stderr).contains("different scenarios"), "{}", text(&alike.stderr));
    let json = tailwater(&["compare", "--json"], &[&one, &two]).output().expect("it starts");
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["different"][0]["setting"], "service", "{json}");
}

#[test]
fn results_come_through_pipes_and_standard_input_is_read_once() {
    let folder = Folder::new("pipes");
    let file = folder.write("small.toml", SMALL);
    let made = simulate(&file, &["--json"]);
    let result = folder.write("result.json", text(&made.stdout));
    let piped = |arguments: &[&str], paths: &[&Path]| {
        let input = std::fs::File::open(&result).expect("it was written");
        tailwater(arguments, paths).stdin(input).output().expect("it starts")
    };
    let dash = Path::new("-");
    for paths in [[dash, &result], [&result, dash]] {
        let alike = piped(&["compare", "--within", "0"], &paths);
        assert_eq!(alike.status.code(), Some(0), "{}", text(&alike.stderr));
        assert!(text(&alike.stdout).contains("in 4 of 4 configurations"), "{alike:?}");
    }
    let out = folder.0.join("drawn").display().to_string();
    assert_eq!(piped(&["draw", "--out", &out], &[dash]).status.code(), Some(0));
    let twice = piped(&["compare"], &[dash, dash]);
    assert_eq!(twice.status.code(), Some(2), "{twice:?}");
    assert!(text(&twice.stderr).contains("standard input was read already"), "{twice:?}");
}

#[test]
fn a_scenario_comes_through_a_pipe_as_well() {
    let folder = Folder::new("piped-scenario");
    let file = folder.write("small.toml", SMALL);
    let from_file = simulate(&file, &["--json"]);
    let input = std::fs::File::open(&file).expect("it was written");
    let piped = tailwater(&["run", "--on", "sim", "--json", "-"], &[]).stdin(input).output();
    let (piped, named): (Value, Value) = (
        serde_json::from_slice(&piped.expect("it starts").stdout).expect("JSON"),
        serde_json::from_slice(&from_file.stdout).expect("JSON"),
    );
    assert_eq!(piped["runs"], named["runs"]);
}

#[test]
fn repetitions_keep_the_files_limits() {
    let folder = Folder::new("repetitions");
    let file = folder.write("small.toml", SMALL);
    for repetitions in ["0", "1001"] {
        let refused = simulate(&file, &["--repetitions", repetitions]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains("1..=1000"), "{}", text(&refused.stderr));
    }
}

/// The tip was to type `-- -1`, which names a file.
#[test]
fn a_seed_below_zero_is_refused_as_the_number_that_it_is() {
    let refused = simulate(Path::new("any.toml"), &["--seed", "-1"]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("'-1'") && said.contains("--seed") && !said.contains("-- -1"), "{said}");
}

#[test]
fn a_run_without_a_result_fails_and_a_short_one_does_not() {
    let folder = Folder::new("no-result");
    // One request a second: none is meant to be sent in 20 ms, which judges every run invalid.
    let rare = SMALL.replace("of_capacity = [0.5, 2.0]", "requests_per_second = 1");
    let file = folder.write("small.toml", &rare);
    let output = simulate(&file, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("no run is valid"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("none (default) !"), "{}", text(&output.stdout));
    assert_eq!(simulate(&file, &["--short"]).status.code(), Some(0));
    let shard = |part: &str, name: &str, more: &[&str]| {
        let told = simulate(&file, &[&["--json", "--shard", part][..], more].concat());
        folder.write(name, text(&told.stdout))
    };
    let merged = |more: &[&str]| {
        let parts = [shard("0/2", "0.json", more), shard("1/2", "1.json", more)];
        tailwater(&["merge"], &[&parts[0], &parts[1]]).output().expect("it starts").status.code()
    };
    assert_eq!((merged(&[]), merged(&["--short"])), (Some(1), Some(0)), "as the whole ends");
}

/// In a pipe to `head`, or to a pager that was left: the gate of a script stays one.
#[test]
fn a_verdict_does_not_depend_on_a_reader() {
    let folder = Folder::new("output-unread");
    let file = folder.write("small.toml", SMALL);
    let whole = simulate(&file, &["--json"]);
    let mut other: Value = serde_json::from_slice(&whole.stdout).expect("JSON");
    for configuration in other["summary"].as_array_mut().expect("medians") {
        configuration["of"]["goodput_of_capacity"]["median"] = Value::from(2.0);
    }
    let first = folder.write("first.json", text(&whole.stdout));
    let second = folder.write("second.json", &other.to_string());
    let mut compared = tailwater(&["compare", "--within", "1"], &[&first, &second]);
    let unread = {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        compared.stdout(writer)
    };
    let output = unread.output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("differ by more than 1 points"));
}
