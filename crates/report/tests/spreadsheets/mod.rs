//! Results as lines of CSV, which spreadsheets read.

use crate::fixture::{small, spike};
use tailwater_report::{runs_csv, series_csv};

#[test]
fn every_run_and_every_bin_is_a_line_of_csv() {
    let mut experiment = spike();
    experiment.runs[0].verdict.invalid_because =
        vec!["one, \"two\"".to_owned(), "three".to_owned()];
    let text = runs_csv(&experiment);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads: Vec<String> =
        reader.headers().expect("headings").iter().map(str::to_owned).collect();
    assert_eq!(heads[..3], ["controller", "profile", "clients"]);
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), experiment.runs.len());
    let cell = |row: usize, name: &str| {
        let at = heads.iter().position(|head| head == name).expect(name);
        rows[row][at].to_owned()
    };
    assert_eq!(cell(0, "invalid_because"), "one, \"two\"; three");
    assert_eq!(cell(1, "fates.ok"), experiment.runs[1].fates.ok.to_string());
    assert_eq!(cell(1, "p99_us").parse(), Ok(experiment.runs[1].latency.p99_us));
    let series = series_csv(&experiment).expect("demand changes");
    let bins: usize =
        experiment.runs.iter().flat_map(|run| &run.series).map(|it| it.offered_rps.len()).sum();
    assert_eq!(csv::Reader::from_reader(series.as_bytes()).records().count(), bins);
    assert_eq!(series_csv(&small()), None);
}

/// A spreadsheet ran the label of a scenario that somebody else had written.
#[test]
fn no_text_is_a_formula_in_a_spreadsheet() {
    let mut experiment = small();
    experiment.runs[0].asked.profile = "=HYPERLINK(\"http://x\")".to_owned();
    experiment.runs[1].asked.profile = "@sum, \"quoted\"".to_owned();
    experiment.runs[2].rates.goodput_of_capacity = -0.5;
    let text = runs_csv(&experiment);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().expect("a heading").clone();
    let at = |name: &str| heads.iter().position(|head| head == name).expect("a column");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let profiles: Vec<&str> = rows.iter().map(|row| &row[at("profile")]).collect();
    assert_eq!(profiles[..2], ["'=HYPERLINK(\"http://x\")", "'@sum, \"quoted\""]);
    assert_eq!(&rows[2][at("goodput_of_capacity")], "-0.5", "a number stays one");
}
