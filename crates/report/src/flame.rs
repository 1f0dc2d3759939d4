//! Two flame graphs of one set of frames, on a page of their own: of slow calls or requests, and of all.
//!
//! Frames are buttons in places by shares of their graph's width, so that they fit phones as they are and keys reach them. The
//! page's script shows a frame larger and finds names; without it, the whole is shown.

use crate::format::count;
use crate::shell::{contents, page};
use crate::svg::escape;
use std::fmt::Write as _;

/// Frames beside one another in two graphs.
#[derive(Clone, PartialEq, Debug)]
pub struct FlameGraphs {
    /// The graph that is asked about, and the one that it is compared with.
    pub graphs: [FlameGraph; 2],
    /// Of both: callers before callees.
    pub frames: Vec<FlameBar>,
}

/// What a graph is of.
#[derive(Clone, PartialEq, Debug)]
pub struct FlameGraph {
    /// Stands above it.
    pub title: String,
    /// More on it.
    pub subtitle: String,
    /// Stands in the bar that is as wide as the graph.
    pub whole: String,
}

/// A frame.
#[derive(Clone, PartialEq, Debug)]
pub struct FlameBar {
    /// Stands in it, as far as there is room.
    pub name: String,
    /// Frames around it; its caller is the last one before it that is one less deep.
    pub depth: usize,
    /// Its shares of the two graphs, from 0 to 1.
    pub shares: [f64; 2],
    /// By how much what it takes itself is a larger share of the first, without what it calls; from −1 to 1. Its colour: callers
    /// would all have that of what grew below them.
    pub self_grown: f64,
    /// Shown on hover.
    pub tip: String,
}

/// A frame that is drawn.
struct Drawn<'a> {
    bar: &'a FlameBar,
    /// Where it begins in either graph, from 0 to 1.
    from: [f64; 2],
}

/// A narrower part of a graph would be written as of no width, and no part of that can be shown larger.
const WIDTH_MIN: f64 = 1e-6;
/// Frames drawn of a graph: those with the largest shares.
const BARS_MAX: usize = 3_000;
/// Height of a level in CSS pixels. It is the least that a finger hits (WCAG 2.2, 2.5.8).
const LEVEL: usize = 24;

/// By how much a share must have changed for each deeper colour.
const STEPS: [f64; 3] = [0.01, 0.05, 0.20];
/// Classes of colours, from no change to the largest.
const GREW: [&str; 4] = ["even", "grew-1", "grew-2", "grew-3"];
const SHRANK: [&str; 4] = ["even", "shrank-1", "shrank-2", "shrank-3"];
/// Colours and what they mean, in points: hundredths of the whole.
const KEYS: [(&str, &str); 7] = [
    ("grew-3", "20 points more in the first graph"),
    ("grew-2", "5 more"),
    ("grew-1", "1 more"),
    ("even", "about the same"),
    ("shrank-1", "1 less"),
    ("shrank-2", "5 less"),
    ("shrank-3", "20 less"),
];

/// How flame graphs are read.
const HOW: &str = "A bar is a function as called by the one above it. It is as wide as its share of the time, and coloured by how \
                   much more of that it takes itself in the first graph. Click on a bar to see it larger in both graphs. Keys: arrows go from bar to \
                   bar, Enter shows one larger, Escape all.";

/// The ids of both graphs on the page.
const IDS: [&str; 2] = ["tail", "all"];

impl FlameGraphs {
    /// Frames with no more than this share of either graph are not drawn, and need neither name nor tip; from 0 to 1.
    pub const SHARE_MIN: f64 = 0.0005;

    /// The page of both, and of `text` below. It is self-contained; a script of its own shows a frame larger, and finds names.
    #[must_use]
    pub fn page(&self, title: &str, text: &str) -> String {
        let drawn = self.drawn();
        let link = |(graph, id): (&FlameGraph, &str)| (id.to_owned(), graph.title.clone());
        let graphs = self.graphs.iter().zip(IDS).map(link);
        let parts = graphs.chain([("words".to_owned(), "In words".to_owned())]);
        let mut body = format!(
            "<header>\n<h1>{}</h1>\n{}<p class=\"muted\">{HOW}</p>\n</header>\n<section class=\"flames\">\n{}",
            escape(title),
            contents(parts),
            keys()
        );
        for at in 0..self.graphs.len() {
            body.push_str(&self.figure(at, &drawn));
        }
        let _ = write!(
            body,
            "</section>\n<section id=\"words\">\n<h2>In words</h2>\n<pre class=\"whole\" tabindex=\"0\">{}</pre>\n</section>\n",
            escape(text)
        );
        page(title, &body)
    }

    /// The frames that are wide enough. Callees lie below their caller from its left end on.
    fn drawn(&self) -> Vec<Drawn<'_>> {
        let least = self.least();
        let mut drawn = vec![];
        // Where the next frame of each depth begins.
        let mut next = vec![[0.0, 0.0]];
        for bar in &self.frames {
            next.truncate(bar.depth + 1);
            let Some(place) = next.get_mut(bar.depth) else { continue };
            let from = *place;
            *place = [from[0] + bar.shares[0], from[1] + bar.shares[1]];
            next.push(from);
            if bar.widest() > least {
                drawn.push(Drawn { bar, from });
            }
        }
        drawn
    }

    /// The share that a frame must exceed in one of the graphs. A caller has at least its callees' share.
    fn least(&self) -> f64 {
        let mut shares: Vec<f64> = self.frames.iter().map(FlameBar::widest).collect();
        shares.sort_by(|one, other| other.total_cmp(one));
        shares.get(BARS_MAX).copied().unwrap_or(0.0).max(Self::SHARE_MIN)
    }

    fn figure(&self, at: usize, drawn: &[Drawn<'_>]) -> String {
        let graph = &self.graphs[at];
        let levels = drawn.iter().map(|one| one.bar.depth + 2).max().unwrap_or(1);
        let more = match self.frames.len() - drawn.len() {
            0 => String::new(),
            1 => " A narrower bar is left out.".to_owned(),
            more => format!(" {} narrower bars are left out.", count(more as u64)),
        };
        let mut out = format!(
            "<figure class=\"flame\" id=\"{}\">\n<figcaption><b>{}</b><br/>{}{more}</figcaption>\n\
             <div class=\"frames\" role=\"group\" aria-label=\"{}\" style=\"height:{}px\">\n\
             <button type=\"button\" class=\"even\" style=\"left:0%;width:100%;top:0px\" data-frame=\"0\" data-until=\"{}\" \
             data-tip=\"{}\">{}</button>\n",
            IDS[at],
            escape(&graph.title),
            escape(&graph.subtitle),
            escape(&graph.whole),
            levels * LEVEL,
            drawn.len(),
            escape(&graph.subtitle),
            escape(&graph.whole),
        );
        let has_width = |one: &Drawn<'_>| one.bar.shares[at] >= WIDTH_MIN;
        for (place, one) in drawn.iter().enumerate().filter(|(_, one)| has_width(one)) {
            let _ = writeln!(
                out,
                "<button type=\"button\" class=\"{}\" style=\"left:{:.4}%;width:{:.4}%;top:{}px\" data-frame=\"{}\" \
                 data-until=\"{}\" data-tip=\"{}\">{}</button>",
                colour(one.bar.self_grown),
                one.from[at] * 100.0,
                one.bar.shares[at] * 100.0,
                (one.bar.depth + 1) * LEVEL,
                place + 1,
                last_within(drawn, place) + 1,
                escape(&one.bar.tip),
                escape(&one.bar.name),
            );
        }
        out.push_str("</div>\n</figure>\n");
        out
    }
}

impl FlameBar {
    /// Its share of the graph that has more of it.
    const fn widest(&self) -> f64 {
        self.shares[0].max(self.shares[1])
    }
}

/// The place of the last frame that lies within this one, or its own.
fn last_within(drawn: &[Drawn<'_>], place: usize) -> usize {
    let depth = drawn[place].bar.depth;
    place + drawn[place + 1..].iter().take_while(|later| later.bar.depth > depth).count()
}

/// The class of a change.
fn colour(grown: f64) -> &'static str {
    let steps = STEPS.iter().filter(|step| grown.abs() >= **step).count();
    if grown > 0.0 { GREW[steps] } else { SHRANK[steps] }
}

fn keys() -> String {
    let key = |(class, words): (&str, &str)| {
        format!("<li><i class=\"swatch {class}\"></i> {words}</li>\n")
    };
    format!("<ul class=\"keys\">\n{}</ul>\n", KEYS.map(key).concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, depth: usize, shares: [f64; 2]) -> FlameBar {
        let (name, tip) = (name.to_owned(), format!("{name} <tip>"));
        FlameBar { name, depth, shares, self_grown: shares[0] - shares[1], tip }
    }

    fn graphs(frames: Vec<FlameBar>) -> FlameGraphs {
        let graph = |name: &str| FlameGraph {
            title: format!("{name} calls"),
            subtitle: format!("of {name}"),
            whole: format!("{name}, in all"),
        };
        FlameGraphs { graphs: [graph("slow"), graph("all")], frames }
    }

    /// `handle` calls `lock`, which calls `wait`, and `parse`.
    fn handled() -> FlameGraphs {
        graphs(vec![
            bar("handle", 0, [1.0, 1.0]),
            bar("lock", 1, [0.75, 0.25]),
            bar("wait", 2, [0.5, 0.000_000_1]),
            bar("parse", 1, [0.125, 0.5]),
        ])
    }

    #[test]
    fn callees_lie_below_their_caller_beside_one_another() {
        let page = handled().page("a < b", "x & y");
        for part in [
            "class=\"even\" style=\"left:0.0000%;width:100.0000%;top:24px\" data-frame=\"1\" data-until=\"4\"",
            "class=\"grew-3\" style=\"left:0.0000%;width:75.0000%;top:48px\" data-frame=\"2\" data-until=\"3\"",
            "class=\"grew-3\" style=\"left:0.0000%;width:50.0000%;top:72px\" data-frame=\"3\" data-until=\"3\"",
            "class=\"shrank-3\" style=\"left:75.0000%;width:12.5000%;top:48px\" data-frame=\"4\" data-until=\"4\"",
            // In all calls.
            "class=\"grew-3\" style=\"left:0.0000%;width:25.0000%;top:48px\" data-frame=\"2\" data-until=\"3\"",
            "class=\"shrank-3\" style=\"left:25.0000%;width:50.0000%;top:48px\" data-frame=\"4\" data-until=\"4\"",
            "style=\"height:96px\"",
            "data-tip=\"lock &lt;tip&gt;\">lock</button>",
            "<h1>a &lt; b</h1>",
            "x &amp; y",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert_eq!(
            page.matches(">wait</button>").count(),
            1,
            "none is drawn where it took next to no time"
        );
        assert!(!page.contains("narrower"), "{page}");
    }

    #[test]
    fn colours_have_steps_in_both_directions() {
        for (grown, class) in [
            (0.0, "even"),
            (0.009, "even"),
            (0.01, "grew-1"),
            (0.1, "grew-2"),
            (1.0, "grew-3"),
            (-0.009, "even"),
            (-0.02, "shrank-1"),
            (-0.05, "shrank-2"),
            (-1.0, "shrank-3"),
        ] {
            assert_eq!(colour(grown), class, "{grown}");
        }
        assert_eq!(KEYS.map(|(class, _)| class).concat().matches('-').count(), 6);
    }

    #[test]
    fn of_many_frames_the_widest_are_drawn_with_their_callers_and_the_others_counted() {
        // A third more than there is room for: a thousand callees, and three levels of calls in each.
        let callee = |depth: usize| bar("callee", depth, [0.0008 - 0.00005 * depth as f64, 0.0]);
        let callees = (0..BARS_MAX / 3).flat_map(|_| [1, 2, 3, 4].map(callee));
        let frames = std::iter::once(bar("handle", 0, [1.0, 1.0])).chain(callees);
        let graphs = graphs(frames.collect());
        let drawn = graphs.drawn();
        assert!(drawn.len() > 1 && drawn.len() <= BARS_MAX, "{}", drawn.len());
        let has_caller = |at: usize| {
            let depth = drawn[at].bar.depth;
            let around = drawn[..at].iter().rev().find(|one| one.bar.depth < depth);
            depth == around.map_or(0, |one| one.bar.depth + 1)
        };
        assert!((0..drawn.len()).all(has_caller));
        let left_out = count((graphs.frames.len() - drawn.len()) as u64);
        let told = format!("of slow {left_out} narrower bars are left out.");
        assert!(graphs.page("x", "y").contains(&told), "{told}");
    }

    #[test]
    fn nothing_to_draw_is_still_a_page() {
        let page = graphs(vec![]).page("x", "y");
        assert!(page.contains("data-frame=\"0\" data-until=\"0\"") && page.contains("height:24px"));
    }
}
