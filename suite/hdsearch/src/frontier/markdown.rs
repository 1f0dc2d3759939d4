//! A frontier as tables for documents, which a test compares with the file that they are drawn from.

use super::{Frontier, GOALS, Point};
use std::fmt::Write as _;

impl Frontier {
    /// The best points and the goals, as two tables in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "| index | settings | recall@1 | recall@10 | cosine | candidates | of all points | compute | latency |\n\
             |---|---|---|---|---|---|---|---|---|\n",
        );
        for point in self.best() {
            let Point { index, settings, quality, compute_us, latency_us, .. } = point;
            let _ = writeln!(
                text,
                "| {index} | {settings} | {:.2} | {:.2} | {:.3} | {:.0} | {:.2} % | {:.0} µs | {:.0} µs |",
                quality.recall_1,
                quality.recall_10,
                quality.cosine,
                quality.candidates,
                100.0 * self.share(point),
                compute_us.p50,
                latency_us.p50
            );
        }
        text.push_str("\n| goal | index | reached with the fewest candidates by | recall@1 | recall@10 | latency |\n");
        text.push_str("|---|---|---|---|---|---|\n");
        for goal in &GOALS {
            for index in self.indexes() {
                let found = goal.reached(self, index).map_or_else(
                    || "none of these | | |".to_owned(),
                    |point| {
                        format!(
                            "{} | {:.2} | {:.2} | {:.0} µs",
                            point.settings,
                            point.quality.recall_1,
                            point.quality.recall_10,
                            point.latency_us.p50
                        )
                    },
                );
                let _ = writeln!(text, "| {} | {index} | {found} |", goal.about);
            }
        }
        text
    }
}
