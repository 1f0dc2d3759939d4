//! `export --to parquet`, read back by the library that wrote it. `formats` has a reader that shares nothing with it.

use super::export::{PARSE_US, export, requests};
use super::made::{US, fig1, function, trace, vague};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use tailwater_profile::record::{Call, CallFlags, Record};
use tailwater_profile::trace::Reader;

/// The table of a trace.
fn table(path: &Path) -> SerializedFileReader<File> {
    let to = path.with_extension("parquet");
    let flags = ["--to", "parquet", "-o", to.to_str().expect("a path")];
    assert_eq!(export(path, &flags), "");
    SerializedFileReader::new(File::open(to).expect("it is written")).expect("a table")
}

/// Its rows, by the names of the columns.
fn rows(table: &SerializedFileReader<File>) -> Vec<HashMap<String, Field>> {
    let columns = |row: parquet::errors::Result<parquet::record::Row>| {
        row.expect("a row").into_columns().into_iter().collect()
    };
    table.get_row_iter(None).expect("rows").map(columns).collect()
}

/// The calls of a trace, in its order.
pub(crate) fn calls(path: &Path) -> Vec<Call> {
    let trace = Reader::new(File::open(path).expect("a trace")).expect("a header");
    let calls = trace.filter_map(|record| match record.expect("no damage") {
        Record::Call(call) => Some(call),
        _ => None,
    });
    calls.collect()
}

#[test]
fn parquets_rows_are_the_traces_calls() {
    let path = requests("parquet.trace");
    let rows = rows(&table(&path));
    let calls = calls(&path);
    assert_eq!(rows.len(), calls.len());
    let names = ["main", "ns::request(int; char)", "parse"];
    for (row, call) in rows.iter().zip(&calls) {
        // A tick is a nanosecond here, and the scanner saw each beginning and end.
        for (column, expected) in [
            ("begin_min_ns", Field::Long(call.start as i64)),
            ("begin_max_ns", Field::Long(call.start as i64)),
            ("end_min_ns", Field::Long(call.end as i64)),
            ("end_max_ns", Field::Long(call.end as i64)),
            ("thread_id", Field::UInt(0)),
            ("depth", Field::UInt(call.depth)),
            ("function", Field::Str(names[call.function.0 as usize - 1].into())),
            ("file", Field::Str("x.rs".into())),
            ("line", Field::UInt(7)),
            ("tid", Field::Null),
            ("request", Field::Null),
        ] {
            assert_eq!(row[column], expected, "{column} of {call:?}");
        }
    }
    let of = |function: &str| {
        let is_it = |row: &&HashMap<String, Field>| row["function"] == Field::Str(function.into());
        let length = |row: &HashMap<String, Field>| match (&row["begin_min_ns"], &row["end_max_ns"])
        {
            (Field::Long(from), Field::Long(to)) => (to - from) as u64,
            other => panic!("{other:?}"),
        };
        rows.iter().filter(is_it).map(length).sum::<u64>()
    };
    assert_eq!(of("parse"), PARSE_US * US, "as the stacks of the other formats have it");
}

#[test]
fn parquet_has_the_bounds_and_the_request_of_a_call_and_no_bound_that_is_not_known() {
    let mut records = fig1();
    let cut = CallFlags::STARTED_BEFORE | CallFlags::UNFINISHED;
    let place = records.iter().position(|one| matches!(one, Record::Wait(_))).expect("a wait");
    records.insert(place, Record::Call(vague(2, (0, 0), (9_000, 0), cut)));
    let table = table(&trace("bounds.trace", &records, 0));
    let rows = rows(&table);
    let handled = Field::Str("handle_request()".into());
    let handled = rows.iter().find(|row| row["function"] == handled).expect("a row");
    // Slacks of 500 ns are stored as 512.
    for (column, expected) in [
        ("begin_min_ns", Field::Long(5_000_488)),
        ("begin_max_ns", Field::Long(5_001_512)),
        ("end_min_ns", Field::Long(5_928_488)),
        ("end_max_ns", Field::Long(5_929_512)),
        ("request", Field::ULong(42)),
        ("tid", Field::UInt(100)),
        ("thread", Field::Str("requests (100)".into())),
    ] {
        assert_eq!(handled[column], expected, "{column}");
    }
    let cut = rows.iter().find(|row| row["begin_max_ns"] == Field::Long(0)).expect("a row");
    assert_eq!((&cut["begin_min_ns"], &cut["end_max_ns"]), (&Field::Null, &Field::Null));
    assert_eq!(cut["end_min_ns"], Field::Long(9_000_000));
    let about = table.metadata().file_metadata().key_value_metadata().expect("there is some");
    let program = about.iter().find(|one| one.key == "tailwater.program").expect("a program");
    assert_eq!(program.value.as_deref(), Some("bin/fig1"));
}

#[test]
fn parquets_rows_are_written_in_groups() {
    let calls = (0..140_000).map(|n| Record::Call(vague(1, (n * 10, 0), (n * 10 + 5, 0), 0)));
    let records: Vec<Record> = std::iter::once(function(1, "main")).chain(calls).collect();
    let table = table(&trace("groups.trace", &records, 0));
    let groups: Vec<i64> =
        table.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(groups, [131_072, 140_000 - 131_072]);
}
