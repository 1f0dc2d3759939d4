//! Files of rules: which functions belong to which category.

use serde::Deserialize;
use std::path::Path;
use tailwater_profile::breakdown::{CategoryRules, Pattern, Rule};

/// Those that come with the program: `presets/categories/NAME.toml`.
const KNOWN: [(&str, &str); 3] = [
    ("tailwater", include_str!("../../../../../presets/categories/tailwater.toml")),
    ("memcached", include_str!("../../../../../presets/categories/memcached.toml")),
    ("redis", include_str!("../../../../../presets/categories/redis.toml")),
];
/// Categories of a file, and patterns of one.
const CATEGORIES_MAX: usize = 64;
const PATTERNS_MAX: usize = 1_024;

/// Rules with their name.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) rules: CategoryRules,
}

/// The file as it stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    title: String,
    category: Vec<CategoryText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryText {
    name: String,
    functions: Vec<String>,
}

/// The rules of this name, or of the file of this name.
pub(super) fn named(name: &str) -> Result<Named, String> {
    if let Some((_, text)) = KNOWN.iter().find(|(known, _)| *known == name) {
        return parse(text);
    }
    let known = KNOWN.map(|(known, _)| known).join(", ");
    let text = crate::input::text_of(Path::new(name))
        .map_err(|error| format!("'{name}': {error}; one of {known} is needed, or a file"))?;
    parse(&text).map_err(|why| format!("{name}: {why}"))
}

fn parse(text: &str) -> Result<Named, String> {
    let Text { title, category } = toml::from_str(text).map_err(|error| error.to_string())?;
    if category.is_empty() || category.len() > CATEGORIES_MAX {
        let found = category.len();
        return Err(format!("{found} categories found, 1 to {CATEGORIES_MAX} are needed"));
    }
    let rule = |CategoryText { name, functions }: CategoryText| match functions.len() {
        1..=PATTERNS_MAX => Ok(Rule {
            category: name,
            patterns: functions.iter().map(|text| Pattern::new(text)).collect(),
        }),
        found => {
            Err(format!("category {name} has {found} functions, 1 to {PATTERNS_MAX} are needed"))
        }
    };
    let rules = category.into_iter().map(rule).collect::<Result<Vec<Rule>, String>>()?;
    Ok(Named { name: title, rules: CategoryRules::new(rules) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functionalities of the thesis' Table 6.3, and leaves of Table 6.2 that the services here have beside them.
    const CATEGORIES: [&str; 12] = [
        "I/O",
        "I/O pre/post processing",
        "compression",
        "serialization",
        "feature extraction",
        "prediction/ranking",
        "application logic",
        "logging",
        "thread pool management",
        "memory",
        "hashing",
        "synchronization",
    ];

    #[test]
    fn every_file_of_rules_is_sound_and_has_the_thesis_categories() {
        for (name, _) in KNOWN {
            let Named { rules, .. } = named(name).unwrap_or_else(|why| panic!("{name}: {why}"));
            for rule in rules.iter() {
                assert!(CATEGORIES.contains(&rule.category.as_str()), "{name}: {}", rule.category);
            }
        }
    }

    #[test]
    fn functions_of_each_program_are_known() {
        let category = |name: &str, function: &str, file: &str| {
            let found = named(name).expect("sound");
            found.rules.category(function, file).map(str::to_owned)
        };
        for (program, function, file, expected) in [
            ("memcached", "assoc_find", "assoc.c", "application logic"),
            ("memcached", "transmit", "memcached.c", "I/O"),
            ("memcached", "process_get_command", "proto_text.c", "serialization"),
            ("redis", "dictFind", "dict.c", "application logic"),
            ("redis", "readQueryFromClient", "networking.c", "I/O"),
            ("tailwater", "tailwater_wire::decode::frame", "x.rs", "serialization"),
            ("tailwater", "tailwater_rt::framing::Incoming::feed", "x.rs", "serialization"),
            ("tailwater", "tailwater_rt::framing::Outgoing::flush", "x.rs", "I/O"),
        ] {
            assert_eq!(category(program, function, file).as_deref(), Some(expected), "{function}");
        }
        // It is around all else, which would be its.
        for (program, file) in [("memcached", "memcached.c"), ("redis", "server.c")] {
            assert_eq!(category(program, "main", file), None);
        }
    }

    #[test]
    fn what_is_no_file_of_rules_is_told() {
        for (text, why) in [
            ("title = 'x'\ncategory = []", "0 categories found"),
            ("title = 'x'\n[[category]]\nname = 'a'\nfunctions = []", "category a has 0 functions"),
            ("title = 'x'\n[[category]]\nname = 'a'\nglobs = ['b']", "unknown field"),
        ] {
            let found = parse(text).expect_err("refused");
            assert!(found.contains(why), "{found}");
        }
        let missing = named("no-such-rules").expect_err("refused");
        assert!(missing.contains("one of tailwater, memcached, redis is needed"), "{missing}");
    }
}
