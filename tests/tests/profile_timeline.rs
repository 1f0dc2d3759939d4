//! The page of a slow call, of a real program: a lock that another thread holds, then a sleep.

use crate::profiled::{alone, folder, in_time, record_with, succeeds, text, tools};
use std::path::Path;
use std::process::Command;

/// A bar of the page, in nanoseconds since the call began.
#[derive(Clone, Debug)]
struct Bar {
    tip: String,
    from: i64,
    to: i64,
    /// By how much either end may be wrong.
    unsure: [i64; 2],
    /// Where it lies on the page.
    y: f64,
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

fn bars(page: &str) -> Vec<Bar> {
    let bar = |element: &str| {
        let number = |name: &str| attribute(element, name).expect(name).parse().expect(name);
        let unsure = attribute(element, "data-unsure").unwrap_or("0 0");
        let unsure: Vec<i64> =
            unsure.split(' ').map(|one| one.parse().expect("a number")).collect();
        let (_, tip) = element.split_once("<title>").expect("a tip");
        Bar {
            tip: tip.split_once("</title>").expect("it ends").0.to_owned(),
            from: number("data-from"),
            to: number("data-to"),
            unsure: [unsure[0], unsure[1]],
            y: attribute(element, "y").expect("a place").parse().expect("a number"),
        }
    };
    page.split("class=\"tw-bar").skip(1).map(bar).collect()
}

/// The bar of which that is said, in a row of the thread of this name.
fn of(bars: &[Bar], thread: &str, what: &str) -> Option<Bar> {
    let is_it = |bar: &&Bar| bar.tip.starts_with(thread) && bar.tip.contains(what);
    bars.iter().find(is_it).cloned()
}

fn page(folder: &Path) -> String {
    let to = folder.join("slow.html");
    let mut command = Command::new(&tools().tailwater);
    command.args(["profile", "report", "--slowest", "1", "--function", "slow_call", "--page"]);
    succeeds(command.arg(&to).arg(folder.join("x.trace")));
    std::fs::read_to_string(to).expect("a page")
}

#[test]
fn a_slow_calls_page_leads_from_its_wait_to_the_holder_and_shows_the_sleep_after_it() {
    let _alone = alone();
    let folder = folder("timeline");
    let program = folder.join("held");
    tools().compiled("CC", "-pthread", "held.c", &program);
    // Of a call that the scanner never saw nothing is told: longer each time.
    in_time(20, |ms| {
        let done = succeeds(record_with(&folder, &["--kernel"], &program).arg(ms));
        let page = page(&folder);
        let bars = bars(&page);
        let own = |what: &str| of(&bars, "held (", what);
        let [call, waited] = [own("slow_call:")?, own("planted_wait:")?];
        let slept = own("planted_sleep:")?;
        let hold = of(&bars, "holder (", "planted_hold:")?;
        // Recorded by the thread itself. Where others have the cores, the lock may be free again before it is asked for.
        let wait = own("for mutex lock")?;
        assert!(wait.tip.contains(", held by holder (") && wait.tip.ends_with(" in planted_hold"));
        let lies_within = |inner: &Bar, outer: &Bar| {
            inner.from + inner.unsure[0] >= outer.from - outer.unsure[0]
                && inner.to - inner.unsure[1] <= outer.to + outer.unsure[1]
        };
        for (inner, outer) in [(&wait, &waited), (&waited, &call), (&slept, &call)] {
            assert!(lies_within(inner, outer), "{inner:?} in {outer:?}");
        }
        assert!(slept.from + slept.unsure[0] >= wait.to, "{slept:?} after {wait:?}");
        // The holder had the lock when the wait began.
        let holds = hold.from - hold.unsure[0]..=hold.to + hold.unsure[1];
        assert!(holds.contains(&wait.from), "{hold:?} {wait:?}");
        let arrow = format!("data-at=\"{}\"", wait.from);
        let (_, arrow) = page.split_once(&arrow).expect("an arrow from the wait's beginning");
        let (arrow, _) = arrow.split_once("</g>").expect("it ends");
        assert!(arrow.contains(&format!("V{}m", hold.y)), "to {hold:?}: {arrow}");
        of_kernel(&folder, &text(&done.stderr), &slept, &bars);
        Some(())
    });
}

/// Where the kernel's events may be had, the sleep ended by a timer.
fn of_kernel(folder: &Path, said: &str, slept: &Bar, bars: &[Bar]) {
    if !folder.join("x.trace.kernel").exists() {
        assert!(said.contains("recording without the kernel's events"), "{said}");
        return;
    }
    let own = || bars.iter().filter(|bar| bar.tip.starts_with("held ("));
    let is_in_it =
        |bar: &&Bar| bar.tip.contains("asleep") && bar.from < slept.to && bar.to > slept.from;
    let asleep: Vec<&Bar> = own().filter(is_in_it).collect();
    // Events of that time may be lost where others have the cores.
    let is_unknown = own().any(|bar| bar.tip.contains(", unknown"));
    let is_told = asleep.iter().any(|bar| bar.tip.ends_with(", woken by timer"));
    assert!(is_told || is_unknown, "{asleep:?}");
}
