//! Plain rows under headings, for whatever is no experiment.

use crate::format::printable;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, Width};

/// A table without colour: headings, a rule, rows; the first `left` columns are flush left, the
/// others flush right. As wide as its content; ends without a newline.
#[must_use]
pub fn grid<H: AsRef<str>>(heads: &[H], left: usize, rows: &[Vec<String>]) -> String {
    grid_within(heads, left, rows, None)
}

/// What a column has beside its content.
const PADDING: (u16, u16) = (0, 1);

/// The same in at most so many columns of the terminal: cells break over lines where they must. A name in the first column
/// breaks within a word only where that takes more than a quarter of the width.
#[must_use]
pub fn grid_within<H: AsRef<str>>(
    heads: &[H],
    left: usize,
    rows: &[Vec<String>],
    width: Option<u16>,
) -> String {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(comfy_table::TableStyle::new().header_separator(rule));
    table.set_content_arrangement(ContentArrangement::Disabled);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table.force_no_tty();
    table.set_header(heads.iter().map(AsRef::as_ref));
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding(PADDING);
        if at >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let (Some(width), Some(column)) = (width, table.column_mut(0)) {
        let names = rows.iter().filter_map(|row| row.first()).map(String::as_str);
        let words = heads.first().map(AsRef::as_ref).into_iter().chain(names);
        let words = words.flat_map(str::split_whitespace);
        let lengths = words.filter_map(|word| u16::try_from(word.chars().count()).ok());
        if let Some(longest) = lengths.filter(|length| *length <= width / 4).max() {
            let least = Width::Fixed(longest + PADDING.1);
            column.set_constraint(ColumnConstraint::LowerBoundary(least));
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_nothing_moves_the_cursor() {
        let rows = [vec!["a\u{1b}[2J".to_owned(), "1".to_owned()], vec!["bb".into(), "22".into()]];
        let text = grid(&["name", "n"], 1, &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[2].split_whitespace().last(), Some("1"));
        assert_eq!(lines[2].chars().count(), lines[3].chars().count());
        assert!(!text.contains('\u{1b}'));
    }

    /// `breakwater` stood as `breakwate` above `r`.
    #[test]
    fn names_of_the_first_column_stay_whole_and_lines_fit() {
        let heads = ["controller", "clients", "SLO\nµs", "demand", "goodput\nfirst"];
        let more = ["goodput\nsecond", "differs\nby", "p99\nfirst, µs", "p99\nsecond, µs"];
        let heads = [&heads[..], &more[..]].concat();
        let numbers = ["1000", "400", "1.2×", "88", "82", "-15.4 !", "388", "397"];
        let row = |name: &str| -> Vec<String> {
            std::iter::once(name).chain(numbers).map(str::to_owned).collect()
        };
        let rows = [row("none (default)"), row("breakwater (default)")];
        let text = grid_within(&heads, 1, &rows, Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for whole in ["controller", "breakwater", "goodput", "second", "-15.4 !"] {
            assert!(text.contains(whole), "{whole}: {text}");
        }
        let long = [row(&"x".repeat(90))];
        let text = grid_within(&heads, 1, &long, Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
