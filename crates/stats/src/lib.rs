//! Histograms, comparison of runs, bounds, and the result model that both drivers fill and every
//! report reads.
//!
//! Start with [`Tally`]: a driver tells it the fate of every intended request, and it fills a
//! [`result::Run`]. [`validity`] then says whether the run may count, [`summarise`] folds
//! repetitions, and [`bound`](bound::bound) is what goodput is held against. This crate sees
//! numbers only: it reads no clock, opens nothing and prints nothing.

#![forbid(unsafe_code)]

pub mod agreement;
pub mod anytime;
pub mod audit;
mod binomial;
mod bins;
pub mod bound;
pub mod compare;
mod connections;
pub mod hist;
pub mod holm;
pub mod naming;
mod pairing;
pub mod recovery;
pub mod result;
mod rules;
mod settings;
pub mod shift;
mod spread;
mod student;
pub mod summary;
pub mod tally;
pub mod tarone;
pub mod traits;
pub mod validity;

pub use agreement::{Agreement, agreement};
pub use audit::{Audit, AuditSpec, audit};
pub use binomial::fewest_right;
pub use bound::{BoundSpec, Knowledge, bound};
pub use compare::{CompareError, PairedRatio};
pub use hist::Histogram;
pub use recovery::{Overlay, Recovery, RecoverySpec};
pub use rules::{Rules, TierRules};
pub use settings::Difference;
pub use student::t_975;
pub use summary::summarise;
pub use tally::{Tally, TallyFindings, TallySpec};
pub use validity::{Breach, Subject, breaches, discard, judge};
