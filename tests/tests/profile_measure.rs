//! `tailwater accelerate measure` on a recorded program, held against what the program says of itself.

use crate::profiled::{alone, folder, record_with, succeeds, text, tools};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "offloads.c";
/// The scanner may be away for a part of it on a busy machine, and bounds of calls are then wide.
const SHARE_OFF_MAX: f64 = 0.15;

fn tailwater(arguments: &[&str]) -> String {
    text(&succeeds(Command::new(&tools().tailwater).args(arguments)).stdout)
}

fn measured(trace: &Path, more: &[&str]) -> Value {
    let trace = trace.display().to_string();
    let all = [&["accelerate", "measure", &trace, "--json"], more].concat();
    serde_json::from_str(&tailwater(&all)).expect("JSON")
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no {pointer} in {value}"))
}

/// The kernel's share by the program's own clock.
fn truth(said: &str) -> f64 {
    let mut numbers = said.split_whitespace().map(|word| word.parse::<f64>().expect("a number"));
    let mut next = || numbers.next().expect("two numbers");
    next() / next()
}

#[test]
fn the_share_of_a_kernel_its_sizes_and_categories_are_those_of_the_program() {
    let _alone = alone();
    let folder = folder("measure");
    let program = tools().compiled("CC", "", SOURCE, &folder.join("offloads"));
    let rules = folder.join("rules.toml");
    let text_of_rules = "title = \"offloads\"\n[[category]]\nname = \"compression\"\nfunctions = [\"kernel_*\"]\n\
                         [[category]]\nname = \"serialization\"\nfunctions = [\"parse\"]\n";
    std::fs::write(&rules, text_of_rules).expect("a file");
    let rules = rules.display().to_string();
    let (trace, out) = (folder.join("x.trace"), folder.join("out").display().to_string());
    // The first try in which the scanner had a core for long enough.
    let mut off = Vec::new();
    for requests in [40_u64, 80, 160, 320] {
        let done =
            succeeds(record_with(&folder, &["--kernel"], &program).arg(requests.to_string()));
        let truth = truth(&text(&done.stdout));
        let found = measured(&trace, &["--function", "kernel_*", "--rules", &rules, "--out", &out]);
        // Marks do not depend on the scanner.
        let half = requests / 2;
        assert_eq!(
            found["kernel"]["sizes"]["rows"],
            serde_json::json!([[512, half], [4096, half]])
        );
        let alpha = number(&found, "/kernel/alpha");
        the_model_reads_it(&out, alpha, requests);
        let on_core = found["on_core"] == true;
        // Where the kernel's events may not be had, the sleep of 2 ms in 6 counts as well.
        let expected = if on_core { truth } else { truth * 2.0 / 3.0 };
        let compression = share(&found, "compression");
        let is_close = (alpha - expected).abs() <= SHARE_OFF_MAX;
        if is_close && (compression - alpha).abs() < 0.01 && share(&found, "serialization") > 0.05 {
            return;
        }
        off.push(found);
    }
    panic!("none of the recordings has the program's shares: {off:#?}");
}

/// Of a category, in all time.
fn share(found: &Value, name: &str) -> f64 {
    let categories = found["breakdown"]["categories"].as_array().expect("categories");
    let of_name = categories.iter().find(|one| one["name"] == name);
    of_name.map_or(0.0, |one| number(one, "/ns") / number(found, "/total_ns"))
}

/// An accelerator that costs nothing gains 1 / (1 − α), by equation 6.1.
fn the_model_reads_it(out: &str, alpha: f64, requests: u64) {
    let file = format!("{out}/model.toml");
    let told: Value =
        serde_json::from_str(&tailwater(&["accelerate", "model", &file, "--json"])).expect("JSON");
    let case = &told["cases"][0];
    assert!((number(case, "/speedup") - 1.0 / (1.0 - alpha)).abs() < 1e-3, "{case}");
    assert!((number(case, "/offload/count") - requests as f64).abs() < 1e-6, "{case}");
}
