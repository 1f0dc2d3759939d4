//! The schema that speedscope publishes.

use crate::exports::Exports;
use crate::{Result, tools};
use serde_json::Value;
use std::path::Path;

pub(crate) fn tool() -> String {
    format!("schema of speedscope {}", tools::SPEEDSCOPE)
}

pub(crate) fn read(exports: &Exports) -> Result<String> {
    let schema = tools::speedscope(&exports.folder)?.join("file-format-schema.json");
    let (schema, file) = (json(&schema)?, json(&exports.of("speedscope"))?);
    let schema = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    // A schema that lets all pass would show nothing.
    let mut broken = file.clone();
    broken["profiles"][0]["unit"] = "fortnights".into();
    if schema.is_valid(&broken) {
        return Err("it takes a file that is not valid".into());
    }
    schema.validate(&file).map_err(|error| error.to_string())?;
    Ok("valid".into())
}

fn json(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let read = text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    read.map_err(|error| format!("{}: {error}", path.display()))
}
