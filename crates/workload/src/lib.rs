//! What is asked of a server: service times, arrivals, open-loop schedules, scenario files.

#![forbid(unsafe_code)]

pub mod duration;
mod words;
pub mod service;
pub mod demand;
pub mod schedule;
pub mod scenario;

pub use demand::{Arrivals, DemandPlan, Step};
pub use scenario::{Scenario, ScenarioError};
pub use schedule::{Entry, Schedule, TooMany};
pub use service::{Distribution, Service, Work};
