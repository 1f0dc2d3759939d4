//! The true neighbours of all queries as a section of a file. What answers are worth is measured against them; nothing that
//! serves opens it.

use super::vectors::{bytes_of_found, found_of_bytes};
use crate::nearest::Found;
use tailwater_data::{Content, Data, DataError};

/// Raised when what is made of the same settings changes; older files are made anew.
pub(super) const KIND: &str = "hdsearch truth 1";

/// True neighbours of a query that are kept: as many as the intrinsic dimension is measured from.
pub(super) const NEIGHBOURS: usize = 100;

const TRUTH: &str = "true neighbours";

pub(super) fn fill(truth: &[Vec<Found>], content: Content) -> Content {
    content.with(TRUTH, truth.iter().flat_map(|found| bytes_of_found(found)).collect())
}

/// Of so many queries among so many points, one at least.
pub(super) fn read(
    data: &mut Data,
    (queries, points): (usize, usize),
) -> Result<Vec<Vec<Found>>, DataError> {
    let each = NEIGHBOURS.min(points);
    let bytes = data.section(TRUTH)?;
    let truth: Option<Vec<_>> = bytes.chunks(8 * each).map(found_of_bytes).collect();
    let is_whole = |truth: &Vec<Vec<Found>>| {
        truth.len() == queries && truth.iter().all(|found| found.len() == each)
    };
    let truth = truth.filter(is_whole);
    truth.ok_or_else(|| data.damaged("its true neighbours are none".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_data::Origin;

    #[test]
    fn the_truth_comes_back_of_its_own_set_alone() {
        let name = format!("tailwater-hdsearch-truth-{}.data", std::process::id());
        let path = std::env::temp_dir().join(name);
        let found = |point: u32| Found { point, distance: point as f32 / 3.0 };
        let truth: Vec<Vec<Found>> =
            (0..4).map(|query| (query..query + 7).map(found).collect()).collect();
        let text = String::new;
        let origin = Origin { about: text(), source: text(), licence: text(), stamp: text() };
        fill(&truth, Content::new(KIND, origin)).write(&path).expect("written");
        let mut data = Data::open_as(&path, KIND).expect("opened");
        assert_eq!(read(&mut data, (4, 7)).expect("read"), truth);
        for other in [(5, 7), (4, 8), (3, 7), (4, 200)] {
            assert!(read(&mut data, other).is_err(), "{other:?}");
        }
        std::fs::remove_file(path).expect("removed");
    }
}
