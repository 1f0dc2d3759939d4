//! What text and page say alike.

use super::FlameOptions;
use tailwater_report::count;

/// So many of what is told of, in words.
pub(super) fn counted(options: &FlameOptions, number: u64) -> String {
    let plural = if number == 1 { "" } else { "s" };
    let number = count(number);
    match options.function.as_slice() {
        [] => format!("{number} request{plural}"),
        functions => format!("{number} call{plural} of {}", functions.join(" or ")),
    }
}

/// A change of a share, in hundredths of the whole.
pub(super) fn points(grown: f64) -> String {
    let points = grown * 100.0;
    // What is rounded to nothing has no sign.
    if points.abs() < 0.05 { "0".to_owned() } else { format!("{points:+.1}") }
}

#[cfg(test)]
mod tests {
    use super::points;

    #[test]
    fn a_change_has_its_sign_unless_it_is_none() {
        for (grown, expected) in
            [(0.296_1, "+29.6"), (-0.5, "-50.0"), (0.0, "0"), (-0.000_4, "0"), (0.000_6, "+0.1")]
        {
            assert_eq!(points(grown), expected);
        }
    }
}
