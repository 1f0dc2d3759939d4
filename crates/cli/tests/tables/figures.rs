//! What the publications state beside what was simulated: `tailwater figures`.

use tailwater_figures::Compared;

/// A line for each number.
pub(super) fn table(result: &str) -> String {
    read(result).table()
}

/// How many claims are met.
pub(super) fn counts(result: &str) -> String {
    read(result).counts()
}

fn read(result: &str) -> Compared {
    serde_json::from_str(result).expect("compared.json of `tailwater figures`")
}
