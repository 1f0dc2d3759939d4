//! `tailwater locks`: what requests wait for at a server that runs.

use crate::args::LocksOptions;
use crate::failure::{Failure, say};
use crate::terminal::{style, wrapped};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_core::MethodId;
use tailwater_report::{ColumnUnit, grid_within, time};
use tailwater_rt::Address;
use tailwater_rt::client::{CallError, CallOptions, ChannelConfig, Client, Fault};
use tailwater_rt::counts::{BudgetCounts, Counts, LockCounts};

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

const NO_LOCK: &str = "This server has no named lock. Locks of tailwater-sync are listed once they have a name, \
     as in Mutex::named(\"slabs\", …).";

pub(crate) fn locks(options: &LocksOptions) -> Result<(), Failure> {
    let counts = ask(options)?;
    if options.json {
        let readings: Vec<_> = counts.locks.iter().map(of_json).collect();
        let all =
            serde_json::json!({ "budgets": counts.budgets.map(budgets_json), "locks": readings });
        return say(&serde_json::to_string_pretty(&all).map_err(Failure::work)?);
    }
    if let Some(budgets) = counts.budgets {
        say(&format!("{}\n", wrapped(&sentence(budgets))))?;
    }
    if counts.locks.is_empty() {
        return say(&wrapped(NO_LOCK));
    }
    say(&table(&counts.locks, style().width))
}

/// Without control: the question goes beside admission, and must get through when everything is shed.
fn ask(options: &LocksOptions) -> Result<Counts, Failure> {
    let open = Spec::named("none").build(&Site::one_loop(PATIENCE, 0)).map_err(Failure::work)?;
    let config = ChannelConfig::new(options.address.clone());
    let client = Client::connect_with(config, &open).map_err(Failure::work)?;
    let patient = CallOptions { deadline: PATIENCE, ..CallOptions::default() };
    let answer = client
        .call_with(MethodId::INTROSPECT.0, "", patient)
        .wait()
        .map_err(|error| unanswered(&options.address, error, client.trouble()))?;
    Counts::parse(&answer.payload).map_err(Failure::work)
}

/// Says why there is no answer, and what to do.
fn unanswered(address: &Address, error: CallError, trouble: Option<String>) -> Failure {
    let failure = Failure::work(format!("{address}: {error}"));
    match (error, trouble) {
        (CallError::Runtime(Fault::Forbidden), _) => failure
            .and("run it on the server's machine, or start the server with --introspection anyone"),
        (CallError::Expired | CallError::Disconnected, Some(why)) => {
            failure.and(&format!("{why}; is a tailwater server listening there?"))
        }
        (CallError::Expired | CallError::Disconnected, None) => {
            failure.and("is a tailwater server listening there?")
        }
        _ => failure,
    }
}

fn of_json(lock: &LockCounts) -> serde_json::Value {
    let mut value = serde_json::json!({
        "lock": lock.name,
        "contended": lock.contended,
        "refused": lock.refused,
        "gave_up": lock.gave_up,
    });
    for (key, time_ns) in [
        ("waited_us", lock.wait_ns),
        ("wait_p50_us", lock.wait_p50_ns),
        ("wait_p99_us", lock.wait_p99_ns),
        ("longest_wait_us", lock.wait_max_ns),
    ] {
        value[key] = (time_ns as f64 / 1e3).into();
    }
    value
}

fn budgets_json(budgets: BudgetCounts) -> serde_json::Value {
    let micros = |time_ns: u64| time_ns as f64 / 1e3;
    serde_json::json!({
        "budget_us": micros(budgets.budget_ns),
        "target_us": micros(budgets.target_ns),
        "service_p99_us": micros(budgets.service_p99_ns),
        "network_p99_us": micros(budgets.network_p99_ns),
    })
}

fn sentence(budgets: BudgetCounts) -> String {
    let micros = |time_ns: u64| time(time_ns as f64 / 1e3);
    format!(
        "A request may queue for {} now (target {}; p99 of service {}, of the network {}).",
        micros(budgets.budget_ns),
        micros(budgets.target_ns),
        micros(budgets.service_p99_ns),
        micros(budgets.network_p99_ns)
    )
}

/// Heading of a time, and which it is.
type Wait = (&'static str, fn(&LockCounts) -> u64);

const WAITS: [Wait; 4] = [
    ("waited", |lock| lock.wait_ns),
    ("p50", |lock| lock.wait_p50_ns),
    ("p99", |lock| lock.wait_p99_ns),
    ("longest", |lock| lock.wait_max_ns),
];

/// The lock with the most waiting first, as the server tells them.
fn table(locks: &[LockCounts], width: Option<u16>) -> String {
    let us = |lock: &LockCounts, of: fn(&LockCounts) -> u64| of(lock) as f64 / 1e3;
    let units = WAITS.map(|(_, of)| ColumnUnit::of_largest(locks.iter().map(|it| us(it, of))));
    let named = WAITS.iter().zip(units).map(|((head, _), unit)| format!("{head}\n{}", unit.name()));
    let heads = ["lock", "contended", "refused", "gave up"].map(str::to_owned);
    let heads: Vec<String> = heads.into_iter().chain(named).collect();
    let row = |lock: &LockCounts| {
        let counts = [lock.contended, lock.refused, lock.gave_up].map(|count| count.to_string());
        let waits = WAITS.iter().zip(units).map(|((_, of), unit)| unit.show(us(lock, *of)));
        std::iter::once(lock.name.clone()).chain(counts).chain(waits).collect()
    };
    grid_within(&heads, 1, &locks.iter().map(row).collect::<Vec<_>>(), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_in_one_unit_for_each_column_and_long_names_break() {
        let lock = |name: &str, wait_ns| LockCounts {
            name: name.to_owned(),
            wait_ns,
            wait_p99_ns: wait_ns / 1_000,
            ..LockCounts::default()
        };
        let locks = [lock("slabs", 15_000_000_000), lock(&"index ".repeat(20), 999_000)];
        let table = table(&locks, Some(80));
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        let units: Vec<&str> = table.lines().nth(1).expect("units").split_whitespace().collect();
        assert_eq!(units, ["s", "µs", "ms", "µs"], "{table}");
        let slabs = table.lines().find(|line| line.starts_with("slabs")).expect("a row");
        let cells: Vec<&str> = slabs.split_whitespace().collect();
        assert_eq!(cells[4..], ["15.0", "0", "15.0", "0"], "{table}");
    }
}
