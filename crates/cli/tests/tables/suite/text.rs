//! What the thesis' text says of Figs 2.10 to 2.19: a line for each sentence, with every service beside it.

use super::{Load, dash, each, head, line, rate, time};

/// A sentence of the thesis, and what a service does here; nothing where the file does not tell it.
struct Sentence {
    figure: &'static str,
    thesis: &'static str,
    here: fn(&[Load]) -> Option<String>,
}

const SENTENCES: [Sentence; 8] = [
    Sentence {
        figure: "2.10",
        thesis: "the median at the lowest load is up to 1.45 × that at the middle one",
        here: |loads| {
            let [low, middle, ..] = loads else { return None };
            Some(format!("{:.2} ×", low.plain.p50_us / middle.plain.p50_us))
        },
    },
    Sentence {
        figure: "2.10",
        thesis: "no tail is above 22 ms (here: p99.9)",
        here: |loads| loads.iter().map(|load| load.plain.p999_us).reduce(f64::max).map(time),
    },
    Sentence {
        figure: "2.11 to 2.14",
        thesis: "`futex` is the most frequent call (here: of all at the lowest load)",
        here: |loads| {
            let low = loads.first()?;
            Some(format!("{:.0} %", 100.0 * front(low, "futex")? / front(low, "syscalls")?))
        },
    },
    Sentence {
        figure: "2.11 to 2.14",
        thesis: "it is called more often per query at a low load (here: lowest → highest)",
        here: |loads| {
            let (low, high) = (loads.first()?, loads.last()?);
            Some(format!("{:.3} → {:.3}", front(low, "futex")?, front(high, "futex")?))
        },
    },
    Sentence {
        figure: "2.15 to 2.18",
        thesis: "*Active-Exe* is up to 50, 75, 87 and 64 % of the tail",
        here: |_| None,
    },
    Sentence {
        figure: "2.19",
        thesis: "context switches grow with load (here: per second, lowest → highest)",
        here: |loads| {
            let (low, high) = (loads.first()?, loads.last()?);
            Some(format!("{} → {}", rate(switches_per_s(low)?), rate(switches_per_s(high)?)))
        },
    },
    Sentence { figure: "2.19", thesis: "contention (HITM) is more than switches", here: |_| None },
    Sentence {
        figure: "2.19",
        thesis: "retransmissions are in single digits (here: per million queries)",
        here: |loads| {
            let told = loads.iter().filter_map(|load| load.watched.retransmissions);
            told.reduce(f64::max).map(|again| format!("{:.0}", 1e6 * again))
        },
    },
];

/// A line for each sentence.
pub(crate) fn text(result: &str) -> String {
    let services = each(result);
    let names = services.iter().map(|(stated, _)| stated.name.to_owned());
    let heads = ["figure", "the thesis, mid-tier"].map(str::to_owned);
    let mut table = head(&heads.into_iter().chain(names).collect::<Vec<_>>());
    for Sentence { figure, thesis, here } in &SENTENCES {
        let mut cells = vec![(*figure).to_owned(), (*thesis).to_owned()];
        let beside = services.iter().map(|(_, service)| here(service.loads.as_slice()));
        cells.extend(beside.map(|told| told.unwrap_or_else(dash)));
        table += &line(&cells);
    }
    table
}

/// A quantity of a query in the mid-tier.
fn front(load: &Load, key: &str) -> Option<f64> {
    let tiers = load.tiers();
    tiers.first()?.per_query.get(key).copied()
}

fn switches_per_s(load: &Load) -> Option<f64> {
    Some((front(load, "voluntary")? + front(load, "involuntary")?) * load.plain.throughput_rps)
}

#[test]
fn each_sentence_has_every_service_beside_it() {
    let load = |rps: u32, p50_us: u32, futex: f64, again: &str| {
        format!(
            r#"{{"rps":{rps},"of_capacity":0.1,
             "plain":{{"runs":3,"valid":3,"answered":1,"throughput_rps":{rps},"p50_us":{p50_us},"p99_us":400,"p999_us":900,
              "tiers":[{{"tier":"","per_query":{{"voluntary":2.5,"involuntary":0.5}}}}]}},
             "watched":{{"runs":3,"valid":3,"answered":1,"throughput_rps":{rps},"p50_us":1,"p99_us":1,"p999_us":1,"retransmissions":{again},
              "tiers":[{{"tier":"","per_query":{{"syscalls":10,"futex":{futex}}}}}]}}}}"#
        )
    };
    let of = |loads: &str| {
        text(&format!(
            r#"{{"services":[{{"service":"router","capacity":{{"plateau_rps":1,"points":[]}},"loads":[{loads}]}}]}}"#
        ))
    };
    let loads = [
        load(100, 300, 0.5, "null"),
        load(1_000, 200, 0.1, "0.000002"),
        load(10_000, 250, 0.05, "0"),
    ];
    let table = of(&loads.join(","));
    let cells: Vec<&str> =
        table.lines().skip(2).filter_map(|line| line.split(" | ").nth(2)).collect();
    let wanted = ["1.50 ×", "900 µs", "5 %", "0.500 → 0.050", "–", "300 → 30,000", "–", "2"];
    assert_eq!(cells, wanted.map(|cell| format!("{cell} |")), "{table}");
    assert_eq!(of("").matches("| – |").count(), SENTENCES.len(), "nothing was asked");
}
