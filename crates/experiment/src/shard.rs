//! A part of an experiment's runs, for machines that share the work.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::str::FromStr;
use tailwater_stats::result::ShardMark;
use tailwater_workload::Scenario;

/// Every `of`'th pair of configuration and controller, from the `index`'th on, with all its repetitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    index: u32,
    of: u32,
}

/// Most shards of one experiment.
const OF_MAX: u32 = 100_000;

/// Arguments, of which some would be rounded differently by another library.
const ARITHMETIC_SAMPLES: u32 = 2_000;

impl Shard {
    /// Everything.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Shard `index`, from 0, of so many; `None` where there is none such.
    #[must_use]
    pub fn new(index: u32, of: u32) -> Option<Self> {
        ((1..=OF_MAX).contains(&of) && index < of).then_some(Self { index, of })
    }

    /// Which it is, from 0.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// How many there are.
    #[must_use]
    pub const fn of(self) -> u32 {
        self.of
    }

    /// By which [`crate::merge`] knows the shards of one result: nothing but a file's name and place may differ.
    /// `build` tells the program from every other.
    #[must_use]
    pub fn mark(self, scenario: &Scenario, build: String) -> ShardMark {
        let mut digest = DefaultHasher::new();
        (&scenario.text, format!("{:?}", scenario.files)).hash(&mut digest);
        let numbers = (scenario.seed, scenario.repetitions, scenario.duration, scenario.warm_up);
        numbers.hash(&mut digest);
        arithmetic().hash(&mut digest);
        ShardMark {
            index: self.index,
            of: self.of,
            pairs: pairs_of(scenario),
            repetitions: scenario.repetitions,
            digest: format!("{:016x}", digest.finish()),
            build,
        }
    }

    /// How many runs it has of a scenario.
    #[must_use]
    pub fn runs(self, scenario: &Scenario) -> u64 {
        u64::from(self.share_of(pairs_of(scenario))) * u64::from(scenario.repetitions)
    }

    /// How many of so many pairs are of this shard.
    pub(crate) const fn share_of(self, pairs: u32) -> u32 {
        pairs / self.of + (self.index < pairs % self.of) as u32
    }

    /// Whether the pair with this number, from 0 and in the result's order, is of this shard.
    pub(crate) const fn holds(self, pair: usize) -> bool {
        pair % self.of as usize == self.index as usize
    }
}

/// Of configuration and controller.
fn pairs_of(scenario: &Scenario) -> u32 {
    (scenario.configurations().len() * scenario.controllers.len()) as u32
}

/// The last bits of this machine's elementary functions: the system's library may choose others by the kind of CPU, and
/// a simulation amplifies them.
fn arithmetic() -> Vec<u64> {
    let of = |x: f64| [x.ln(), x.exp(), x.sin(), x.powf(-0.7)];
    (1..=ARITHMETIC_SAMPLES).flat_map(|at| of(f64::from(at) / 97.0)).map(f64::to_bits).collect()
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let shard =
            numbers.and_then(|(index, of)| Self::new(index.parse().ok()?, of.parse().ok()?));
        shard.ok_or_else(|| {
            format!(
                "I/N is needed, with N from 1 to {OF_MAX} and I from 0 to N − 1, such as 0/4 for the first of four"
            )
        })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_of_one_shard() {
        for of in 1..6 {
            for pair in 0..20 {
                let holds = |index: &u32| Shard::new(*index, of).unwrap().holds(pair);
                assert_eq!((0..of).filter(holds).count(), 1);
            }
            for index in 0..of {
                let shard = Shard::new(index, of).unwrap();
                let held = (0..20).filter(|pair| shard.holds(*pair)).count();
                assert_eq!(shard.share_of(20) as usize, held, "{shard}");
            }
        }
        assert!((0..20).all(|pair| Shard::WHOLE.holds(pair)));
    }

    #[test]
    fn all_shards_together_have_the_runs_of_the_scenario() {
        let text = r#"
slo = ["1ms", "2ms"]
duration = "20ms"
repetitions = 3
clients.count = 10
demand.of_capacity = [0.5, 1.0]
controller = [{ name = "none" }, { name = "breakwater" }]
server.service = { distribution = "constant", mean = "10us" }
"#;
        let scenario = Scenario::parse("x.toml", text).unwrap_or_else(|error| panic!("{error}"));
        let of = |of: u32| {
            let shards = (0..of).map(|index| Shard::new(index, of).unwrap());
            shards.map(|shard| shard.runs(&scenario)).collect::<Vec<_>>()
        };
        assert_eq!((of(1), of(3)), (vec![24], vec![9, 9, 6]));
        assert_eq!(Shard::WHOLE.runs(&scenario), scenario.runs());
    }

    #[test]
    fn a_word_is_read_back_and_others_are_answered_with_what_is_needed() {
        let shard: Shard = "3/4".parse().unwrap();
        assert_eq!((shard.index(), shard.of(), &*shard.to_string()), (3, 4, "3/4"));
        for wrong in ["", "4/4", "0/0", "1", "-1/4", "1/4/5", "0/100001", "a/b"] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("such as 0/4"), "{wrong}");
        }
    }
}
