//! What people read: tables that fit 80 columns.

use super::found::{Found, LoadFound, ServiceFound, TierFound};
use super::quantity::QUANTITIES;
use std::collections::BTreeSet;
use tailwater_report::{count, grid_within, percent, time, wrap};

/// Of a terminal.
const WIDTH: u16 = 80;

/// What no flag and no right would tell on this machine.
const NEVER: [&str; 2] = [
    "Contention for cache lines (HITM) is not told: it takes a processor's performance counters, and a recent Intel or AMD \
     processor that shows them to its guests.",
    "Interrupts of network cards are not told: everything runs on loopback, which raises none.",
];

pub(super) fn text(found: &Found) -> String {
    let services: Vec<String> = found.services.iter().map(service).collect();
    let mut notes = vec![
        "Counts and times are of all threads of a tier, divided by the queries that the front received; system calls of \
         threads that began after the warm-up are missing. Parts of latency are of the mean query, and only of the front; CPU \
         time after its answer counts as well. The kernel's share comes from its timer's ticks, and says little at a low load. \
         All but saturation was measured beside the watch, whose parts took a third of the time each; --cost tells what that \
         takes. Counts of a third are told by the queries that were due in it, those of timers and sleeps by time; percentiles \
         of waits and softirqs are of their third alone."
            .to_owned(),
    ];
    notes.push(
        "Segments that TCP sent again (resent) are those of the whole machine, other programs included."
            .to_owned(),
    );
    let missing: BTreeSet<&String> =
        found.services.iter().flat_map(|one| &one.loads).flat_map(|load| &load.missing).collect();
    notes.extend(missing.into_iter().cloned());
    notes.extend(NEVER.map(str::to_owned));
    let notes: Vec<String> = notes.iter().map(|note| wrap(note, WIDTH.into())).collect();
    format!("{}\n\n{}", services.join("\n\n"), notes.join("\n"))
}

fn service(found: &ServiceFound) -> String {
    let saturation = wrap(&saturation(found), WIDTH.into());
    let mut parts = vec![saturation];
    if !found.loads.is_empty() {
        parts.extend([latencies(found), tiers(found)]);
    }
    parts.extend(found.loads.iter().filter_map(doubt));
    parts.extend(found.cost.iter().map(|cost| wrap(&cost.text(), WIDTH.into())));
    parts.join("\n\n")
}

fn saturation(found: &ServiceFound) -> String {
    let ServiceFound { service, capacity, chosen, .. } = found;
    let mut text =
        format!("{service} saturates at {} requests/s (closed loop).", rate(capacity.plateau_rps));
    if !chosen.left_out.is_empty() {
        let loads: Vec<String> = chosen.left_out.iter().map(|load| rate(*load)).collect();
        text.push_str(&format!(
            " The thesis also asks at {}, which this machine does not bear; a share of capacity stands in.",
            loads.join(" and ")
        ));
    }
    text
}

fn latencies(found: &ServiceFound) -> String {
    let rows: Vec<Vec<String>> = found
        .loads
        .iter()
        .map(|load| {
            let mark = if load.valid == 0 { " !" } else { "" };
            vec![
                format!("{}{mark}", rate(load.rps)),
                percent(load.of_capacity),
                time(load.p50_us),
                time(load.p99_us),
                time(load.p999_us),
                format!("{} of {}", load.valid, load.runs),
                load.retransmissions.map_or("–".into(), |again| decimals(1e6 * again)),
            ]
        })
        .collect();
    let heads =
        ["requests/s", "of capacity %", "p50", "p99", "p99.9", "runs count", "resent per M"];
    grid_within(&heads, 0, &rows, Some(WIDTH))
}

/// A column for each tier at each load.
fn tiers(found: &ServiceFound) -> String {
    let columns: Vec<(&LoadFound, &TierFound)> = found
        .loads
        .iter()
        .flat_map(|load| load.tiers.iter().map(move |tier| (load, tier)))
        .collect();
    let head =
        |(load, tier): &(&LoadFound, &TierFound)| format!("{} {}", tier.name(), short(load.rps));
    let heads: Vec<String> =
        std::iter::once("per query".to_owned()).chain(columns.iter().map(head)).collect();
    let rows = QUANTITIES.iter().filter_map(|quantity| {
        let value =
            |(_, tier): &(&LoadFound, &TierFound)| tier.per_query.get(quantity.key).copied();
        let values: Vec<Option<f64>> = columns.iter().map(value).collect();
        values.iter().any(Option::is_some).then(|| {
            let cells = values.iter().map(|value| value.map_or("–".to_owned(), decimals));
            std::iter::once(quantity.label.to_owned()).chain(cells).collect()
        })
    });
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    grid_within(&heads, 1, &rows.collect::<Vec<Vec<String>>>(), Some(WIDTH))
}

/// Why the numbers of a load may mislead.
fn doubt(load: &LoadFound) -> Option<String> {
    let mut parts = Vec::new();
    if load.valid == 0 {
        let why: Vec<&str> = load.invalid_because.iter().map(String::as_str).collect();
        parts.push(format!("no run counts: {}", why.join("; ")));
    }
    if load.events_lost > 0 {
        parts.push(format!("{} events of the kernel were lost", count(load.events_lost)));
    }
    let at = rate(load.rps);
    (!parts.is_empty())
        .then(|| wrap(&format!("At {at} requests/s {}.", parts.join("; ")), WIDTH.into()))
}

fn rate(rps: f64) -> String {
    count(rps.round().max(0.0) as u64)
}

/// For narrow columns.
pub(super) fn short(rps: f64) -> String {
    match rps {
        _ if rps < 1_000.0 => format!("{rps:.0}"),
        _ if rps < 10_000.0 => format!("{}k", trimmed(format!("{:.1}", rps / 1e3))),
        _ => format!("{:.0}k", rps / 1e3),
    }
}

fn trimmed(number: String) -> String {
    number.strip_suffix(".0").map_or(number.clone(), str::to_owned)
}

/// Three digits; a little is not nothing.
fn decimals(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        _ if value < 0.001 => "<0.001".to_owned(),
        _ if value < 1.0 => format!("{value:.3}"),
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::found::{loads, tests::experiment};
    use super::super::loads::Loads;
    use super::*;
    use tailwater_stats::result::{CapacityReading, Manifest};

    pub(in super::super) fn found() -> Found {
        let mut loads = loads(&experiment());
        loads[0].missing.insert("No system calls: they may not be counted; type this.".into());
        let one = ServiceFound {
            service: "setalgebra".into(),
            title: "Set Algebra".into(),
            capacity: CapacityReading { plateau_rps: 1_000.0, ..CapacityReading::default() },
            chosen: Loads::of(1_000.0),
            loads,
            cost: None,
            data: Vec::new(),
        };
        Found { manifest: Manifest::default(), services: vec![one] }
    }

    #[test]
    fn tables_fit_a_terminal_and_say_what_is_not_known() {
        let text = text(&found());
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(WIDTH.into()), "{text}");
        for wanted in [
            "saturates at 1,000 requests/s",
            "The thesis also asks at 1,000 and 10,000",
            "front 100",
            "leaf 900",
            "2 of 3",
            "900 !",
            "no run counts: noise",
            "type this.",
            "percentiles of waits and softirqs are of their third alone",
            "HITM",
        ] {
            assert!(text.replace('\n', " ").contains(wanted), "no {wanted} in\n{text}");
        }
        let futex = text.lines().find(|line| line.contains("futex")).expect("a row");
        let cells: Vec<&str> = futex.split_whitespace().collect();
        assert_eq!(cells, ["futex", "1.00", "–", "1.00", "–"]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 0.0002, 0.25, 3.456, 42.42, 1_234.5].map(decimals),
            ["0", "<0.001", "0.250", "3.46", "42.4", "1234"]
        );
        assert_eq!([90.0, 1_000.0, 4_860.0, 10_000.0].map(short), ["90", "1k", "4.9k", "10k"]);
    }
}
