//! Stacks, as the folded format has them: by which the other formats are judged.

use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Time of each stack, in nanoseconds.
#[derive(PartialEq, Debug)]
pub(crate) struct Stacks(BTreeMap<Vec<String>, u64>);

impl Stacks {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Self::of(&text)
    }

    fn of(text: &str) -> Result<Self> {
        let stack = |line: &str| {
            let (path, ns) = line.rsplit_once(' ')?;
            Some((path.split(';').map(str::to_owned).collect(), ns.parse().ok()?))
        };
        let stacks =
            text.lines().map(|line| stack(line).ok_or_else(|| format!("no stack: {line}")));
        let stacks: BTreeMap<Vec<String>, u64> = stacks.collect::<Result<_>>()?;
        if stacks.is_empty() { Err("no stacks were exported".into()) } else { Ok(Self(stacks)) }
    }

    pub(crate) fn total_ns(&self) -> u64 {
        self.0.values().sum()
    }

    /// Time that each function took itself.
    pub(crate) fn itself(&self) -> BTreeMap<&str, u64> {
        let mut itself = BTreeMap::new();
        for (path, ns) in &self.0 {
            *itself.entry(path.last().map_or("", String::as_str)).or_default() += ns;
        }
        itself
    }

    /// Places in the tree of calls.
    pub(crate) fn nodes(&self) -> usize {
        let paths = self.0.keys().flat_map(|path| (1..=path.len()).map(|depth| &path[..depth]));
        paths.collect::<BTreeSet<_>>().len()
    }

    pub(crate) fn told(&self) -> String {
        let (functions, ns) = (self.itself().len(), self.total_ns());
        format!("Exported: {ns} ns in {} stacks of {functions} functions.", self.0.len())
    }
}

/// A name as the folded format has it: what separates there is replaced.
pub(crate) fn folded(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_have_times_of_functions_and_places() {
        let stacks = Stacks::of("a 1\na;b c 20\na;d;b c 300\n").unwrap();
        assert_eq!(stacks.total_ns(), 321);
        assert_eq!(stacks.itself(), BTreeMap::from([("a", 1), ("b c", 320)]));
        assert_eq!(stacks.nodes(), 4);
        assert!(Stacks::of("").is_err() && Stacks::of("a b\n").is_err());
    }
}
