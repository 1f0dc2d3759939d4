//! The terminal that standard output is shown on.

use std::io::IsTerminal as _;
use tailwater_report::TableStyle;

/// Narrower ones show a table no worse than this.
const WIDTH_MIN: u16 = 40;

/// Colour at a terminal, unless `NO_COLOR` is set; as wide as that is, or as `COLUMNS` says. A pipe or file gets
/// all columns.
pub(crate) fn style() -> TableStyle {
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    TableStyle { colour, width: width().map(|width| width.max(WIDTH_MIN)) }
}

/// In characters; `None`: no limit is known.
fn width() -> Option<u16> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col);
    said.or_else(measured).filter(|columns| *columns > 0)
}
