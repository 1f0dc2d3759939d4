//! A page of text and pictures, for whatever is no experiment.

use crate::shell::{contents, page};
use crate::svg::escape;
use crate::svg::timeline::Timeline;

/// The page of a conclusion, where there is one, of `text`, as a terminal has it, and of pictures: names, unique on
/// the page, and SVG documents. It is self-contained, as [`html`](crate::html()) is.
#[must_use]
pub fn illustrated(
    title: &str,
    lead: Option<&str>,
    text: &str,
    pictures: &[(String, String)],
) -> String {
    let mut body = format!("<header>\n<h1>{}</h1>\n", escape(title));
    if let Some(lead) = lead {
        body.push_str(&format!("<p class=\"lead\">{}</p>\n", escape(lead)));
    }
    body.push_str("</header>\n");
    body.push_str(&format!("<section>\n<pre class=\"whole\">{}</pre>\n</section>\n", escape(text)));
    body.push_str("<section>\n<div class=\"plots\">\n");
    for (name, svg) in pictures {
        body.push_str(&format!("<figure id=\"{}\">\n{svg}</figure>\n", escape(name)));
    }
    body.push_str("</div>\n</section>\n");
    page(title, &body)
}

/// How time lines are read.
const HOW: &str = "Drag over a part of a time line to see it larger, or click on the line and turn the wheel. Keys: + and −, \
                   ← and →, 0 for all. An arrow leads from a wait to what held it up. A bracket below a bar is an error bar: \
                   there the call began or ended.";

/// The page of time lines, each with a name that is unique on the page, and of `text` below. It is self-contained; a script
/// of its own draws a part of a time line larger, by wheel, by pointer and by keys.
#[must_use]
pub fn timelines(title: &str, text: &str, lines: &[(String, Timeline)]) -> String {
    let link = |(name, line): &(String, Timeline)| (name.clone(), line.title.clone());
    let parts = lines.iter().map(link).chain([("words".to_owned(), "In words".to_owned())]);
    let mut body = format!(
        "<header>\n<h1>{}</h1>\n{}<p class=\"muted\">{HOW}</p>\n</header>\n<section class=\"timelines\">\n",
        escape(title),
        contents(parts)
    );
    lines.iter().for_each(|(name, line)| body.push_str(&line.figure(name)));
    body.push_str(&format!(
        "</section>\n<section id=\"words\">\n<h2>In words</h2>\n<pre class=\"whole\" tabindex=\"0\">{}</pre>\n</section>\n",
        escape(text)
    ));
    page(title, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_title_are_escaped_and_pictures_are_not() {
        let page =
            illustrated("a < b", Some("c > d"), "x & y", &[("one".into(), "<svg></svg>".into())]);
        assert!(page.contains("<h1>a &lt; b</h1>") && page.contains("x &amp; y"));
        assert!(page.contains("<p class=\"lead\">c &gt; d</p>"));
        assert!(page.contains("<figure id=\"one\">\n<svg></svg>"));
    }
}
