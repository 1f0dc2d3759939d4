//! What a person reads of a file's cases: a table of several, and sentences on the only one.

use crate::terminal::style;
use tailwater_report::{count, grid_within, wrap};
use tailwater_tune::accelerator::{Answer, Bar, FactorPercentiles, Needs, Outcome, Study};

/// Where no terminal says how wide it is.
const WIDTH: u16 = 80;

pub(super) fn of_file(title: &str, studies: &[Study]) -> String {
    let mut parts = vec![title.to_owned()];
    match studies {
        [only] => parts.extend(of_case(only)),
        several => parts.extend(of_several(several)),
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn width() -> u16 {
    style().width.unwrap_or(WIDTH)
}

fn sentences(of: &[String]) -> String {
    of.iter().map(|line| wrap(line, width().into())).collect::<Vec<_>>().join("\n")
}

/// What a column has for a study, if anything.
type Cell = fn(&Study) -> Option<String>;

/// One row for each; columns that would be empty are left out.
fn of_several(studies: &[Study]) -> Vec<String> {
    let columns: [(&str, Cell); 7] = [
        ("case", |study| Some(study.name.clone())),
        ("design", |study| Some(study.threading.to_owned())),
        ("offloads", |study| Some(whole(study.outcome.offload.count))),
        ("gain", |study| Some(percent(study.outcome.speedup))),
        ("5–95 %", |study| study.spread.map(|spread| range(spread.p5, spread.p95))),
        ("latency", |study| study.outcome.latency.map(percent)),
        ("printed", |study| {
            study.stated.as_ref().and_then(|stated| Some(format!("{} %", stated.speedup?)))
        }),
    ];
    let filled = columns.iter().filter(|(_, cell)| studies.iter().any(|of| cell(of).is_some()));
    let (heads, cells): (Vec<&str>, Vec<_>) = filled.copied().unzip();
    let row = |study: &Study| {
        let text = |cell: &Cell| cell(study).unwrap_or_else(|| "–".into());
        cells.iter().map(text).collect()
    };
    let rows: Vec<Vec<String>> = studies.iter().map(row).collect();
    let table = grid_within(&heads, 2, &rows, Some(width()));
    let legend = "gain: more throughput; latency: the reduction C/C_L less one; offloads: in the unit of time of C. \
                  --case NAME tells more.";
    vec![table, sentences(&[legend.into()]), needs_of_several(studies)]
}

/// One row for each; empty where nothing is asked for.
fn needs_of_several(studies: &[Study]) -> String {
    let Some(wanted) = studies.iter().find_map(|study| study.needs) else { return String::new() };
    let cell = |of: Answer, text: fn(f64) -> String| match of {
        Answer::Value(value) => text(value),
        Answer::Never => "none".into(),
        Answer::Always => "any".into(),
    };
    let row = |study: &Study| {
        let needs = study.needs?;
        let met = if needs.met { "yes" } else { "no" };
        Some(vec![
            study.name.clone(),
            met.into(),
            cell(needs.acceleration, number),
            cell(needs.transfer, whole),
            cell(needs.size_factor, number),
        ])
    };
    let gain = format!("a gain of {}", percent(wanted.speedup));
    let heads = [&gain, "is there", "or by A from", "by L up to", "by sizes × from"];
    let rows: Vec<Vec<String>> = studies.iter().filter_map(row).collect();
    grid_within(&heads, 1, &rows, Some(width()))
}

fn of_case(study: &Study) -> Vec<String> {
    let name = if study.name.is_empty() { String::new() } else { format!("{}: ", study.name) };
    let head = format!("{name}{}, {}", study.threading, study.strategy);
    let mut lines = vec![throughput(study)];
    lines.extend(study.outcome.latency.map(latency));
    lines.extend(offloads(&study.outcome));
    lines.push(break_even(&study.outcome));
    lines.extend(study.needs.as_ref().map(|needs| of_needs(needs, &study.outcome)));
    vec![head, sentences(&lines), tornado(&study.tornado)]
}

fn throughput(study: &Study) -> String {
    let factor = study.outcome.speedup;
    let word = if factor < 1.0 { "falls" } else { "grows" };
    let spread = study.spread.map_or_else(String::new, of_spread);
    format!(
        "Throughput {word} by {}{spread}; by {} with an accelerator that costs nothing.",
        size_of(factor),
        percent(study.outcome.ideal)
    )
}

/// Shares are of all draws; the interval is of those that have an answer.
fn of_spread(spread: FactorPercentiles) -> String {
    let whose =
        if spread.answered() < 1.0 { "of the draws with an answer" } else { "of all draws" };
    let mut parts = vec![format!("{} in 90 % {whose}", range(spread.p5, spread.p95))];
    let mut add = |share: f64, text: &str| {
        parts.extend((share > 0.0).then(|| format!("{:.1} % of all {text}", share * 100.0)));
    };
    add(spread.slower, "lower it");
    add(spread.unstable, "overload the accelerator");
    add(spread.oversized, "have a kernel of more cycles than the host");
    format!(" ({})", parts.join("; "))
}

/// The thesis' reduction is C/C_L less one; the cycles saved are less than that.
fn latency(factor: f64) -> String {
    let (change, word) = (1.0 / factor - 1.0, if factor < 1.0 { "more" } else { "fewer" });
    let (change, reduction) = (change.abs() * 100.0, percent(factor));
    format!("A request takes {change:.1} % {word} cycles: a latency reduction of {reduction}.")
}

fn offloads(outcome: &Outcome) -> Vec<String> {
    let made = &outcome.offload;
    let from = made
        .from_bytes
        .map_or_else(String::new, |bytes| format!(" of {} B and more", whole(bytes)));
    let mut lines = vec![format!(
        "{} offloads{from} are made; they replace {:.1} % of the host's cycles.",
        whole(made.count),
        made.kernel_share * 100.0
    )];
    lines.extend(made.utilisation.map(|busy| {
        format!(
            "The accelerator is busy {:.0} % of the time; an offload waits {} cycles for it.",
            busy * 100.0,
            whole(made.queueing)
        )
    }));
    lines
}

fn break_even(outcome: &Outcome) -> String {
    if outcome.break_even_cycles.is_infinite() {
        return "No offload raises throughput, however large.".into();
    }
    let cycles = whole(outcome.break_even_cycles);
    let latency = outcome.latency_break_even_bytes.filter(|bytes| bytes.is_finite());
    let latency = latency.map_or_else(String::new, |bytes| {
        format!(", and lowers latency from {} B on", whole(bytes))
    });
    match outcome.break_even_bytes {
        Some(bytes) => format!(
            "An offload raises throughput from {} B on ({cycles} cycles of the kernel){latency}.",
            whole(bytes)
        ),
        None => format!("An offload raises throughput from {cycles} cycles of the kernel on."),
    }
}

fn of_needs(needs: &Needs, outcome: &Outcome) -> String {
    let wanted = percent(needs.speedup);
    let head = if needs.met { "is there" } else { "is not there" };
    let answers = [
        answer(needs.acceleration, "A", |a| format!("an A of {} or more", number(a))),
        answer(needs.transfer, "L", |l| format!("an L of {} cycles or less", whole(l))),
        answer(needs.size_factor, "size", |factor| {
            format!("offloads {} times as large or more", number(factor))
        }),
    ];
    let ideal = if needs.speedup >= outcome.ideal {
        format!(" More than {} is not to be had.", percent(outcome.ideal))
    } else {
        String::new()
    };
    let answers = answers.join("; ");
    format!("A gain of {wanted} {head}. What would do, one thing alone: {answers}.{ideal}")
}

fn answer(of: Answer, what: &str, value: impl Fn(f64) -> String) -> String {
    match of {
        Answer::Value(found) => value(found),
        Answer::Never => format!("no {what}"),
        Answer::Always => format!("any {what}"),
    }
}

/// What decides, by how far it moves the gain.
fn tornado(bars: &[Bar]) -> String {
    if bars.is_empty() {
        return String::new();
    }
    let gain = |factor: Option<f64>| factor.map_or_else(|| "overload".into(), percent);
    let row = |bar: &Bar| {
        let name = format!("{}{}", bar.input.name(), if bar.assumed { " *" } else { "" });
        let (low, high) = bar.speedups;
        vec![name, number(bar.ends.0), number(bar.ends.1), gain(low), gain(high)]
    };
    let heads = ["what decides", "from", "to", "gain at from", "gain at to"];
    let table = grid_within(&heads, 1, &bars.iter().map(row).collect::<Vec<_>>(), Some(width()));
    let assumed = "* The file has one value; 10 % less and 10 % more are shown.";
    if bars.iter().any(|bar| bar.assumed) { format!("{table}\n{assumed}") } else { table }
}

/// A factor as a signed change.
fn percent(factor: f64) -> String {
    format!("{:.1} %", (factor - 1.0) * 100.0)
}

fn size_of(factor: f64) -> String {
    format!("{:.1} %", (factor - 1.0).abs() * 100.0)
}

fn range(low: f64, high: f64) -> String {
    format!("{:.1}–{:.1}", (low - 1.0) * 100.0, (high - 1.0) * 100.0)
}

fn whole(value: f64) -> String {
    count(value.round().max(0.0) as u64)
}

/// Three significant digits.
fn number(value: f64) -> String {
    match value {
        infinite if infinite.is_infinite() => "infinite".into(),
        large if large.abs() >= 1_000.0 => whole(large),
        _ => format!("{:.*}", decimals(value), value),
    }
}

fn decimals(value: f64) -> usize {
    let before = value.abs().max(1e-9).log10().floor() as i32;
    (2 - before).clamp(0, 9) as usize
}
