//! Traces, and what they tell.

mod check;
mod sample;

mod breakdown;
mod calls;
mod corpus;
mod golden;
mod kernel;
mod lines;
mod requests;
mod retention;
mod run_queue;
mod shared_core;
mod slowest;
mod stacks;
mod tiers;
mod trace;
