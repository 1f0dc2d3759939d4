//! Points and queries as they are asked for, with progress.

use crate::arguments::SetArguments;
use indicatif::{ProgressBar, ProgressStyle};
use tailwater_hdsearch::nearest::Found;
use tailwater_hdsearch::questions;
use tailwater_hdsearch::vectors::{self, Set, Shape, Wanted};
use tailwater_program::print;

/// A set, and for people what it is.
pub(crate) struct Named {
    pub(crate) about: String,
    pub(crate) set: Set,
}

/// How many true neighbours the intrinsic dimension is measured from, as in benchmarks of nearest neighbours.
const NEIGHBOURS: usize = 100;

/// `shape`.
pub(crate) fn shape(arguments: &SetArguments) -> Result<(), String> {
    let Named { about, set } = make(arguments)?;
    let (_, shape) = measured(&set);
    let shape =
        shape.ok_or("found no two points at different distances; other vectors are needed")?;
    if arguments.json {
        let json = serde_json::json!({ "set": about, "shape": shape });
        return print(&json.to_string());
    }
    print(&format!("{about}\n{}", in_words(&shape)))
}

pub(crate) fn in_words(shape: &Shape) -> String {
    let Shape { dimension, contrast, neighbours, queries } = shape;
    format!(
        "intrinsic dimension {dimension:.1}, relative contrast {contrast:.2} \
         (from {neighbours} neighbours of {queries} queries)"
    )
}

/// Generates the set, or reads it.
pub(crate) fn make(arguments: &SetArguments) -> Result<Named, String> {
    let Ok(source) = arguments.vectors.parse();
    let wanted = Wanted {
        source,
        points: arguments.points.map(|points| points as usize),
        dimensions: arguments.dimensions.map(|dimensions| dimensions as usize),
        queries: arguments.queries as usize,
        seed: arguments.seed,
    };
    let bar = bar("vectors", 0);
    let set = wanted.make(&|_, done, all| {
        bar.set_length(all.max(done) as u64);
        bar.set_position(done as u64);
        Ok(())
    })?;
    bar.finish_and_clear();
    Ok(Named { about: format!("{}, {}", wanted.about(&set), wanted.from()), set })
}

/// The true neighbours of all queries, and what they say of the set.
pub(crate) fn measured(set: &Set) -> (Vec<Vec<Found>>, Option<Shape>) {
    let bar = bar("true neighbours", set.queries.rows().count());
    let Ok(truth) = questions::truth(set, NEIGHBOURS, |done| tell(&bar, done));
    bar.finish_and_clear();
    let shape = vectors::shape(set.points.rows(), set.queries.rows(), &truth);
    (truth, shape)
}

/// Drawn on a terminal alone.
pub(crate) fn bar(what: &'static str, length: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:<24} {wide_bar} {pos}/{len} {eta}");
    let bar = ProgressBar::new(length as u64).with_message(what);
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

fn tell(bar: &ProgressBar, done: usize) -> Result<(), std::convert::Infallible> {
    bar.set_position(done as u64);
    Ok(())
}
