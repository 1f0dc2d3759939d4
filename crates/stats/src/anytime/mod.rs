//! Comparisons of two systems that may be looked at any time.
//!
//! A fixed-size test that is looked at again and again finds a difference where none is: looks add up. The tests
//! here keep their level however often, and whenever, their reader looks and stops.
//!
//! Start with [`Coin`], which orders the four blocks of a [`Quad`] by chance. A quad's effect goes to a
//! [`Sequence`], which says whether the systems differ, by how much, and how sure that is. [`Equivalence`] says
//! whether they differ by less than a margin, an [`Alarm`] whether one is worse than tolerated. [`PowerPlan`] says beforehand what a number of quads can find.
//!
//! For comparison: [`Msprt`] and [`asymptotic_interval`] are what other tools have. [`UntilSignificant`] is the rule
//! of µSKU, which this crate's tests refute.

mod quad;
mod error;
mod mixture;
mod sequence;
mod equivalence;
mod alarm;
mod plan;

mod msprt;
mod asymptotic;
mod until_significant;

pub use alarm::Alarm;
pub use asymptotic::asymptotic_interval;
pub use equivalence::{Equivalence, Equivalent};
pub use error::SettingError;
pub use mixture::{Level, Scale};
pub use msprt::Msprt;
pub use plan::PowerPlan;
pub use quad::{Arm, Coin, Quad, QuadError, QuadOrder};
pub use sequence::{Finding, Sequence};
pub use until_significant::{OBSERVATIONS_MAX, UntilSignificant};
