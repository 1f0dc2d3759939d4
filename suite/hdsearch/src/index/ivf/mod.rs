//! An inverted file: points are clustered, and a query looks into the clusters whose centres are nearest. The source
//! is Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", TPAMI 2011, §4, without its codes.
//! The thesis names clustering beside hashing (§2.2.1); µSuite has hashing alone.

mod clusters;

use super::{Buckets, Candidates, Index};
use crate::nearest::{Found, nearest};
use crate::placement::Placement;
pub use clusters::{Training, centres};
use std::fmt;
use std::sync::Arc;
use tailwater_kernels::{Kernels, Rows, Table};

/// What an IVF index is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Clusters, 1 to [`LISTS_MAX`] and not more than there are points.
    pub lists: usize,
    /// Clusters that are looked into, 1 to `lists`.
    pub probes: usize,
}

/// Most clusters.
pub const LISTS_MAX: usize = 1 << 16;

/// Points in clusters, whatever leaves they will lie on.
#[derive(Clone, Debug)]
pub struct Clustered {
    centres: Arc<Table>,
    /// The list of each point.
    list_of: Vec<u32>,
}

impl Clustered {
    /// Finds so many centres as `training` says, and puts each point into the list of its nearest.
    ///
    /// # Errors
    /// No list, or more than there may be.
    pub fn new(points: Rows<'_>, lists: usize, training: Training) -> Result<Self, BadSettings> {
        let lists_max = LISTS_MAX.min(points.count());
        if !(1..=lists_max).contains(&lists) {
            return Err(BadSettings { settings: Settings { lists, probes: 1 }, lists_max });
        }
        let centres = clusters::centres(points, lists, training);
        let list_of = clusters::nearest_centres(points.all(), centres.rows());
        Ok(Self { centres: Arc::new(centres), list_of })
    }

    /// Of what [`Self::parts`] gave. `None` if it cannot be that.
    #[must_use]
    pub fn of_parts(centres: Table, list_of: Vec<u32>) -> Option<Self> {
        let lists = centres.rows().count();
        let fits =
            (1..=LISTS_MAX).contains(&lists) && list_of.iter().all(|&list| (list as usize) < lists);
        fits.then(|| Self { centres: Arc::new(centres), list_of })
    }

    /// The centres, and the list of each point: to be written to a file.
    #[must_use]
    pub fn parts(&self) -> (Rows<'_>, &[u32]) {
        (self.centres.rows(), &self.list_of)
    }

    /// How many points there are.
    #[must_use]
    pub const fn points(&self) -> usize {
        self.list_of.len()
    }
}

/// The index.
#[derive(Clone, Debug)]
pub struct Ivf {
    kernels: Kernels,
    probes: usize,
    centres: Arc<Table>,
    buckets: Arc<Buckets>,
}

impl Ivf {
    /// Of points in clusters, so many of which are looked into.
    ///
    /// # Errors
    /// As [`Self::with`].
    pub fn new(
        clustered: &Clustered,
        placement: Placement,
        probes: usize,
    ) -> Result<Self, BadSettings> {
        let centres = Arc::clone(&clustered.centres);
        let buckets = Buckets::new(centres.rows().count(), placement, &clustered.list_of);
        let (kernels, buckets) = (Kernels::best(), Arc::new(buckets));
        Self { kernels, probes, centres, buckets }.with(probes)
    }

    /// The same index, of which so many lists are looked into.
    ///
    /// # Errors
    /// None, or more than there are.
    pub fn with(&self, probes: usize) -> Result<Self, BadSettings> {
        let lists = self.centres.rows().count();
        if !(1..=lists).contains(&probes) {
            return Err(BadSettings { settings: Settings { lists, probes }, lists_max: lists });
        }
        Ok(Self { probes, ..self.clone() })
    }
}

impl Index for Ivf {
    fn look_up(&self, query: &[f32], candidates: &mut Candidates) {
        let mut distances = Vec::new();
        self.kernels.distances(query, self.centres.rows(), &mut distances);
        let lists =
            distances.into_iter().zip(0..).map(|(distance, point)| Found { point, distance });
        for list in nearest(lists, self.probes) {
            candidates.add(&self.buckets, list.point);
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(self.centres.rows().values()) + self.buckets.bytes()
    }
}

/// Settings beyond a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadSettings {
    settings: Settings,
    lists_max: usize,
}

impl fmt::Display for BadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Settings { lists, probes }, max) = (self.settings, self.lists_max);
        write!(f, "found {lists} lists and {probes} probes; ")?;
        write!(f, "1 to {max} lists, and no more probes than lists, are needed")
    }
}

impl std::error::Error for BadSettings {}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lists, {} probes", self.lists, self.probes)
    }
}
