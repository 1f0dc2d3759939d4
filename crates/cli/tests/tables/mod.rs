//! Tables as pages have them, from results.

mod ablations;
mod accelerator;
mod agreement;
mod attached;
mod breakdown;
mod by_demand;
mod by_variant;
mod classes;
mod connections;
mod core_time;
mod crowds;
mod figures;
mod firstrun;
mod fleet;
mod goals;
mod guide;
mod hdsearch;
mod hostile;
mod last_credit;
mod locks;
mod loops;
mod losses;
mod models;
mod neighbours;
pub(crate) mod portrait;
mod profile;
mod profiler;
mod ready;
mod recommend;
mod recoveries;
mod router;
mod setalgebra;
mod side_by_side;
mod skus;
mod slow_minute;
mod suite;
mod tantivy;
mod threads;
mod tiers;
mod tls;
mod transport;
mod tuning;
mod validation;

use tailwater_report::percent;
use tailwater_stats::result::{Experiment, Spread, Summary};

/// The table of this name, from the texts of its result files; it ends with a line break.
pub(crate) fn draw(name: &str, results: &[String]) -> String {
    match results {
        _ if name == "attached" => attached::table(results),
        _ if name == "by-variant" => by_variant::results(results),
        _ if name == "connections" => connections::table(results),
        _ if name == "crowds" => crowds::table(results),
        _ if name == "guide" => guide::table(results),
        _ if name == "hdsearch-sets" => hdsearch::sets(results),
        _ if name == "loops" => loops::table(results),
        _ if name == "over" => by_variant::over(results),
        _ if name == "profile-clocked" => profiler::clocked(results),
        _ if name == "profile-full" => profiler::full(results),
        _ if name == "profile-kept" => profiler::kept(results),
        _ if name == "profile-killed" => profiler::killed(results),
        _ if name == "profile-open" => profiler::open(results),
        _ if name == "profile-options" => profiler::options(results),
        _ if name == "profile-planted" => profiler::planted(results),
        _ if name == "profile-recorded" => profiler::recorded(results),
        _ if name == "skus" => skus::table(results),
        _ if name == "suite-cost" => suite::cost(results),
        _ if name == "tantivy-bytes" => tantivy::bytes(results),
        _ if name == "tantivy-times" => tantivy::times(results),
        _ if name == "tiers" => tiers::table(results),
        _ if name == "validation-parts" => validation::parts(results),
        [result] => of_one(name, result),
        [first, second] if name == "agreement" => agreement::table(first, second),
        [before, now] if name == "portrait" => portrait::table(before, now),
        [sockets, simulated, slow] if name == "slow-minute" => {
            slow_minute::table(sockets, simulated, slow)
        }
        _ => panic!("no table of {} files is called {name}", results.len()),
    }
}

fn of_one(name: &str, result: &str) -> String {
    match name {
        "ablations" => ablations::table(result),
        "accelerator" => accelerator::cases(result),
        "accelerator-bytes" => accelerator::bytes(result),
        "breakdown" => breakdown::table(result),
        "by-demand" => by_demand::table(result),
        "by-rate" => by_variant::by_rate(result),
        "classes" => classes::table(result),
        "controllers" => side_by_side::by_controller(result),
        "core-time" => core_time::table(result),
        "figures" => figures::table(result),
        "figures-count" => figures::counts(result),
        "first" => side_by_side::first(result),
        "firstrun" => firstrun::table(result),
        "fleet" => fleet::table(result),
        "goals" => goals::table(result),
        "hdsearch-best" => hdsearch::best(result),
        "hdsearch-goals" => hdsearch::goals(result),
        "hostile" => hostile::table(result),
        "locks" => locks::table(result),
        "messages" => by_variant::messages(result),
        "models" => models::table(result),
        "models-by-rate" => models::by_rate(result),
        "neighbours" => neighbours::table(result),
        "profile-calls" => profile::calls(result),
        "profile-causes" => profiler::causes(result),
        "readers" => profiler::readers(result),
        "profile-diff" => profiler::diff(result),
        "profile-granularity" => profile::by_line(result, "granularity"),
        "profile-programs" => profile::programs(result),
        "profile-scanned" => profile::scanned(result),
        "profile-memcached" => profile::by_line(result, "memcached"),
        "profile-timed-calls" => profile::by_line(result, "timed-calls"),
        "profile-traces" => profile::by_line(result, "traces"),
        "profile-traces-said" => profile::said(result, "traces"),
        "profile-truth" => profile::by_line(result, "truth"),
        "ready-bell" => ready::bell(result),
        "ready-epoll" => ready::epoll(result),
        "ready-finding" => ready::finding(result),
        "ready-goals" => ready::goals(result),
        "ready-light" => ready::light(result),
        "ready-losses" => losses::table(result),
        "ready-loads" => ready::loads(result),
        "ready-peaks" => ready::peaks(result),
        "ready-shapes" => ready::shapes(result),
        "recommend" => recommend::table(result),
        "recoveries" => recoveries::table(result),
        "recoveries-first" => recoveries::first(result),
        "router-deaths" => router::deaths(result),
        "router-proxies" => router::proxies(result),
        "last-credit" => last_credit::table(result),
        "threads" => threads::table(result),
        "threads-machines" => threads::machines(result),
        "setalgebra-lists" => setalgebra::lists(result),
        "setalgebra-postings" => setalgebra::postings(result),
        "setalgebra-queries" => setalgebra::queries(result),
        "suite-calls" => suite::calls(result),
        "suite-latency" => suite::latency(result),
        "suite-saturation" => suite::saturation(result),
        "suite-shares" => suite::shares(result),
        "suite-switching" => suite::switching(result),
        "suite-switches" => suite::switches(result),
        "suite-text" => suite::text(result),
        "suite-utilisation" => suite::utilisation(result),
        "suite-waits" => suite::waits(result),
        "tls" => tls::table(result),
        "transport" => transport::table(result),
        "tuning" => tuning::table(result),
        "validation" => validation::table(result),
        "validation-switches" => validation::switches(result),
        _ => match name.strip_prefix("guide-said-") {
            Some(number) => guide::said(result, number),
            None => panic!("no table is called {name}"),
        },
    }
}

/// The median, and the range in brackets.
fn with_range(values: &[f64]) -> String {
    let Spread { min, median, max } = Spread::of(values);
    format!("{median:.2} [{min:.2}–{max:.2}]")
}

/// In per cent: the median, and its range where this is one.
fn ranged(spread: Spread) -> String {
    let [min, median, max] = [spread.min, spread.median, spread.max].map(percent);
    if min == max { median } else { format!("{median} [{min}–{max}]") }
}

/// Controller and profile of its runs, each once, in the order of the file.
fn variants(result: &Experiment) -> Vec<Variant<'_>> {
    let mut seen = Vec::new();
    for run in &result.runs {
        let variant = (&*run.asked.controller, &*run.asked.profile);
        if !seen.contains(&variant) {
            seen.push(variant);
        }
    }
    seen
}

/// Controller and profile: what has a line or a column of its own.
type Variant<'a> = (&'a str, &'a str);

fn variant(summary: &Summary) -> Variant<'_> {
    (&summary.controller, &summary.profile)
}

/// As the scenario names it: by its label, or by the controller alone.
fn label((controller, profile): Variant<'_>) -> &str {
    if profile == "default" { controller } else { profile }
}

/// Its label; controller and profile where another of these has that label, too.
fn called(it: Variant<'_>, all: &[Variant<'_>]) -> String {
    let is_shared = all.iter().any(|&other| other != it && label(other) == label(it));
    if is_shared { format!("{}, {}", it.0, it.1) } else { label(it).to_owned() }
}

/// Repetitions of which a median is told without saying how many there are.
const ENOUGH: usize = 3;

/// What was found in so many valid repetitions; a reader is told where these are few.
fn of_repetitions(text: String, n: usize) -> String {
    if n < ENOUGH { format!("{text} (n = {n})") } else { text }
}

/// One line of a table.
fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The first two lines of a table.
fn head(cells: &[String]) -> String {
    line(cells).replace("|  |", "| |") + &"|---".repeat(cells.len()) + "|\n"
}
