//! The model against an accelerator that runs: what is tried, what the parts cost, and what came out.
//!
//! A [`Cell`] is one design with one size of offloads. Its [`Parts`] are measured one by one beforehand, in several
//! rounds, and [`predict`] makes of them what the model says. [`Trial`]s are blocks with and without the accelerator;
//! [`Compared`] holds the one against the other. No prediction is fitted: the parts never see a trial. [`OwnError`] is what the
//! model leaves out, by the cells of other sizes.

mod cells;
mod parts;
mod trial;
mod compared;
mod own_error;
mod verdict;

pub use cells::{Cell, software};
pub use compared::{Compared, MeasuredFactor, OwnError, RequestParts};
pub use own_error::own_errors;
pub use parts::{Known, Parts, Prediction, predict};
pub use trial::{BlockNoise, NoiseLimits, Trial, TrialBlock};
pub use verdict::{COVERED_MIN, HALF_WIDTH_MAX, POINTS_MAX, ValidationVerdict, WITHIN_MIN};
