//! Names as the tables have them: short, and no two alike that are not the same.

use super::calls::{CALLEES_MAX, CALLERS_MAX};
use super::lines::LINES_MAX;
use super::locks::LISTED_MAX;
use super::{NAME_MAX, ReportOptions};
use tailwater_profile::functions::{FunctionRow, Report};
use tailwater_profile::names::shorten;

/// Characters of a variable's name.
const VARIABLE_MAX: usize = NAME_MAX / 2;

/// Functions have one short name in all tables. What is not listed takes no room from what is.
pub(super) fn shorten_names(report: &mut Report, options: &ReportOptions) {
    let (mut functions, mut variables) = (vec![], vec![]);
    for row in &mut report.functions {
        let FunctionRow { name, callers, callees, locks, .. } = row;
        functions.push(name);
        let callers = callers.iter_mut().take(if options.callers { CALLERS_MAX } else { 0 });
        functions.extend(callers.filter_map(|one| one.caller.as_mut()));
        let callees = callees.iter_mut().take(if options.callees { CALLEES_MAX } else { 0 });
        functions.extend(callees.map(|one| &mut one.callee));
        for one in locks.iter_mut().filter(|_| options.locks) {
            functions.extend(&mut one.holder);
            variables.extend(&mut one.lock);
        }
    }
    for one in report.locks.iter_mut().take(if options.locks { LISTED_MAX } else { 0 }) {
        functions.extend(one.function.iter_mut().chain(&mut one.holder));
        variables.extend(&mut one.lock);
    }
    for one in report.holds.iter_mut().take(if options.locks { LISTED_MAX } else { 0 }) {
        functions.extend(&mut one.function);
        variables.extend(&mut one.lock);
    }
    functions.extend(report.slow_lines.iter_mut().take(LINES_MAX).map(|one| &mut one.function));
    shorten(functions, NAME_MAX);
    shorten(variables, VARIABLE_MAX);
}
