//! `report --counters`: what was counted in the calls of functions that time themselves.

use super::above::Above;
use crate::failure::Failure;
use crate::profile::bounds::shown;
use crate::profile::reading::Trace;
use std::path::Path;
use tailwater_profile::counted::{CountedCalls, Counting, MeanCall};
use tailwater_profile::functions::{FunctionRow, Report};
use tailwater_profile::record::Counter;
use tailwater_report::count;

/// Fills in the counts of the report's functions, by one more reading of the trace.
pub(super) fn find(report: &mut Report, above: Above, trace: &Path) -> Result<(), Failure> {
    let slow = report.functions.iter().map(|row| (row.id, above.of(row))).collect();
    let mut counting = Counting::new(report.rate, slow);
    Trace::open(trace)?.read(|item| {
        // Damage was counted in the first reading.
        if let Ok(record) = item {
            counting.add(record);
        }
    });
    let mut found = counting.finish();
    if found.is_empty() {
        let trace = trace.display();
        return Err(Failure::usage(format!(
            "{trace}: nothing was counted in its calls; counts come by `tailwater profile record --counters`, of functions that \
             `tailwater profile build --clock` names"
        )));
    }
    for row in &mut report.functions {
        row.counted = found.remove(&row.id);
    }
    Ok(())
}

/// What stands below a function: of all its calls, and of the slow ones.
pub(super) fn lines(row: &FunctionRow) -> impl Iterator<Item = String> + '_ {
    row.counted.iter().flat_map(table)
}

fn table(counted: &CountedCalls) -> Vec<String> {
    let CountedCalls { all, slow, above_ns } = counted;
    let head = format!(
        "  mean of {} counted calls, and of {} that took {} or more; most in one:",
        count(all.calls),
        count(slow.calls),
        shown(*above_ns)
    );
    let of_slow = |value: String| if slow.calls == 0 { "-".to_owned() } else { value };
    let took = [time(all.took_ns), of_slow(time(slow.took_ns)), String::new()];
    let mut rows = vec![head, line("took", &took)];
    for one in &all.counters {
        let told = |value: f64| amount(one.counter, value);
        let mean = of(slow, one.counter).map_or_else(|| "-".to_owned(), told);
        rows.push(line(one.counter, &[told(one.mean), mean, told(one.max as f64)]));
    }
    rows
}

fn line(name: &str, [all, slow, most]: &[String; 3]) -> String {
    format!("    {name:<14}{all:>12}{slow:>12}{most:>12}").trim_end().to_owned()
}

/// What a counter counted in the mean of some calls.
fn of(calls: &MeanCall, counter: &str) -> Option<f64> {
    calls.counters.iter().find(|one| one.counter == counter).map(|one| one.mean)
}

/// What a counter has counted, as people read it.
pub(super) fn amount(counter: &str, value: f64) -> String {
    if counter == Counter::Cpu.name() {
        return time(value);
    }
    match value {
        // Most calls fault never: a mean of less than one needs its digits.
        0.0..10.0 if value.fract() > 0.0 => format!("{value:.2}"),
        _ => count(value.round() as u64),
    }
}

fn time(ns: f64) -> String {
    shown(ns.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_profile::counted::MeanCount;

    #[test]
    fn slow_calls_stand_beside_all() {
        let mean = |calls, took_ns, cpu, faults| MeanCall {
            calls,
            took_ns,
            counters: [("cpu", cpu, 9_000), ("faults", faults, 12)]
                .map(|(counter, mean, max)| MeanCount { counter, calls, mean, max })
                .to_vec(),
        };
        let all = mean(1_000, 2_000.0, 1_500.0, 0.25);
        let counted = CountedCalls {
            all: all.clone(),
            slow: mean(10, 3_000_000.0, 8_000.0, 3.0),
            above_ns: 7_000,
        };
        let text = table(&counted).join("\n");
        assert!(
            text.contains("of 1,000 counted calls, and of 10 that took 7.00 µs or more"),
            "{text}"
        );
        let words = |line: usize| text.lines().nth(line).map(|it| it.split_whitespace().count());
        assert_eq!([1, 2, 3].map(words), [5, 7, 4].map(Some), "{text}");
        assert!(text.contains("0.25") && text.ends_with("3          12"), "{text}");
        let none = CountedCalls { all, slow: MeanCall::default(), above_ns: 7 };
        assert!(table(&none)[2].contains("  -"), "{none:?}");
    }
}
