//! Readers of what `export` writes, made from what is published of each format: nothing of a writer is in them.
//!
//! Each refuses what its format does not have. One of its tests breaks an export, once for most reasons to refuse it.

mod shape;
mod bytes;
mod folded;
mod speedscope;
mod firefox;
mod pprof;
mod chrome;
#[cfg(feature = "parquet")]
mod thrift;
#[cfg(feature = "parquet")]
mod columns;

use super::export::{MAIN_US, PARSE_US, REQUEST_US};
use super::made::US;

/// What a function of [`requests`](super::export::requests) is called, in all formats but folded stacks.
const REQUEST: &str = "ns::request(int; char)";

/// Stacks, outermost function first, and how much of something each has.
type Stacks = Vec<(Vec<String>, u64)>;

/// The stacks of [`requests`](super::export::requests), with the function of that name, and their time in these units.
fn expected(request: &str, unit_ns: u64) -> Stacks {
    let stack = |path: &[&str], us: u64| (words(path), us * US / unit_ns);
    vec![
        stack(&["main"], MAIN_US),
        stack(&["main", request], REQUEST_US),
        stack(&["main", request, "parse"], PARSE_US),
    ]
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
