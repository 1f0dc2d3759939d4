//! The paths in a source file: what it uses, and what it tells on by `pub use`.

use std::collections::BTreeMap;

/// Paths by their segments.
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Paths {
    /// Those that begin with `crate`, `super` or `self`.
    pub(super) used: Vec<Vec<String>>,
    /// By the name under which others find it: what `pub use` names.
    pub(super) exported: BTreeMap<String, Vec<String>>,
}

/// Reads them as text. Comments and quoted texts name nothing.
pub(super) fn paths(text: &str) -> Paths {
    let text = bare(text);
    let mut found = Paths::default();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("use ") {
        inline(before, &mut found.used);
        let (body, behind) = after.split_once(';').unwrap_or((after, ""));
        rest = behind;
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        let is_statement = line.is_empty() || line.starts_with("pub");
        if !is_statement {
            // A word that ends so, or a sentence; it was no `use`.
            inline(body, &mut found.used);
            continue;
        }
        for (path, name) in flattened(body) {
            if line.starts_with("pub") {
                found.exported.insert(name, path);
            } else if is_own(&path) {
                found.used.push(path);
            }
        }
    }
    inline(rest, &mut found.used);
    found
}

fn is_own(path: &[String]) -> bool {
    path.first().is_some_and(|first| ["crate", "super", "self"].contains(&first.as_str()))
}

/// Without comments, and with nothing between quotes.
fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        // Every second piece lies between quotes. Where a text goes on over lines, what is lost are paths of one line.
        out.extend(code.split('"').step_by(2));
        out.push('\n');
    }
    out
}

/// Each path of `a::{b, c::{D as E}}`, with the name that it has here.
fn flattened(body: &str) -> Vec<(Vec<String>, String)> {
    let body = body.trim();
    let Some((before, inner)) = body.split_once('{') else {
        let (path, name) = body.split_once(" as ").unwrap_or((body, ""));
        let path: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).collect();
        let last = path.last().cloned().unwrap_or_default();
        return vec![(path, if name.is_empty() { last } else { name.trim().to_owned() })];
    };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let prefix: Vec<String> = before
        .split("::")
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect();
    let with_prefix = |(path, name): (Vec<String>, String)| ([prefix.clone(), path].concat(), name);
    split(inner).into_iter().flat_map(flattened).map(with_prefix).collect()
}

/// At the commas that lie in no braces.
fn split(inner: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_u32, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Paths in code, such as `super::spread::of(…)`.
fn inline(code: &str, found: &mut Vec<Vec<String>>) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for word in code.split(|c| !is_word(c)).filter(|word| word.contains("::")) {
        let path: Vec<String> = word.split("::").map(str::to_owned).collect();
        if is_own(&path) && path[1..].iter().all(|part| !part.is_empty()) {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        paths(text).used.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn statements_and_code_name_paths_and_comments_do_not() {
        let text = "use super::{a::B, c::{D, E as F}};\nuse std::fmt;\n// crate::x::Y\n\
                    fn f() -> crate::g::H {\n    let x = \"crate::i::J\";\n    super::k::l(x)\n}\n";
        let expected = ["super::a::B", "super::c::D", "super::c::E", "crate::g::H", "super::k::l"];
        assert_eq!(shown(text), expected);
        assert_eq!(shown("fn f() { because use of crate::a::B; }\n"), ["crate::a::B"]);
    }

    #[test]
    fn what_is_told_on_has_its_name_here() {
        let found = paths("pub use a::B;\npub(crate) use crate::c::{D as E, F};\n");
        let exported: Vec<(String, String)> =
            found.exported.into_iter().map(|(name, path)| (name, path.join("::"))).collect();
        let expected = [("B", "a::B"), ("E", "crate::c::D"), ("F", "crate::c::F")];
        assert_eq!(exported, expected.map(|(name, path)| (name.to_owned(), path.to_owned())));
        assert!(found.used.is_empty());
    }
}
