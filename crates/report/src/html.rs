//! One page that holds everything and fetches nothing.

use crate::classes;
use crate::columns::COLUMNS;
use crate::csv::{runs_csv, series_csv, tiers_csv};
use crate::faults;
use crate::format;
use crate::glossary::{RULES, TERMS};
use crate::locks;
use crate::model::{self, Group, name};
use crate::notes::{self, DOUBTFUL, NO_VALID};
use crate::recovery;
use crate::sentences::line_summary;
use crate::shell::{contents, download, figures, file_name, page};
use crate::sortable::{Head, Row, Sortable, Value};
use crate::svg::escape;
use crate::tiers;
use tailwater_stats::Rules;
use tailwater_stats::result::Experiment;

/// The parts behind the groups, by id and title.
const PARTS: [(&str, &str); 4] = [COUNTS, MANIFEST, DEFINED, RAW];
const COUNTS: (&str, &str) = ("counts", "What counts");
const MANIFEST: (&str, &str) = ("manifest", "Where, when and with what");
const DEFINED: (&str, &str) = ("terms", "How each number is defined");
const RAW: (&str, &str) = ("raw", "Raw data");

/// The beginning of such a part.
fn part((id, title): (&str, &str)) -> String {
    format!("<section id=\"{id}\">\n<h2>{title}</h2>\n")
}

/// What a table of values is.
const CSV: &str = "text/csv";

/// A self-contained HTML page: sentences, tables, pictures, manifest, rules and discards, glossary
/// and the raw data, also as downloads. It follows light and dark mode and the reader's width, and is well-formed
/// XML besides. A script of its own sorts tables and shows values beside the pointer; the page runs no other.
#[must_use]
pub fn html(experiment: &Experiment) -> String {
    let groups = model::groups(experiment);
    let mut body = head(experiment, &groups);
    for (at, group) in groups.iter().enumerate() {
        body.push_str(&section(experiment, at, group));
    }
    body.push_str(&validity(experiment));
    body.push_str(&manifest(experiment));
    body.push_str(&glossary());
    body.push_str(&raw(experiment));
    page(name(experiment), &body)
}

fn head(experiment: &Experiment, groups: &[Group<'_>]) -> String {
    let of_group = |(at, group): (usize, &Group<'_>)| (format!("group-{at}"), group.name());
    let fixed = PARTS.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned()));
    format!(
        "<header>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n{}</header>\n",
        escape(name(experiment)),
        escape(&line_summary(experiment)),
        contents(groups.iter().enumerate().map(of_group).chain(fixed))
    )
}

fn section(experiment: &Experiment, at: usize, group: &Group<'_>) -> String {
    let capacity = match group.capacity_rps {
        unknown if unknown <= 0.0 => String::new(),
        rps => format!("Capacity {} k requests/s. ", format::thousands(rps)),
    };
    let mut out = format!(
        "<section id=\"group-{at}\">\n<h2>{}</h2>\n<p class=\"muted\">{capacity}Medians of valid repetitions.</p>\n",
        escape(&group.name())
    );
    out.push_str(&rows(group));
    if notes::has_unsound(group) {
        out.push_str(&format!("<p class=\"muted\">{}</p>\n", escape(NO_VALID)));
    }
    if notes::has_doubtful(group) {
        out.push_str(&format!("<p class=\"muted\">{}</p>\n", escape(DOUBTFUL)));
    }
    out.push_str(&recoveries(experiment, group));
    out.push_str(&by_class(group));
    out.push_str(&by_tier(group));
    out.push_str(&by_lock(group));
    out.push_str(&figures(experiment, (at, group)));
    out.push_str("</section>\n");
    out
}

fn rows(group: &Group<'_>) -> String {
    let heads = COLUMNS.iter().map(|column| Head {
        text: column.head(group),
        meaning: column.meaning,
        more: column.dispensable > 0,
    });
    let mut rows = Vec::new();
    for demand in group.demands() {
        for (nth, (line, point)) in group.at(demand).enumerate() {
            let cells = COLUMNS.iter().map(|column| column.cell(group, line, point));
            rows.push(Row { first: nth == 0, values: cells.map(Value::from).collect() });
        }
    }
    Sortable { kind: "runs", heads: heads.collect(), rows }.markup()
}

fn recoveries(experiment: &Experiment, group: &Group<'_>) -> String {
    let Some(found) = recovery::of_group(experiment, group) else {
        return String::new();
    };
    let heads = found.heads.iter().map(|head| Head::plain(head)).collect();
    let rows = found.rows.into_iter().map(Row::plain).collect();
    titled("Recovery", recovery::MEANING, &Sortable { kind: "recovery", heads, rows })
}

fn by_class(group: &Group<'_>) -> String {
    let Some(table) = classes::sortable(group) else {
        return String::new();
    };
    let bounds = classes::bounds(group);
    let bounds = bounds.iter().map(|bound| format!("<p>{}</p>\n", escape(bound)));
    titled("Classes", classes::MEANING, &table) + &bounds.collect::<String>()
}

fn by_tier(group: &Group<'_>) -> String {
    let second = tiers::second_tries(group);
    let second = second.lines().map(|line| format!("<p>{}</p>\n", escape(line)));
    let table = tiers::sortable(group).map(|it| titled("Tiers", tiers::MEANING, &it));
    table.into_iter().chain(second).collect()
}

fn by_lock(group: &Group<'_>) -> String {
    let table = locks::sortable(group).map(|it| titled("Locks", locks::MEANING, &it));
    table.unwrap_or_default()
}

fn titled(title: &str, meaning: &str, table: &Sortable) -> String {
    let meaning = escape(meaning);
    format!("<h3>{title}</h3>\n<p class=\"muted\">{meaning}</p>\n{}", table.markup())
}

fn validity(experiment: &Experiment) -> String {
    let mut out = part(COUNTS) + "<ul>\n";
    for rule in RULES {
        out.push_str(&format!("<li>{}</li>\n", escape(rule)));
    }
    for departure in experiment.rules.iter().flat_map(Rules::departures) {
        out.push_str(&format!("<li>Of this scenario: {}.</li>\n", escape(&departure)));
    }
    out.push_str("</ul>\n");
    let notes = notes::notes(experiment);
    if notes.is_empty() {
        out.push_str("<p>Every run counts: none is invalid, none was discarded.</p>\n");
    } else {
        out.push_str("<div class=\"scroll\"><table class=\"notes\">\n<thead><tr><th></th>");
        out.push_str("<th>run</th><th>why</th></tr></thead>\n<tbody>\n");
        for note in notes {
            out.push_str(&format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                note.kind,
                escape(&note.what),
                escape(&note.why)
            ));
        }
        out.push_str("</tbody>\n</table></div>\n");
    }
    let sentences = [notes::advice(experiment), notes::caution(experiment)];
    out.extend(sentences.into_iter().flatten().map(|text| format!("<p>{}</p>\n", escape(text))));
    let told = faults::sentences(experiment).into_iter().chain(notes::data(experiment));
    out.extend(told.map(|text| format!("<p>{}</p>\n", escape(&text))));
    out.push_str("</section>\n");
    out
}

fn manifest(experiment: &Experiment) -> String {
    let manifest = &experiment.manifest;
    let known = |text: &str| {
        if text.is_empty() { "–".to_owned() } else { text.to_owned() }
    };
    let date = match manifest.started_unix {
        0 => "none: a simulation depends on its seed alone".to_owned(),
        unix => format::date(unix),
    };
    let cpus = if manifest.cpus == 0 { "–".to_owned() } else { manifest.cpus.to_string() };
    let capacity = match experiment.capacity_rps {
        rps if rps > 0.0 => format!(
            "{} k requests/s (drift {} %)",
            format::thousands(rps),
            format::percent(experiment.capacity_drift)
        ),
        _ => known(""),
    };
    let kinds: Vec<String> = manifest
        .stalls
        .iter()
        .map(|kind| {
            let lengths: Vec<String> = kind.lengths_us.iter().map(|us| format::time(*us)).collect();
            format!("{:.1} per second and core of {}", kind.per_second, lengths.join(", "))
        })
        .collect();
    let stalls = known(&kinds.join("; "));
    let entries = [
        ("scenario", known(&experiment.scenario)),
        ("driver", known(&experiment.driver)),
        ("arrivals", known(&experiment.arrivals)),
        ("seed", experiment.seed.to_string()),
        ("started", date),
        ("tailwater", known(&manifest.build())),
        ("CPU", known(&manifest.cpu)),
        ("CPUs it may use", cpus),
        ("generator's pace", known(&manifest.generator)),
        ("kernel", known(&manifest.kernel)),
        ("capacity, first configuration", capacity),
        ("stalls that were simulated", stalls),
    ];
    definitions(MANIFEST, entries.iter().map(|(k, v)| (*k, v.as_str())))
}

fn glossary() -> String {
    definitions(DEFINED, TERMS.into_iter())
}

fn definitions<'a>(
    named: (&str, &str),
    entries: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut out = part(named) + "<dl>\n";
    for (term, meaning) in entries {
        out.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", escape(term), escape(meaning)));
    }
    out.push_str("</dl>\n</section>\n");
    out
}

fn raw(experiment: &Experiment) -> String {
    let json = serde_json::to_string_pretty(experiment)
        .expect("the result model has only string keys, which JSON can always hold");
    let file = file_name(&experiment.scenario);
    let mut links = vec![
        download(&format!("{file}.json"), "JSON", "application/json", &json),
        download(&format!("{file}.csv"), "CSV, a line for each run", CSV, &runs_csv(experiment)),
    ];
    links.extend(series_csv(experiment).map(|series| {
        download(&format!("{file}-series.csv"), "CSV, a line for each bin", CSV, &series)
    }));
    links.extend(tiers_csv(experiment).map(|tiers| {
        download(&format!("{file}-tiers.csv"), "CSV, a line for each tier", CSV, &tiers)
    }));
    format!(
        "{}<p>{}</p>\n<details><summary>Show</summary>\n<pre>{}</pre>\n</details>\n</section>\n",
        part(RAW),
        links.join(" · "),
        escape(&json)
    )
}
