//! Tables, pictures and pages of synthetic experiments.

mod fixture;
mod spreadsheets;

use fixture::{base, overload, run, small, spike};
use quick_xml::Reader;
use quick_xml::events::Event;
use std::collections::BTreeSet;
use tailwater_report::{
    FlameBar, FlameGraph, FlameGraphs, Look, Plot, TOLERANCE_POINTS, TableStyle, Timeline,
    TimelineArrow, TimelineBar, TimelineRow, comparison, comparison_table, html, line_summary,
    plots, table, tiers_csv, timelines,
};
use tailwater_stats::agreement::agreement;
use tailwater_stats::result::{ClassReading, Experiment, Fates, TierReading};

const PLAIN: TableStyle = TableStyle { colour: false, width: None };

#[test]
fn a_small_table_as_text() {
    let expected = "\
100 clients, SLO 400 µs (capacity 69.1 k/s; medians of valid repetitions)
demand controller           offered goodput % of  % of    p50     p99   p99.9 drops exp'd late lost reject    lag   CPU valid
                                k/s     k/s cap. bound     µs      µs      µs     %     %    %    % p50 µs p99 µs µs/rq
─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
  2.0× none                     138    0.14  0.2   0.2 300000 1200000 2640000     0     0   49   51      –   51.0  13.9   1/2
       breakwater (default)     138    66.0   95    97   82.9     332     730   2.4    39  0.2    0   62.0   51.0  13.8   2/2

invalid: none at 2.0×, 100 clients, SLO 400 µs, repetition 1: lateness p99 260 µs, at most 200 µs
discarded: none at 2.0×, repetition 2: steal 4.1 % of a core, at most 2 %
";
    assert_eq!(table(&small(), PLAIN), expected);
}

#[test]
fn colour_only_adds_to_the_text() {
    let plain = table(&overload(), PLAIN);
    let coloured = table(&overload(), TableStyle { colour: true, width: None });
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains("\u{1b}["));
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    assert_eq!(words(&plain), words(&without_colour(&coloured)));
}

#[test]
fn a_narrow_table_keeps_what_matters_and_says_what_it_left_out() {
    let narrow = table(&overload(), TableStyle { colour: false, width: Some(80) });
    let rows = narrow.lines().filter(|line| line.contains('×') && line.contains("/3"));
    assert!(rows.clone().count() > 0);
    assert!(rows.clone().all(|row| row.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("goodput") && narrow.contains("p99"));
    assert!(narrow.contains("left out for want of width: "), "{narrow}");
}

#[test]
fn every_line_of_text_fits_from_eighty_columns_up() {
    let mut long = overload();
    long.title =
        "A title of many words that says at length what its scenario is about and why".into();
    for run in &mut long.runs {
        run.asked.profile =
            "default [locks=timed:50us, preset=breakwater-osdi20/10us, alpha=0.002]".into();
        run.verdict.valid = run.asked.repetition > 0;
    }
    long.summary.clear();
    for experiment in [small(), overload(), spike(), long] {
        for width in 80..180 {
            let text = table(&experiment, TableStyle { colour: false, width: Some(width) });
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width.into(), "{widest} of {width} columns:\n{text}");
        }
    }
}

#[test]
fn a_generator_that_could_not_keep_up_brings_advice_on_sockets() {
    let mut experiment = small();
    assert!(!table(&experiment, PLAIN).contains("bottleneck"));
    for run in &mut experiment.runs {
        run.verdict.valid = false;
        run.unsent = run.fates.total() / 20;
    }
    let text = table(&experiment, PLAIN);
    assert!(text.contains("clients.cores") && text.contains("clients.threads"), "{text}");
    assert!(html(&experiment).contains("clients.threads"));
    experiment.driver = "sim".into();
    assert!(!table(&experiment, PLAIN).contains("bottleneck"));
}

#[test]
fn a_machine_that_stalls_is_no_generator_that_cannot_keep_up() {
    let mut experiment = small();
    for run in &mut experiment.runs {
        (run.verdict.valid, run.generator.lateness_p99_us) = (false, 3_000.0);
    }
    assert!(!table(&experiment, PLAIN).contains("bottleneck"));
    for run in &mut experiment.runs {
        run.generator.lateness_p95_us = 3_000.0;
    }
    assert!(table(&experiment, PLAIN).contains("bottleneck"));
}

#[test]
fn two_results_share_a_page_and_its_pictures() {
    let mut second = small();
    second.summary[0].controller = "<b>bold</b>".to_owned();
    let found = agreement(&small(), &second, TOLERANCE_POINTS);
    let page = comparison(&small(), &second, &found);
    check(&page);
    assert!(page.contains("&lt;b&gt;bold") && !page.contains("<b>bold"), "text stays text");
    assert!(page.contains("class=\"sortable comparison\"") && page.contains("comparison.csv"));
    assert!(page.contains("download=\"comparison.json\""), "JSON stands beside CSV");
    assert!(page.contains("none (first)") && page.contains("breakwater (default, second)"));
    let dispensable = page.matches("<th class=\"more\"").count();
    assert_eq!(dispensable, 4, "a phone shows goodput and its difference first");
    assert!(!page.contains("different scenarios"), "they are of one");
    second.scenario = "<i>night</i>".to_owned();
    let found = agreement(&small(), &second, TOLERANCE_POINTS);
    let page = comparison(&small(), &second, &found);
    check(&page);
    let note = "<p>Note: the results are of different scenarios, so what differs may come of that: scenario is ";
    assert!(
        page.contains(note) && page.contains(" and &lt;i&gt;night&lt;/i&gt; in the second.</p>")
    );
}

#[test]
fn text_from_files_cannot_drive_the_terminal() {
    let mut experiment = small();
    experiment.runs[0].asked.controller = "no\u{1b}[2Jne".to_owned();
    experiment.discarded[0].why = "\u{7}bell".to_owned();
    // `draw` and `compare` read results of others.
    experiment.scenario = "a\u{1b}[2Jb".to_owned();
    experiment.cut_short = Some("\u{1b}[31mred".to_owned());
    let found = agreement(&experiment, &experiment, TOLERANCE_POINTS);
    let text = table(&experiment, PLAIN)
        + &line_summary(&experiment)
        + &comparison_table((&experiment, &experiment), &found, None);
    assert!(text.chars().all(|c| !c.is_control() || c == '\n'), "{text:?}");
}

#[test]
fn the_summary_names_the_best_first() {
    assert_eq!(
        line_summary(&small()),
        "At 2.0× of 69.1 k requests/s, breakwater (default) keeps 66.0 k/s in time (95 % of \
         capacity, 97 % of the bound, p99 332 µs); none keeps 0.14 k/s (p99 1.20 s). 3 of 4 runs \
         are valid, 1 was discarded for noise; capacity drifted by 2.1 %."
    );
    let sentences = line_summary(&overload());
    assert!(sentences.contains("107 of 108 runs are valid"), "{sentences}");
    assert!(sentences.contains("1 more configuration follows"), "{sentences}");
}

#[test]
fn pictures_and_pages_are_well_formed_and_fetch_nothing() {
    for (experiment, count) in [(overload(), 20), (spike(), 4), (hostile(), 10), (single(), 8)] {
        let plots = plots(&experiment, Look::WHOLE);
        assert_eq!(plots.len(), count, "{}", experiment.scenario);
        for plot in &plots {
            check(&plot.svg);
        }
        let names: BTreeSet<&str> = plots.iter().map(|plot| plot.name.as_str()).collect();
        assert_eq!(names.len(), plots.len(), "names are unique");
        let page = html(&experiment);
        check(&page);
        let bare = tailwater_report::plots(&experiment, Look::BARE);
        for (plot, bare) in plots.iter().zip(&bare) {
            check(&bare.svg);
            assert!(page.contains(&bare.svg), "{}", plot.name);
            let says = |svg: &str| svg.contains(">Fates of all") || svg.contains("font-weight");
            assert!(says(&plot.svg) && !says(&bare.svg), "{}: title inside, or not", plot.name);
        }
    }
}

#[test]
fn a_page_of_time_lines_is_well_formed_and_fetches_nothing() {
    let hostile = "</svg><script>\u{1}&\"'";
    let bar = TimelineBar {
        ends: (-5, 900),
        unsure: (3, u64::MAX),
        lane: 1,
        series: 0,
        name: hostile.into(),
        tip: hostile.into(),
    };
    let arrow = TimelineArrow { at: 7, from: (0, 1), to: (1, 0), tip: hostile.into() };
    let row = |bars| TimelineRow { label: hostile.into(), bars };
    let line = Timeline {
        title: hostile.into(),
        subtitle: hostile.into(),
        ends: (-5, 1_000),
        series: vec![hostile.into()],
        rows: vec![row(vec![bar]), row(vec![])],
        arrows: vec![arrow],
    };
    check(&timelines(hostile, hostile, &[("one".into(), line)]));
}

#[test]
fn a_page_of_flame_graphs_is_well_formed_and_fetches_nothing() {
    let hostile = "</button><script>\u{1}&\"'";
    let (title, subtitle, whole) = (hostile.to_owned(), hostile.to_owned(), hostile.to_owned());
    let graph = FlameGraph { title, subtitle, whole };
    // The second lies in none of a lesser depth, as no trace has it.
    let frame = |depth| FlameBar {
        name: hostile.into(),
        depth,
        shares: [0.5, 1.0],
        self_grown: -0.5,
        tip: hostile.into(),
    };
    let graphs =
        FlameGraphs { graphs: [graph.clone(), graph], frames: vec![frame(0), frame(7), frame(1)] };
    check(&graphs.page(hostile, hostile));
}

#[test]
fn the_page_says_where_when_and_why() {
    let page = html(&small());
    for part in [
        "<title>overload · tailwater</title>",
        "breakwater (default) keeps 66.0 k/s",
        "Example CPU",
        "6.1.0",
        "2025-12-31 23:59 UTC",
        "0.1.0, commit 1f2e3d4c",
        "lateness p99 260 µs, at most 200 µs",
        "steal 4.1 % of a core, at most 2 %",
        "How each number is defined",
        "download=\"overload.json\"",
        "&quot;median&quot;: 66000.0",
    ] {
        assert!(page.contains(part), "the page lacks {part:?}");
    }
    assert_eq!(page.matches("<script>").count(), 1, "its own");
    for part in ["#group-0", "#counts", "#manifest", "#terms", "#raw"] {
        assert!(page.contains(&format!("<a href=\"{part}\">")), "no way to {part}");
        assert!(page.contains(&format!("id=\"{}\"", &part[1..])), "no {part}");
    }
}

/// The page had what tiers did as plain text, which no heading sorted and no phone could read.
#[test]
fn tiers_and_classes_are_tables_like_the_others() {
    let mut experiment = small();
    let tier = |name: &str, nodes| TierReading {
        tier: name.to_owned(),
        nodes,
        received_rps: Some(20_000.0),
        ..TierReading::default()
    };
    let class = |name: &str| ClassReading { class: name.to_owned(), ..ClassReading::default() };
    for run in &mut experiment.runs {
        run.tiers = vec![tier("", 1), tier("<leaf>", 4)];
        run.classes = vec![class("short"), class("<long>")];
    }
    let page = html(&experiment);
    check(&page);
    for kind in ["tiers", "classes"] {
        assert!(page.contains(&format!("<table class=\"sortable {kind}\">")), "{kind}");
    }
    assert!(page.contains("&lt;leaf&gt; (4)") && !page.contains("<leaf>"), "text stays text");
    let whole = page.split("<h3>Tiers</h3>").nth(1).expect("a table of tiers");
    let before_pictures = whole.split("class=\"plots\"").next().expect("a part");
    assert!(!before_pictures.contains("<pre>"), "no plain text is left");
    assert!(before_pictures.contains("class=\"more\"") && before_pictures.contains("all columns"));
    let csv = tiers_csv(&experiment).expect("there are tiers");
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(rows.records().count(), 2 * experiment.runs.len());
    assert!(page.contains("overload-tiers.csv") && tiers_csv(&small()).is_none());
}

/// The first label took the room of the second, and dozens of edges lay over the data.
#[test]
fn steps_are_a_strip_with_the_largest_changes_named() {
    let mut experiment = spike();
    for run in &mut experiment.runs {
        let series = run.series.as_mut().expect("stepped");
        let bins = series.demand_ratio.len();
        for (at, demand) in series.demand_ratio.iter_mut().enumerate() {
            // A crowd after a twentieth of the time, and ripples for ever after.
            *demand = if at < bins / 20 {
                0.3
            } else if at < bins / 10 {
                3.0
            } else {
                0.3 + 0.01 * (at % 2) as f64
            };
        }
    }
    let plots = plots(&experiment, Look::WHOLE);
    let goodput = plots.iter().find(|plot| plot.name.starts_with("goodput-over")).expect("drawn");
    assert!(goodput.svg.contains(">3.0×</text>"), "the crowd is named");
    let rises = goodput.svg.matches("tw-strip\" fill").count();
    assert!((3..100).contains(&rises), "{rises}: ripples go, the crowd stays");
    assert!(goodput.svg.contains("<title>at 0."), "values on hover");
}

/// A share above 100 % was painted as a good one, and stood in the table like any other.
#[test]
fn a_goodput_above_the_bound_is_marked_with_its_cause() {
    let mut experiment = small();
    experiment.summary.clear();
    let why = "goodput is 115 % of the bound, which nothing can beat: the capacity was too low";
    for run in &mut experiment.runs[2..] {
        run.rates.goodput_of_bound = 1.15;
    }
    experiment.runs[2].verdict.in_doubt = Some(why.to_owned());
    // One of three is no half: the median is none that exceeds the bound.
    let mut seldom = experiment.clone();
    seldom.runs.push(seldom.runs[3].clone());
    seldom.runs[3].rates.goodput_of_bound = 0.9;
    seldom.runs[4].rates.goodput_of_bound = 0.9;
    let text = table(&seldom, TableStyle { colour: false, width: None });
    assert!(!text.contains(" ?") && text.contains("doubtful: breakwater"), "{text}");
    for width in [None, Some(80)] {
        let text = table(&experiment, TableStyle { colour: false, width });
        let row = text.lines().find(|line| line.contains("breakwater")).expect("a row");
        assert!(row.contains(" 115 ?"), "{text}");
        assert_eq!(text.matches("115 ?").count(), 1, "{text}");
        let joined = text.replace('\n', " ");
        assert!(joined.contains(" ? goodput exceeds the bound by more than chance"), "{text}");
        assert!(joined.contains("doubtful: breakwater (default) at 2.0×"), "{text}");
        assert!(joined.contains(why), "{text}");
        assert!(width.is_none() || text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    let sentence = line_summary(&experiment);
    assert!(sentence.contains("115 % of the bound (doubtful)"), "{sentence}");
    let page = html(&experiment);
    check(&page);
    let cell = "<td class=\"fair\" title=\"the same in 2 runs; goodput is 115 % of the bound";
    assert!(page.contains(cell) && page.contains(">115 ?</td>"), "the cell is marked");
    assert!(page.contains("<tr><td>doubtful</td>"), "the note says why");
    assert!(page.contains("&quot;in_doubt&quot;: &quot;goodput is 115 %"), "the JSON says it");
    assert!(!html(&small()).contains(" ?</td>"), "what is not in doubt is not marked");
}

#[test]
fn hostile_names_stay_text() {
    let page = html(&hostile());
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;img src=x"));
    assert!(page.contains("download=\"-img-src-x-onerror-y-----b-.json\""));
}

#[test]
fn nothing_at_all_still_makes_a_report() {
    let nothing = Experiment::default();
    assert!(plots(&nothing, Look::WHOLE).is_empty());
    assert_eq!(table(&nothing, PLAIN), "no run took place\n");
    assert!(line_summary(&base("empty")).contains("No run of empty took place"));
    check(&html(&nothing));
}

#[test]
fn zeros_and_numbers_that_are_none_do_not_reach_the_reader() {
    let mut zero = run("none", 1.0, 0);
    (zero.latency.p50_us, zero.latency.p99_us, zero.latency.p999_us) = (0.0, 0.0, 0.0);
    (zero.rates.goodput_rps, zero.rates.throughput_rps, zero.rates.offered_rps) = (0.0, 0.0, 0.0);
    (zero.yardstick.bound_rps, zero.rates.goodput_of_bound, zero.yardstick.capacity_rps) =
        (0.0, f64::NAN, 0.0);
    (zero.generator.lateness_p99_us, zero.server.cpu_ns_per_request) = (f64::INFINITY, 0.0);
    zero.fates = Fates::default();
    let mut experiment = Experiment { runs: vec![zero], ..base("zeros") };
    experiment.capacity_rps = f64::NAN;
    experiment.capacity_drift = f64::NAN;
    let mut text = table(&experiment, PLAIN) + &line_summary(&experiment);
    for plot in plots(&experiment, Look::WHOLE) {
        check(&plot.svg);
        text.push_str(&plot.svg);
    }
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    check(&html(&experiment));
}

/// A page of loads told of 0 % of a capacity of 0 k requests/s.
#[test]
fn what_knows_no_capacity_tells_no_share_of_it() {
    let mut load = single();
    load.capacity_rps = 0.0;
    for run in &mut load.runs {
        (run.yardstick.capacity_rps, run.rates.goodput_of_capacity, run.asked.demand_ratio) =
            (0.0, 0.0, 0.0);
    }
    let told = line_summary(&load);
    let begin = "Of 69.1 k requests/s asked for, breakwater (default) keeps 65.7 k/s in time (97 % of the bound";
    assert!(told.starts_with(begin), "{told}");
    assert!(!html(&load).contains("Capacity 0") && html(&single()).contains("Capacity 69.1"));
}

/// It left the picture, and lay over the panel beside it.
#[test]
fn a_long_label_stays_in_its_picture() {
    let mut experiment = small();
    experiment.summary.clear();
    for run in &mut experiment.runs {
        run.asked.profile = "a label of words ".repeat(11);
    }
    for plot in plots(&experiment, Look::WHOLE) {
        for text in plot.svg.split("<text ").skip(1) {
            let (_, text) = text.split_once('>').expect("it begins");
            let (text, _) = text.split_once("</text>").expect("and ends");
            assert!(text.chars().count() < 150, "{}: {text}", plot.name);
        }
    }
}

/// A page of runs of 300 ms was like any other.
#[test]
fn runs_of_a_short_version_are_called_so() {
    let short = Experiment { short: true, ..small() };
    for text in [line_summary(&short), html(&short)] {
        assert!(text.contains("short version, which shows that it works: they are no result."));
    }
    assert!(!html(&small()).contains("short version"));
}

/// `draw` reads results of others.
#[test]
fn counts_that_no_run_has_make_a_report() {
    let mut experiment = small();
    let most = u64::MAX;
    for run in &mut experiment.runs {
        run.fates = Fates { ok: most, late: most, expired: most, shed: most, lost: most };
        (run.unsent, run.answers.partial) = (most, 1);
    }
    assert!(table(&experiment, PLAIN).contains("answers lacked a part"));
    check(&html(&experiment));
}

#[test]
fn without_a_valid_run_there_is_no_result() {
    let mut experiment = small();
    experiment.summary.clear();
    for run in &mut experiment.runs {
        run.verdict.valid = false;
        run.verdict.invalid_because = vec!["offered 90 %, needed 98 %".to_owned()];
    }
    let sentence = line_summary(&experiment);
    assert!(sentence.contains("no run in it is valid (mostly: offered 90 %"), "{sentence}");
    let text = table(&experiment, PLAIN);
    assert!(text.contains("0/2 !") && text.contains("no result"), "{text}");
    let plots = plots(&experiment, Look::WHOLE);
    assert_eq!(kinds(&plots), ["goodput", "fates"]);
    assert!(plots.iter().all(|plot| plot.svg.contains("no valid value to show")));
    assert!(plots.iter().all(|plot| !plot.svg.contains("bound (no")), "nor a bound of them");
}

#[test]
fn a_long_course_is_merged_without_losing_its_stall() {
    let mut experiment = spike();
    for run in &mut experiment.runs {
        let series = run.series.as_mut().expect("stepped");
        for values in [&mut series.offered_rps, &mut series.goodput_rps, &mut series.demand_ratio] {
            *values = vec![1_000.0; 50_000];
        }
        series.p99_us = vec![100.0; 50_000];
        series.p99_us[31_234] = 7e6;
    }
    let plots = plots(&experiment, Look::WHOLE);
    let p99 = plots.iter().find(|plot| plot.name.starts_with("p99-over")).expect("drawn");
    assert!(p99.svg.len() < 200_000, "{} bytes", p99.svg.len());
    assert!(p99.svg.contains(">10 s<"), "the axis reaches the stall");
}

/// Every simulation had a picture of its generator's lateness, which it has none of.
#[test]
fn what_was_not_measured_has_no_picture() {
    let mut simulated = small();
    simulated.summary.clear();
    for run in &mut simulated.runs {
        (run.generator.lateness_p99_us, run.server.cpu_ns_per_request) = (0.0, 0.0);
        (run.refusals.drop_ratio, run.refusals.reject_p50_us) = (0.0, 0.0);
    }
    let drawn = plots(&simulated, Look::WHOLE);
    assert_eq!(kinds(&drawn), ["goodput", "throughput", "p50", "p99", "p999", "fates"]);
}

#[test]
fn a_course_without_rejects_has_no_picture_of_them() {
    let mut experiment = spike();
    assert_eq!(plots(&experiment, Look::WHOLE).len(), 4);
    for run in &mut experiment.runs {
        run.series.as_mut().expect("stepped").reject_p50_us.fill(0.0);
    }
    let plots = plots(&experiment, Look::WHOLE);
    assert!(plots.len() == 3 && plots.iter().all(|plot| !plot.name.starts_with("reject")));
}

/// The beginnings of their names.
fn kinds(plots: &[Plot]) -> Vec<&str> {
    plots.iter().map(|plot| plot.name.split_once("-100-").expect("100 clients").0).collect()
}

#[test]
fn values_of_the_main_table_have_their_range_at_the_pointer() {
    let page = html(&overload());
    let table = page.split("class=\"sortable runs\"").nth(1).expect("the main table");
    let table = table.split("</table>").next().expect("its end");
    assert!(table.matches(" in 3 runs\">").count() > 100, "{table}");
    assert!(!html(&single()).contains(" in 1 runs"), "one run has no range");
}

/// Well-formed, and no address but the name of SVG's own namespace.
fn check(text: &str) {
    let mut reader = Reader::from_str(text);
    let (mut depth, mut elements) = (0_i32, 0);
    loop {
        match reader.read_event().expect("well-formed") {
            Event::Start(element) => {
                element.attributes().for_each(|a| drop(a.expect("well-formed attribute")));
                (depth, elements) = (depth + 1, elements + 1);
            }
            Event::Empty(element) => {
                element.attributes().for_each(|a| drop(a.expect("well-formed attribute")));
            }
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(depth == 0 && elements > 0);
    let rest = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assert!(!rest.contains("http://") && !rest.contains("https://") && !rest.contains("url("));
}

fn hostile() -> Experiment {
    let mut experiment = small();
    experiment.scenario = "<img src=x onerror=y>\"'&<b>".to_owned();
    experiment.runs[0].asked.controller = "</svg><script>\u{1}".to_owned();
    experiment.runs[1].verdict.invalid_because = vec!["</td>&nbsp;\u{0}".to_owned()];
    experiment.discarded[0].what = "]]><!--".to_owned();
    experiment.manifest.cpu = "\"><i>".to_owned();
    experiment
}

fn single() -> Experiment {
    Experiment { runs: vec![run("breakwater", 1.0, 0)], ..base("single") }
}

fn without_colour(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').expect("a colour code ends in m").1;
    }
    out + rest
}

#[test]
fn a_page_tells_the_limits_that_a_scenario_set_itself() {
    let usual = small();
    assert!(!html(&usual).contains("Of this scenario"));
    let rules = tailwater_stats::Rules { steal_max: 0.05, ..tailwater_stats::Rules::default() };
    let own = Experiment { rules: Some(rules), ..usual };
    assert!(
        html(&own).contains("<li>Of this scenario: steal_max is 0.05; usually it is 0.01.</li>")
    );
}
