//! What a person reads of a measured kernel and of categories.

use super::{Divided, Kernel, Marked, Measured};
use crate::profile::footer;
use crate::terminal::style;
use tailwater_profile::kernel::Account;
use tailwater_report::{ColumnUnit, count, grid_within, percent, time, wrap};

/// Where no terminal says how wide it is.
const WIDTH: u16 = 80;
/// The share of time without a category that rules should leave at most.
const UNKNOWN_MAX: f64 = 0.1;

pub(super) fn of(found: &Measured) -> String {
    let width = style().width.unwrap_or(WIDTH);
    let mut parts = vec![found.program.clone()];
    parts.extend(found.kernel.as_ref().map(|kernel| wrap(&of_kernel(found, kernel), width.into())));
    if let Some(divided) = &found.breakdown {
        parts.push(table(found, divided, width));
        parts.push(wrap(&of_unknown(divided), width.into()));
    }
    parts.push(wrap(&basis(found), width.into()));
    parts.push(footer(found.records, found.rate, &found.quality));
    parts.join("\n\n")
}

fn shown(ns: u64) -> String {
    time(ns as f64 / 1e3)
}

fn of_kernel(found: &Measured, kernel: &Kernel) -> String {
    let offloads = match &kernel.sizes {
        Some(Marked { offloads, bytes_mean, lost, .. }) => {
            let lost = match lost {
                0 => String::new(),
                lost => format!("; {} marks were lost, so there were more", count(*lost)),
            };
            let mean = count(bytes_mean.round() as u64);
            format!(
                "n is {}, of {mean} B on average, by the program's marks{lost}.",
                count(*offloads)
            )
        }
        None => format!(
            "n is {} or more: calls that were seen. Sizes are not known; mark them by tw_size.",
            count(kernel.calls)
        ),
    };
    format!(
        "alpha is {:.4}: {} in {} and what these call, of {} in all. {offloads}",
        kernel.alpha,
        shown(kernel.ns),
        match kernel.functions.as_slice() {
            [one] => one.clone(),
            many => format!("{} functions", count(many.len() as u64)),
        },
        shown(found.total_ns),
    )
}

fn table(found: &Measured, divided: &Divided, width: u16) -> String {
    let share = |ns: u64| format!("{} %", percent(ns as f64 / found.total_ns as f64));
    let categories = &divided.breakdown.categories;
    let mut parts: Vec<(&str, u64)> = categories.iter().map(|one| (&*one.name, one.ns)).collect();
    parts.push(("no category", divided.breakdown.unknown_ns));
    if found.on_core {
        parts.push(("in no call that was seen", divided.outside_ns));
    }
    let us = |ns: u64| ns as f64 / 1e3;
    let unit = ColumnUnit::of_largest(parts.iter().map(|(_, ns)| us(*ns)));
    let row = |(name, ns): (&str, u64)| vec![name.to_owned(), unit.show(us(ns)), share(ns)];
    let rows: Vec<Vec<String>> = parts.into_iter().map(row).collect();
    grid_within(&["category", &format!("time, {}", unit.name()), "share"], 1, &rows, Some(width))
}

fn of_unknown(divided: &Divided) -> String {
    let Divided { rules, breakdown, inherited_share, unknown_share, .. } = divided;
    let goal = match *unknown_share <= UNKNOWN_MAX {
        true => "",
        false => ", more than the 10 % that rules should leave",
    };
    let names: Vec<String> =
        breakdown.unknown.iter().map(|one| format!("{} {}", one.name, shown(one.ns))).collect();
    let most = match names.is_empty() {
        true => String::new(),
        false => format!(" Most of that in calls is in {}.", names.join(", ")),
    };
    format!(
        "By rules \"{rules}\", {} % has no category{goal}.{most} {} % of all time has the category of a caller, since no rule \
         knows the function itself.",
        percent(*unknown_share),
        percent(*inherited_share)
    )
}

/// What times are, and what the kernel's file lacks.
fn basis(found: &Measured) -> String {
    let times = match (found.on_core, found.has_fibers) {
        (true, _) => {
            "Times are those on a core, by the kernel; system calls belong to the function that makes them."
        }
        (false, true) => {
            "Times are those in calls, waits included: there are fibers, whose time on a core the kernel does not know."
        }
        (false, false) => {
            "Times are those in calls, waits included; `tailwater profile record --kernel` tells those on a core."
        }
    };
    let mut lines = vec![format!("{times} That of calls too short to be seen is their callers'.")];
    lines.extend(found.account.as_ref().map(interrupted));
    if found.lost_kernel > 0 {
        let lost = count(found.lost_kernel);
        lines.push(format!("{lost} facts of the kernel are missing, and time with them."));
    }
    lines.join(" ")
}

/// What of the time on a core was none of the program's own.
fn interrupted(account: &Account) -> String {
    let rows = account.interrupts.iter().filter(|one| one.ns > 0);
    let kinds: Vec<String> = rows.map(|one| format!("{} {}", one.name, shown(one.ns))).collect();
    match kinds.is_empty() {
        true => "Nothing interrupted it.".into(),
        false => format!(
            "Of that, interrupts and softirqs had {}: {}.",
            shown(account.interrupts_ns),
            kinds.join(", ")
        ),
    }
}
