//! `tailwater accelerate`: the guide's outputs, the example files, and what is written.

use crate::common::{Folder, TAILWATER};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn tailwater(arguments: &[&str]) -> Output {
    let mut command = Command::new(TAILWATER);
    command.args(arguments).current_dir(root()).env_remove("COLUMNS");
    command.output().expect("the program starts")
}

/// What a run prints that succeeds.
fn printed(arguments: &[&str]) -> String {
    let output = tailwater(arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
    String::from_utf8(output.stdout).expect("text")
}

/// Commands of the guide that are followed by what they print.
fn told_in_the_guide(guide: &str) -> Vec<(String, String)> {
    let blocks = guide.split("```sh\n").skip(1);
    let pairs = blocks.filter_map(|block| {
        let (command, rest) = block.split_once("```\n")?;
        let (_, output) = rest.trim_start().split_at_checked("```text\n".len())?;
        let is_output = rest.trim_start().starts_with("```text\n");
        is_output.then(|| {
            (command.trim().to_owned(), output.split("```").next().unwrap_or("").to_owned())
        })
    });
    pairs.collect()
}

#[test]
fn the_guides_examples_print_what_it_says() {
    let guide = std::fs::read_to_string(root().join("docs/accelerator.md")).expect("the guide");
    let told = told_in_the_guide(&guide);
    assert!(told.len() >= 3, "{told:?}");
    for (command, output) in told {
        let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
        let found = printed(&arguments);
        assert!(found == output, "{command}\nprints\n{found}\nthe guide has\n{output}");
    }
}

#[test]
fn every_example_is_sound_and_fits_eighty_columns() {
    let folder = root().join("examples/accelerators");
    let files =
        std::fs::read_dir(&folder).expect("examples").map(|entry| entry.expect("one").path());
    let files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let shown = file.display().to_string();
        let text = printed(&["accelerate", "model", &shown, "--need", "12%"]);
        let widest = text.lines().max_by_key(|line| line.chars().count()).expect("a line");
        assert!(widest.chars().count() <= 80, "{shown}: {widest}");
    }
}

#[test]
fn json_has_the_numbers_of_the_table() {
    let file = "examples/accelerators/thesis.toml";
    let all: Value =
        serde_json::from_str(&printed(&["accelerate", "model", file, "--json", "--need", "5%"]))
            .expect("JSON");
    let cases = all["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 10);
    let aes = &cases[0];
    assert_eq!((&aes["name"], &aes["threading"]), (&"AES-NI for Cache1".into(), &"sync".into()));
    let speedup = aes["speedup"].as_f64().expect("a number");
    assert!((speedup - 1.157_76).abs() < 1e-5, "{speedup}");
    assert_eq!(aes["needs"]["met"], true);
    assert_eq!(aes["tornado"][0]["input"], "alpha");
}

#[test]
fn one_case_is_chosen_by_name_and_an_unknown_one_is_refused_with_those_there_are() {
    let file = "examples/accelerators/thesis.toml";
    let text = printed(&["accelerate", "model", file, "--case", "Memory copy"]);
    assert!(text.contains("Memory copy: sync, on-chip") && text.contains("what decides"), "{text}");
    let output = tailwater(&["accelerate", "model", file, "--case", "Memory"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("no case is called 'Memory'") && told.contains("Memory copy"), "{told}");
}

#[test]
fn what_is_wrong_with_a_file_ends_with_exit_code_two_and_a_mend() {
    let folder = Folder::new("accelerate-wrong");
    let file = folder.write("wrong.toml", "design = \"sync\"\nL = \"1us\"\n");
    let output = tailwater(&["accelerate", "model", &file.display().to_string()]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    for part in ["wrong.toml:2:5: L is \"1us\", a time", "strategy is missing", "alpha is missing"]
    {
        assert!(told.contains(part), "{told}");
    }
    let output = tailwater(&["accelerate", "model", "none.toml", "--need", "much"]);
    assert_eq!(output.status.code(), Some(2));
    // What begins a scenario was named.
    let missing = folder.0.join("missing.toml").display().to_string();
    let output = tailwater(&["accelerate", "model", &missing]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("there is no such file; examples/accelerators/ has"), "{told}");
}

#[test]
fn figures_are_written_with_a_page_and_never_over_a_result() {
    let folder = Folder::new("accelerate-figures");
    let out = folder.0.join("drawn");
    printed(&["accelerate", "figures", "--out", &out.display().to_string()]);
    let page = std::fs::read_to_string(out.join("index.html")).expect("a page");
    assert!(page.contains("What decides: AES-NI for Cache1") && page.contains("15.78 %"));
    assert!(out.join("gains.svg").exists() && out.join("tornado-10.svg").exists());
    let one = "examples/accelerators/aes-ni.toml";
    printed(&["accelerate", "figures", one, "--out", &out.display().to_string()]);
    assert!(out.join("tornado-1.svg").exists() && !out.join("tornado-10.svg").exists());
    folder.write("result.json", "{}");
    let output = tailwater(&["accelerate", "figures", "--out", &folder.0.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
}

/// What a short validation found. Its answers are compared by the program: a wrong one would end it.
fn validated(case: &str) -> Value {
    let short = ["accelerate", "validate", "--short", "--block", "2ms", "--json", "--case", case];
    serde_json::from_str(&printed(&short)).expect("JSON")
}

#[test]
fn every_accelerator_answers_and_every_cell_is_predicted() {
    for (case, designs) in [("software", 5), ("aes", 1), ("zstd", 2), ("leaf", 4)] {
        let found = validated(case);
        assert!(found["verdict"].is_null(), "{case}: a short run has none");
        let cells = found["cells"].as_array().expect("cells");
        let mut seen: Vec<&str> =
            cells.iter().map(|cell| cell["threading"].as_str().expect("a name")).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), designs, "{case}: {seen:?}");
        for cell in cells {
            // Beside busy processes, too: nothing is concluded from a short run, so that no block is set aside.
            assert_eq!(cell["set_aside"], 0, "{case}: {cell}");
            assert!(cell["measured"].is_object(), "{case}: {cell}");
            let predicted = &cell["predicted"];
            let number = |key: &str| predicted[key].as_f64().expect("a number");
            assert!(number("low") <= number("high") && number("speedup") > 0.0, "{predicted}");
            let inputs = predicted["inputs"].as_array().expect("inputs");
            let alpha = inputs.iter().find(|input| input["input"] == "alpha").expect("alpha");
            let alpha = alpha["mean"].as_f64().expect("a number");
            assert!(alpha > 0.0 && alpha < 1.0, "{inputs:?}");
        }
    }
}

/// There was no table of an earlier result without an hour of measuring.
#[test]
fn a_validation_is_drawn_again_from_its_result() {
    let result = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/accelerate-aes.json");
    let again =
        |more: &[&str]| tailwater(&[&["accelerate", "validate", "--draw", result], more].concat());
    let output = again(&[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("predicted, %") && text.contains("of 4 cells"), "{text}");
    let parsed = |text: &[u8]| serde_json::from_slice::<Value>(text).expect("JSON");
    let (json, kept) = (parsed(&again(&["--json"]).stdout), std::fs::read(result).expect("a file"));
    let kept = parsed(&kept);
    for key in ["manifest", "case", "steal", "quads"] {
        assert_eq!(json[key], kept[key], "{key}");
    }
    let measured = |of: &Value| of["cells"][0]["measured"].clone();
    assert!(measured(&json).is_object() && measured(&json) == measured(&kept));
    let folder = Folder::new("validation-drawn");
    let out = folder.0.join("out");
    let output = again(&["--out", &out.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let parts = std::fs::read_to_string(out.join("parts.svg")).expect("a picture");
    // By the result α is 2.26 % and the gain 1.83 % at 256 B: 100 ÷ 1.0183 − 97.74 is left.
    for tip in ["256 B, A 6, all else: 97.7 %", "the kernel: 2.3 %", "what an offload takes: 0.5 %"]
    {
        assert!(parts.contains(tip), "{tip} is not in\n{parts}");
    }
    let page = std::fs::read_to_string(out.join("index.html")).expect("a page");
    assert_eq!(page.matches("<figure").count(), 2);
    let output = again(&["--short"]);
    assert_eq!(output.status.code(), Some(2), "it measures nothing");
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = tailwater(&["accelerate", "validate", "--draw", other]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("no result of"), "{told}");
}

#[test]
fn a_validation_refuses_what_it_cannot_do() {
    for (arguments, mend) in [
        (["--block", "1us"], "a block of 2ms to 2s is needed"),
        (["--quads", "1"], "2..=1000"),
        (["--case", "gpu"], "software"),
    ] {
        let output = tailwater(&["accelerate", "validate", arguments[0], arguments[1]]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains(mend), "{arguments:?}: {told}");
    }
}
