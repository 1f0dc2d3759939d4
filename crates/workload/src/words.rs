//! Words for messages: clipped, and the nearest of what is known.

pub(crate) use tailwater_core::words::clip;

/// Leads into the list of what is known, with the nearest first where one is near.
pub(crate) fn suggestion(found: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|name| (distance(found, name), *name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(3))
        .min();
    match near {
        Some((_, name)) => format!("did you mean {name}? Known are"),
        None => "known are".into(),
    }
}

/// Levenshtein's distance in characters, of the first 40: typing errors happen in short words.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(40).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, a) in one.chars().take(40).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, b) in other.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = substituted.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
