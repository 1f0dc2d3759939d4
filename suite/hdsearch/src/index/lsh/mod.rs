//! Locality-sensitive hashing: several tables, and several buckets of each.
//!
//! A bit of a hash says on which side of a random hyperplane a point lies (Charikar, "Similarity estimation
//! techniques from rounding algorithms", STOC '02); the planes go through the mean of the points, since vectors of
//! words and images do not lie around zero. Which buckets beside its own a query tries follows from its distances
//! to the planes (Lv et al., "Multi-probe LSH", VLDB '07, §4: query-directed probing). The published code flips
//! bits by their number instead (FLANN's probe levels).

mod planes;
mod probes;

use super::{Buckets, Candidates, Index};
use crate::parts::each;
use crate::placement::Placement;
use planes::Planes;
pub use probes::PROBES_MAX;
use std::fmt;
use std::sync::Arc;
use tailwater_kernels::{Rows, Table};

/// What an LSH index is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Tables, 1 to [`TABLES_MAX`]: more find more, at their cost in memory and time.
    pub tables: usize,
    /// Bits of a hash, 1 to [`BITS_MAX`]: more make buckets smaller.
    pub bits: usize,
    /// Buckets of each table that are looked into, 1 to [`PROBES_MAX`].
    pub probes: usize,
}

/// Most tables.
pub const TABLES_MAX: usize = 64;

/// Most bits of a hash: buckets of a point each, for sets up to 16 million points.
pub const BITS_MAX: usize = 24;

/// Points hashed, whatever leaves they will lie on.
#[derive(Clone, Debug)]
pub struct Hashed {
    bits: usize,
    planes: Arc<Planes>,
    /// The bucket of each point, by table.
    hashes: Vec<Vec<u32>>,
}

impl Hashed {
    /// Hashes all points. The seed decides the planes; the same planes come first whatever the number of tables.
    ///
    /// # Errors
    /// Settings out of their bounds.
    pub fn new(points: Rows<'_>, settings: Settings, seed: u64) -> Result<Self, BadSettings> {
        settings.check(1)?;
        let Settings { tables, bits, .. } = settings;
        let planes = Arc::new(Planes::new(points, tables * bits, seed));
        let mut hashes = vec![Vec::with_capacity(points.count()); tables];
        let mut margins = Vec::new();
        for point in points.all() {
            planes.margins(point, &mut margins);
            for (hashes, margins) in hashes.iter_mut().zip(margins.chunks_exact(bits)) {
                hashes.push(hash(margins));
            }
        }
        Ok(Self { bits, planes, hashes })
    }

    /// Of what [`Self::parts`] gave. `None` if it cannot be that.
    #[must_use]
    pub fn of_parts(bits: usize, parts: (Table, Vec<f32>), hashes: Vec<Vec<u32>>) -> Option<Self> {
        let (normals, offsets) = parts;
        let tables = hashes.len();
        let fits = (1..=TABLES_MAX).contains(&tables)
            && (1..=BITS_MAX).contains(&bits)
            && offsets.len() == tables * bits
            && normals.rows().count() == tables * bits
            && hashes.iter().all(|table| table.len() == hashes[0].len())
            && hashes.iter().flatten().all(|&hash| hash < 1 << bits);
        fits.then(|| Self { bits, planes: Arc::new(Planes::of_parts(normals, offsets)), hashes })
    }

    /// The planes' normals and offsets, and the bucket of each point by table: to be written to a file.
    #[must_use]
    pub fn parts(&self) -> ((Rows<'_>, &[f32]), &[Vec<u32>]) {
        (self.planes.parts(), &self.hashes)
    }

    /// How many points were hashed.
    #[must_use]
    pub fn points(&self) -> usize {
        self.hashes[0].len()
    }
}

/// The index.
#[derive(Clone, Debug)]
pub struct Lsh {
    settings: Settings,
    planes: Arc<Planes>,
    tables: Vec<Arc<Buckets>>,
}

impl Lsh {
    /// Of points that were hashed with as many bits and as many tables or more.
    ///
    /// # Errors
    /// Settings out of their bounds, or beyond what was hashed.
    pub fn new(
        hashed: &Hashed,
        placement: Placement,
        settings: Settings,
    ) -> Result<Self, BadSettings> {
        settings.check(placement.leaves())?;
        if settings.bits != hashed.bits || settings.tables > hashed.hashes.len() {
            return Err(BadSettings(settings));
        }
        let buckets = 1 << settings.bits;
        let table = |at: usize| Arc::new(Buckets::new(buckets, placement, &hashed.hashes[at]));
        let tables = each(settings.tables, table);
        Ok(Self { settings, planes: Arc::clone(&hashed.planes), tables })
    }

    /// The same tables with other settings: fewer of them, or other numbers of buckets that are looked into.
    ///
    /// # Errors
    /// More tables than there are, other bits, or settings out of their bounds.
    pub fn with(&self, settings: Settings) -> Result<Self, BadSettings> {
        settings.check(1)?;
        if settings.bits != self.settings.bits || settings.tables > self.tables.len() {
            return Err(BadSettings(settings));
        }
        Ok(Self { settings, ..self.clone() })
    }
}

impl Index for Lsh {
    fn look_up(&self, query: &[f32], candidates: &mut Candidates) {
        let Settings { tables, bits, probes } = self.settings;
        let mut margins = Vec::new();
        self.planes.first_margins(query, tables * bits, &mut margins);
        for (buckets, margins) in self.tables[..tables].iter().zip(margins.chunks_exact(bits)) {
            let own = hash(margins);
            probes::of(margins, probes, |flipped| candidates.add(buckets, own ^ flipped));
        }
    }

    fn bytes(&self) -> usize {
        self.planes.bytes()
            + self.tables[..self.settings.tables].iter().map(|table| table.bytes()).sum::<usize>()
    }
}

/// Bit i: the point lies on the positive side of plane i.
fn hash(margins: &[f32]) -> u32 {
    margins.iter().rev().fold(0, |hash, &margin| hash << 1 | u32::from(margin > 0.0))
}

/// Settings beyond a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadSettings(Settings);

impl Settings {
    /// Whether there can be an index with these, of points on so many leaves.
    ///
    /// # Errors
    /// When there cannot.
    pub fn check(self, leaves: usize) -> Result<(), BadSettings> {
        let fits = (1..=TABLES_MAX).contains(&self.tables)
            && (1..=BITS_MAX).contains(&self.bits)
            && (1..=PROBES_MAX).contains(&self.probes)
            && leaves << self.bits <= Buckets::ENTRIES_MAX;
        if fits { Ok(()) } else { Err(BadSettings(self)) }
    }
}

impl fmt::Display for BadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { tables, bits, probes } = self.0;
        write!(
            f,
            "found {tables} tables, {bits} bits and {probes} probes; those that were hashed, 1 to {TABLES_MAX}, 1 to {BITS_MAX} \
             and 1 to {PROBES_MAX} are needed, and at most {} buckets times leaves",
            Buckets::ENTRIES_MAX
        )
    }
}

impl std::error::Error for BadSettings {}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tables of {} bits, {} probes", self.tables, self.bits, self.probes)
    }
}
