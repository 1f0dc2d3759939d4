//! Controllers from outside: laws, promises that all give, random sequences.

mod any;
mod harness;

mod breakwater_laws;
mod echoes;
mod every_controller;
mod presets;
mod sequences;
