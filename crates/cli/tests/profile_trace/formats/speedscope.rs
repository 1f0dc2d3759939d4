//! speedscope's own format: what its file-format-schema.json asks of sampled profiles, and what the comments beside it ask.

use super::shape::{
    Checked, Fault, ensure, hold_to, list, object, parsed, place, text, whole, without,
};
use super::{REQUEST, Stacks, expected};
use crate::profile_trace::export::{export, requests};
use serde_json::Value;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";
const FILE: &[&str] =
    &["$schema", "shared", "profiles", "name?", "activeProfileIndex?", "exporter?"];
const PROFILE: &[&str] = &["type", "name", "unit", "startValue", "endValue", "samples", "weights"];
const UNITS: &[&str] = &["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"];

/// The stacks of the one profile that the file has.
fn read(json: &str) -> Checked<Stacks> {
    let file = parsed(json)?;
    object(&file, "the file", FILE)?;
    let schema = text(&file["$schema"], "$schema")?;
    ensure(schema == SCHEMA, || format!("$schema is {schema}"))?;
    for key in ["name", "exporter"] {
        file.get(key).map_or(Ok(""), |value| text(value, key))?;
    }
    object(&file["shared"], "shared", &["frames"])?;
    let frames = list(&file["shared"]["frames"], "frames")?;
    let frames: Vec<&str> = frames.iter().map(frame).collect::<Checked<_>>()?;
    let profiles = list(&file["profiles"], "profiles")?;
    let active = file.get("activeProfileIndex");
    active.map_or(Ok(0), |at| place(at, profiles.len(), "activeProfileIndex"))?;
    match profiles {
        [profile] => stacks(profile, &frames),
        _ => Err(format!("{} profiles", profiles.len())),
    }
}

fn frame(frame: &Value) -> Checked<&str> {
    object(frame, "a frame", &["name", "file?", "line?", "col?"])?;
    frame.get("file").map_or(Ok(""), |value| text(value, "file"))?;
    for key in ["line", "col"] {
        frame.get(key).map_or(Ok(0), |value| whole(value, key))?;
    }
    text(&frame["name"], "name")
}

fn stacks(profile: &Value, frames: &[&str]) -> Checked<Stacks> {
    object(profile, "a profile", PROFILE)?;
    text(&profile["name"], "name")?;
    let (kind, unit) = (text(&profile["type"], "type")?, text(&profile["unit"], "unit")?);
    ensure(kind == "sampled", || format!("type is {kind}"))?;
    ensure(UNITS.contains(&unit), || format!("unit is {unit}"))?;
    let samples = list(&profile["samples"], "samples")?;
    let weights = list(&profile["weights"], "weights")?;
    let (stacks, found) = (samples.len(), weights.len());
    ensure(stacks == found, || format!("{found} weights of {stacks} samples"))?;
    let stack = |(sample, weight): (&Value, &Value)| -> Checked<(Vec<String>, u64)> {
        let weight = whole(weight, "a weight")?;
        ensure(weight > 0, || "a weight is zero".to_owned())?;
        let mut path = vec![];
        for at in list(sample, "a sample")? {
            path.push(frames[place(at, frames.len(), "a frame's place")?].to_owned());
        }
        ensure(!path.is_empty(), || "a sample is empty".to_owned())?;
        Ok((path, weight))
    };
    let stacks: Stacks = samples.iter().zip(weights).map(stack).collect::<Checked<_>>()?;
    // The schema takes any numbers. A flame graph is as wide as the weights, and the axis as long as these two say.
    let [start, end] = ["startValue", "endValue"].map(|key| whole(&profile[key], key));
    let (start, end) = (start?, end?);
    let sum: u64 = stacks.iter().map(|(_, weight)| weight).sum();
    ensure(start + sum == end, || format!("weights of {sum} from {start} to {end}"))?;
    Ok(stacks)
}

#[test]
fn speedscopes_file_is_as_its_schema_asks_and_has_all_the_time() {
    let json = export(&requests("speedscope.trace"), &["--to", "speedscope"]);
    assert_eq!(read(&json), Ok(expected(REQUEST, 1)));
}

const FAULTS: &[Fault] = &[
    ("the file has a key colour", |file| file["colour"] = "red".into()),
    ("the file lacks shared", |file| without(file, "shared")),
    ("$schema is https", |file| file["$schema"] = "https://example.org/schema.json".into()),
    ("exporter is no text", |file| file["exporter"] = 7.into()),
    ("activeProfileIndex is 1, of 1", |file| file["activeProfileIndex"] = 1.into()),
    ("a frame lacks name", |file| without(&mut file["shared"]["frames"][0], "name")),
    ("line is no whole number", |file| file["shared"]["frames"][0]["line"] = Value::Null),
    ("type is evented", |file| file["profiles"][0]["type"] = "evented".into()),
    ("unit is fortnights", |file| file["profiles"][0]["unit"] = "fortnights".into()),
    ("a profile lacks endValue", |file| without(&mut file["profiles"][0], "endValue")),
    ("a frame's place is 99", |file| file["profiles"][0]["samples"][0][0] = 99.into()),
    ("2 weights of 3 samples", |file| {
        file["profiles"][0]["weights"].as_array_mut().expect("a list").pop();
    }),
    ("a weight is zero", |file| file["profiles"][0]["weights"][0] = 0.into()),
    ("a weight is no whole number", |file| file["profiles"][0]["weights"][0] = (-1).into()),
    ("from 0 to 7", |file| file["profiles"][0]["endValue"] = 7.into()),
];

#[test]
fn files_that_are_not_speedscopes_are_refused() {
    let json = export(&requests("speedscope-broken.trace"), &["--to", "speedscope"]);
    hold_to(&json, FAULTS, read);
}
