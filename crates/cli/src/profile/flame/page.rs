//! Both flame graphs, as the page has them.

use super::FlameOptions;
use super::words::{counted, points};
use crate::profile::percentile::percentile_name;
use crate::profile::reading::near;
use tailwater_profile::names::shorten;
use tailwater_profile::stacks::{Flame, FlameFrame, Spent, Whole};
use tailwater_report::{FlameBar, FlameGraph, FlameGraphs, percent, time};

/// Characters of a name: the page may have some thousand bars.
const NAME_MAX: usize = 300;

pub(super) fn graphs(flame: &Flame, options: &FlameOptions) -> FlameGraphs {
    let percentile = percentile_name(options.above);
    let graph = |title: &str, of: &str, whole: Whole| {
        let mean = time(whole.total_ns as f64 / whole.calls.max(1) as f64 / 1e3);
        FlameGraph {
            title: title.to_owned(),
            subtitle: format!("{}{of}, {mean} each.", counted(options, whole.calls)),
            whole: format!("{title}, {mean} each"),
        }
    };
    let above = format!(" above {percentile}");
    let graphs = [graph(&format!("Slow:{above}"), &above, flame.tail), graph("All", "", flame.all)];
    FlameGraphs { graphs, frames: flame.frames.iter().map(bar).collect() }
}

fn bar(one: &FlameFrame) -> FlameBar {
    let shares = [one.tail.share, one.all.share];
    let (depth, self_grown) = (one.depth, one.self_grown);
    if shares.iter().all(|share| *share <= FlameGraphs::SHARE_MIN) {
        // Of a million paths most are not drawn: they take up room beside others alone.
        return FlameBar { name: String::new(), depth, shares, self_grown, tip: String::new() };
    }
    let mut name = one.frame.name.clone();
    shorten([&mut name], NAME_MAX);
    let of = |spent: Spent| {
        format!(
            "{} of each, {} %; itself {}",
            time(spent.per_call_ns / 1e3),
            percent(spent.share),
            time(spent.self_per_call_ns / 1e3)
        )
    };
    let place = match (one.frame.file.as_str(), one.frame.line) {
        ("", _) => String::new(),
        (file, 0) => format!(", {}", near(file)),
        (file, line) => format!(", {}:{line}", near(file)),
    };
    let tip = format!(
        "{name}{place}\nslow: {}\nall: {}\n{} points in slow ones; itself {}",
        of(one.tail),
        of(one.all),
        points(one.grown),
        points(self_grown)
    );
    FlameBar { name, depth, shares, self_grown, tip }
}

#[cfg(test)]
mod tests {
    use super::super::testing::frame;
    use super::{NAME_MAX, bar};
    use tailwater_report::FlameGraphs;

    /// Or all callers would have the colour of what grew below them, and what grew might have none.
    #[test]
    fn a_bar_is_coloured_by_its_own_time() {
        assert_eq!(bar(&frame("reader", 1, 0.5, 0.25)).self_grown, 0.25);
    }

    #[test]
    fn a_page_has_room_for_long_names_and_names_what_is_drawn_alone() {
        let long = format!("handle<{}>", "std::vector<int>, ".repeat(100));
        let drawn = bar(&frame(&long, 0, 0.5, 0.5));
        assert!(drawn.name.starts_with("handle<") && drawn.name.chars().count() <= NAME_MAX);
        assert!(drawn.tip.starts_with(&drawn.name) && drawn.tip.contains("\nslow: "));
        let mut narrow = frame("handle", 0, 0.0, 0.0);
        (narrow.tail.share, narrow.all.share) = (0.0, FlameGraphs::SHARE_MIN);
        let narrow = bar(&narrow);
        assert!(narrow.name.is_empty() && narrow.tip.is_empty());
        assert!((narrow.shares[1] - FlameGraphs::SHARE_MIN).abs() < 1e-12);
    }
}
