//! A small SVG writer for charts: escaped text, rounded coordinates, colours that follow the
//! reader's light or dark mode.
//!
//! Light colours are plain attributes, which every renderer knows; dark ones override them by class
//! and media query, where the renderer knows those.

pub(crate) mod bars;
pub(crate) mod chart;
pub(crate) mod heat;
pub(crate) mod look;
pub(crate) mod ranges;
pub(crate) mod scale;
pub(crate) mod timeline;
pub(crate) mod violins;

use look::Look;

use std::fmt::Write as _;

/// Eight colours that remain apart for colour-blind readers (after Okabe and Ito), light and dark.
const PALETTE: [(&str, &str); 8] = [
    ("#0072b2", "#56a9e0"),
    ("#d55e00", "#ff8a3d"),
    ("#009e73", "#2fc79a"),
    ("#b5548c", "#e08fbe"),
    ("#b8860b", "#e6b422"),
    ("#2a9dc7", "#7fd0f0"),
    ("#6a4fb3", "#a793e6"),
    ("#6b6b6b", "#a8a8a8"),
];

/// What letters are read best on each of them, light; on the dark ones the paper is.
const ON_PALETTE: [&str; 8] = [PAPER, BLACK, BLACK, PAPER, BLACK, BLACK, PAPER, PAPER];
const BLACK: &str = "#000000";

const INK: &str = "#1f2328";
const MUTED: &str = "#59636e";
const GRID: &str = "#e4e7eb";
const PAPER: &str = "#ffffff";

/// The class and the light colour of the n-th controller; colours repeat after eight.
pub(crate) fn series_colour(index: usize) -> (String, &'static str) {
    let at = index % PALETTE.len();
    (format!("tw-s{at}"), PALETTE[at].0)
}

/// The light colour of letters of the class `tw-on` on the n-th controller's.
pub(crate) const fn ink_on(index: usize) -> &'static str {
    ON_PALETTE[index % ON_PALETTE.len()]
}

/// A picture under construction.
pub(crate) struct Svg {
    body: String,
    look: Look,
    height: f64,
}

/// Where a text is held.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text weighs.
#[derive(Clone, Copy)]
pub(crate) enum Voice {
    Title,
    Ink,
    Muted,
}

impl Svg {
    /// An empty picture, with title and subtitle at its head if they belong there.
    pub(crate) fn new(look: Look, height: f64, title: &str, subtitle: &str) -> Self {
        let mut svg = Self { body: String::new(), look, height };
        if look.titled {
            svg.text((16.0, 24.0), Anchor::Start, Voice::Title, title);
            svg.text((16.0, 42.0), Anchor::Start, Voice::Muted, subtitle);
        }
        svg
    }

    /// A text at a point.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, voice: Voice, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let voice = match voice {
            Voice::Title => {
                format!("class=\"tw-ink\" fill=\"{INK}\" font-size=\"16\" font-weight=\"600\"")
            }
            Voice::Ink => format!("class=\"tw-ink\" fill=\"{INK}\" font-size=\"12\""),
            Voice::Muted => format!("class=\"tw-muted\" fill=\"{MUTED}\" font-size=\"12\""),
        };
        let (x, y, text) = (px(x), px(y), escape(text));
        self.raw(&format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {voice}>{text}</text>"
        ));
    }

    /// A straight line of the grid or an axis.
    pub(crate) fn rule(&mut self, from: (f64, f64), to: (f64, f64), axis: bool) {
        let (class, colour) = if axis { ("tw-axis", MUTED) } else { ("tw-grid", GRID) };
        self.raw(&format!(
            "<path class=\"{class}\" stroke=\"{colour}\" d=\"M{} {}L{} {}\"/>",
            px(from.0),
            px(from.1),
            px(to.0),
            px(to.1)
        ));
    }

    /// A complete element, written by the caller, who has escaped what it holds.
    pub(crate) fn raw(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// The finished document, fit for a file and for standing in a page.
    pub(crate) fn finish(self, title: &str) -> String {
        let top = px(self.look.cut());
        let (width, height) = (px(self.look.units()), px(self.height - self.look.cut()));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {top} {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\" fill=\"none\" \
             font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">\n{}\
             <rect class=\"tw-paper\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{PAPER}\"/>\n\
             {}</svg>\n",
            escape(title),
            dark_style(),
            self.body
        )
    }
}

/// A coordinate with one decimal; what is not finite would break the picture and becomes 0.
pub(crate) fn px(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// As much of a label as there is room for.
pub(crate) fn fitting(label: &str, room: f64) -> String {
    if text_width(label) <= room {
        return label.to_owned();
    }
    let letters = (room / text_width("m")) as usize;
    label.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// Text made safe for element content and quoted attributes, in SVG and HTML alike.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // XML 1.0 has no way to write these, not even escaped.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Room that a text of 12 units takes; no font is at hand, so this errs on the wide side of Helvetica.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.2
}

fn dark_style() -> String {
    let mut css = String::from(
        "<style>.tw-column:hover{fill-opacity:.07}@media screen and (prefers-color-scheme:dark){.tw-paper{fill:#15181d}\
         .tw-column{fill:#e6e9ed}.tw-strip{fill:#3a434d}.tw-ink{fill:#e6e9ed}.tw-muted{fill:#9aa4af}.tw-grid{stroke:#2b3138}\
         .tw-axis{stroke:#7d8792}.tw-reference{stroke:#e6e9ed}.tw-mark{stroke:#15181d}\
         .tw-on{fill:#15181d}",
    );
    for (at, (_, dark)) in PALETTE.iter().enumerate() {
        let _ = write!(css, ".tw-s{at}{{color:{dark}}}");
    }
    css.push_str("}</style>\n");
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup_and_what_xml_cannot_say() {
        assert_eq!(escape("<a b='\"&\u{1b}"), "&lt;a b=&#39;&quot;&amp;\u{fffd}");
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).expect("two digits");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn letters_can_be_read_on_every_colour() {
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
            a.max(b) / a.min(b)
        };
        for (at, (light, dark)) in PALETTE.into_iter().enumerate() {
            let found = [contrast(light, ink_on(at)), contrast(dark, "#15181d")];
            assert!(found.iter().all(|found| *found >= 4.5), "colour {at}: {found:?}");
        }
    }

    #[test]
    fn coordinates_are_short_and_finite() {
        assert_eq!(px(12.04), "12");
        assert_eq!(px(-0.04), "0");
        assert_eq!(px(f64::NAN), "0");
    }
}
