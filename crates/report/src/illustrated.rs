//! A page of text and pictures, for whatever is no experiment.

use crate::shell::page;
use crate::svg::escape;

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
