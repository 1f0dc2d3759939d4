//! `results/recommend.json` holds what `docs/recommend.md` claims. Its table is drawn by `crates/cli/tests/pages.rs`.

use serde_json::Value;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect(path)
}

/// A column of the table: a split of a set.
struct Column {
    /// Each predictor under the page's name for it, and its RMSE.
    rows: Vec<(String, f64)>,
}

fn columns() -> Vec<Column> {
    let result: Value = serde_json::from_str(&read("results/recommend.json")).expect("a result");
    let sets = result["sets"].as_array().expect("sets");
    let of_set = |set: &Value| -> Vec<Column> {
        let splits = set["splits"].as_array().expect("splits");
        splits.iter().map(|split| column(set, split)).collect()
    };
    sets.iter().flat_map(of_set).collect()
}

fn column(set: &Value, split: &Value) -> Column {
    let rows = |key: &str| split[key].as_array().expect("predictors").clone();
    let row = |one: &Value, name: &dyn Fn(&str) -> String| {
        let (predictor, rmse) = (one["predictor"].as_str(), one["rmse"].as_f64());
        (name(predictor.expect("a name")), rmse.expect("a number"))
    };
    let slices = &set["settings"]["slices"];
    let ours = |name: &str| match name {
        "average of slices (thesis)" => format!("average of {slices} slices (thesis)"),
        "neighbours among raters" => format!("**{name}**"),
        _ => name.to_owned(),
    };
    let others = |name: &str| format!("scikit-surprise: {name}");
    let mut all: Vec<_> = rows("ours").iter().map(|one| row(one, &ours)).collect();
    all.extend(rows("scikit_surprise").iter().map(|one| row(one, &others)));
    Column { rows: all }
}

#[test]
fn the_result_holds_what_the_page_claims() {
    let columns = columns();
    assert_eq!(columns.len(), 6);
    for column in &columns {
        let of = |name: &str| {
            column.rows.iter().find(|row| row.0 == name).unwrap_or_else(|| panic!("{name}")).1
        };
        let (biases, theirs) = (of("biases"), of("scikit-surprise: BaselineOnly"));
        assert!((biases - theirs).abs() < 5e-5, "to four digits: {biases} and {theirs}");
        let gain = 1.0 - of("factors") / of("scikit-surprise: NMF");
        assert!(gain > 0.055, "{gain}");
        let neighbours = of("**neighbours among raters**");
        assert!(column.rows.iter().all(|row| row.1 >= neighbours), "they are the best");
        assert!(of("average of 4 slices (thesis)") > biases);
    }
}
