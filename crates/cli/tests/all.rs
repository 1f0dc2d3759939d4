//! The program from outside: its commands, one after another, and its services as processes.

mod common;
mod manifests;

mod accelerate;
mod check;
mod data_fetch;
mod deploy;
mod first_failures;
mod keys;
mod locks;
mod members;
mod new;
mod output;
mod profile_trace;
mod protocol_client;
mod router_front;
mod scenarios;
mod serve;
mod short;
mod suite;
mod suite_demo;
mod tiers;
mod workloads;
