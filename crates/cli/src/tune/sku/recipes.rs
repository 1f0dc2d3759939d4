//! Searches that come with the program, so that they can be made from anywhere.

/// One of them: `examples/tuning/NAME.toml`.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Recipe {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// Of the scenario that it names, if it names one.
    pub(super) scenario: Option<&'static str>,
}

static ALL: [Recipe; 4] = [
    Recipe {
        name: "memcached",
        text: include_str!("../../../../../examples/tuning/memcached.toml"),
        scenario: None,
    },
    Recipe {
        name: "redis",
        text: include_str!("../../../../../examples/tuning/redis.toml"),
        scenario: None,
    },
    Recipe {
        name: "key-value",
        text: include_str!("../../../../../examples/tuning/key-value.toml"),
        scenario: Some(include_str!("../../../../../examples/tuning/key-value-block.toml")),
    },
    Recipe {
        name: "setalgebra",
        text: include_str!("../../../../../examples/tuning/setalgebra.toml"),
        scenario: Some(include_str!("../../../../../examples/tuning/setalgebra-block.toml")),
    },
];

pub(super) fn parse(name: &str) -> Result<&'static Recipe, String> {
    ALL.iter().find(|recipe| recipe.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|recipe| recipe.name).collect();
        format!("'{name}' found, one of {} is needed", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::machine::Root;
    use super::super::file::{Described, Wanted};
    use super::*;
    use std::path::Path;

    /// Of a block that measures 3 s, with its start and warm-up.
    const BLOCK_SECONDS: f64 = 4.0;

    /// An hour that has no interval for most of what it tests finds nothing.
    fn has_quads_for_its_values(wanted: &Wanted) {
        let quads = wanted.time.as_secs_f64() / BLOCK_SECONDS / 4.0;
        let values: usize = wanted.values.iter().map(Vec::len).sum();
        let runs = 16 * wanted.replicates;
        let spent = f64::from(wanted.pilot) + (values as f64 + f64::from(runs)) / 4.0;
        let of_one = (0.65 * quads - spent) / (values as f64 / 2.0);
        let least = wanted.rules.level.quads_for_interval();
        let title = &wanted.title;
        assert!(of_one >= f64::from(least), "{of_one} quads for each test of {title}");
        assert!(f64::from(wanted.rules.quads_max) >= of_one, "no cap below them: {title}");
    }

    #[test]
    fn every_recipe_can_be_played_with_each_of_its_values() {
        // Without a machine's files, knobs of the kernel are left out.
        let empty = std::env::temp_dir().join(format!("tailwater-recipes-{}", std::process::id()));
        std::fs::create_dir_all(&empty).expect("a folder of the test's own");
        let root = Root::new(Path::new(&empty)).expect("it is there");
        for recipe in &ALL {
            let described = Described::known(recipe).unwrap_or_else(|why| panic!("{why}"));
            let wanted = described.on(&root).unwrap_or_else(|why| panic!("{why}"));
            assert!(wanted.dials.len() >= 3, "{}", recipe.name);
            has_quads_for_its_values(&wanted);
            assert_eq!(parse(recipe.name).map(|found| found.name), Ok(recipe.name));
        }
        assert!(parse("mysql").is_err_and(|why| why.contains("memcached, redis")));
        std::fs::remove_dir(&empty).expect("it is still empty");
    }
}
