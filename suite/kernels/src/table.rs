//! Vectors one after another, as the kernels like them: a row is whole blocks, and begins with a line of the cache.

use std::fmt;

/// Lanes that are added side by side: two registers of AVX-512, so that one addition need not wait for the
/// one before.
pub const BLOCK: usize = 32;

/// Sixteen floats that are one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

const LINE: usize = 16;

/// Vectors of one length, owned. Each takes the next multiple of [`BLOCK`] floats; what is behind its own is zero.
#[derive(Clone, Debug)]
pub struct Table {
    lines: Vec<Line>,
    dimensions: usize,
}

/// The rows of a [`Table`], or the first of them.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f32],
    dimensions: usize,
    /// Floats from one row to the next; a multiple of [`BLOCK`].
    stride: usize,
}

/// A number that is too large for the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSuchRow {
    /// Which was asked for.
    pub number: u32,
    /// How many rows there are.
    pub rows: usize,
}

impl Table {
    /// An empty table for vectors of so many dimensions.
    ///
    /// # Panics
    /// Without dimensions: a mistake of the program.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        assert!(dimensions > 0, "one dimension at least is needed");
        Self { lines: Vec::new(), dimensions }
    }

    /// The same, with room for so many.
    #[must_use]
    pub fn with_capacity(dimensions: usize, rows: usize) -> Self {
        let mut table = Self::new(dimensions);
        table.lines.reserve_exact(rows * stride(dimensions) / LINE);
        table
    }

    /// Adds a vector.
    ///
    /// # Panics
    /// When it has another number of dimensions: a mistake of the program.
    pub fn push(&mut self, vector: &[f32]) {
        assert_eq!(vector.len(), self.dimensions, "a vector of the table's dimensions is needed");
        let lines = stride(self.dimensions) / LINE;
        self.lines.extend(vector.chunks(LINE).map(|part| {
            let mut line = [0.0; LINE];
            line[..part.len()].copy_from_slice(part);
            Line(line)
        }));
        self.lines.resize(self.lines.len().next_multiple_of(lines), Line([0.0; LINE]));
    }

    /// Its rows.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        let values: *const f32 = self.lines.as_ptr().cast();
        // SAFETY: rule 4: a line is sixteen floats and nothing else, as its size shows at compile time.
        let values = unsafe { std::slice::from_raw_parts(values, self.lines.len() * LINE) };
        Rows { values, dimensions: self.dimensions, stride: stride(self.dimensions) }
    }
}

const _: () = assert!(size_of::<Line>() == LINE * size_of::<f32>());

impl<'a> Rows<'a> {
    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.values.len() / self.stride
    }

    /// The first so many rows.
    ///
    /// # Panics
    /// When there are fewer: a mistake of the program.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        Self { values: &self.values[..count * self.stride], ..*self }
    }

    /// How many dimensions a vector has.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// All values, padding included.
    #[must_use]
    pub const fn values(&self) -> &'a [f32] {
        self.values
    }

    /// A row with its padding.
    ///
    /// # Panics
    /// When there is no such row: a mistake of the program.
    #[must_use]
    #[inline]
    pub fn row(&self, number: usize) -> &'a [f32] {
        &self.values[number * self.stride..][..self.stride]
    }

    /// A row without its padding.
    ///
    /// # Panics
    /// When there is no such row: a mistake of the program.
    #[must_use]
    pub fn vector(&self, number: usize) -> &'a [f32] {
        &self.row(number)[..self.dimensions]
    }

    /// All rows with their padding, in order.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &'a [f32]> + use<'a> {
        self.values.chunks_exact(self.stride)
    }

    /// A vector as a row: with zeros behind it.
    ///
    /// # Panics
    /// When it has another number of dimensions: a mistake of the program.
    #[must_use]
    pub fn padded(&self, vector: &[f32]) -> Vec<f32> {
        assert_eq!(vector.len(), self.dimensions, "a vector of the rows' dimensions is needed");
        padded(vector)
    }

    pub(crate) fn fits(&self, query: &[f32]) {
        assert_eq!(query.len(), self.stride, "a query as long as a row is needed");
    }

    pub(crate) fn has_all(&self, numbers: &[u32]) -> Result<(), NoSuchRow> {
        let rows = self.count();
        // Without a branch inside, so that it takes a moment beside the distances.
        let largest = numbers.iter().copied().max();
        match largest.filter(|&number| number as usize >= rows) {
            Some(number) => Err(NoSuchRow { number, rows }),
            None => Ok(()),
        }
    }
}

/// A vector as a row of a table: with zeros behind it, up to the next multiple of [`BLOCK`].
#[must_use]
pub fn padded(vector: &[f32]) -> Vec<f32> {
    let mut row = Vec::with_capacity(stride(vector.len()));
    row.extend_from_slice(vector);
    row.resize(stride(vector.len()), 0.0);
    row
}

const fn stride(dimensions: usize) -> usize {
    dimensions.next_multiple_of(BLOCK)
}

impl fmt::Display for NoSuchRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found number {}; there are {} rows, from 0 on", self.number, self.rows)
    }
}

impl std::error::Error for NoSuchRow {}
