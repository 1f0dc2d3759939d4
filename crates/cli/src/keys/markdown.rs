//! The reference as `docs/scenarios.md`.

use super::{INTRODUCTION, SEE, TEMPLATE, WHOLE, example, title, variants};
use std::fmt::Write as _;
use tailwater_workload::scenario::keys::Table;

pub(super) fn page(tables: &[&Table], whole: bool) -> String {
    let mut out = String::new();
    if whole {
        let made = "<!-- Drawn from crates/workload/src/scenario/keys; TAILWATER_PAGES=write redraws it. -->";
        let _ = writeln!(out, "# Scenario files\n\n{made}\n\n{INTRODUCTION}\n\n{SEE}");
        let _ = writeln!(out, "\n## A whole file\n\n{WHOLE}\n\n```toml\n{TEMPLATE}```");
    }
    for table in tables {
        let head = title(table);
        let head = if table.head.is_empty() { head.to_owned() } else { format!("`{head}`") };
        let _ = writeln!(out, "\n## {head}\n\n{}", table.meaning);
        let forms = variants(table);
        if !forms.is_empty() {
            out.push('\n');
        }
        for (name, meaning) in forms {
            let _ = writeln!(out, "- `{name}`: {meaning}");
        }
        out.push_str("\n| key | value | left out | meaning | example |\n|---|---|---|---|---|\n");
        for key in table.keys {
            let cells = [key.kind.to_string(), table.absence(key), key.meaning.to_owned()]
                .map(|cell| cell.replace('|', "\\|"));
            let _ =
                writeln!(out, "| `{}` | {} | `{}` |", key.name, cells.join(" | "), example(key));
        }
    }
    out
}
