//! Lists of points, by bucket and leaf. A point is told by its position.

use crate::placement::Placement;

/// One table: for each bucket and leaf, the points of that leaf in that bucket, by their numbers there.
#[derive(Clone, Debug)]
pub struct Buckets {
    leaves: usize,
    /// Where each entry begins, by bucket and then by leaf, and where the last one ends.
    starts: Vec<u32>,
    points: Vec<u32>,
}

impl Buckets {
    /// Most entries of a table: 256 MiB of starts.
    pub const ENTRIES_MAX: usize = 1 << 26;

    /// Puts point i into bucket `bucket_of[i]`, which is below `buckets`.
    ///
    /// # Panics
    /// When there are more entries than [`Self::ENTRIES_MAX`], a bucket is not there, or `bucket_of` is not as
    /// long as there are points: mistakes of the program.
    #[must_use]
    pub fn new(buckets: usize, placement: Placement, bucket_of: &[u32]) -> Self {
        assert_eq!(bucket_of.len(), placement.points(), "a bucket for each point is needed");
        let leaves = placement.leaves();
        let entries = buckets * leaves;
        assert!(entries <= Self::ENTRIES_MAX, "found {entries} entries");
        let places = || {
            let each = bucket_of.iter().zip(0_u32..);
            each.map(|(&bucket, point)| {
                let (leaf, local) = placement.place(point);
                (bucket as usize * leaves + leaf, local)
            })
        };
        // A counting sort: points stay in order within an entry.
        let mut starts = vec![0_u32; entries + 1];
        places().for_each(|(entry, _)| starts[entry + 1] += 1);
        for entry in 0..entries {
            starts[entry + 1] += starts[entry];
        }
        let mut next = starts.clone();
        let mut points = vec![0; bucket_of.len()];
        for (entry, local) in places() {
            points[next[entry] as usize] = local;
            next[entry] += 1;
        }
        Self { leaves, starts, points }
    }

    /// The points of a leaf in a bucket.
    #[must_use]
    pub fn entry(&self, bucket: u32, leaf: usize) -> &[u32] {
        let entry = bucket as usize * self.leaves + leaf;
        &self.points[self.starts[entry] as usize..self.starts[entry + 1] as usize]
    }

    /// Bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        (self.starts.len() + self.points.len()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_in_its_bucket_under_its_leaf() {
        let placement = Placement::new(500, 3);
        let bucket_of: Vec<u32> = (0..500).map(|point| point * point % 7).collect();
        let buckets = Buckets::new(8, placement, &bucket_of);
        for bucket in 0..8 {
            let mut found: Vec<u32> = (0..3)
                .flat_map(|leaf| {
                    let all: Vec<u32> = placement.of_leaf(leaf).collect();
                    let entry = buckets.entry(bucket, leaf);
                    assert!(entry.is_sorted());
                    entry.iter().map(move |&local| all[local as usize])
                })
                .collect();
            found.sort_unstable();
            let wanted: Vec<u32> =
                (0..500).filter(|&point| bucket_of[point as usize] == bucket).collect();
            assert_eq!(found, wanted, "bucket {bucket}");
        }
    }
}
