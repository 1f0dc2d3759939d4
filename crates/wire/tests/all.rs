//! Frames as bytes: golden ones, random ones, and broken ones.

mod check;
mod common;

mod broken;
mod corpus;
mod golden;
mod random;
