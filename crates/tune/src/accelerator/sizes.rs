//! How large offloads are, and which of them pay.

use std::fmt;

/// The most sizes that are told apart.
pub const SIZES_MAX: usize = 4_096;

/// Largest size in bytes, and most offloads of one. Their Σ g^2β stays finite for every β that a file may have, also of
/// offloads that are made a million times as large.
pub(crate) const ROW_MAX: f64 = 1e15;

/// Smallest size in bytes: its g^2β stays above 0 likewise.
const BYTES_MIN: f64 = 1e-9;

/// A histogram of sizes of offloads.
#[derive(Clone, PartialEq, Debug)]
pub struct Sizes {
    /// Bytes and offloads in the unit of time, from large to small.
    rows: Vec<(f64, f64)>,
    /// Kernel cycles grow with the size to this power.
    beta: f64,
    /// The offloads of the largest size, of the two largest, and so on.
    parts: Vec<Part>,
}

/// The offloads from some size on.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Part {
    /// Offloads in the unit of time.
    pub count: f64,
    /// Their Σ g^β, to which kernel cycles are proportional.
    pub work: f64,
    /// Their Σ g^2β.
    squares: f64,
    /// The smallest of them, in bytes; infinite where there is none.
    pub from_bytes: f64,
}

impl Part {
    /// No offload.
    const NONE: Self = Self { count: 0.0, work: 0.0, squares: 0.0, from_bytes: f64::INFINITY };

    /// With the offloads of a smaller size.
    fn and(self, (bytes, count): (f64, f64), beta: f64) -> Self {
        let work = bytes.powf(beta);
        Self {
            count: self.count + count,
            work: self.work + count * work,
            squares: self.squares + count * work * work,
            from_bytes: bytes,
        }
    }

    /// Squared coefficient of variation of kernel cycles, which service times of the accelerator have too.
    #[must_use]
    pub fn variation(&self) -> f64 {
        let mean = self.work / self.count;
        (self.squares / self.count / (mean * mean) - 1.0).max(0.0)
    }
}

/// Why rows are no histogram.
#[derive(Clone, PartialEq, Debug)]
pub struct SizesError(String);

impl fmt::Display for SizesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SizesError {}

impl Sizes {
    /// Rows of bytes and offloads per unit of time, in any order; β is 1 for a kernel of linear complexity.
    ///
    /// # Errors
    /// Without a row, with more than [`SIZES_MAX`], with the same size twice, or with a number out of range.
    pub fn new(mut rows: Vec<(f64, f64)>, beta: f64) -> Result<Self, SizesError> {
        if rows.is_empty() || rows.len() > SIZES_MAX {
            let found = rows.len();
            return Err(SizesError(format!(
                "{found} sizes found; 1 to {SIZES_MAX} are needed, so merge neighbours"
            )));
        }
        let is_sound = |(bytes, count): &(f64, f64)| {
            (BYTES_MIN..=ROW_MAX).contains(bytes) && (0.0..=ROW_MAX).contains(count)
        };
        if let Some((bytes, count)) = rows.iter().find(|row| !is_sound(row)) {
            return Err(SizesError(format!(
                "{count:?} offloads of {bytes:?} bytes found; a size from {BYTES_MIN:e} to {ROW_MAX:e} and a number \
                 from 0 to {ROW_MAX:e} are needed"
            )));
        }
        rows.retain(|(_, count)| *count > 0.0);
        rows.sort_by(|one, other| other.0.total_cmp(&one.0));
        if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 <= pair[1].0) {
            return Err(SizesError(format!("{} bytes found twice; add their numbers", pair[0].0)));
        }
        if rows.is_empty() {
            return Err(SizesError("no size has an offload; one at least needs some".into()));
        }
        Ok(Self::of_rows(rows, beta))
    }

    fn of_rows(rows: Vec<(f64, f64)>, beta: f64) -> Self {
        let add = |part: &mut Part, row: &(f64, f64)| {
            *part = part.and(*row, beta);
            Some(*part)
        };
        let parts = rows.iter().scan(Part::NONE, add).collect();
        Self { rows, beta, parts }
    }

    /// All offloads.
    #[must_use]
    pub fn all(&self) -> Part {
        self.largest(self.rows.len())
    }

    /// β.
    #[must_use]
    pub const fn beta(&self) -> f64 {
        self.beta
    }

    /// The offloads of the largest sizes, so many sizes of them.
    #[must_use]
    pub fn largest(&self, sizes: usize) -> Part {
        let last = sizes.min(self.parts.len()).checked_sub(1);
        last.map_or(Part::NONE, |last| self.parts[last])
    }

    /// How many sizes are told apart.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Never: there is one size at least.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The same bytes in offloads that are `factor` times as large, and as many fewer that the kernel's work stays.
    #[must_use]
    pub fn coarser(&self, factor: f64) -> Self {
        let fewer = factor.powf(self.beta);
        let rows = self.rows.iter().map(|(bytes, count)| (bytes * factor, count / fewer));
        Self::of_rows(rows.collect(), self.beta)
    }
}

/// The least share of the kernel's work that the larger offloads can carry, when only their number is known.
///
/// `of_all` is their share of all offloads, and the others have at most `threshold` kernel cycles each, of a `mean`
/// over all. The others then carry at most (1 − `of_all`)·`threshold`/`mean` of the work, and the larger ones no less
/// than their number says.
#[must_use]
pub fn work_share_at_least(of_all: f64, threshold: f64, mean: f64) -> f64 {
    if of_all >= 1.0 {
        return 1.0;
    }
    (1.0 - (1.0 - of_all) * threshold / mean).clamp(of_all, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Sizes {
        Sizes::new(vec![(4_096.0, 10.0), (64.0, 100.0), (512.0, 50.0)], 1.0).unwrap()
    }

    #[test]
    fn the_large_offloads_are_few_and_carry_most_of_the_work() {
        let sizes = three();
        let large = sizes.largest(1);
        assert_eq!((large.count, large.from_bytes, large.work), (10.0, 4_096.0, 40_960.0));
        assert_eq!(sizes.all().work, 40_960.0 + 25_600.0 + 6_400.0);
        assert_eq!(sizes.largest(0), Part::NONE);
        assert_eq!(sizes.largest(9), sizes.all());
    }

    #[test]
    fn the_least_share_holds_for_every_histogram() {
        let sizes = three();
        let all = sizes.all();
        for kept in 1..=3 {
            let part = sizes.largest(kept);
            let mean = all.work / all.count;
            let least = work_share_at_least(part.count / all.count, part.from_bytes, mean);
            assert!(least <= part.work / all.work + 1e-12, "{least} of {part:?}");
        }
    }

    #[test]
    fn coarser_offloads_do_the_same_work() {
        for beta in [0.5, 1.0, 2.0] {
            let sizes = Sizes::new(vec![(64.0, 100.0), (512.0, 50.0)], beta).unwrap();
            let (fine, coarse) = (sizes.all(), sizes.coarser(3.0).all());
            assert!((coarse.work / fine.work - 1.0).abs() < 1e-12);
            assert!(coarse.count < fine.count);
        }
    }

    #[test]
    fn whatever_has_a_use_has_finite_sums() {
        for beta in [0.1, 4.0] {
            let rows = vec![(BYTES_MIN, ROW_MAX), (1.0, 1.0), (ROW_MAX, ROW_MAX)];
            let sizes = Sizes::new(rows, beta).unwrap();
            for sizes in [sizes.coarser(1e6), sizes.coarser(1e-6), sizes] {
                for part in (1..=3).map(|largest| sizes.largest(largest)) {
                    assert!(part.work.is_normal() && part.squares.is_normal(), "{part:?}");
                    assert!(part.variation().is_finite(), "{part:?}");
                }
            }
        }
    }

    #[test]
    fn offloads_of_one_size_do_not_vary() {
        let sizes = three();
        assert!(sizes.largest(1).variation().abs() < 1e-12);
        assert!(sizes.all().variation() > 1.0);
    }

    #[test]
    fn rows_that_are_no_histogram_say_why() {
        let error = |rows| Sizes::new(rows, 1.0).unwrap_err().to_string();
        assert!(error(vec![]).contains("0 sizes found"));
        for row in
            [(0.0, 1.0), (1e-200, 1.0), (1e200, 1.0), (f64::NAN, 1.0), (8.0, 1e16), (8.0, -1.0)]
        {
            let told = error(vec![(64.0, 1.0), row]);
            assert!(told.contains("from 1e-9 to 1e15 and a number from 0 to 1e15"), "{told}");
        }
        assert!(error(vec![(8.0, 1.0), (8.0, 2.0)]).contains("twice"));
        assert!(error(vec![(8.0, 0.0)]).contains("no size has an offload"));
    }
}
