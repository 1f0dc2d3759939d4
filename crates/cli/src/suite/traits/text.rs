//! What people read: tables that fit 80 columns.

use super::answered::ANSWERED_MIN;
use super::found::{Found, LoadFound, RunsFound, Saturation, ServiceFound, TierFound};
use super::loads::ASKED_MAX;
use super::quantity::{PLAIN, Quantity, WATCHED};
use super::switching::{MEASURED, PUBLISHED};
use std::collections::BTreeSet;
use tailwater_experiment::capacity;
use tailwater_report::{ColumnUnit, count, grid_within, percent, wrap};

/// Of a terminal.
const WIDTH: u16 = 80;

/// What no flag and no right would tell on this machine.
const NEVER: [&str; 2] = [
    "Contention for cache lines (HITM) is not told: it takes a processor's performance counters, and a recent Intel or AMD \
     processor that shows them to its guests.",
    "Interrupts of network cards are not told: everything runs on loopback, which raises none.",
];

pub(super) fn text(found: &Found) -> String {
    let short = "A short version, of one repetition. It shows that all works; its numbers say nothing else.";
    let short = found.short.then(|| wrap(short, WIDTH.into()));
    let services: Vec<String> =
        short.into_iter().chain(found.services.iter().map(service)).collect();
    let mut notes = vec![
        "Latency, and what stands under \"per query\", is of runs without the watch. What stands under \"watched\", and what was \
         resent, is of as many runs of the same load with it; its parts took an eighth of the time each, and --cost tells what \
         that takes. Counts of an eighth are told by the queries that were due in it, those of timers and sleeps by time; \
         percentiles of waits and softirqs are of their eighth alone."
            .to_owned(),
        "Counts and times are of all threads of a tier, divided by the queries that the front received; system calls of \
         threads that began after the warm-up are missing. Parts of latency are of the mean query, and only of the front; CPU \
         time after its answer counts as well. The kernel's share comes from its timer's ticks, and says little at a low load."
            .to_owned(),
        "Waits for a core are those of threads. What single requests waited is told by tailwater profile requests, of tiers that \
         were built with the profiler's pass: docs/profiling-kernel.md, \"The run queue, of all requests\"."
            .to_owned(),
        "A load is told in per cent of capacity, too. A request may take a second here, whatever the scenario's objective: what \
         is given up at one has no latency."
            .to_owned(),
        "Segments that TCP sent again (resent) are those of the whole machine, other programs included."
            .to_owned(),
    ];
    let loads = || found.services.iter().flat_map(|one| &one.loads);
    let missing: BTreeSet<&String> = loads().flat_map(|load| &load.watched.missing).collect();
    notes.extend(switches(found).filter(|_| loads().next().is_some()));
    notes.extend(missing.into_iter().cloned());
    notes.extend(NEVER.map(str::to_owned));
    let notes: Vec<String> = notes.iter().map(|note| wrap(note, WIDTH.into())).collect();
    format!("{}\n\n{}", services.join("\n\n"), notes.join("\n"))
}

fn service(found: &ServiceFound) -> String {
    let saturation = wrap(&saturation(found), WIDTH.into());
    let mut parts = vec![saturation];
    if !found.loads.is_empty() {
        parts.push(latencies(found));
        parts.extend(tiers(found, "per query", &told(PLAIN), |load| &load.plain));
        parts.extend(tiers(found, "switches, CPU %", &SWITCHES, |load| &load.plain));
        parts.extend(tiers(found, "watched", &told(WATCHED), |load| &load.watched));
    }
    parts.extend(found.loads.iter().filter_map(doubt));
    parts.extend(found.cost.iter().map(|cost| wrap(&cost.text(), WIDTH.into())));
    parts.join("\n\n")
}

fn saturation(found: &ServiceFound) -> String {
    let ServiceFound { service, model, capacity, chosen, .. } = found;
    let Saturation { reading, still_rising } = capacity;
    let reached = rate(reading.plateau_rps);
    let most = reading.points.last().map_or(0, |(in_flight, _)| *in_flight);
    let mut text = if *still_rising {
        let rise = capacity::last_rise(&reading.points).unwrap_or_default();
        format!(
            "{service} answers {reached} requests/s with {most} in flight, and does not saturate there: the last step of its \
             sweep still adds {} % to the best before (closed loop; its mid-tier is {model}).",
            percent(rise)
        )
    } else {
        format!(
            "{service} saturates at {reached} requests/s (closed loop; its mid-tier is {model})."
        )
    };
    if !chosen.left_out.is_empty() {
        let loads: Vec<String> = chosen.left_out.iter().map(|load| rate(*load)).collect();
        text.push_str(&format!(
            " The thesis also asks at {}, which is above {} % of its capacity here; a share of capacity stands in.",
            loads.join(" and "),
            percent(ASKED_MAX)
        ));
    }
    text
}

fn latencies(found: &ServiceFound) -> String {
    let loads = || found.loads.iter().map(|load| &load.plain);
    let [p50, p99, p999] = [
        ColumnUnit::of_largest(loads().map(|plain| plain.p50_us)),
        ColumnUnit::of_largest(loads().map(|plain| plain.p99_us)),
        ColumnUnit::of_largest(loads().map(|plain| plain.p999_us)),
    ];
    let counts = |runs: &RunsFound| format!("{} of {}", runs.valid, runs.runs);
    let rows: Vec<Vec<String>> = found
        .loads
        .iter()
        .map(|LoadFound { rps, of_capacity, plain, watched }| {
            let mark = if plain.valid == 0 { " !" } else { "" };
            vec![
                format!("{}{mark}", rate(*rps)),
                percent(*of_capacity),
                percent(plain.answered),
                p50.show(plain.p50_us),
                p99.show(plain.p99_us),
                p999.show(plain.p999_us),
                counts(plain),
                counts(watched),
                watched.retransmissions.map_or("–".into(), |again| decimals(1e6 * again)),
            ]
        })
        .collect();
    let heads = [
        "requests/s",
        "load %",
        "answered %",
        &format!("p50, {}", p50.name()),
        &format!("p99, {}", p99.name()),
        &format!("p99.9, {}", p999.name()),
        "runs count",
        "watched",
        "resent per M",
    ];
    grid_within(&heads, 0, &rows, Some(WIDTH))
}

/// A row of a table of tiers.
struct Row {
    label: &'static str,
    cell: Cell,
}

/// What a row has of a tier; `None` where that is not known.
enum Cell {
    PerQuery(&'static str),
    Switching(&'static str),
}

impl Cell {
    fn of(&self, tier: &TierFound) -> Option<String> {
        match self {
            Self::PerQuery(key) => tier.per_query.get(*key).copied().map(decimals),
            Self::Switching(source) => tier.switching_percent.get(*source).copied().map(range),
        }
    }
}

fn told(quantities: &[Quantity]) -> Vec<Row> {
    let row = |it: &Quantity| Row { label: it.label, cell: Cell::PerQuery(it.key) };
    quantities.iter().map(row).collect()
}

/// What switches take by each cost of one.
const SWITCHES: [Row; 2] = [
    Row { label: "cost measured", cell: Cell::Switching(MEASURED) },
    Row { label: "cost published", cell: Cell::Switching(PUBLISHED) },
];

/// A column for each tier at each load, of runs of one kind; nothing where none of it is known.
fn tiers(
    found: &ServiceFound,
    head: &str,
    rows: &[Row],
    of: fn(&LoadFound) -> &RunsFound,
) -> Option<String> {
    let columns: Vec<(&LoadFound, &TierFound)> = found
        .loads
        .iter()
        .flat_map(|load| of(load).tiers.iter().map(move |tier| (load, tier)))
        .collect();
    let name =
        |(load, tier): &(&LoadFound, &TierFound)| format!("{} {}", tier.name(), short(load.rps));
    let heads: Vec<String> =
        std::iter::once(head.to_owned()).chain(columns.iter().map(name)).collect();
    let rows = rows.iter().filter_map(|row| {
        let cells: Vec<Option<String>> =
            columns.iter().map(|(_, tier)| row.cell.of(tier)).collect();
        cells.iter().any(Option::is_some).then(|| {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
            std::iter::once(row.label.to_owned()).chain(cells).collect()
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    (!rows.is_empty()).then(|| grid_within(&heads, 1, &rows, Some(WIDTH)))
}

/// What a switch costs, in a sentence.
fn switches(found: &Found) -> Option<String> {
    let (least, most) = found.switch_us.get(PUBLISHED)?;
    let published = format!("{least:.0} to {most:.0} µs are published");
    let measured = found.switch_us.get(MEASURED).map(|(least, most)| {
        format!("; here two threads that hand a core to each other take {least:.1} to {most:.1} µs, cold caches not counted")
    });
    let measured = measured.unwrap_or_default();
    Some(format!(
        "What switches take of a tier's CPU time is their number, of both kinds, times the cost of one: {published}{measured}."
    ))
}

/// Why the numbers of a load may mislead.
fn doubt(load: &LoadFound) -> Option<String> {
    let kinds = [("no run counts", &load.plain), ("no watched run counts", &load.watched)];
    let none = kinds.into_iter().filter(|(_, runs)| runs.valid == 0).map(|(what, runs)| {
        let why: Vec<&str> = runs.invalid_because.iter().map(String::as_str).collect();
        format!("{what}: {}", why.join("; "))
    });
    let mut parts: Vec<String> = none.collect();
    let few = kinds.into_iter().filter(|(_, runs)| runs.answered < ANSWERED_MIN);
    parts.extend(few.map(|(_, runs)| {
        format!(
            "a run answered {} % of its requests, of which alone its latency is{}",
            percent(runs.answered),
            unanswered(runs)
        )
    }));
    if load.watched.events_lost > 0 {
        parts.push(format!("{} events of the kernel were lost", count(load.watched.events_lost)));
    }
    let at = rate(load.rps);
    (!parts.is_empty())
        .then(|| wrap(&format!("At {at} requests/s {}.", parts.join("; ")), WIDTH.into()))
}

/// What became of requests without an answer: a bound refuses, a client gives up, no answer comes. Of the runs that count, or
/// where none does of those that took place.
fn unanswered(runs: &RunsFound) -> String {
    let RunsFound { fates, valid, .. } = runs;
    let of = if *valid > 0 { "of the runs that count" } else { "of runs that do not count" };
    let kinds = [
        (fates.shed, "refused"),
        (fates.expired, "given up unsent"),
        (fates.lost, "never answered"),
    ];
    let share = |number| percent(number as f64 / fates.total() as f64);
    let told = kinds.into_iter().filter(|(number, _)| *number > 0);
    let told: Vec<String> =
        told.map(|(number, what)| format!("{} % were {what}", share(number))).collect();
    if told.is_empty() { String::new() } else { format!(" ({of} {})", told.join(", ")) }
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

/// In narrow columns.
fn range((low, high): (f64, f64)) -> String {
    let digits = usize::from(high < 10.0);
    format!("{low:.digits$}–{high:.digits$}")
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
    use super::super::switching::BySource;
    use super::*;
    use tailwater_stats::result::{CapacityReading, Fates, Manifest};

    fn reading(points: &[(u32, f64)]) -> CapacityReading {
        let plateau_rps = capacity::plateau(points);
        CapacityReading { points: points.to_vec(), plateau_rps, ..CapacityReading::default() }
    }

    pub(in super::super) fn found() -> Found {
        let switch_us: BySource =
            [(MEASURED.into(), (1.0, 2.0)), (PUBLISHED.into(), (5.0, 20.0))].into();
        let mut loads = loads(&experiment(), &experiment(), &switch_us);
        loads[0]
            .watched
            .missing
            .insert("No system calls: they may not be counted; type this.".into());
        let one = ServiceFound {
            service: "setalgebra".into(),
            title: "Set Algebra".into(),
            model: "aib".into(),
            capacity: reading(&[(16, 980.0), (64, 1_000.0)]).into(),
            chosen: Loads::of(1_000.0),
            loads,
            cost: None,
            data: Vec::new(),
        };
        let (manifest, services) = (Manifest::default(), vec![one]);
        Found { manifest, short: false, switch_us, cut_short: None, services }
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
            "no watched run counts: noise",
            "a run answered 98",
            "(of the runs that count 1.8 % were never answered)",
            "type this.",
            "percentiles of waits and softirqs are of their eighth alone",
            "What single requests waited is told by tailwater profile requests",
            "5 to 20 µs are published; here two threads",
            "1.0 to 2.0 µs",
            "HITM",
        ] {
            assert!(text.replace('\n', " ").contains(wanted), "no {wanted} in\n{text}");
        }
        let row = |label: &str| text.lines().find(|line| line.contains(label)).expect("a row");
        assert!(row("cost measured").contains(" 8–16 "), "{text}");
        let futex = text.lines().find(|line| line.contains("futex")).expect("a row");
        let cells: Vec<&str> = futex.split_whitespace().collect();
        assert_eq!(cells, ["futex", "1.00", "–", "1.00", "–"]);
    }

    /// Also of a file of before the flag: it has the points.
    #[test]
    fn a_sweep_that_still_rises_is_not_said_to_saturate() {
        let mut found = found();
        found.services[0].capacity = reading(&[(16, 17_000.0), (64, 25_500.0)]).into();
        let json = serde_json::to_value(&found).expect("JSON");
        assert_eq!(json["services"][0]["capacity"]["still_rising"], true);
        let mut before = json;
        let capacity = before["services"][0]["capacity"].as_object_mut().expect("an object");
        capacity.remove("still_rising");
        for found in [found, serde_json::from_value(before).expect("a file of before")] {
            let text = text(&found).replace('\n', " ");
            let wanted = "answers 25,500 requests/s with 64 in flight, and does not saturate there: the last step of its sweep \
                          still adds 50 %";
            assert!(text.contains(wanted) && !text.contains("saturates at"), "{text}");
        }
    }

    #[test]
    fn what_was_unanswered_is_of_the_runs_that_it_is_told_of() {
        let mut runs = found().services.remove(0).loads.remove(1).watched;
        runs.fates = Fates { ok: 97, shed: 1, lost: 2, ..Fates::default() };
        assert_eq!(runs.valid, 0);
        let told = "1.0 % were refused, 2.0 % were never answered)";
        assert_eq!(unanswered(&runs), format!(" (of runs that do not count {told}"));
        runs.valid = 1;
        assert_eq!(unanswered(&runs), format!(" (of the runs that count {told}"));
        runs.fates = Fates { ok: 97, ..Fates::default() };
        assert_eq!(unanswered(&runs), "");
    }

    #[test]
    fn a_short_version_says_so_first() {
        let short = Found { short: true, ..found() };
        assert!(
            text(&short).starts_with("A short version,") && !text(&found()).contains("A short")
        );
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
