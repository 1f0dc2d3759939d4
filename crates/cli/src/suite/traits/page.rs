//! Pictures and the page: distributions of latency, and a heat table of system calls.

use super::found::{Found, LoadFound, ServiceFound};
use super::text::{short, text};
use std::collections::BTreeSet;
use tailwater_report::{Heat, HeatRow, Violin, Violins, illustrated};

/// Fewer calls of a kind per query, everywhere, get no column.
const CALLS_MIN: f64 = 0.01;

/// The heat table's file without its ending.
const HEAT: &str = "system-calls";

/// Names without ending, and SVG documents.
pub(super) fn pictures(found: &Found) -> Vec<(String, String)> {
    let latency = |one: &ServiceFound| (file_of(&one.service), latency(one).svg());
    let heat = heat(found).map(|heat| (HEAT.to_owned(), heat.svg()));
    let asked = found.services.iter().filter(|one| !one.loads.is_empty());
    asked.map(latency).chain(heat).collect()
}

/// Every name that a picture may have.
pub(super) fn names<'a>(services: impl Iterator<Item = &'a str>) -> Vec<String> {
    services.map(file_of).chain([HEAT.to_owned()]).collect()
}

fn file_of(service: &str) -> String {
    format!("latency-{service}")
}

pub(super) fn page(found: &Found, pictures: &[(String, String)]) -> String {
    illustrated("Services and the operating system", None, &text(found), pictures)
}

/// Thesis Fig. 2.10.
fn latency(found: &ServiceFound) -> Violins {
    let row = |load: &LoadFound| Violin {
        label: format!("{} requests/s", short(load.rps)),
        shares: load.plain.latency.clone(),
    };
    Violins {
        title: format!("{}: latency at each load", found.service),
        subtitle: "without the watch; end to end, from the intended time; the run with the median p50; lines: p50, p99, p99.9"
            .into(),
        axis: "latency".into(),
        rows: found.loads.iter().map(row).collect(),
    }
}

/// Thesis Figs 2.11 to 2.14 in one; nothing where no call was counted.
fn heat(found: &Found) -> Option<Heat> {
    let tiers = || {
        let loads =
            found.services.iter().flat_map(|one| one.loads.iter().map(move |load| (one, load)));
        loads.flat_map(|(one, load)| load.watched.tiers.iter().map(move |tier| (one, load, tier)))
    };
    let calls = tiers().flat_map(|(_, _, tier)| &tier.syscalls);
    let columns: BTreeSet<&String> =
        calls.filter(|(_, count)| **count >= CALLS_MIN).map(|(name, _)| name).collect();
    let counted = tiers().filter(|(_, _, tier)| !tier.syscalls.is_empty());
    let rows = counted.map(|(one, load, tier)| HeatRow {
        label: format!("{} {} {}", one.service, tier.name(), short(load.rps)),
        values: columns.iter().map(|name| tier.syscalls.get(*name).copied()).collect(),
    });
    let rows: Vec<HeatRow> = rows.collect();
    (!rows.is_empty() && !columns.is_empty()).then(|| Heat {
        title: "System calls per query".into(),
        subtitle: "service, tier and requests per second; darker is more, on a logarithmic scale"
            .into(),
        columns: columns.into_iter().cloned().collect(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::found;
    use super::*;

    #[test]
    fn each_service_has_its_distribution_and_all_together_a_heat_table() {
        let mut found = found();
        let drawn = pictures(&found);
        let known = names(["setalgebra"].into_iter());
        assert_eq!(drawn.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), known);
        let (_, svg) = &drawn[1];
        assert!(svg.contains("sendto") && svg.contains("setalgebra front 100"), "{svg}");
        let page = page(&found, &drawn);
        assert!(page.contains("saturates at") && page.matches("<figure").count() == 2);
        // Without the right to count there is no heat table, and all else is there.
        let tiers = found.services[0].loads.iter_mut().flat_map(|load| &mut load.watched.tiers);
        tiers.for_each(|tier| tier.syscalls.clear());
        assert_eq!(pictures(&found).len(), 1);
    }
}
