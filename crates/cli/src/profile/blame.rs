//! What was waited for and what its holder did meanwhile, in words.

use super::bounds::shown;
use super::kernel;
use super::reading::near;
use super::symbols::Symbols;
use tailwater_profile::names::shorten;
use tailwater_profile::requests::{RequestRow, Share, WaitRow};
use tailwater_report::count;

/// Characters of a name.
const NAME_MAX: usize = 72;
/// Waits told of a request.
const WAITS_MAX: usize = 3;

/// Fills in variables and lines of a wait, from the program's file.
pub(super) fn name_wait(wait: &mut WaitRow, symbols: &mut Symbols<'_>) {
    wait.lock = symbols.variable(wait.object);
    wait.line = symbols.line(wait.site);
    if let Some(held) = &mut wait.holder {
        held.line = held.at.and_then(|at| symbols.line_in(at));
        name_calls(&mut held.doing, symbols);
    }
}

/// Fills in whatever the program's file tells of a request.
pub(super) fn name_request(row: &mut RequestRow, symbols: &mut Symbols<'_>) {
    row.waits.iter_mut().for_each(|wait| name_wait(wait, symbols));
    row.queues.iter_mut().for_each(|one| one.name = symbols.variable(one.queue));
    name_calls(&mut row.running, symbols);
}

/// The same of functions that ran.
pub(super) fn name_calls(shares: &mut [Share], symbols: &mut Symbols<'_>) {
    for share in shares {
        share.line = share.at.and_then(|at| symbols.line_in(at));
    }
}

/// Shortens the names of functions in what is told of requests: one short name each, in all of them.
pub(super) fn shorten_names<'a>(rows: impl IntoIterator<Item = &'a mut RequestRow>) {
    let mut names = vec![];
    for RequestRow { waits, running, kernel, .. } in rows {
        names.extend(waits.iter_mut().flat_map(functions));
        names.extend(running.iter_mut().map(|one| &mut one.function));
        names.extend(kernel::functions(kernel));
    }
    shorten(names, NAME_MAX);
}

/// The functions that are told of in a wait.
pub(super) fn functions(wait: &mut WaitRow) -> Vec<&mut String> {
    let mut names: Vec<&mut String> = wait.function.iter_mut().collect();
    if let Some(held) = &mut wait.holder {
        names.extend(&mut held.function);
        names.extend(held.doing.iter_mut().map(|one| &mut one.function));
        names.extend(kernel::functions(&mut held.kernel));
    }
    names
}

/// What was waited for, how long, and what its holder did meanwhile, in lines.
pub(super) fn blame(wait: &WaitRow) -> String {
    let lock = wait.lock.clone().unwrap_or_else(|| format!("{:#x}", wait.object));
    let mut out = format!("  waited {} for {} {lock}", shown(wait.ns), wait.kind);
    if wait.waits > 1 {
        out.push_str(&format!(" ({} times)", wait.waits));
    }
    if let Some(function) = &wait.function {
        out.push_str(&format!(" in {function}"));
    }
    match &wait.line {
        Some(line) => out.push_str(&format!(" at {}", near(line))),
        None if wait.site != 0 => out.push_str(&format!(" at {:#x}", wait.site)),
        None => {}
    }
    out.push('\n');
    if let Some(held) = &wait.holder {
        out.push_str(&format!("    held by thread {}", held.thread));
        if let Some(function) = &held.function {
            out.push_str(&format!(" in {function}"));
        }
        if let Some(line) = &held.line {
            out.push_str(&format!(" at {}", near(line)));
        }
        out.push('\n');
        if !held.doing.is_empty() {
            out.push_str(&format!("    which was in {}\n", shares(&held.doing)));
        }
    }
    out
}

/// Functions that ran, and for how long.
pub(super) fn shares(shares: &[Share]) -> String {
    let named = |one: &Share| {
        let called = one.line.as_ref().map(|line| format!(" (called at {})", near(line)));
        format!("{} {}{}", one.function, shown(one.ns), called.unwrap_or_default())
    };
    shares.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// Its waits, the queues in which it stood, the functions in which it ran, and how often it was taken up: the polls of a future.
pub(super) fn within(row: &RequestRow) -> String {
    let mut out: String = row.waits.iter().take(WAITS_MAX).map(blame).collect();
    if row.waits.len() > WAITS_MAX {
        let more = row.waits.len() - WAITS_MAX;
        out.push_str(&format!("  and {more} more waits; --json lists them\n"));
    }
    for one in row.queues.iter().take(WAITS_MAX) {
        let name = one.name.clone().unwrap_or_else(|| format!("{:#x}", one.queue));
        out.push_str(&format!("  stood {} in queue {name}\n", shown(one.ns)));
    }
    if !row.running.is_empty() {
        out.push_str(&format!("  ran in {}\n", shares(&row.running)));
    }
    if row.turns > 1 {
        let (turns, threads) = (count(row.turns), row.threads.join(", "));
        out.push_str(&format!("  taken up {turns} times, by thread {threads}\n"));
    }
    out
}
