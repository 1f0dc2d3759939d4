//! Patterns for names of functions.

/// Whether a pattern stands for the whole text: `*` for any characters, `?` for one.
///
/// Goes back to the last `*` only: time is the product of the lengths at worst.
#[must_use]
pub fn matches(glob: &str, text: &str) -> bool {
    let (mut glob, mut text) = (glob.chars(), text.chars());
    // The pattern behind the last star, and the text behind what the star has taken.
    let mut star = None;
    loop {
        let here = text.clone();
        let Some(character) = text.next() else { return glob.all(|wanted| wanted == '*') };
        match glob.next() {
            Some('*') => {
                text = here.clone();
                star = Some((glob.clone(), here));
            }
            Some(wanted) if wanted == '?' || wanted == character => {}
            _ => {
                let Some((behind, rest)) = &mut star else { return false };
                rest.next();
                (glob, text) = (behind.clone(), rest.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        for (glob, text, is) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("do_*", "do_item_get", true),
            ("*get", "do_item_get", true),
            ("*item*", "do_item_get", true),
            ("item", "do_item_get", false),
            ("abc", "abcd", false),
            ("do?item*t", "do_item_get", true),
            ("?b", "ab", true),
            ("?", "ü", true),
            ("?", "", false),
            ("a*c", "abbbc", true),
            ("a*c", "abbbd", false),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("*ab*ab", "abxabab", true),
        ] {
            assert_eq!(matches(glob, text), is, "{glob} {text}");
        }
    }
}
