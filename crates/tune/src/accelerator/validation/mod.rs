//! The model against an accelerator that runs: what is tried, what the parts cost, and what came out.
//!
//! A [`Cell`] is one design with one size of offloads. Its [`Parts`] are measured one by one beforehand, in several
//! rounds, and [`predict`] makes of them what the model says. [`Trial`]s are blocks with and without the accelerator;
//! [`Compared`] holds the one against the other. Nothing here is fitted: the parts never see a trial.

mod cells;
mod parts;
mod trial;
mod verdict;

pub use cells::{Cell, software};
pub use parts::{Known, Parts, Prediction, predict};
pub use trial::{BlockNoise, NoiseLimits, Trial, TrialBlock};
pub use verdict::{COVERED_MIN, Compared, POINTS_MAX, ValidationVerdict, WITHIN_MIN};
