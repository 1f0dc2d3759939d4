//! What `tailwater profile flame` prints: the functions whose own time grew most.

use super::FlameOptions;
use super::words::{counted, points};
use crate::profile::percentile::percentile_name;
use std::collections::BTreeMap;
use tailwater_profile::names::shorten;
use tailwater_profile::stacks::{Flame, FlameFrame, Frame};
use tailwater_report::{count, grid, percent, time};

/// Characters of a name in the table.
const NAME_MAX: usize = 56;
/// Functions told of in the table.
const ROWS_MAX: usize = 12;
/// Those whose share grew by less are not: a tenth of a point.
const GROWN_MIN: f64 = 0.001;

pub(super) fn text(flame: &Flame, program: &str, options: &FlameOptions, footer: &str) -> String {
    let (slow, all) = (counted(options, flame.tail.calls), count(flame.all.calls));
    let percentile = percentile_name(options.above);
    let head = format!("{program}: {slow} above {percentile}, beside all {all}\n");
    let table = match table(&flame.frames) {
        None => "No function has a larger share of the slow ones than of all.".to_owned(),
        Some(table) => format!(
            "{table}\n\nFunctions whose own time grew most, without that of what they call. Slow, all: its mean in each of these, and \
             its share of\ntheir time. Points: by how much that share is larger in slow ones. --page draws all frames, --json has them."
        ),
    };
    format!("{head}\n{table}\n{footer}")
}

/// A function, and the one that called it.
type Called<'a> = (&'a Frame, Option<&'a Frame>);

/// A function's own time over all paths on which the same one called it.
#[derive(Clone, Copy, Default)]
struct Own {
    /// The mean in slow ones, and in all, in nanoseconds.
    means_ns: [f64; 2],
    /// The shares of the time of either, from 0 to 1.
    shares: [f64; 2],
}

impl Own {
    fn grown(self) -> f64 {
        self.shares[0] - self.shares[1]
    }
}

/// The functions whose own share grew most.
fn table(frames: &[FlameFrame]) -> Option<String> {
    let mut grown: Vec<(Called<'_>, Own)> = by_caller(frames).into_iter().collect();
    grown.retain(|(_, own)| own.grown() >= GROWN_MIN);
    grown.sort_by(|(_, one), (_, other)| other.grown().total_cmp(&one.grown()));
    grown.truncate(ROWS_MAX);
    let mut names: Vec<[String; 2]> = vec![];
    for ((function, caller), _) in &grown {
        let caller = caller.map_or_else(String::new, |caller| caller.name.clone());
        names.push([function.name.clone(), caller]);
    }
    shorten(names.iter_mut().flatten(), NAME_MAX);
    let mut rows: Vec<Vec<String>> = vec![];
    for ((_, own), [function, caller]) in grown.iter().zip(names) {
        let mut row = vec![function, caller];
        for (mean_ns, share) in own.means_ns.iter().zip(own.shares) {
            row.extend([time(mean_ns / 1e3), percent(share)]);
        }
        row.push(points(own.grown()));
        rows.push(row);
    }
    let heads = ["function", "called by", "slow", "%", "all", "%", "points"];
    (!rows.is_empty()).then(|| grid(&heads, 2, &rows))
}

/// One that is called on many paths may have grown a little on each.
fn by_caller(frames: &[FlameFrame]) -> BTreeMap<Called<'_>, Own> {
    let mut path: Vec<&Frame> = vec![];
    let mut called: BTreeMap<Called<'_>, Own> = BTreeMap::new();
    for one in frames {
        path.truncate(one.depth);
        let own = called.entry((&one.frame, path.last().copied())).or_default();
        for (at, spent) in [one.tail, one.all].into_iter().enumerate() {
            own.means_ns[at] += spent.self_per_call_ns;
            own.shares[at] += spent.self_share;
        }
        path.push(&one.frame);
    }
    called
}

#[cfg(test)]
mod tests {
    use super::super::testing::frame;
    use super::table;

    /// The lock grew by no more than any other on each of its paths, and by the most in all.
    #[test]
    fn a_function_of_many_paths_is_told_once_for_each_caller() {
        let paths = ["read", "write", "close"].map(|operation| {
            [
                frame(operation, 0, 0.0, 0.0),
                frame("handle", 1, 0.0, 0.0),
                frame("lock", 2, 0.25, 0.125),
            ]
        });
        let mut frames = paths.concat();
        frames.push(frame("parse", 0, 0.25, 0.0));
        let table = table(&frames).expect("two functions have grown");
        let rows: Vec<Vec<&str>> =
            table.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        let expected = [
            ["lock", "handle", "750", "µs", "75", "375", "µs", "38", "+37.5"].to_vec(),
            ["parse", "250", "µs", "25", "0", "µs", "0", "+25.0"].to_vec(),
        ];
        assert_eq!(rows, expected);
    }
}
