//! What a comparison would do, without doing it.

use super::dial::{Dial, Setting};
use super::machine::Root;
use super::targets::Target;

/// Each write, and each command, in words.
pub(super) fn plan(
    root: &Root,
    (dials, target): (&[Dial], &Target),
    arms: &[(&str, &Setting)],
    seed: u64,
) -> String {
    let mut lines = Vec::new();
    let files = dials.iter().any(Dial::is_file);
    if files {
        let journal = root.join("/run/tailwater/tune.journal");
        lines.push(format!("First, what the files below say now goes to {}.", journal.display()));
    }
    for (name, setting) in arms {
        lines.push(format!("\nBefore each block of {name}:"));
        let before = lines.len();
        for (dial, value) in dials.iter().zip(setting.iter()) {
            let writes = dial.paths().iter().map(|path| root.join(path));
            lines.extend(writes.map(|path| format!("  write {value} to {}", path.display())));
        }
        let settle = target.settle(dials);
        if !settle.is_zero() {
            lines.push(format!("  wait {} ms", settle.as_millis()));
        }
        if lines.len() == before {
            lines.push("  nothing is written".into());
        }
        lines.push(format!("The block: {}", target.words(dials, setting, seed).join(" ")));
    }
    if files {
        lines.push("\nAt the end, or by tailwater tune undo:".into());
        for dial in dials.iter().filter(|dial| dial.is_file()) {
            let stock = dial.stock.as_deref().unwrap_or("what it said before");
            let writes = dial.paths().iter().map(|path| root.join(path));
            lines.extend(writes.map(|path| format!("  write {stock} to {}", path.display())));
        }
    }
    lines.join("\n")
}
