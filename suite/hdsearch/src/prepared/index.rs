//! An index as sections of a file.

use super::vectors::{bytes_of_table, table, values};
use crate::index::Index;
use crate::index::ivf::{self, Clustered, Ivf, Training};
use crate::index::lsh::{self, Hashed, Lsh};
use crate::oracle::{ByClusters, ByHashes, LookUp};
use crate::placement::{Order, Placement};
use tailwater_data::numbers::bytes_of_u32;
use tailwater_data::{Content, Data, DataError};
use tailwater_kernels::Rows;

/// Raised when what is made of the same settings changes; older files are made anew.
pub(super) const KIND: &str = "hdsearch index 2";

const OTHER_KIND: &str = "found an index of another kind";

const NORMALS: &str = "planes";
const OFFSETS: &str = "offsets";
const CENTRES: &str = "centres";
const ORDER: &str = "order of points";
const STARTS: &str = "starts of lists";

/// Which index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// By hashes.
    Lsh(lsh::Settings),
    /// By clusters.
    Ivf(ivf::Settings),
}

/// What of it does not depend on the leaves.
#[derive(Debug)]
pub enum Made {
    /// Points hashed.
    Lsh(Hashed),
    /// Points in clusters.
    Ivf(Clustered),
}

impl Chosen {
    /// In the names of files: what the index is made by.
    pub(super) fn name(self) -> String {
        match self {
            Self::Lsh(lsh::Settings { tables, bits, .. }) => {
                format!("lsh-{tables}tables-{bits}bits")
            }
            Self::Ivf(ivf::Settings { lists, .. }) => format!("ivf-{lists}lists"),
        }
    }

    /// How many buckets are looked into: of each table, or in all.
    pub(super) const fn probes(self) -> usize {
        match self {
            Self::Lsh(settings) => settings.probes,
            Self::Ivf(settings) => settings.probes,
        }
    }

    /// Whether points lie on leaves in an order of the index's own, which its file has. Otherwise they lie as in the set.
    pub(super) const fn has_order(self) -> bool {
        matches!(self, Self::Ivf(_))
    }

    /// For people.
    #[must_use]
    pub fn about(self) -> String {
        match self {
            Self::Lsh(settings) => format!("LSH, {settings}"),
            Self::Ivf(settings) => format!("IVF, {settings}"),
        }
    }

    /// Hashes or clusters the points.
    ///
    /// # Errors
    /// A sentence for people when settings are out of their bounds.
    pub fn make(self, points: Rows<'_>, seed: u64) -> Result<Made, String> {
        match self {
            Self::Lsh(settings) => Hashed::new(points, settings, seed)
                .map(Made::Lsh)
                .map_err(|error| error.to_string()),
            Self::Ivf(settings) => {
                let training = Training { seed, ..Training::default() };
                let clustered = Clustered::new(points, settings.lists, training);
                clustered.map(Made::Ivf).map_err(|error| error.to_string())
            }
        }
    }

    /// The index of these leaves.
    ///
    /// # Errors
    /// A sentence for people when settings are out of their bounds, or not those that it was made by.
    pub fn place(self, made: &Made, placement: Placement) -> Result<Box<dyn Index>, String> {
        match (self, made) {
            (Self::Lsh(settings), Made::Lsh(hashed)) => {
                let index =
                    Lsh::new(hashed, placement, settings).map_err(|error| error.to_string())?;
                Ok(Box::new(index))
            }
            (Self::Ivf(settings), Made::Ivf(clustered)) => {
                let index = Ivf::new(clustered, settings.probes);
                Ok(Box::new(index.map_err(|error| error.to_string())?))
            }
            _ => Err(OTHER_KIND.into()),
        }
    }

    /// What the index must find among these points.
    ///
    /// # Errors
    /// As [`Self::place`].
    pub fn look_up(self, made: &Made, points: Rows<'_>) -> Result<Box<dyn LookUp>, String> {
        match (self, made) {
            (Self::Lsh(settings), Made::Lsh(hashed)) => {
                Ok(Box::new(ByHashes::new(points, hashed, settings)))
            }
            (Self::Ivf(settings), Made::Ivf(clustered)) => {
                Ok(Box::new(ByClusters::new(points, clustered, settings.probes)))
            }
            _ => Err(OTHER_KIND.into()),
        }
    }

    pub(super) fn read(self, data: &mut Data, dimensions: usize) -> Result<Made, DataError> {
        let made = match self {
            Self::Lsh(lsh::Settings { tables, bits, .. }) => {
                let planes =
                    (table(data, NORMALS, dimensions)?, values(&data.section(OFFSETS)?).collect());
                let hashes = (0..tables).map(|table| data.numbers(&hashes_of(table)));
                let hashes = hashes.collect::<Result<_, _>>()?;
                Hashed::of_parts(bits, planes, hashes).map(Made::Lsh)
            }
            Self::Ivf(_) => {
                let centres = table(data, CENTRES, dimensions)?;
                let order = order(data)?;
                Clustered::of_parts(centres, order, data.numbers(STARTS)?).map(Made::Ivf)
            }
        };
        made.ok_or_else(|| data.damaged("its index is none".into()))
    }
}

impl Made {
    pub(super) fn fill(&self, content: Content) -> Content {
        match self {
            Self::Lsh(hashed) => {
                let ((normals, offsets), hashes) = hashed.parts();
                let offsets = offsets.iter().flat_map(|value| value.to_le_bytes()).collect();
                let content = content.with(NORMALS, bytes_of_table(normals)).with(OFFSETS, offsets);
                let add = |content: Content, (table, hashes): (usize, &Vec<u32>)| {
                    content.with(hashes_of(table), bytes_of_u32(hashes))
                };
                hashes.iter().enumerate().fold(content, add)
            }
            Self::Ivf(clustered) => {
                let (centres, order, starts) = clustered.parts();
                content
                    .with(CENTRES, bytes_of_table(centres))
                    .with(ORDER, bytes_of_u32(order.points()))
                    .with(STARTS, bytes_of_u32(starts))
            }
        }
    }

    /// How many points it has.
    #[must_use]
    pub fn points(&self) -> usize {
        match self {
            Self::Lsh(hashed) => hashed.points(),
            Self::Ivf(clustered) => clustered.points(),
        }
    }
}

/// Of an index that has one.
pub(super) fn order(data: &mut Data) -> Result<Order, DataError> {
    let order = Order::of(data.numbers(ORDER)?);
    order.ok_or_else(|| data.damaged("its order of points is none".into()))
}

fn hashes_of(table: usize) -> String {
    format!("hashes of table {table}")
}
