//! DuckDB counts calls.

use crate::exports::Exports;
use crate::{Result, tools};
use machine::command;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Calls of each function, and how many of them have bounds that cannot be.
const QUERY: &str = "import duckdb, json, sys
print(json.dumps(duckdb.sql(f\"\"\"
    select function, count(*), count(*) filter (
        where begin_min_ns > begin_max_ns or end_min_ns > end_max_ns or begin_min_ns > end_max_ns
    ) from read_parquet('{sys.argv[1]}') group by function order by function
\"\"\").fetchall()))";

pub(crate) fn tool() -> String {
    format!("DuckDB {}", tools::DUCKDB)
}

pub(crate) fn read(exports: &Exports) -> Result<String> {
    let mut python = Command::new(tools::duckdb(&exports.folder)?);
    let text = command::output(python.args(["-c", QUERY]).arg(exports.of("parquet")))?;
    let rows: Vec<(String, u64, u64)> =
        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
    if let Some((function, _, bad)) = rows.iter().find(|(_, _, bad)| *bad > 0) {
        return Err(format!("{function} has {bad} calls whose bounds cannot be"));
    }
    let found: BTreeMap<String, u64> =
        rows.into_iter().map(|(function, calls, _)| (function, calls)).collect();
    let expected = reported(&exports.report()?)?;
    if found != expected {
        return Err(format!("it found calls {found:?}, and the report {expected:?}"));
    }
    Ok(format!("{} calls of {} functions", found.values().sum::<u64>(), found.len()))
}

/// Those that the report tells of, and those that it leaves out.
fn reported(report: &Value) -> Result<BTreeMap<String, u64>> {
    let rows = report["functions"].as_array().ok_or("the report has no functions")?;
    let number = |row: &Value, key: &str| {
        row[key].as_u64().ok_or_else(|| format!("the report's {key} is no number: {row}"))
    };
    let mut calls = BTreeMap::new();
    for row in rows {
        let name = row["name"].as_str().ok_or("a function has no name")?;
        let all = number(row, "count")? + number(row, "left_out")?;
        if all > 0 {
            *calls.entry(name.to_owned()).or_default() += all;
        }
    }
    Ok(calls)
}
