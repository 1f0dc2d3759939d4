//! What is asked of a server: service times, demand, open-loop schedules, and the scenario files that
//! describe an experiment.
//!
//! Start with [`Scenario::parse`], which turns a file into checked values, then [`Scenario::configurations`] for its
//! cross product. [`Schedule::build`] makes the requests of one run, and [`Stream`] the same requests one by one. All
//! of it is decided by a seed before the first request is sent. So the simulator and the runtime are offered the very
//! same work.
//!
//! This crate never reads a file, a clock or the environment, and knows no controller: the names and
//! overrides in a scenario stay text, with their place in the file, until the catalog checks them.

#![forbid(unsafe_code)]

pub mod limits;
pub mod scenario;

pub mod preset;

pub mod demand;
pub mod arrivals;
mod swell;
pub mod schedule;
pub mod service;

pub mod distribution;
pub mod empirical;

pub mod ways;

pub use arrivals::{Arrivals, Bursts, Diurnal};
pub use demand::{DemandPlan, Step};
pub use distribution::{Distribution, Pareto};
pub use empirical::Empirical;
pub use scenario::{Configuration, ControllerSpec, Scenario, ScenarioError};
pub use schedule::{Entry, Schedule, ScheduleError, Stream, request_seed};
pub use service::{Mode, Service, Work};
pub use ways::{Ways, most_served};
