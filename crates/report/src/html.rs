//! One page that holds everything and fetches nothing.

use crate::classes;
use crate::columns::{COLUMNS, Tone};
use crate::format;
use crate::glossary::{RULES, TERMS};
use crate::model::{self, Group};
use crate::notes::{self, NO_VALID};
use crate::plots;
use crate::recovery;
use crate::sentences::line_summary;
use crate::svg::escape;
use crate::tiers;
use tailwater_stats::Rules;
use tailwater_stats::result::Experiment;

/// The page refuses to fetch anything, should some text ever slip through as markup.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A self-contained HTML page: sentences, tables, pictures, manifest, rules and discards, glossary
/// and the raw JSON, also as a download. It follows light and dark mode, runs no script, and is
/// well-formed XML besides.
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

/// A whole page of what is in the middle.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = format!("{title} · tailwater");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n\
         </html>\n",
        escape(POLICY),
        escape(&title),
        include_str!("page.css")
    )
}

/// Its title, or the scenario's name where it has none.
pub(crate) fn name(experiment: &Experiment) -> &str {
    if experiment.title.is_empty() { &experiment.scenario } else { &experiment.title }
}

fn head(experiment: &Experiment, groups: &[Group<'_>]) -> String {
    let mut out = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n",
        escape(name(experiment)),
        escape(&line_summary(experiment))
    );
    if groups.len() > 1 {
        let links: Vec<String> = groups
            .iter()
            .enumerate()
            .map(|(at, group)| format!("<a href=\"#group-{at}\">{}</a>", escape(&group.name())))
            .collect();
        out.push_str(&format!("<nav>{}</nav>\n", links.join(" · ")));
    }
    out.push_str("</header>\n");
    out
}

fn section(experiment: &Experiment, at: usize, group: &Group<'_>) -> String {
    let mut out = format!(
        "<section id=\"group-{at}\">\n<h2>{}</h2>\n<p class=\"muted\">Capacity {} k requests/s. \
         Medians of valid repetitions.</p>\n",
        escape(&group.name()),
        format::thousands(group.capacity_rps)
    );
    out.push_str(&rows(group));
    if notes::has_unsound(group) {
        out.push_str(&format!("<p class=\"muted\">{}</p>\n", escape(NO_VALID)));
    }
    out.push_str(&recoveries(experiment, group));
    if let Some(classes) = classes::of_group(group, None) {
        out.push_str(&format!("<pre>{}</pre>\n", escape(&classes)));
    }
    if let Some(table) = tiers::of_group(group, None) {
        out.push_str(&format!(
            "<h3>Tiers</h3>\n<p class=\"muted\">{}</p>\n<pre>{}</pre>\n",
            escape(tiers::MEANING),
            escape(&table)
        ));
    }
    out.push_str("<div class=\"plots\">\n");
    for plot in plots::of_group(experiment, at, group) {
        out.push_str(&format!("<figure id=\"{}\">\n{}</figure>\n", plot.name, plot.svg));
    }
    out.push_str("</div>\n</section>\n");
    out
}

fn rows(group: &Group<'_>) -> String {
    let mut out = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    for column in &COLUMNS {
        let head = escape(&column.head(group)).replace('\n', "<br/>");
        out.push_str(&format!("<th title=\"{}\">{head}</th>", escape(column.meaning)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for demand in group.demands() {
        for (nth, (line, point)) in group.at(demand).enumerate() {
            out.push_str(if nth == 0 { "<tr class=\"first\">" } else { "<tr>" });
            for column in &COLUMNS {
                let cell = column.cell(group, line, point);
                let class = match cell.tone {
                    Tone::Plain => "",
                    Tone::Good => " class=\"good\"",
                    Tone::Fair => " class=\"fair\"",
                    Tone::Poor => " class=\"poor\"",
                };
                out.push_str(&format!("<td{class}>{}</td>", escape(&cell.text)));
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

fn recoveries(experiment: &Experiment, group: &Group<'_>) -> String {
    let Some(rows) = recovery::rows(experiment, group) else {
        return String::new();
    };
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
        cells.map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect::<String>()
    };
    let mut out = format!(
        "<h3>Recovery</h3>\n<p class=\"muted\">{}</p>\n<div class=\"scroll\"><table \
         class=\"recovery\">\n<thead><tr>{}</tr></thead>\n<tbody>\n",
        escape(recovery::MEANING),
        cells("th", &mut recovery::HEADS.into_iter())
    );
    for row in rows {
        out.push_str(&format!("<tr>{}</tr>\n", cells("td", &mut row.iter().map(String::as_str))));
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

fn validity(experiment: &Experiment) -> String {
    let mut out = String::from("<section>\n<h2>What counts</h2>\n<ul>\n");
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
    let capacity = format!(
        "{} k requests/s (drift {} %)",
        format::thousands(experiment.capacity_rps),
        format::percent(experiment.capacity_drift)
    );
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
        ("tailwater", known(&manifest.tailwater)),
        ("CPU", known(&manifest.cpu)),
        ("CPUs it may use", cpus),
        ("generator's pace", known(&manifest.generator)),
        ("kernel", known(&manifest.kernel)),
        ("capacity, first configuration", capacity),
        ("stalls that were simulated", stalls),
    ];
    definitions("Where, when and with what", entries.iter().map(|(k, v)| (*k, v.as_str())))
}

fn glossary() -> String {
    definitions("How each number is defined", TERMS.into_iter())
}

fn definitions<'a>(title: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = format!("<section>\n<h2>{title}</h2>\n<dl>\n");
    for (term, meaning) in entries {
        out.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", escape(term), escape(meaning)));
    }
    out.push_str("</dl>\n</section>\n");
    out
}

fn raw(experiment: &Experiment) -> String {
    let json = serde_json::to_string_pretty(experiment)
        .expect("the result model has only string keys, which JSON can always hold");
    format!(
        "<section>\n<h2>Raw data</h2>\n<p><a download=\"{}.json\" \
         href=\"data:application/json;base64,{}\">Download as JSON</a></p>\n\
         <details><summary>Show</summary>\n<pre>{}</pre>\n</details>\n</section>\n",
        escape(&file_name(&experiment.scenario)),
        base64(json.as_bytes()),
        escape(&json)
    )
}

/// A name that no file system minds.
fn file_name(scenario: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }
    };
    let name: String = scenario.chars().take(80).map(safe).collect();
    if name.is_empty() { "experiment".to_owned() } else { name }
}

/// Base64 with padding (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = group >> (18 - 6 * digit) & 63;
            let shown = digit as usize <= chunk.len();
            out.push(if shown { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_vectors_of_rfc_4648() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn file_names_hold_no_path() {
        assert_eq!(file_name("../a<b"), "---a-b");
        assert_eq!(file_name(""), "experiment");
    }
}
