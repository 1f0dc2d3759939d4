//! The page: for each service a search box, what was found, whether it is right, and how long each tier took. Needs no script.

use super::asked::{Asked, QUESTION_CHARS_MAX, Told};
use super::question::Question;
use tailwater_load::application::ShownRow;
use tailwater_report::{STYLE, count, escape, time};

/// What the other pages do not have.
const OWN_STYLE: &str = include_str!("demo.css");

pub(super) fn page(parts: &[String]) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>Services in three tiers · tailwater</title>\n<style>\n{STYLE}{OWN_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Services in three tiers</h1>\n\
         <p class=\"lead\">Each question goes to a mid-tier, and from there to leaves: processes of their own. \
         Each answer is compared with what plain code finds without them.</p>\n\
         <div class=\"services\">\n{}</div>\n</main>\n</body>\n</html>\n",
        parts.join("")
    )
}

/// A service's box, and what came of a question where it was asked one.
pub(super) fn part(
    service: &Asked,
    question: &Question,
    told: Option<&Result<Told, String>>,
) -> String {
    let name = service.name;
    let text = if question.of == name { &*question.text } else { "" };
    let examples: Vec<String> =
        service.examples.iter().map(|example| link(name, example)).collect();
    let answer = match told {
        None => String::new(),
        Some(Err(why)) => format!("<p class=\"poor\" role=\"alert\">{}</p>\n", escape(why)),
        Some(Ok(told)) => told_part(name, told),
    };
    format!(
        "<section id=\"{name}\">\n<h2>{}</h2>\n<p class=\"muted\">{}</p>\n\
         <form action=\"/\" method=\"get\" role=\"search\">\n<input type=\"hidden\" name=\"of\" value=\"{name}\"/>\n\
         <input type=\"search\" name=\"q\" value=\"{}\" maxlength=\"{QUESTION_CHARS_MAX}\" required=\"\" \
         autocapitalize=\"off\" aria-label=\"{name}: words\"/>\n<button type=\"submit\">Search</button>\n</form>\n\
         <p class=\"muted\">Try {}</p>\n{answer}</section>\n",
        escape(service.title),
        escape(&with_commas(&service.about, ',')),
        escape(text),
        examples.join(" · ")
    )
}

fn told_part(name: &str, told: &Told) -> String {
    let verdict = match &told.wrong {
        None => format!(
            "<p><span class=\"good\">Right</span>: plain code finds the same, in {}.</p>\n",
            time(told.oracle_us)
        ),
        Some(why) => {
            format!("<p role=\"alert\"><span class=\"poor\">Wrong</span>: {}.</p>\n", escape(why))
        }
    };
    let rows: Vec<String> = told.rows.iter().map(|row| row_part(name, row)).collect();
    format!(
        "<p class=\"summary\">{}</p>\n{verdict}{}<ol>\n{}</ol>\n",
        escape(&with_commas(&told.summary, ';')),
        tiers_part(told),
        rows.join("")
    )
}

/// Bars of all tiers, on one scale: that of the whole.
fn tiers_part(told: &Told) -> String {
    let bar = |what: &str, us: f64, note: &str| {
        let share = 100.0 * (us / told.whole_us.max(0.1)).min(1.0);
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"bar\"><i style=\"width:{share:.1}%\"></i></td>\
             <td class=\"muted\">{note}</td></tr>\n",
            escape(what),
            time(us)
        )
    };
    let mut rows = bar("there and back", told.whole_us, "seen from here");
    rows.push_str(&bar("mid-tier", told.midtier_us, "leaves included"));
    for node in &told.nodes {
        let requests = match node.requests {
            Some(1) => "1 request".to_owned(),
            Some(requests) => format!("{requests} requests"),
            None => "did not tell".to_owned(),
        };
        let note = format!("handler, {requests}");
        rows.push_str(&bar(&node.name, node.handlers_us.unwrap_or(0.0), &note));
    }
    format!("<table class=\"tiers\">\n{rows}</table>\n")
}

fn row_part(service: &str, row: &ShownRow) -> String {
    let name = match row.asks {
        true => link(service, &row.name),
        false => format!("<b>{}</b>", escape(&row.name)),
    };
    let colon = if row.name.is_empty() || row.text.is_empty() { "" } else { ": " };
    let (text, measure) = (escape(&row.text), escape(&row.measure));
    format!("<li>{name}{colon}{text} <span class=\"muted\">{measure}</span></li>\n")
}

fn link(service: &str, text: &str) -> String {
    let asked = asked_by(text);
    let query: String = form_urlencoded::byte_serialize(asked.as_bytes()).collect();
    format!("<a href=\"/?of={service}&amp;q={query}#{service}\">{}</a>", escape(text))
}

/// What finds a name again: points without one are called by number, and words may begin alike.
fn asked_by(name: &str) -> &str {
    let number = name.strip_prefix("point ");
    number.filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or(name)
}

/// Counts before `end` with commas between thousands. After it are people's words, paths and seeds.
fn with_commas(text: &str, end: char) -> String {
    let (counts, rest) = text.split_at(text.find(end).unwrap_or(text.len()));
    let word = |word: &str| word.parse().map_or_else(|_| word.to_owned(), count);
    counts.split(' ').map(word).collect::<Vec<_>>().join(" ") + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_asked_by_number_and_words_as_they_are() {
        assert_eq!(asked_by("point 17"), "17");
        for word in ["point of view", "point man", "violin"] {
            assert_eq!(asked_by(word), word);
        }
    }

    #[test]
    fn what_can_be_asked_in_turn_is_a_link_with_or_without_a_text() {
        let row = |asks, text: &str| {
            let (name, measure) = ("boat".to_owned(), "distance 1".to_owned());
            row_part("hdsearch", &ShownRow { name, text: text.into(), measure, asks })
        };
        assert!(row(true, "a vessel").contains("q=boat#hdsearch\">boat</a>: a vessel <span"));
        assert!(row(true, "").contains(">boat</a> <span"));
        assert!(row(false, "a vessel").starts_with("<li><b>boat</b>: a vessel <span"));
    }

    #[test]
    fn counts_have_commas_and_what_may_be_typed_has_none() {
        let about = "82115 documents, generated from seed 2026";
        assert_eq!(with_commas(about, ','), "82,115 documents, generated from seed 2026");
        let summary = "10 nearest of 2712 candidates, 31.23 % of 8683 points";
        let shown = "10 nearest of 2,712 candidates, 31.23 % of 8,683 points";
        assert_eq!(with_commas(summary, ';'), shown);
    }
}
