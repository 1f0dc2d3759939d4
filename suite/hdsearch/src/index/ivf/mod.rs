//! An inverted file: points are clustered, and a query looks into the clusters whose centres are nearest. The source
//! is Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", TPAMI 2011, §4, without its codes.
//! The thesis names clustering beside hashing (§2.2.1); µSuite has hashing alone.
//!
//! Clusters decide the order of the points: those of a list have positions one behind the other. So a list is a range on
//! each leaf, and a leaf reads its vectors as they lie in memory.

mod clusters;

use super::{Candidates, Index};
use crate::nearest::{Found, nearest};
use crate::placement::Order;
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
    order: Order,
    /// The position at which each list begins, and that at which the last one ends.
    starts: Arc<Vec<u32>>,
}

impl Clustered {
    /// Finds so many centres as `training` says, and puts each point into the list of its nearest. Lists have their points
    /// in the order of the set.
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
        let order = Order::by(&list_of);
        let before = |list: u32, point: u32| list_of[point as usize] < list;
        let start = |list| order.points().partition_point(|&point| before(list, point)) as u32;
        let starts = Arc::new((0..=lists as u32).map(start).collect());
        Ok(Self { centres: Arc::new(centres), order, starts })
    }

    /// Of what [`Self::parts`] gave. `None` if it cannot be that.
    #[must_use]
    pub fn of_parts(centres: Table, order: Order, starts: Vec<u32>) -> Option<Self> {
        let lists = centres.rows().count();
        let fits = (1..=LISTS_MAX).contains(&lists)
            && starts.len() == lists + 1
            && starts[0] == 0
            && starts[lists] as usize == order.points().len()
            && starts.is_sorted();
        fits.then(|| Self { centres: Arc::new(centres), order, starts: Arc::new(starts) })
    }

    /// The centres, the point of each position, and the positions at which lists begin: to be written to a file.
    #[must_use]
    pub fn parts(&self) -> (Rows<'_>, &Order, &[u32]) {
        (self.centres.rows(), &self.order, &self.starts)
    }

    /// How many points there are.
    #[must_use]
    pub fn points(&self) -> usize {
        self.order.points().len()
    }
}

/// The index.
#[derive(Clone, Debug)]
pub struct Ivf {
    kernels: Kernels,
    probes: usize,
    centres: Arc<Table>,
    starts: Arc<Vec<u32>>,
}

impl Ivf {
    /// Of points in clusters, so many of which are looked into.
    ///
    /// # Errors
    /// As [`Self::with`].
    pub fn new(clustered: &Clustered, probes: usize) -> Result<Self, BadSettings> {
        let Clustered { centres, starts, .. } = clustered;
        let (centres, starts) = (Arc::clone(centres), Arc::clone(starts));
        Self { kernels: Kernels::best(), probes, centres, starts }.with(probes)
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
        let mut nearest: Vec<u32> =
            nearest(lists, self.probes).into_iter().map(|list| list.point).collect();
        // By rising positions, as ranges of candidates come; those of neighbouring lists become one.
        nearest.sort_unstable();
        for list in nearest {
            let list = list as usize;
            candidates.add_range(&(self.starts[list]..self.starts[list + 1]));
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(self.centres.rows().values()) + size_of_val(&self.starts[..])
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
