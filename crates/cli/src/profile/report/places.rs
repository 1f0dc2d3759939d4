//! Variables and lines, from the program's file.

use super::ReportOptions;
use crate::profile::symbols::Symbols;
use tailwater_profile::functions::Report;
use tailwater_profile::record::Place;

/// Fills in what is asked for; tells which files could not serve.
pub(super) fn name_places(report: &mut Report, options: &ReportOptions) -> Vec<String> {
    let mut symbols = Symbols::new(&report.names);
    let by_line = options.by_line;
    for row in &mut report.functions {
        for one in row.callers.iter_mut().filter(|_| by_line || options.callers) {
            one.line = line_in(one.at, &mut symbols);
        }
        for one in row.callees.iter_mut().filter(|_| by_line || options.callees) {
            one.line = line_in(one.at, &mut symbols);
        }
    }
    if !(options.locks || options.json) {
        return symbols.changed().to_vec();
    }
    let of_functions = report.functions.iter_mut().flat_map(|row| row.locks.iter_mut()).map(|it| {
        (it.object, it.site, it.held_at, &mut it.lock, &mut it.line, &mut it.holder_line)
    });
    let of_all = report.locks.iter_mut().map(|it| {
        (it.object, it.site, it.held_at, &mut it.lock, &mut it.line, &mut it.holder_line)
    });
    for (object, site, held_at, lock, line, holder_line) in of_functions.chain(of_all) {
        *lock = symbols.variable(object);
        if by_line {
            *line = symbols.line(site);
            *holder_line = line_in(held_at, &mut symbols);
        }
    }
    for hold in &mut report.holds {
        hold.lock = symbols.variable(hold.object);
        if by_line {
            hold.line = symbols.line(hold.site);
        }
    }
    symbols.changed().to_vec()
}

fn line_in(place: Option<Place>, symbols: &mut Symbols<'_>) -> Option<String> {
    symbols.line_in(place?)
}
