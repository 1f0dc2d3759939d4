//! Vectors that nobody measured, for where no real ones are at hand: what results from them says so.
//!
//! Uniform or normal vectors in many dimensions have no neighbours worth finding: all are equally far. Vectors of
//! words and of images lie near surfaces of few dimensions, in clusters of very different sizes. So here a point
//! has a place in a space of few dimensions, near the centre of its cluster; a fixed map bends that space into the
//! many dimensions; and a little noise moves the point off the surface. What dimension the set has then is
//! measured ([`super::shape`]), not assumed.
//!
//! A vector is a function of the seed and its number, to the bit and on every machine: sums go through the
//! kernels, logarithms through `libm`.

use crate::chance::normal;
use tailwater_core::Rng;
use tailwater_kernels::{Kernels, Table};

/// What the vectors are to resemble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Of words, as GloVe's: values of both signs, none of which is zero.
    Words,
    /// Of images, as the last pooling layer of a network: no value is negative, and many are zero.
    Images,
}

/// How vectors are made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Recipe {
    /// What they are to resemble.
    pub kind: Kind,
    /// Of a vector.
    pub dimensions: usize,
    /// Of the space that is bent into them.
    pub latent: usize,
    /// Clusters; the n-th largest has a share in proportion to 1/√n.
    pub clusters: usize,
    /// Deviation of points from the centre of their cluster; centres have deviation one.
    pub spread: f32,
    /// Deviation of the noise in each dimension, in parts of that of a value.
    pub noise: f32,
}

impl Kind {
    /// As the suite has it, with so many dimensions.
    #[must_use]
    pub const fn recipe(self, dimensions: usize) -> Recipe {
        match self {
            Self::Words => Recipe {
                kind: self,
                dimensions,
                latent: 32,
                clusters: 1_000,
                spread: 1.0,
                noise: 0.2,
            },
            Self::Images => Recipe {
                kind: self,
                dimensions,
                latent: 48,
                clusters: 1_000,
                spread: 0.6,
                noise: 0.1,
            },
        }
    }
}

/// Makes any vector of a set, without those before it.
#[derive(Debug)]
pub struct Generator {
    kernels: Kernels,
    recipe: Recipe,
    /// Decides the points, as the seed decides centres and map.
    points: u64,
    centres: Table,
    /// Sums of the shares of the clusters.
    shares: Vec<f64>,
    /// For each dimension, what it takes of each latent one.
    map: Table,
    /// For each dimension, what is added.
    shifts: Vec<f32>,
}

impl Generator {
    /// By a recipe; `seed` decides everything.
    ///
    /// # Panics
    /// Without dimensions, latent dimensions or clusters: mistakes of the program.
    #[must_use]
    pub fn new(recipe: Recipe, seed: u64) -> Self {
        assert!(recipe.clusters > 0, "one cluster at least is needed");
        let root = Rng::from_seed(seed).split("vectors");
        let mut rng = root.split("centres");
        let mut centres = Table::new(recipe.latent);
        (0..recipe.clusters).for_each(|_| centres.push(&normals(recipe.latent, 1.0, &mut rng)));
        let mut rng = root.split("map");
        // So that a value has deviation one, whatever the number of latent dimensions.
        let scale = 1.0 / libm::sqrtf(recipe.latent as f32 * (1.0 + recipe.spread * recipe.spread));
        let mut map = Table::new(recipe.latent);
        (0..recipe.dimensions).for_each(|_| map.push(&normals(recipe.latent, scale, &mut rng)));
        let shifts = normals(recipe.dimensions, 0.5, &mut rng);
        let mut sum = 0.0;
        let shares = (1..=recipe.clusters).map(|rank| {
            sum += 1.0 / libm::sqrt(rank as f64);
            sum
        });
        let (kernels, points) = (Kernels::best(), root.split("points").seed());
        Self { kernels, recipe, points, centres, shares: shares.collect(), map, shifts }
    }

    /// Of a vector.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.recipe.dimensions
    }

    /// The vector of this number.
    #[must_use]
    pub fn vector(&self, number: u64) -> Vec<f32> {
        // An odd factor keeps seeds of different vectors different. It is not the one by which the generator
        // spreads its own seed.
        let own = self.points ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut rng = Rng::from_seed(own);
        let place = self.map.rows().padded(&self.place(&mut rng));
        let mut values = Vec::with_capacity(self.recipe.dimensions);
        self.kernels.dots(&place, self.map.rows(), &mut values);
        for (value, shift) in values.iter_mut().zip(&self.shifts) {
            let bent = match self.recipe.kind {
                Kind::Words => {
                    let value = *value + shift;
                    value / (1.0 + 0.5 * value.abs())
                }
                Kind::Images => (*value + shift).max(0.0),
            };
            // Uniform, of the deviation that is wanted.
            let noise = 12_f32.sqrt() * (rng.unit() as f32 - 0.5) * self.recipe.noise;
            // An image has nothing where it has nothing.
            let is_silent = self.recipe.kind == Kind::Images && bent == 0.0;
            *value = if is_silent { 0.0 } else { bent + noise };
        }
        values
    }

    /// Where a point lies in the latent space.
    fn place(&self, rng: &mut Rng) -> Vec<f32> {
        let drawn = rng.unit() * self.shares.last().copied().unwrap_or(0.0);
        let cluster = self.shares.partition_point(|&sum| sum <= drawn).min(self.shares.len() - 1);
        let mut place = normals(self.recipe.latent, self.recipe.spread, rng);
        let centre = self.centres.rows().vector(cluster);
        place.iter_mut().zip(centre).for_each(|(value, centre)| *value += centre);
        place
    }
}

fn normals(count: usize, deviation: f32, rng: &mut Rng) -> Vec<f32> {
    (0..count).map(|_| normal(rng) as f32 * deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::fnv::{START, fnv1a};

    #[test]
    fn seed_and_number_decide() {
        let make = |seed, number| Generator::new(Kind::Words.recipe(50), seed).vector(number);
        assert_eq!(make(1, 7), make(1, 7));
        assert_ne!(make(1, 7), make(1, 8));
        assert_ne!(make(1, 7), make(2, 7));
    }

    /// So that a change of the generator, or a machine that rounds otherwise, is seen.
    #[test]
    fn the_bits_are_these() {
        let sum = |kind: Kind, dimensions| {
            let generator = Generator::new(kind.recipe(dimensions), 1);
            let all = (0..100).flat_map(|number| generator.vector(number));
            fnv1a(START, all.flat_map(|value| value.to_bits().to_le_bytes()))
        };
        let sums = (sum(Kind::Words, 50), sum(Kind::Images, 2_048));
        assert_eq!(sums, (17_536_548_149_490_186_034, 3_729_629_595_649_179_033));
    }

    #[test]
    fn images_have_no_negative_values_to_speak_of_and_many_zeros() {
        let generator = Generator::new(Kind::Images.recipe(2_048), 3);
        let values: Vec<f32> = (0..50).flat_map(|number| generator.vector(number)).collect();
        let share = |is: fn(&f32) -> bool| {
            values.iter().filter(|value| is(value)).count() as f64 / values.len() as f64
        };
        assert!((0.35..0.65).contains(&share(|value| *value == 0.0)));
        assert!(share(|value| *value < -0.18) == 0.0, "noise alone is negative");
    }
}
