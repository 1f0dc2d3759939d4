//! Scenarios and worlds in virtual time.

mod common;

mod accelerator;
mod arrivals;
mod breakwater;
mod calibration;
mod classes;
mod convergence;
mod experiment;
mod faults;
mod laws;
mod loops;
mod packets;
mod paths;
mod protego;
mod replicas;
mod seeds;
mod stalls;
mod switching;
mod threads;
mod tier_readings;
mod tier_replicas;
mod told;
