//! Points and queries as sections of a file.

use crate::leaf::Leaf;
use crate::nearest::Found;
use crate::placement::{Order, Placement};
use crate::vectors::{Names, Set};
use tailwater_data::{Content, Data, DataError};
use tailwater_kernels::{Rows, Table};

/// Raised when what is made of the same settings changes; older files are made anew.
pub(super) const KIND: &str = "hdsearch vectors 4";

const DIMENSIONS: &str = "dimensions";
const POINTS: &str = "points";
const QUERIES: &str = "queries";
const NAMES: &str = "names of points";
const QUERY_NAMES: &str = "names of queries";

pub(super) fn fill(Set { points, queries, names }: &Set, content: Content) -> Content {
    let dimensions = points.rows().dimensions() as u32;
    content
        .with(DIMENSIONS, dimensions.to_le_bytes().into())
        .with_records(POINTS, 4 * points.rows().dimensions(), bytes_of_table(points.rows()))
        .with(QUERIES, bytes_of_table(queries.rows()))
        .with(NAMES, names.points.join("\n").into())
        .with(QUERY_NAMES, names.queries.join("\n").into())
}

/// All of it.
pub(super) fn read(data: &mut Data) -> Result<Set, DataError> {
    let (count, dimensions) = size(data)?;
    let points = rows(data, dimensions, 0..count)?;
    let queries = table(data, QUERIES, dimensions)?;
    let names = Names {
        points: names(data, NAMES, points.rows().count())?,
        queries: names(data, QUERY_NAMES, queries.rows().count())?,
    };
    Ok(Set { points, queries, names })
}

/// One leaf, whose points lie in this order. Those of others are not read: all leaves together read the file once.
pub(super) fn leaf(
    data: &mut Data,
    order: &Order,
    (leaves, leaf): (u32, usize),
) -> Result<Leaf, DataError> {
    let (count, dimensions) = size(data)?;
    let numbers: Vec<u32> = order.of_leaf(Placement::new(count, leaves), leaf).collect();
    // As the file has them, so that it is read in one direction.
    let mut rising = numbers.clone();
    rising.sort_unstable();
    let read = rows(data, dimensions, rising.iter().copied())?;
    // Where points lie as in the set there is no second table, nor the time to fill it.
    if rising == numbers {
        return Ok(Leaf::of_rows(numbers, read));
    }
    let vector = |point: u32| read.rows().vector(rising.partition_point(|&other| other < point));
    Ok(Leaf::of(numbers, vector, dimensions))
}

/// So many names, or none.
fn names(data: &mut Data, name: &str, needed: usize) -> Result<Vec<String>, DataError> {
    let bytes = data.section(name)?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let text = String::from_utf8(bytes).ok();
    let names: Option<Vec<String>> = text.map(|text| text.split('\n').map(str::to_owned).collect());
    let names = names.filter(|names| names.len() == needed);
    names.ok_or_else(|| data.damaged(format!("its {name} are not {needed} lines")))
}

/// How many points there are, one at least, and of how many dimensions.
pub(super) fn size(data: &mut Data) -> Result<(u32, usize), DataError> {
    let dimensions = dimensions(data)?;
    let count = data.records(POINTS, 4 * dimensions)?;
    match u32::try_from(count) {
        Ok(count @ 1..) => Ok((count, dimensions)),
        _ => Err(data.damaged(format!("it has {count} points"))),
    }
}

/// These points, each put in its place as it is read.
fn rows(
    data: &mut Data,
    dimensions: usize,
    numbers: impl ExactSizeIterator<Item = u32>,
) -> Result<Table, DataError> {
    let mut table = Table::with_capacity(dimensions, numbers.len());
    let mut vector = Vec::with_capacity(dimensions);
    data.read_records(POINTS, 4 * dimensions, numbers, |record| {
        vector.clear();
        vector.extend(values(record));
        table.push(&vector);
    })?;
    Ok(table)
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
    for vector in bytes.chunks_exact(4 * dimensions) {
        table.push(&values(vector).collect::<Vec<_>>());
    }
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
pub(super) fn values(bytes: &[u8]) -> impl Iterator<Item = f32> + use<'_> {
    bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{Generator, Kind};
    use std::fs;
    use std::path::PathBuf;
    use tailwater_data::Origin;

    const DIMENSIONS_HERE: usize = 20;

    /// A file of the test's own, gone when it ends.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("tailwater-hdsearch-vectors-{name}-{}.data", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn written(&self, content: &Content) -> Data {
            content.write(&self.0).expect("written");
            Data::open_as(&self.0, KIND).expect("opened")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn content() -> Content {
        let text = String::new;
        let origin = Origin { about: text(), source: text(), licence: text(), stamp: text() };
        Content::new(KIND, origin)
    }

    fn set() -> Set {
        let generator = Generator::new(Kind::Words.recipe(DIMENSIONS_HERE), 3);
        let mut set = Set::generated(&generator, 500, 7, |_| Ok::<_, ()>(())).expect("made");
        set.names.queries = (0..7).map(|number| format!("query {number}")).collect();
        set
    }

    /// Points of so many bytes, as records of so many.
    fn of_points(bytes: usize, record_bytes: usize) -> Content {
        let content = content().with(DIMENSIONS, 4_u32.to_le_bytes().into());
        let content = content.with_records(POINTS, record_bytes, vec![0; bytes]);
        content.with(QUERIES, vec![0; 16])
    }

    #[test]
    fn each_leaf_has_its_points_and_all_come_back() {
        let (scratch, set) = (Scratch::new("back"), set());
        let mut data = scratch.written(&fill(&set, content()));
        let (rows, given) = (set.points.rows(), Order::as_given(500));
        for leaves in [1, 3, 16] {
            let placement = Placement::new(500, leaves);
            let turned = Order::of((0..500).rev().collect()).expect("an order");
            for (order, number) in
                (0..placement.leaves()).flat_map(|leaf| [(&given, leaf), (&turned, leaf)])
            {
                let own = leaf(&mut data, order, (leaves, number)).expect("a leaf");
                assert_eq!(own.points().count(), placement.count(number));
                for (local, point) in order.of_leaf(placement, number).enumerate() {
                    assert_eq!(own.points().row(local), rows.row(point as usize));
                }
            }
        }
        let back = read(&mut data).expect("read");
        assert_eq!(back.points.rows().values(), rows.values());
        assert_eq!(back.queries.rows().values(), set.queries.rows().values());
        assert_eq!(back.names, set.names);
    }

    /// The leaf that has the point notices, and no other leaf reads it.
    #[test]
    fn a_damaged_vector_is_refused_by_its_leaf() {
        let scratch = Scratch::new("damage");
        let data = scratch.written(&fill(&set(), content()));
        let behind = data.header().sections.iter().rev().take(3).map(|it| it.bytes).sum::<u64>();
        drop(data);
        let mut bytes = fs::read(&scratch.0).expect("read");
        // Of the last point, which is number 499: on leaf 1 of 3.
        let at = bytes.len() - behind as usize - 1;
        bytes[at] ^= 1;
        fs::write(&scratch.0, bytes).expect("written");
        let mut data = Data::open_as(&scratch.0, KIND).expect("its header is sound");
        let mut of = |number| leaf(&mut data, &Order::as_given(500), (3, number));
        assert!(of(0).is_ok() && of(2).is_ok());
        let error = of(1).expect_err("damaged").to_string();
        assert!(error.contains("record 499 of its points has not its sum"), "{error}");
        assert!(read(&mut data).is_err());
    }

    #[test]
    fn a_part_of_a_vector_is_refused_and_so_are_no_points() {
        let scratch = Scratch::new("part");
        let mut data = scratch.written(&of_points(36, 4));
        let error = "its points have 36 bytes, which are no whole number of 16";
        let leaf = |data: &mut Data| leaf(data, &Order::as_given(0), (1, 0)).map(drop);
        for found in [leaf(&mut data), size(&mut data).map(drop), read(&mut data).map(drop)] {
            assert!(found.expect_err("refused").to_string().contains(error));
        }
        let mut data = scratch.written(&of_points(0, 16));
        for found in [leaf(&mut data), read(&mut data).map(drop)] {
            let error = found.expect_err("refused").to_string();
            assert!(error.contains("it has 0 points"), "{error}");
        }
    }
}
