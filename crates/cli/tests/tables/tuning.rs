//! What `benches/tuning` found: alarms where nothing differs, and planted effects.

use super::{head, line};
use serde_json::Value;
use tailwater_report::count;
use tailwater_stats::anytime::OBSERVATIONS_MAX;
use tailwater_stats::fewest_right;

/// Seconds for which the bench records blocks unless it is told otherwise.
const HOUR: f64 = 3_600.0;
/// As the bench has it: power is missed where as few findings or fewer happen less often.
const CHANCE: f64 = 0.05;

/// From the file that `tuning --out` writes: lines of one sitting after another.
pub(super) fn table(result: &str) -> String {
    let result: Value = serde_json::from_str(result).expect("what the bench found");
    let lines = |part: &str| result[part].as_array().expect("lines").as_slice();
    let mut rows = Vec::new();
    lines("redrawn").iter().for_each(|one| redrawn(one, &mut rows));
    let live = lines("live");
    if !live.is_empty() {
        let found = format!("{} of {}", sum(live, "found"), sum(live, "comparisons"));
        rows.push(["alarms, live".into(), found, "3 of 20 at most".into()]);
    }
    let mut effects: Vec<f64> = lines("planted").iter().map(|one| number(&one["effect"])).collect();
    effects.sort_by(f64::total_cmp);
    effects.dedup();
    for effect in effects {
        let of_it = lines("planted").iter().filter(|one| number(&one["effect"]) == effect);
        planted(effect, &of_it.cloned().collect::<Vec<Value>>(), &mut rows);
    }
    rows.push(killed(lines("killed")));
    rows.extend(machines(&result));
    head(&["what", "found", "goal"].map(String::from))
        + &rows.iter().map(|row| line(row)).collect::<String>()
}

type Row = [String; 3];

/// Blocks of one sitting.
fn redrawn(found: &Value, rows: &mut Vec<Row>) {
    let blocks = found["blocks"].as_u64().expect("a number");
    let share = |of: &Value| format!("{:.1} %", number(of) / number(&found["redrawings"]) * 100.0);
    let mut row = |what: String, found: String, goal: &str| rows.push([what, found, goal.into()]);
    // Of the oldest result it is not known. It has no hour: a block takes 0.1 s and more.
    let seconds = found["recorded_seconds"].as_f64();
    let minutes = seconds.map_or(String::new(), |seconds| format!(" in {:.0} min", seconds / 60.0));
    let hour = if seconds >= Some(HOUR) { "an hour" } else { "an hour: **missed**" };
    row("real blocks in one sitting".into(), format!("{}{minutes}", count(blocks)), hour);
    row("alarms, these blocks redrawn".into(), share(&found["ours"]), "5 % at most");
    let most = u64::from(OBSERVATIONS_MAX);
    let looks = format!("{} of its {} observations", count(blocks.min(most)), count(most));
    row(format!("the same by µSKU's rule, {looks} at most"), share(&found["muskus"]), "–");
    // Older results lack it.
    if found["muskus_shuffled"].is_number() {
        row("the same, blocks shuffled".into(), share(&found["muskus_shuffled"]), "–");
    }
    // A share of none confirmed tells little where few were adopted.
    row("gains adopted of a null knob".into(), share(&found["adopted"]), "–");
    let of_adopted =
        format!("{} ({} of {})", share(&found["confirmed"]), found["confirmed"], found["adopted"]);
    row("of these confirmed".into(), of_adopted, "2 % of all at most");
}

/// Kills of a real knob take root, and are not always tried.
fn killed(lines: &[Value]) -> Row {
    let what = "a knob of the kernel that stayed turned".to_owned();
    if lines.is_empty() {
        return [what, "not tried".into(), "0".into()];
    }
    let [kills, turned, left] = ["kills", "turned", "left"].map(|key| sum(lines, key));
    [format!("{what}, {kills} kills"), format!("{left}; {turned} found it turned"), "0".into()]
}

/// All comparisons of one effect.
fn planted(effect: f64, lines: &[Value], rows: &mut Vec<Row>) {
    let [all, right, wrong] = ["comparisons", "right", "wrong"].map(|key| sum(lines, key));
    let weighted = |one: &Value| number(&one["promised"]) * number(&one["comparisons"]);
    let promised = lines.iter().map(weighted).sum::<f64>() / all.max(1) as f64;
    let goal = match fewest_right(u32::try_from(all).expect("few"), promised, CHANCE) {
        0 => format!("not told: {all} are too few (promised {:.0} %)", promised * 100.0),
        fewest => {
            let missed = if right < u64::from(fewest) { ": **missed**" } else { "" };
            format!("{fewest} of {all} at least (promised {:.0} %){missed}", promised * 100.0)
        }
    };
    let found = format!("{right} of {all}, wrong sign {wrong}");
    rows.push([format!("{:.0} % planted", effect * 100.0), found, goal]);
    let median = |key: &str| {
        let values = lines.iter().flat_map(|one| one[key].as_array().expect("a list"));
        let mut values: Vec<f64> = values.map(number).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).map_or("–".into(), |value| format!("{value:.0}"))
    };
    let found = format!("{} quads, {} s", median("quads"), median("seconds"));
    rows.push(["until it was found, median".into(), found, "–".into()]);
    let ends = |at: usize| lines.iter().map(|one| number(&one["covered"][at])).sum::<f64>();
    rows.push(["intervals that hold it".into(), format!("{} of {}", ends(0), ends(1)), "–".into()]);
}

/// Each machine, with how many sittings there were on it.
fn machines(result: &Value) -> Vec<Row> {
    let parts = ["redrawn", "live", "planted", "killed"];
    let lines = parts.iter().flat_map(|part| result[*part].as_array().expect("lines"));
    let mut sittings: Vec<&Value> = Vec::new();
    for line in lines {
        if !sittings.contains(&&line["sitting"]) {
            sittings.push(&line["sitting"]);
        }
    }
    let mut rows: Vec<(&Value, u64)> = Vec::new();
    for sitting in sittings {
        match rows.iter_mut().find(|(machine, _)| *machine == &sitting["machine"]) {
            Some((_, sittings)) => *sittings += 1,
            None => rows.push((&sitting["machine"], 1)),
        }
    }
    let row = |(machine, sittings): (&Value, u64)| {
        let text = |key: &str| machine[key].as_str().unwrap_or("?").to_owned();
        let what = format!(
            "sittings on {}, {} cores, Linux {}",
            text("cpu"),
            machine["cores"],
            text("kernel")
        );
        [what, sittings.to_string(), "–".into()]
    };
    rows.into_iter().map(row).collect()
}

fn sum(lines: &[Value], key: &str) -> u64 {
    lines.iter().map(|line| line[key].as_u64().expect("a number")).sum()
}

fn number(of: &Value) -> f64 {
    of.as_f64().expect("a number")
}

#[test]
fn what_the_bench_found_is_a_table() {
    let found = r#"{
        "redrawn": [
            { "sitting": { "machine": { "cpu": "A", "cores": 2, "kernel": "6.1.0" }, "started_unix": 1 },
              "blocks": 400, "redrawings": 1000, "ours": 12, "muskus": 700, "adopted": 4, "confirmed": 1 },
            { "sitting": { "machine": { "cpu": "A", "cores": 2, "kernel": "6.1.0" }, "started_unix": 2 },
              "blocks": 36000, "recorded_seconds": 4000.0, "redrawings": 1000, "ours": 13, "muskus": 20, "muskus_shuffled": 640,
              "adopted": 0, "confirmed": 0 }
        ],
        "live": [
            { "sitting": { "machine": { "cpu": "A", "cores": 2, "kernel": "6.1.0" }, "started_unix": 1 }, "found": 1, "comparisons": 12 },
            { "sitting": { "machine": { "cpu": "B", "cores": 2, "kernel": "6.1.0" }, "started_unix": 3 }, "found": 0, "comparisons": 8 }
        ],
        "planted": [
            { "sitting": { "machine": { "cpu": "A", "cores": 2, "kernel": "6.1.0" }, "started_unix": 1 }, "effect": 0.05,
              "comparisons": 15, "right": 8, "wrong": 0, "promised": 0.8, "quads": [20, 30], "seconds": [11.6, 12.4],
              "covered": [13, 14] },
            { "sitting": { "machine": { "cpu": "A", "cores": 2, "kernel": "6.1.0" }, "started_unix": 2 }, "effect": 0.05,
              "comparisons": 5, "right": 3, "wrong": 0, "promised": 0.6, "quads": [40], "seconds": [99.0], "covered": [5, 5] },
            { "sitting": { "machine": { "cpu": "A", "cores": 2, "kernel": "6.1.0" }, "started_unix": 1 }, "effect": 0.01,
              "comparisons": 8, "right": 0, "wrong": 0, "promised": 0.3, "quads": [], "seconds": [], "covered": [0, 0] }
        ],
        "killed": [
            { "sitting": { "machine": { "cpu": "A", "cores": 2, "kernel": "6.1.0" }, "started_unix": 1 },
              "kills": 100, "turned": 61, "left": 0 }
        ]
    }"#;
    let table = table(found);
    let mut none: Value = serde_json::from_str(found).expect("JSON");
    none["killed"] = Value::Array(Vec::new());
    let row = "| a knob of the kernel that stayed turned | not tried | 0 |";
    assert!(
        self::table(&none.to_string()).contains(row),
        "a part that was not run is not passed over"
    );
    for row in [
        "| real blocks in one sitting | 400 | an hour: **missed** |",
        "| alarms, these blocks redrawn | 1.2 % | 5 % at most |",
        "| the same by µSKU's rule, 400 of its 30,000 observations at most | 70.0 % | – |\n| gains adopted of a null knob | 0.4 % | – |\n| of these confirmed | 0.1 % (1 of 4) | 2 % of all at most |",
        "| real blocks in one sitting | 36,000 in 67 min | an hour |",
        "| the same by µSKU's rule, 30,000 of its 30,000 observations at most | 2.0 % | – |",
        "| the same, blocks shuffled | 64.0 % | – |",
        "| alarms, live | 1 of 20 | 3 of 20 at most |",
        "| 1 % planted | 0 of 8, wrong sign 0 | not told: 8 are too few (promised 30 %) |",
        "| until it was found, median | – quads, – s | – |",
        // Eleven or fewer of twenty at 75 % happen in 4.1 %.
        "| 5 % planted | 11 of 20, wrong sign 0 | 12 of 20 at least (promised 75 %): **missed** |",
        "| until it was found, median | 30 quads, 12 s | – |\n| intervals that hold it | 18 of 19 | – |",
        "| a knob of the kernel that stayed turned, 100 kills | 0; 61 found it turned | 0 |",
        "| sittings on A, 2 cores, Linux 6.1.0 | 2 | – |",
        "| sittings on B, 2 cores, Linux 6.1.0 | 1 | – |",
    ] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
}
