//! Arrivals and scenario files.

mod arrivals;
mod committed;
mod mutated;
