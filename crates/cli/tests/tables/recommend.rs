//! How far predicted ratings are off, beside scikit-surprise's on the same splits: `benches/recommend`.

use super::{head, line};
use serde::Deserialize;

#[derive(Deserialize)]
struct Found {
    sets: Vec<Set>,
}

#[derive(Deserialize)]
struct Set {
    set: String,
    splits: Vec<Split>,
}

#[derive(Deserialize)]
struct Split {
    seed: u64,
    ours: Vec<Predictor>,
    scikit_surprise: Vec<Predictor>,
}

#[derive(Deserialize)]
struct Predictor {
    predictor: String,
    rmse: f64,
}

/// A line for each predictor, a column for each split of each set.
pub(super) fn table(result: &str) -> String {
    let Found { sets } = serde_json::from_str(result).expect("what benches/recommend writes");
    let mut heads = vec!["predictor".to_owned()];
    for Set { set, splits } in &sets {
        heads.extend(splits.iter().map(|split| format!("{set}, seed {}", split.seed)));
    }
    let mut table = head(&heads);
    let splits: Vec<&Split> = sets.iter().flat_map(|set| &set.splits).collect();
    table += &rows(&splits, "", |split| &split.ours);
    table + &rows(&splits, "scikit-surprise: ", |split| &split.scikit_surprise)
}

/// Those of one side, in the order of the first split.
fn rows(splits: &[&Split], side: &str, of: impl Fn(&Split) -> &[Predictor]) -> String {
    let names = of(splits[0]).iter().map(|it| &it.predictor);
    let row = |name: &String| {
        let mut cells = vec![format!("{side}{name}")];
        cells.extend(splits.iter().map(|split| {
            let found = of(split).iter().find(|it| it.predictor == *name);
            format!("{:.4}", found.expect("each split has each predictor").rmse)
        }));
        line(&cells)
    };
    names.map(row).collect()
}
