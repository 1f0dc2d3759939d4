//! Folded stacks: `outermost;…;innermost NANOSECONDS`, a line for each.

use std::io::{self, Write};
use tailwater_profile::stacks::Report;

pub(super) fn write(report: &Report, to: &mut impl Write) -> io::Result<()> {
    // What would separate is replaced.
    let plain = |name: &str| name.replace(';', ":").replace(['\n', '\r'], " ");
    let names: Vec<String> = report.frames.iter().map(|frame| plain(&frame.name)).collect();
    for stack in &report.stacks {
        let path: Vec<&str> = stack.frames.iter().map(|at| names[*at as usize].as_str()).collect();
        writeln!(to, "{} {}", path.join(";"), stack.ns)?;
    }
    Ok(())
}
