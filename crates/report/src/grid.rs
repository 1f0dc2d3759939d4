//! Plain rows under headings, for whatever is no experiment.

use crate::format::printable;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table};

/// A table without colour: headings, a rule, rows; the first `left` columns are flush left, the
/// others flush right. As wide as its content; ends without a newline.
#[must_use]
pub fn grid<H: AsRef<str>>(heads: &[H], left: usize, rows: &[Vec<String>]) -> String {
    grid_within(heads, left, rows, None)
}

/// The same in at most so many columns of the terminal: cells break over lines where they must.
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
        column.set_padding((0, 1));
        if at >= left {
            column.set_cell_alignment(CellAlignment::Right);
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
}
