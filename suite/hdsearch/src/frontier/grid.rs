//! Which settings are tried.

use crate::index::Index;
use crate::index::ivf::{self, Clustered, Ivf, Training};
use crate::index::lsh::{self, Hashed, Lsh};
use crate::oracle::{ByClusters, ByHashes, LookUp};
use crate::placement::{Order, Placement};
use tailwater_kernels::Rows;

/// Settings, of which every combination is tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    /// Bits of hashes; an index is built for each.
    pub bits: Vec<usize>,
    /// Tables of hashes.
    pub tables: Vec<usize>,
    /// Buckets of each table that are looked into.
    pub lsh_probes: Vec<usize>,
    /// Clusters; an index is built for each.
    pub lists: Vec<usize>,
    /// Clusters that are looked into.
    pub ivf_probes: Vec<usize>,
}

/// One index to be built, for several choices of settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Build {
    /// Hashes of so many bits.
    Lsh(usize),
    /// So many clusters.
    Ivf(usize),
}

/// What was built.
pub struct Built {
    /// How points must lie on leaves.
    pub order: Order,
    /// The index with each choice of settings.
    pub tried: Vec<Tried>,
}

/// An index that is tried.
pub struct Tried {
    /// `lsh` or `ivf`.
    pub name: &'static str,
    /// Its settings in words.
    pub settings: String,
    /// It.
    pub index: Box<dyn Index>,
    /// What it must find.
    pub look_up: Box<dyn LookUp>,
}

impl Grid {
    /// For a set of so many points: hashes with some ten to hundreds of points a bucket, clusters of some
    /// hundred points to a thousand.
    #[must_use]
    pub fn for_points(points: usize) -> Self {
        let bits = (points.max(64) / 32).ilog2() as usize;
        let lists = [points / 1_600, points / 400];
        Self {
            bits: [bits.saturating_sub(4).max(2), bits.saturating_sub(1).max(3), bits + 2].into(),
            tables: vec![1, 4, 8, 16],
            lsh_probes: vec![1, 8, 16, 32, 48, 64, 128],
            lists: lists.into_iter().filter(|&lists| lists > 1).collect(),
            ivf_probes: vec![1, 2, 4, 8, 16, 24, 28, 32, 48, 64, 128],
        }
    }

    /// The indexes to be built.
    #[must_use]
    pub fn builds(&self) -> Vec<Build> {
        let lsh = self.bits.iter().map(|&bits| Build::Lsh(bits));
        lsh.chain(self.lists.iter().map(|&lists| Build::Ivf(lists))).collect()
    }

    /// Builds one for each choice of settings.
    ///
    /// # Errors
    /// A sentence that says which settings are out of their bounds.
    pub fn build(
        &self,
        build: &Build,
        points: Rows<'_>,
        placement: Placement,
        seed: u64,
    ) -> Result<Built, String> {
        match *build {
            Build::Lsh(bits) => {
                self.lsh(bits, points, placement, seed).map_err(|error| error.to_string())
            }
            Build::Ivf(lists) => self.ivf(lists, points, seed).map_err(|error| error.to_string()),
        }
    }

    fn lsh(
        &self,
        bits: usize,
        points: Rows<'_>,
        placement: Placement,
        seed: u64,
    ) -> Result<Built, lsh::BadSettings> {
        let most = self.tables.iter().copied().max().unwrap_or(1);
        let all = lsh::Settings { tables: most, bits, probes: 1 };
        let hashed = Hashed::new(points, all, seed)?;
        let index = Lsh::new(&hashed, placement, all)?;
        let look_up = ByHashes::new(points, &hashed, all);
        let each = self.tables.iter().flat_map(|&tables| {
            self.lsh_probes.iter().map(move |&probes| lsh::Settings { tables, bits, probes })
        });
        // Buckets that are not there cannot be looked into.
        let each = each.filter(|settings| settings.probes <= 1 << bits).map(|settings| {
            let look_up = look_up.with(settings.tables, settings.probes);
            Ok(Tried {
                name: "lsh",
                settings: settings.to_string(),
                index: Box::new(index.with(settings)?),
                look_up: Box::new(look_up),
            })
        });
        let tried = each.collect::<Result<Vec<_>, lsh::BadSettings>>()?;
        Ok(Built { order: Order::as_given(points.count() as u32), tried })
    }

    fn ivf(&self, lists: usize, points: Rows<'_>, seed: u64) -> Result<Built, ivf::BadSettings> {
        let training = Training { seed, ..Training::default() };
        let clustered = Clustered::new(points, lists, training)?;
        let index = Ivf::new(&clustered, 1)?;
        let look_up = ByClusters::new(points, &clustered, 1);
        let each = self.ivf_probes.iter().filter(|&&probes| probes <= lists);
        let each = each.map(|&probes| {
            let settings = ivf::Settings { lists, probes };
            Ok(Tried {
                name: "ivf",
                settings: settings.to_string(),
                index: Box::new(index.with(probes)?),
                look_up: Box::new(look_up.with(probes)),
            })
        });
        let tried = each.collect::<Result<Vec<_>, ivf::BadSettings>>()?;
        Ok(Built { order: clustered.parts().1.clone(), tried })
    }
}
