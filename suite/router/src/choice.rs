//! Which replica is asked.

use tailwater_core::Rng;

/// How a get chooses among the replicas of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// By chance, as the thesis says (§2.2.2).
    Random,
    /// The one that was asked longest ago.
    LeastRecentlyUsed,
    /// The first in the key's order: all gets of a key go to one node while it lives. The published code does this
    /// whatever lives.
    FirstAlive,
}

impl Choice {
    /// Every one, with the word for it.
    pub const ALL: [(&str, Self); 3] = [
        ("random", Self::Random),
        ("least-recently-used", Self::LeastRecentlyUsed),
        ("first-alive", Self::FirstAlive),
    ];
}

/// Chooses, and remembers what was asked.
#[derive(Debug)]
pub struct Chooser {
    choice: Choice,
    seed: u64,
    /// For each node, the number of the last get that went to it.
    asked: Vec<u64>,
    gets: u64,
}

impl Chooser {
    /// Among so many nodes. The seed decides what is chance.
    #[must_use]
    pub fn new(choice: Choice, nodes: usize, seed: u64) -> Self {
        let seed = Rng::from_seed(seed).split("replicas").u64();
        Self { choice, seed, asked: vec![0; nodes], gets: 0 }
    }

    /// One of the replicas that may be asked; `None` without any.
    pub fn choose(&mut self, replicas: &[u16], may: impl Fn(u16) -> bool) -> Option<u16> {
        self.gets += 1;
        let alive = || replicas.iter().copied().filter(|node| may(*node));
        let node = match self.choice {
            Choice::FirstAlive => alive().next(),
            Choice::LeastRecentlyUsed => alive().min_by_key(|node| self.asked[usize::from(*node)]),
            Choice::Random => {
                let count = alive().count() as u32;
                let place = Rng::from_seed(self.seed.wrapping_add(self.gets)).below(count);
                alive().nth(place as usize)
            }
        }?;
        self.asked[usize::from(node)] = self.gets;
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLICAS: [u16; 3] = [4, 1, 6];

    fn counts(choice: Choice, may: impl Fn(u16) -> bool + Copy) -> [usize; 3] {
        let mut chooser = Chooser::new(choice, 8, 1);
        let chosen: Vec<_> = (0..900).map(|_| chooser.choose(&REPLICAS, may)).collect();
        REPLICAS.map(|node| chosen.iter().filter(|it| **it == Some(node)).count())
    }

    #[test]
    fn each_choice_is_what_its_name_says() {
        let random = counts(Choice::Random, |_| true);
        assert!(random.iter().all(|count| (250..350).contains(count)), "{random:?}");
        assert_eq!(counts(Choice::LeastRecentlyUsed, |_| true), [300; 3]);
        assert_eq!(counts(Choice::FirstAlive, |_| true), [900, 0, 0]);
    }

    #[test]
    fn what_may_not_be_asked_is_not() {
        for (_, choice) in Choice::ALL {
            assert_eq!(counts(choice, |node| node != 4)[0], 0, "{choice:?}");
            assert_eq!(counts(choice, |node| node == 6), [0, 0, 900]);
            assert_eq!(counts(choice, |_| false), [0; 3]);
        }
    }
}
