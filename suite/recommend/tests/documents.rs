//! `results/recommend.json` holds what `docs/recommend.md` claims. Its table is drawn by `crates/cli/tests/pages.rs`.

use serde_json::Value;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect(path)
}

/// The RMSE of each predictor, of each split of each set.
fn sets() -> Vec<Vec<Vec<(String, f64)>>> {
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
    let of_set = |set: &Value| list(set, "splits").into_iter().map(both).collect();
    list(&result, "sets").iter().map(of_set).collect()
}

#[test]
fn the_result_holds_what_the_page_claims() {
    // MovieLens and the generated set: by how much the factors are better than NMF, and neighbours than biases.
    let claimed = [(0.055, 0.015), (0.08, 0.005)];
    let sets = sets();
    assert_eq!(sets.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
    for (splits, (of_factors, of_neighbours)) in sets.iter().zip(claimed) {
        for split in splits {
            let of = |name: &str| {
                split.iter().find(|row| row.0 == name).unwrap_or_else(|| panic!("{name}")).1
            };
            let (biases, theirs) = (of("biases"), of("scikit-surprise: BaselineOnly"));
            assert!((biases - theirs).abs() < 5e-5, "to four digits: {biases} and {theirs}");
            let gain = 1.0 - of("factors") / of("scikit-surprise: NMF");
            assert!(gain > of_factors, "{gain}");
            let neighbours = of("neighbours among raters");
            assert!(1.0 - neighbours / biases > of_neighbours, "{neighbours}, {biases}");
            assert!(split.iter().all(|row| row.1 >= neighbours), "they are the best");
            assert!(of("average of slices (thesis)") > biases);
        }
    }
}
