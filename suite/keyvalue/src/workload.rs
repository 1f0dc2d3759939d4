//! Facebook's workloads USR and VAR, as Protego's evaluation uses them (Cho et al., NSDI '23, §5.3, §5.5).
//!
//! The shares of GETs and of popular keys are Protego's. Sizes it takes "approximately" from Facebook's
//! pools (Atikoglu et al., SIGMETRICS '12, §3.2; Xu et al., IEEE Internet Computing 2014): USR's keys have
//! 16 or 21 bytes and its values 2; 90 % of VAR's keys have 31 bytes. Nothing else is published in numbers, so the
//! rest is ours. USR's two lengths are equally frequent, and VAR's other keys have 20 to 64 bytes. VAR's values are
//! exponential, between 16 and 4,096 bytes, with a 90th percentile of 500: the same source puts 90 % of all pools'
//! values but ETC's below that. An item keeps its size.
//!
//! Every value is computed from its key and a tag, so that each reader can check it.

use tailwater_core::Rng;
use tailwater_core::fnv::{START, fnv1a};

/// Which share of which requests goes to which keys, and how large those are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mix {
    /// Share of GETs; the rest are SETs.
    pub gets: f64,
    /// The popular keys' share of all keys.
    pub popular_keys: f64,
    /// The share of requests that goes to them.
    pub popular_requests: f64,
    sizes: Sizes,
}

/// User-account status: 99.8 % GET, 20 % of the keys take 80 % of the requests.
pub const USR: Mix =
    Mix { gets: 0.998, popular_keys: 0.2, popular_requests: 0.8, sizes: Sizes::Usr };
/// Server-side browser information: 82 % SET, 10 % of the keys take 90 % of the requests.
pub const VAR: Mix =
    Mix { gets: 0.18, popular_keys: 0.1, popular_requests: 0.9, sizes: Sizes::Var };

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sizes {
    Usr,
    Var,
}

/// Mean of an exponential distribution whose 90th percentile is 500: 500 / ln 10.
const VAR_MEAN_BYTES: f64 = 217.1;

/// A request of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drawn {
    /// The key's number.
    pub key: u32,
    /// A GET, or else a SET.
    pub is_get: bool,
}

impl Mix {
    /// A request to one of so many keys. The popular ones have the lowest numbers.
    pub fn draw(&self, keys: u32, chance: &mut Rng) -> Drawn {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below keys")]
        let popular = ((f64::from(keys) * self.popular_keys) as u32).max(1);
        let is_popular = popular == keys || chance.chance(self.popular_requests);
        let key =
            if is_popular { chance.below(popular) } else { popular + chance.below(keys - popular) };
        Drawn { key, is_get: chance.chance(self.gets) }
    }

    /// Appends the key of this number: its number and a filling.
    pub fn key(&self, number: u32, out: &mut Vec<u8>) {
        let mut chance = Rng::from_seed(u64::from(number));
        let len = match self.sizes {
            Sizes::Usr if chance.chance(0.5) => 16,
            Sizes::Usr => 21,
            Sizes::Var if chance.chance(0.9) => 31,
            Sizes::Var => 20 + chance.below(45) as usize,
        };
        let end = out.len() + len;
        out.extend(
            (0..8).rev().map(|digit| b"0123456789abcdef"[(number >> (4 * digit)) as usize % 16]),
        );
        out.resize(end, b'k');
    }

    /// Appends the value that belongs to this key and tag.
    pub fn value(&self, key: &[u8], tag: u32, out: &mut Vec<u8>) {
        let mut chance = Rng::from_seed(fnv1a(START, key.iter().copied()));
        let len = self.value_len(&mut chance);
        let mut content = Rng::from_seed(chance.u64() ^ u64::from(tag));
        let end = out.len() + len;
        while out.len() < end {
            out.extend_from_slice(&content.u64().to_le_bytes());
        }
        out.truncate(end);
    }

    /// Whether `value` belongs to this key and tag. Of USR's two bytes a wrong value in 65,536 passes.
    #[must_use]
    pub fn is_value(&self, key: &[u8], tag: u32, value: &[u8]) -> bool {
        let mut expected = Vec::with_capacity(value.len() + 8);
        self.value(key, tag, &mut expected);
        expected == value
    }

    fn value_len(&self, chance: &mut Rng) -> usize {
        match self.sizes {
            Sizes::Usr => 2,
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
            Sizes::Var => chance.exponential(VAR_MEAN_BYTES).clamp(16.0, 4_096.0) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: u32 = 10_000;

    fn share(of: impl Fn(Drawn) -> bool, mix: Mix) -> f64 {
        let mut chance = Rng::from_seed(3);
        let count = (0..200_000).filter(|_| of(mix.draw(KEYS, &mut chance))).count();
        count as f64 / 200_000.0
    }

    #[test]
    fn shares_are_the_papers() {
        assert!((share(|drawn| drawn.is_get, USR) - 0.998).abs() < 0.001);
        assert!((share(|drawn| drawn.is_get, VAR) - 0.18).abs() < 0.005);
        assert!((share(|drawn| drawn.key < 2_000, USR) - 0.8).abs() < 0.005);
        assert!((share(|drawn| drawn.key < 1_000, VAR) - 0.9).abs() < 0.005);
        assert!((share(|drawn| drawn.key >= KEYS, VAR)).abs() < f64::EPSILON);
    }

    #[test]
    fn sizes_are_the_sources() {
        let of = |mix: Mix| -> Vec<(usize, usize)> {
            let pair = |number| {
                let (mut key, mut value) = (Vec::new(), Vec::new());
                mix.key(number, &mut key);
                mix.value(&key, 0, &mut value);
                (key.len(), value.len())
            };
            (0..KEYS).map(pair).collect()
        };
        assert!(of(USR).iter().all(|(key, value)| [16, 21].contains(key) && *value == 2));
        let var = of(VAR);
        let part = |is: &dyn Fn(&&(usize, usize)) -> bool| {
            var.iter().filter(is).count() as f64 / f64::from(KEYS)
        };
        assert!((part(&|(key, _)| *key == 31) - 0.9).abs() < 0.02);
        assert!((part(&|(_, value)| *value <= 500) - 0.9).abs() < 0.02);
        assert!(var.iter().all(|(key, value)| *key <= 64 && (16..=4_096).contains(value)));
    }

    #[test]
    fn a_value_belongs_to_one_key_and_one_tag() {
        for mix in [USR, VAR] {
            let (mut key, mut other, mut value) = (Vec::new(), Vec::new(), Vec::new());
            mix.key(7, &mut key);
            mix.key(8, &mut other);
            mix.value(&key, 5, &mut value);
            assert!(mix.is_value(&key, 5, &value));
            assert!(!mix.is_value(&key, 6, &value) && !mix.is_value(&other, 5, &value));
            assert_ne!(key, other);
        }
    }
}
