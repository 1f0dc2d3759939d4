//! Whether the locks of a server can be taken in any way that ends.

use super::item::Item;

/// Which locks are taken while which are held, over all paths of a server.
#[derive(Default)]
pub(super) struct Order {
    /// Held now, outermost first.
    held: Vec<String>,
    /// Outer and inner.
    pairs: Vec<(String, String)>,
    /// How many locks each set has.
    sizes: Vec<(String, u32)>,
}

impl Order {
    /// The lock is taken: what would make it wait for itself is a problem.
    pub(super) fn enter(&mut self, item: &Item<'_>, name: &str, among: u32) {
        match self.sizes.iter().find(|(known, _)| known == name) {
            Some((_, size)) if *size != among => item.problem(format!(
                "lock {name} is one of {among} here and one of {size} before; the same number is needed"
            )),
            Some(_) => {}
            None => self.sizes.push((name.into(), among)),
        }
        if self.held.iter().any(|held| held == name) {
            item.problem(format!(
                "lock {name} is taken while it is held, which waits for ever; another lock, or none, \
                 is needed"
            ));
        } else if let Some(outer) = self.held.iter().find(|held| self.reaches(name, held)) {
            item.problem(format!(
                "lock {name} is taken within {outer}, but elsewhere {outer} within {name}, which can \
                 wait for ever; one order is needed"
            ));
        }
        let pair = |outer: &String| (outer.clone(), name.to_owned());
        for pair in self.held.iter().map(pair).collect::<Vec<_>>() {
            if !self.pairs.contains(&pair) {
                self.pairs.push(pair);
            }
        }
        self.held.push(name.into());
    }

    /// The lock that was taken last is released.
    pub(super) fn leave(&mut self) {
        self.held.pop();
    }

    /// Whether `inner` is taken within `outer`, directly or through others.
    fn reaches(&self, outer: &str, inner: &str) -> bool {
        let mut found = vec![outer];
        let mut next = 0;
        while let Some(&from) = found.get(next) {
            next += 1;
            for (_, to) in self.pairs.iter().filter(|(pair, _)| pair == from) {
                if to == inner {
                    return true;
                }
                if !found.contains(&to.as_str()) {
                    found.push(to);
                }
            }
        }
        false
    }
}
