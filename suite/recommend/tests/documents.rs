//! `results/recommend.json` holds what `docs/recommend.md` claims. Its table is drawn by `crates/cli/tests/pages.rs`.

use serde_json::Value;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect(path)
}

/// The RMSE of each predictor, of each split of each set.
fn splits() -> Vec<Vec<(String, f64)>> {
    let result: Value = serde_json::from_str(&read("results/recommend.json")).expect("a result");
    let list = |of: &Value, key: &str| of[key].as_array().expect("a list").clone();
    let rmse = |split: &Value, key: &str, side: &str| -> Vec<(String, f64)> {
        let of = |one: &Value| {
            let name = format!("{side}{}", one["predictor"].as_str().expect("a name"));
            (name, one["rmse"].as_f64().expect("a number"))
        };
        list(split, key).iter().map(of).collect()
    };
    let both = |split: Value| {
        [rmse(&split, "ours", ""), rmse(&split, "scikit_surprise", "scikit-surprise: ")].concat()
    };
    list(&result, "sets").iter().flat_map(|set| list(set, "splits")).map(both).collect()
}

#[test]
fn the_result_holds_what_the_page_claims() {
    let splits = splits();
    assert_eq!(splits.len(), 6);
    for split in &splits {
        let of = |name: &str| {
            split.iter().find(|row| row.0 == name).unwrap_or_else(|| panic!("{name}")).1
        };
        let (biases, theirs) = (of("biases"), of("scikit-surprise: BaselineOnly"));
        assert!((biases - theirs).abs() < 5e-5, "to four digits: {biases} and {theirs}");
        let gain = 1.0 - of("factors") / of("scikit-surprise: NMF");
        assert!(gain > 0.055, "{gain}");
        let neighbours = of("neighbours among raters");
        assert!(split.iter().all(|row| row.1 >= neighbours), "they are the best");
        assert!(of("average of slices (thesis)") > biases);
    }
}
