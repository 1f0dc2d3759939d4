//! Tables as pages have them, from results.

mod side_by_side;
mod tls;

/// The table of this name, from the text of its result file; it ends with a line break.
pub(crate) fn draw(name: &str, result: &str) -> String {
    match name {
        "controllers" => side_by_side::by_controller(result),
        "controllers-short" => side_by_side::by_demand(result),
        "tls" => tls::table(result),
        _ => panic!("no table is called {name}"),
    }
}

/// One line of a table.
fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The first two lines of a table.
fn head(cells: &[String]) -> String {
    line(cells).replace("|  |", "| |") + &"|---".repeat(cells.len()) + "|\n"
}
