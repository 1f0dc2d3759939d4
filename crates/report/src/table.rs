//! The terminal table: one block per clients and SLO, one row per demand and controller.

use crate::classes;
use crate::columns::{COLUMNS, Cell, Column, Tone};
use crate::faults;
use crate::format::{self, printable, wrap};
use crate::grid::grid_within;
use crate::locks;
use crate::model::{self, Group};
use crate::notes::{self, DOUBTFUL, NO_VALID};
use crate::recovery;
use crate::tiers;
use comfy_table::{CellAlignment, Color, ContentArrangement, LineStyle, Table};
use tailwater_stats::result::Experiment;

/// How the terminal wants its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableStyle {
    /// Repeat judgements in colour (ANSI); the table stays readable without.
    pub colour: bool,
    /// Columns of the terminal; the least needed columns are left out to fit. `None`: show all.
    pub width: Option<u16>,
}

/// Lines that a table spends on runs that do not count; the page and the JSON name them all.
const NOTES_MAX: usize = 20;

/// One block per (clients, SLO), with medians over valid repetitions, followed by the invalid and
/// discarded runs and the reasons. Ends in a newline.
#[must_use]
pub fn table(experiment: &Experiment, style: TableStyle) -> String {
    let groups = model::groups(experiment);
    let mut out = String::new();
    if !experiment.title.is_empty() {
        out.push_str(&format!("{}\n\n", within(&printable(&experiment.title), style)));
    }
    if groups.is_empty() {
        out.push_str("no run took place\n");
    }
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        out.push_str(&block(group, style));
        out.push_str(&recoveries(experiment, group, style));
    }
    out.push_str(&remarks(experiment, style));
    out
}

/// Text in lines that fit.
fn within(text: &str, style: TableStyle) -> String {
    style.width.map_or_else(|| text.to_owned(), |width| wrap(text, width.into()))
}

/// How fast each controller was back, for stepped runs.
fn recoveries(experiment: &Experiment, group: &Group<'_>, style: TableStyle) -> String {
    let Some(found) = recovery::of_group(experiment, group) else {
        return String::new();
    };
    let body = grid_within(&found.heads, 2, &found.rows, style.width);
    format!("\n{}\n{body}\n", within(recovery::MEANING, style))
}

fn block(group: &Group<'_>, style: TableStyle) -> String {
    let (body, left_out) = fitted(group, style);
    let capacity = match group.capacity_rps {
        unknown if unknown <= 0.0 => "medians of valid repetitions".to_owned(),
        rps => format!("capacity {} k/s; medians of valid repetitions", format::thousands(rps)),
    };
    let head = within(&format!("{} ({capacity})", group.name()), style);
    let mut out = format!("{head}\n{body}\n");
    if notes::has_unsound(group) {
        out.push_str(&within(NO_VALID, style));
        out.push('\n');
    }
    if notes::has_doubtful(group) {
        out.push_str(&within(DOUBTFUL, style));
        out.push('\n');
    }
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        let mend = "a wider terminal, a pipe or --json has them";
        out.push_str(&within(&format!("left out for want of width: {names} ({mend})"), style));
        out.push('\n');
    }
    if let Some(classes) = classes::of_group(group, style.width) {
        out.push_str(&format!("\n{classes}"));
    }
    if let Some(tiers) = tiers::of_group(group, style.width) {
        out.push_str(&format!("\n{}\n{tiers}", within(tiers::MEANING, style)));
    }
    if let Some(locks) = locks::of_group(group, style.width) {
        out.push_str(&format!("\n{}\n{locks}\n", within(locks::MEANING, style)));
    }
    out
}

/// The table with as many columns as fit, and the headings of those that do not.
fn fitted(group: &Group<'_>, style: TableStyle) -> (String, Vec<String>) {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    let mut left_out = Vec::new();
    loop {
        // Width is measured without colour, whose codes take no room on a terminal.
        let bare = draw(group, &columns, false, None);
        let width = bare.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let fits = style.width.is_none_or(|limit| width <= usize::from(limit));
        let last = columns.iter().enumerate().max_by_key(|(_, column)| column.dispensable);
        match last {
            Some((at, column)) if !fits && column.dispensable > 0 => {
                left_out.insert(0, column.name());
                columns.remove(at);
            }
            // Long labels break over lines when all else is left out.
            _ if !fits => return (draw(group, &columns, style.colour, style.width), left_out),
            _ if style.colour => return (draw(group, &columns, true, None), left_out),
            _ => return (bare, left_out),
        }
    }
}

fn draw(group: &Group<'_>, columns: &[&Column], colour: bool, width: Option<u16>) -> String {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(comfy_table::TableStyle::new().header_separator(rule));
    table.set_content_arrangement(ContentArrangement::Disabled);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(columns.iter().map(|column| column.head(group)));
    for demand in group.demands() {
        let mut first = true;
        for (line, point) in group.at(demand) {
            let cells = columns.iter().enumerate().map(|(at, column)| {
                let mut cell = column.cell(group, line, point);
                if at == 0 && !first {
                    cell.text.clear();
                }
                painted(cell, colour)
            });
            table.add_row(cells);
            first = false;
        }
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 0));
        if columns[at].is_number() {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn painted(cell: Cell, colour: bool) -> comfy_table::Cell {
    let painted = comfy_table::Cell::new(printable(&cell.text));
    match cell.tone {
        _ if !colour => painted,
        Tone::Plain => painted,
        Tone::Good => painted.fg(Color::DarkGreen),
        Tone::Fair => painted.fg(Color::DarkYellow),
        Tone::Poor => painted.fg(Color::DarkRed),
    }
}

fn remarks(experiment: &Experiment, style: TableStyle) -> String {
    let notes = notes::notes(experiment);
    let mut out = String::new();
    for note in notes.iter().take(NOTES_MAX) {
        let line = format!("{}: {}: {}", note.kind, note.what, note.why);
        out.push_str(&within(&printable(&line), style));
        out.push('\n');
    }
    if notes.len() > NOTES_MAX {
        let more = notes.len() - NOTES_MAX;
        out.push_str(&format!("and {more} more runs do not count; the JSON names them all\n"));
    }
    for sentence in [notes::advice(experiment), notes::caution(experiment)].into_iter().flatten() {
        out.push_str(&within(sentence, style));
        out.push('\n');
    }
    for sentence in faults::sentences(experiment).into_iter().chain(notes::data(experiment)) {
        out.push_str(&within(&printable(&sentence), style));
        out.push('\n');
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}
