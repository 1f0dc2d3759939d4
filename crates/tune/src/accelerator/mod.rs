//! What an accelerator brings to a service: throughput and latency, by how the service's threads use it.
//!
//! This is the Accelerometer model (Sriraman, *Enabling Hyperscale Web Services*, chapter VI, equations 6.1 to 6.8;
//! "the thesis" in what follows), extended by sizes of offloads, queues at a shared accelerator, batches and
//! uncertain inputs. Start with [`file::parse`], which makes [`Case`]s of a file, and [`Study::of`], which answers
//! what there is to ask of a case. [`equations`] is the thesis' arithmetic alone; [`validation`] holds predictions against an
//! accelerator that runs.
//!
//! The model counts cycles. It does not see contention for memory, dark silicon, power or price.

pub mod design;
pub mod equations;

pub mod sizes;
pub mod queue;
pub mod amount;
pub mod input;
mod infinite;
mod case;

mod need;
mod study;
mod uncertainty;

pub mod file;

pub mod validation;

pub use amount::Amount;
pub use case::{Case, NoOutcome, Offload, Outcome, Selection, Stated, Weighting};
pub use design::{Design, Strategy, Threading};
pub use input::{Input, Inputs, Values};
pub use need::{Answer, Needs};
pub use queue::Queue;
pub use sizes::Sizes;
pub use study::Study;
pub use uncertainty::{Bar, DRAWS, FactorPercentiles};
