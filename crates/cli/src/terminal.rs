//! The terminal that standard output is shown on.

use std::io::IsTerminal as _;
use tailwater_report::{TableStyle, wrap_indented};

/// Narrower ones show a table no worse than this.
const WIDTH_MIN: u16 = 40;

/// Colour at a terminal, unless `NO_COLOR` is set; as wide as that is, or as `COLUMNS` says. A pipe or file gets
/// all columns.
pub(crate) fn style() -> TableStyle {
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    TableStyle { colour, width: width().map(|width| width.max(WIDTH_MIN)) }
}

/// Text in lines that fit, where a width is known; each line of it begins anew, as far in as it was.
pub(crate) fn wrapped(text: &str) -> String {
    let Some(width) = style().width else {
        return text.to_owned();
    };
    let fit = |line: &str| {
        let indent = &line[..line.len() - line.trim_start().len()];
        wrap_indented(line, width.into(), indent)
    };
    text.split('\n').map(fit).collect::<Vec<_>>().join("\n")
}

/// In characters; `None`: no limit is known.
fn width() -> Option<u16> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col);
    said.or_else(measured).filter(|columns| *columns > 0)
}
