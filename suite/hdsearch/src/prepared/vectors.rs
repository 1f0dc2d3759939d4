//! Points, queries and true neighbours as sections of a file.

use crate::nearest::Found;
use crate::placement::Placement;
use crate::vectors::Set;
use tailwater_data::{Content, Data, DataError};
use tailwater_kernels::{Rows, Table};

/// Raised when what is made of the same settings changes; older files are made anew.
pub(super) const KIND: &str = "hdsearch vectors 1";

/// True neighbours of a query that are kept: as many as the intrinsic dimension is measured from.
pub(super) const NEIGHBOURS: usize = 100;

const DIMENSIONS: &str = "dimensions";
const POINTS: &str = "points";
const QUERIES: &str = "queries";
const TRUTH: &str = "true neighbours";

/// The set and what is true of it.
pub(super) struct Known {
    pub(super) set: Set,
    pub(super) truth: Vec<Vec<Found>>,
}

impl Known {
    pub(super) fn fill(&self, content: Content) -> Content {
        let Set { points, queries } = &self.set;
        let dimensions = points.rows().dimensions() as u32;
        let truth = self.truth.iter().flat_map(|found| bytes_of_found(found)).collect();
        content
            .with(DIMENSIONS, dimensions.to_le_bytes().into())
            .with(POINTS, bytes_of_table(points.rows()))
            .with(QUERIES, bytes_of_table(queries.rows()))
            .with(TRUTH, truth)
    }

    pub(super) fn read(data: &mut Data) -> Result<Self, DataError> {
        let dimensions = dimensions(data)?;
        let points = table(data, POINTS, dimensions)?;
        let queries = table(data, QUERIES, dimensions)?;
        let each = NEIGHBOURS.min(points.rows().count());
        let bytes = data.section(TRUTH)?;
        let truth: Option<Vec<_>> = bytes.chunks(8 * each).map(found_of_bytes).collect();
        let truth = truth.filter(|truth| truth.len() == queries.rows().count());
        let truth = truth.ok_or_else(|| data.damaged("its true neighbours are none".into()))?;
        Ok(Self { set: Set { points, queries }, truth })
    }
}

/// The points of one leaf.
pub(super) fn shard(data: &mut Data, leaf: usize, leaves: u32) -> Result<Table, DataError> {
    let dimensions = dimensions(data)?;
    let bytes = data.section(POINTS)?;
    let size = 4 * dimensions;
    let placement = Placement::new((bytes.len() / size) as u32, leaves);
    let mut own = Table::with_capacity(dimensions, placement.count(leaf));
    for point in placement.of_leaf(leaf) {
        own.push(&values(&bytes[point as usize * size..][..size]));
    }
    Ok(own)
}

/// How many points there are, and of how many dimensions.
pub(super) fn size(data: &mut Data) -> Result<(u32, usize), DataError> {
    let dimensions = dimensions(data)?;
    let sections = &data.header().sections;
    let bytes =
        sections.iter().find(|section| section.name == POINTS).map_or(0, |found| found.bytes);
    Ok(((bytes / (4 * dimensions as u64)) as u32, dimensions))
}

fn dimensions(data: &mut Data) -> Result<usize, DataError> {
    let bytes = data.section(DIMENSIONS)?;
    let number = <[u8; 4]>::try_from(&bytes[..]).ok().map(u32::from_le_bytes);
    let number = number.filter(|&number| number > 0);
    number.map(|number| number as usize).ok_or_else(|| data.damaged("it has no dimensions".into()))
}

/// A section of vectors.
pub(super) fn table(data: &mut Data, name: &str, dimensions: usize) -> Result<Table, DataError> {
    let bytes = data.section(name)?;
    if !bytes.len().is_multiple_of(4 * dimensions) {
        return Err(data.damaged(format!("its {name} are no whole number of vectors")));
    }
    let mut table = Table::with_capacity(dimensions, bytes.len() / (4 * dimensions));
    bytes.chunks_exact(4 * dimensions).for_each(|vector| table.push(&values(vector)));
    Ok(table)
}

/// Without the padding of rows.
pub(super) fn bytes_of_table(rows: Rows<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 * rows.dimensions() * rows.count());
    for row in 0..rows.count() {
        bytes.extend(rows.vector(row).iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes
}

/// Numbers of a section, as many as are whole.
pub(super) fn values(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}

pub(super) fn bytes_of_found(found: &[Found]) -> Vec<u8> {
    let each =
        found.iter().flat_map(|found| [found.point.to_le_bytes(), found.distance.to_le_bytes()]);
    each.flatten().collect()
}

pub(super) fn found_of_bytes(bytes: &[u8]) -> Option<Vec<Found>> {
    let (each, rest) = bytes.as_chunks::<8>();
    let found = each.iter().map(|&[a, b, c, d, e, f, g, h]| Found {
        point: u32::from_le_bytes([a, b, c, d]),
        distance: f32::from_le_bytes([e, f, g, h]),
    });
    rest.is_empty().then(|| found.collect())
}
