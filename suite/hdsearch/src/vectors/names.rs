//! What vectors are called.

/// Names without line breaks, in the order of the vectors; each list has all or none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// Of the points.
    pub points: Vec<String>,
    /// Of the queries.
    pub queries: Vec<String>,
}
