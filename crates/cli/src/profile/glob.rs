//! Patterns with `*` and `?`.

/// Whether any of the patterns stands for a function, by its name as shown or as the linker has it.
pub(super) fn is_named(globs: &[String], name: &str, symbol: &str) -> bool {
    globs.iter().any(|glob| matches(glob, name) || matches(glob, symbol))
}

/// Whether a pattern with `*` and `?` stands for the whole text.
fn matches(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut g, mut t) = (0, 0);
    // Where the last star stood, and how much of the text it has taken.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (g, t) = (g + 1, t + 1),
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (g, t) = (at + 1, taken + 1);
            }
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        for (glob, text, is) in [
            ("*", "", true),
            ("do_*", "do_item_get", true),
            ("*get", "do_item_get", true),
            ("*item*", "do_item_get", true),
            ("item", "do_item_get", false),
            ("do?item*t", "do_item_get", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("?", "", false),
        ] {
            assert_eq!(matches(glob, text), is, "{glob} {text}");
        }
    }
}
