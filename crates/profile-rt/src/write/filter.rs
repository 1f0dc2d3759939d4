//! Which functions are recorded: `TAILWATER_PROFILE_FUNCTIONS`, a list of globs.

/// Globs separated by commas; `*` stands for any text, `?` for one character. A glob behind `!` leaves
/// out what it matches. Names are matched as the linker knows them. The last glob that matches
/// decides; what none matches is recorded unless some glob is without `!`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    globs: Vec<(bool, String)>,
}

impl Filter {
    pub(crate) fn parse(text: &str) -> Self {
        let globs = text.split(',').map(str::trim).filter(|glob| !glob.is_empty());
        let globs = globs.map(|glob| match glob.strip_prefix('!') {
            Some(left_out) => (false, left_out.into()),
            None => (true, glob.into()),
        });
        Self { globs: globs.collect() }
    }

    /// Whether a function is recorded.
    pub(crate) fn keeps(&self, name: &str) -> bool {
        let decided =
            self.globs.iter().rev().find(|(_, glob)| matches(glob.as_bytes(), name.as_bytes()));
        decided.map_or_else(|| self.globs.iter().all(|(keeps, _)| !keeps), |(keeps, _)| *keeps)
    }
}

/// Goes back to the last `*` only: time is the product of the lengths at worst.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut g, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match glob.get(g) {
            Some(b'*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(c) if *c == b'?' || *c == text[t] => {
                g += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    g = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_a_shell() {
        for (glob, text, expected) in [
            ("*", "", true),
            ("a*c", "abbbc", true),
            ("a*c", "abbbd", false),
            ("?b", "ab", true),
            ("?", "", false),
            ("*ab*ab", "abxabab", true),
            ("abc", "abcd", false),
        ] {
            assert_eq!(matches(glob.as_bytes(), text.as_bytes()), expected, "{glob} {text}");
        }
    }

    #[test]
    fn the_last_glob_that_matches_decides() {
        let filter = Filter::parse("store_*, !store_get ,");
        assert!(filter.keeps("store_set"));
        assert!(!filter.keeps("store_get"));
        assert!(!filter.keeps("other"), "something was asked for, and this is not it");
        let without = Filter::parse("!std*");
        assert!(without.keeps("main") && !without.keeps("stdish"));
        assert!(Filter::parse("").keeps("anything"));
    }
}
