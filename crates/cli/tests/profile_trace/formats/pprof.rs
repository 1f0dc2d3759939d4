//! pprof's format, by the numbers of its `profile.proto` and what the comments there ask.

use super::bytes::{taken, varint};
use super::shape::{Checked, ensure};
use super::{REQUEST, words};
use crate::profile_trace::export::{MAIN_US, PARSE_US, REQUEST_US, requests};
use crate::profile_trace::made::{US, profile};
use std::collections::BTreeMap;

/// A message of protocol buffers: the numbers of its fields that are varints, and of those that have a length.
struct Kind {
    name: &'static str,
    varints: &'static [u64],
    lengths: &'static [u64],
}

const PROFILE: Kind =
    Kind { name: "Profile", varints: &[7, 8, 9, 10, 12, 14], lengths: &[1, 2, 3, 4, 5, 6, 11, 13] };
const VALUE_TYPE: Kind = Kind { name: "ValueType", varints: &[1, 2], lengths: &[] };
const SAMPLE: Kind = Kind { name: "Sample", varints: &[], lengths: &[1, 2, 3] };
const LOCATION: Kind = Kind { name: "Location", varints: &[1, 2, 3, 5], lengths: &[4] };
const LINE: Kind = Kind { name: "Line", varints: &[1, 2], lengths: &[] };
const FUNCTION: Kind = Kind { name: "Function", varints: &[1, 2, 3, 4, 5], lengths: &[] };

enum Held<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

/// A message's fields, in order.
struct Fields<'a>(Vec<(u64, Held<'a>)>);

impl<'a> Fields<'a> {
    fn read(kind: &Kind, mut bytes: &'a [u8]) -> Checked<Self> {
        let mut found = vec![];
        while !bytes.is_empty() {
            let key = varint(&mut bytes)?;
            let number = key >> 3;
            let held = match key & 7 {
                0 if kind.varints.contains(&number) => Held::Varint(varint(&mut bytes)?),
                2 if kind.lengths.contains(&number) => {
                    let length = varint(&mut bytes)? as usize;
                    Held::Bytes(taken(&mut bytes, length)?)
                }
                wire => return Err(format!("{} has field {number} of {wire}", kind.name)),
            };
            found.push((number, held));
        }
        Ok(Self(found))
    }

    /// The last one counts. What is missing is zero.
    fn varint(&self, wanted: u64) -> u64 {
        let found = self.0.iter().rev().find_map(|(number, held)| match held {
            Held::Varint(value) if *number == wanted => Some(*value),
            _ => None,
        });
        found.unwrap_or_default()
    }

    fn parts(&self, wanted: u64) -> Vec<&'a [u8]> {
        let parts = self.0.iter().filter_map(|(number, held)| match held {
            Held::Bytes(bytes) if *number == wanted => Some(*bytes),
            _ => None,
        });
        parts.collect()
    }

    /// Varints one behind another.
    fn packed(&self, wanted: u64) -> Checked<Vec<u64>> {
        let mut values = vec![];
        for mut bytes in self.parts(wanted) {
            while !bytes.is_empty() {
                values.push(varint(&mut bytes)?);
            }
        }
        Ok(values)
    }
}

/// What a file tells.
#[derive(PartialEq, Debug)]
struct Profile {
    /// Type and unit of each value.
    kinds: Vec<[String; 2]>,
    /// Which of them is shown first; empty: the last.
    preferred: String,
    /// The innermost function first, and the values.
    samples: Vec<(Vec<String>, Vec<u64>)>,
}

fn read(bytes: &[u8]) -> Checked<Profile> {
    let file = Fields::read(&PROFILE, bytes)?;
    let mut strings = vec![];
    for bytes in file.parts(6) {
        strings.push(std::str::from_utf8(bytes).map_err(|error| error.to_string())?);
    }
    ensure(strings.first() == Some(&""), || "the first string is not empty".to_owned())?;
    let string = |at: u64| -> Checked<String> {
        let found = strings.get(at as usize).map(|found| (*found).to_owned());
        found.ok_or_else(|| format!("string {at} of {}", strings.len()))
    };
    let mut kinds = vec![];
    for bytes in file.parts(1) {
        let kind = Fields::read(&VALUE_TYPE, bytes)?;
        kinds.push([string(kind.varint(1))?, string(kind.varint(2))?]);
    }
    let preferred = string(file.varint(14))?;
    let is_one = preferred.is_empty() || kinds.iter().any(|[kind, _]| *kind == preferred);
    ensure(is_one, || format!("no sample has {preferred}"))?;
    let mut functions = BTreeMap::new();
    for bytes in file.parts(5) {
        let function = Fields::read(&FUNCTION, bytes)?;
        string(function.varint(3))?;
        string(function.varint(4))?;
        let (id, name) = (function.varint(1), string(function.varint(2))?);
        let is_new = functions.insert(id, name).is_none();
        ensure(id > 0 && is_new, || format!("function {id} is zero or twice there"))?;
    }
    let locations = locations(&file, &functions)?;
    let mut samples = vec![];
    for bytes in file.parts(2) {
        let sample = Fields::read(&SAMPLE, bytes)?;
        let (values, wanted) = (sample.packed(2)?, kinds.len());
        ensure(values.len() == wanted, || format!("{} values of {wanted}", values.len()))?;
        let is_positive = values.iter().all(|value| *value <= i64::MAX as u64);
        ensure(is_positive, || "a value is negative".to_owned())?;
        let mut stack = vec![];
        for id in sample.packed(1)? {
            stack.push(locations.get(&id).cloned().ok_or_else(|| format!("no location {id}"))?);
        }
        ensure(!stack.is_empty(), || "a sample is empty".to_owned())?;
        samples.push((stack, values));
    }
    Ok(Profile { kinds, preferred, samples })
}

/// The function of each. Nothing is inlined, and there are no mappings.
fn locations(
    file: &Fields<'_>,
    functions: &BTreeMap<u64, String>,
) -> Checked<BTreeMap<u64, String>> {
    let mut locations = BTreeMap::new();
    for bytes in file.parts(4) {
        let location = Fields::read(&LOCATION, bytes)?;
        let (id, mapping) = (location.varint(1), location.varint(2));
        ensure(mapping == 0, || format!("no mapping {mapping}"))?;
        let lines = location.parts(4);
        ensure(lines.len() == 1, || format!("location {id} has {} lines", lines.len()))?;
        let function = Fields::read(&LINE, lines[0])?.varint(1);
        let name = functions.get(&function).ok_or_else(|| format!("no function {function}"))?;
        let is_new = locations.insert(id, name.clone()).is_none();
        ensure(id > 0 && is_new, || format!("location {id} is zero or twice there"))?;
    }
    Ok(locations)
}

fn exported(name: &str) -> Vec<u8> {
    let done = profile("export", &requests(name), &["--to", "pprof"]);
    assert!(done.status.success(), "{done:?}");
    done.stdout
}

#[test]
fn pprofs_samples_lead_to_names_and_have_all_calls_and_time() {
    let kind = |kind: &str, unit: &str| [kind.to_owned(), unit.to_owned()];
    let sample = |path: &[&str], calls: u64, us: u64| (words(path), vec![calls, us * US]);
    let expected = Profile {
        kinds: vec![kind("calls", "count"), kind("time", "nanoseconds")],
        preferred: "time".to_owned(),
        samples: vec![
            sample(&["main"], 1, MAIN_US),
            sample(&[REQUEST, "main"], 1_000, REQUEST_US),
            sample(&["parse", REQUEST, "main"], 1_000, PARSE_US),
        ],
    };
    assert_eq!(read(&exported("pprof.trace")), Ok(expected));
}

/// Messages merge where one is written behind another, so each fault is a field more.
const FAULTS: &[(&str, &[u8])] = &[
    ("Profile has field 101 of 0", &[0xa8, 0x06, 1]),
    ("Profile has field 14 of 1", &[0x71, 0, 0, 0, 0, 0, 0, 0, 0]),
    ("3 bytes are left, of 9", &[0x12, 9, 0x0a, 1, 1]),
    ("0 bytes are left, of 1", &[0x70, 0x80]),
    ("more than 64 bits", &[0x70, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
    ("invalid utf-8", &[0x32, 1, 0xff]),
    ("no sample has count", &[0x70, 2]),
    ("string 99 of", &[0x0a, 4, 0x08, 99, 0x10, 1]),
    ("Sample has field 4", &[0x12, 2, 0x22, 0]),
    ("no location 99", &[0x12, 7, 0x0a, 1, 99, 0x12, 2, 1, 1]),
    ("1 values of 2", &[0x12, 6, 0x0a, 1, 1, 0x12, 1, 1]),
    ("a sample is empty", &[0x12, 4, 0x12, 2, 1, 1]),
    ("no function 99", &[0x22, 6, 0x08, 99, 0x22, 2, 0x08, 99]),
    ("location 99 has 0 lines", &[0x22, 2, 0x08, 99]),
    ("no mapping 1", &[0x22, 8, 0x08, 99, 0x10, 1, 0x22, 2, 0x08, 1]),
    ("location 1 is zero or twice", &[0x22, 6, 0x08, 1, 0x22, 2, 0x08, 1]),
    ("function 0 is zero or twice", &[0x2a, 2, 0x10, 1]),
    ("function 1 is zero or twice", &[0x2a, 4, 0x08, 1, 0x10, 1]),
];

#[test]
fn files_that_are_not_pprofs_are_refused() {
    let sound = exported("pprof-broken.trace");
    assert_eq!(read(&sound).err(), None);
    for &(words, field) in FAULTS {
        let said = read(&[sound.as_slice(), field].concat()).expect_err(words);
        assert!(said.contains(words), "{said}, for {words}");
    }
}
