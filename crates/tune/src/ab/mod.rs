//! An A/B test of two settings: what is measured next, what a quad says, and when it ends.
//!
//! [`ComparisonRules`] are fixed beforehand. A [`Pilot`] of quads in which both arms are the same says how noisy blocks are.
//! From it a [`Forecast`] tells what the test can find. A [`Comparison`] then says the order of each quad, takes its
//! blocks, and ends with a [`Verdict`]. [`Further`] says how large a test must be that finds more. Programs set the knobs,
//! measure the blocks and know the time.
//!
//! Of several tests each ends in a [`Conclusion`]. [`Claims`] hold what is claimed of them to one level, and change what was open
//! where the others leave it their shares. A [`Reserve`] says how much time they keep. A [`Choice`] is what they come to.
//!
//! The statistics are those of [`tailwater_stats::anytime`]: quads are ordered by coin, tests may be looked at any time.

mod rules;
mod judge;
mod pilot;
mod comparison;
mod further;
mod conclusion;
mod claims;
mod quad_times;
mod reserve;
mod choice;

pub use choice::Choice;
pub use claims::Claims;
pub use comparison::{Comparison, Look, Verdict};
pub use conclusion::{Conclusion, SetAside};
pub use further::Further;
pub use judge::{Block, MeasuredQuad};
pub use pilot::{Forecast, Pilot};
pub use quad_times::QuadTimes;
pub use reserve::Reserve;
pub use rules::{Better, ComparisonRules, Guard, NoiseRule};
