//! What long runs of ready sets found: a line of JSON for each, written by the tests of `crates/sync`.

use super::{head, line};
use serde::Deserialize;
use tailwater_report::count;

#[derive(Deserialize)]
struct Run {
    what: String,
    queues: u64,
    producers: u64,
    consumers: u64,
    pushed: u64,
    found: u64,
    /// Of runs in which processes are killed: what was rung for before a producer died.
    announced: Option<u64>,
    consumers_killed: Option<u64>,
    producers_killed: Option<u64>,
}

/// A line for each run. What must be found is what was announced, or else all.
pub(super) fn table(result: &str) -> String {
    let titles =
        ["consumers", "queues", "producers", "killed", "pushed", "must be found", "found", "lost"];
    let mut text = head(&titles.map(str::to_owned));
    for text_of_run in result.lines() {
        let run: Run = serde_json::from_str(text_of_run).expect("a line of a long run");
        let killed = run.consumers_killed.zip(run.producers_killed);
        let killed = killed.map_or("–".to_owned(), |(consumers, producers)| {
            format!("{} consumers, {} producers", count(consumers), count(producers))
        });
        let due = run.announced.unwrap_or(run.pushed);
        text += &line(&[
            format!("{}, {}", run.consumers, run.what),
            count(run.queues),
            count(run.producers),
            killed,
            count(run.pushed),
            count(due),
            count(run.found),
            count(due.saturating_sub(run.found)),
        ]);
    }
    text
}
