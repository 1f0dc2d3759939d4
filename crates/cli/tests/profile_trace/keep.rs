//! `keep`, and the page of `requests`: on a trace of which all is known.

use super::made::{function, profile, told, trace};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tailwater_profile::record::{Clock, Mark, MarkKind, Record, Thread, ThreadId};

/// A thousand requests of 10 µs, of which each hundredth takes 10 ms.
fn requests(name: &str) -> PathBuf {
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let thread = Thread { id: ThreadId(0), tid: 100, name: "server".into() };
    let mut records = vec![Record::Clock(clock), function(1, "main"), Record::Thread(thread)];
    let mut at = 1_000_000;
    for request in 0..1_000 {
        let mark = |kind, at| Record::Mark(Mark { thread: ThreadId(0), request, kind, at });
        records.push(mark(MarkKind::Start, at));
        at += if request % 100 == 7 { 10_000_000 } else { 10_000 };
        records.push(mark(MarkKind::End, at));
        at += 1_000;
    }
    trace(name, &records, 0)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&told(&profile("requests", path, &["--json"]))).expect("JSON")
}

#[test]
fn what_is_kept_tells_of_the_slowest_what_the_whole_tells() {
    let whole = requests("whole.trace");
    let part = whole.with_file_name("part.trace");
    let said =
        told(&profile("keep", &whole, &["--above", "p99", "-o", part.to_str().expect("a path")]));
    assert!(said.contains("of 1,000 requests those above p99, 10.0 ms and longer"), "{said}");
    let (whole, kept) = (json(&whole), json(&part));
    assert_eq!(kept["slowest"].as_array().expect("ten").len(), 10);
    assert_eq!(kept["slowest"], whole["slowest"]);
    assert_eq!(kept["count"], 1_000, "of all, as the quantiles");
    assert_eq!(kept["quality"]["kept"]["requests"], 1_000);
    assert!(kept["records"].as_u64() < whole["records"].as_u64());
    let text = told(&profile("requests", &part, &[]));
    assert!(text.contains("Kept: of 1,000 requests those of 10.0 ms and longer"), "{text}");
    // Percentiles of a part are not those of all.
    let less = part.with_file_name("less.trace");
    let again = profile("keep", &part, &["--above", "p99.9", "-o", less.to_str().expect("a path")]);
    assert_eq!(again.status.code(), Some(2));
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("is a kept part already"), "{said}");
    assert!(!less.exists());
}

#[test]
fn a_page_has_a_time_line_for_each_request() {
    let whole = requests("paged.trace");
    let page = whole.with_file_name("paged.html");
    let flags = ["--slowest", "3", "--page", page.to_str().expect("a path")];
    told(&profile("requests", &whole, &flags));
    let page = std::fs::read_to_string(page).expect("a page");
    assert_eq!(page.matches("<figure class=\"timeline\" id=\"request-").count(), 3);
    assert_eq!(
        page.matches("07, 10.0 ms</b>").count() + page.matches(" 7, 10.0 ms</b>").count(),
        3
    );
}
