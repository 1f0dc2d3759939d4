//! `tailwater profile`, from a trace file to what people and other tools read.

mod made;
mod report;
mod names;
mod slowest;
mod export;
mod flame;
mod formats;
mod diff;
mod keep;
mod lines;
mod import;
mod tiers;
mod measure;
#[cfg(feature = "parquet")]
mod table;
