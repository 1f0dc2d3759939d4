//! Apache Parquet, by the structs of its `parquet.thrift` and the encodings of its `Encodings.md`. All values of all pages are
//! read.

use super::bytes::{taken, varint};
use super::shape::{Checked, ensure};
use super::thrift::{Item, Message, Shape, list, message, number, part, parts, zigzag};
use crate::profile_trace::export::{export, requests};
use crate::profile_trace::made::{fig1, function, trace, vague};
use crate::profile_trace::table::calls;
use std::collections::BTreeMap;
use std::path::Path;
use tailwater_profile::record::{Clock, Record};

const FILE: Shape = Shape { name: "FileMetaData", must: &[1, 2, 3, 4], may: &[5, 6, 7] };
const ELEMENT: Shape =
    Shape { name: "SchemaElement", must: &[4], may: &[1, 2, 3, 5, 6, 7, 8, 9, 10] };
const GROUP: Shape = Shape { name: "RowGroup", must: &[1, 2, 3], may: &[5, 6, 7] };
const CHUNK: Shape = Shape { name: "ColumnChunk", must: &[2, 3], may: &[4, 5, 6, 7] };
const COLUMN: Shape =
    Shape { name: "ColumnMetaData", must: &[1, 2, 3, 4, 5, 6, 7, 9], may: &[11, 12, 13, 16] };
const PAGE: Shape = Shape { name: "PageHeader", must: &[1, 2, 3], may: &[4, 5, 7] };
const DATA: Shape = Shape { name: "DataPageHeader", must: &[1, 2, 3, 4], may: &[5] };
const DICTIONARY: Shape = Shape { name: "DictionaryPageHeader", must: &[1, 2], may: &[3] };

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// Of so many bits.
    Unsigned(i64),
    Signed,
}

/// A column's name, whether each row has a value, and of what kind that is.
type Column = (&'static str, bool, Kind);

/// As docs/profiling-export.md has the table.
const SCHEMA: &[Column] = &[
    ("thread_id", true, Kind::Unsigned(32)),
    ("tid", false, Kind::Unsigned(32)),
    ("thread", true, Kind::Text),
    ("function", true, Kind::Text),
    ("file", false, Kind::Text),
    ("line", false, Kind::Unsigned(32)),
    ("depth", true, Kind::Unsigned(32)),
    ("begin_min_ns", false, Kind::Signed),
    ("begin_max_ns", false, Kind::Signed),
    ("end_min_ns", false, Kind::Signed),
    ("end_max_ns", false, Kind::Signed),
    ("request", false, Kind::Unsigned(64)),
];

impl Kind {
    /// `Type`, `ConvertedType` and `LogicalType`.
    fn types(self) -> (i64, Option<i64>, Option<Item>) {
        let logical = |id: i64, of: Message| Item::Struct(Message::from([(id, Item::Struct(of))]));
        match self {
            Self::Text => (6, Some(0), Some(logical(1, Message::new()))),
            Self::Unsigned(bits) => {
                let of = Message::from([(1, Item::Number(bits)), (2, Item::Number(0))]);
                let (physical, converted) = if bits == 32 { (1, 13) } else { (2, 14) };
                (physical, Some(converted), Some(logical(10, of)))
            }
            Self::Signed => (2, None, None),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Value {
    Text(String),
    Number(i64),
}

/// What the rows have, by column.
type Table = BTreeMap<&'static str, Vec<Option<Value>>>;

fn read(file: &[u8]) -> Checked<Table> {
    let is_framed = file.len() >= 12 && file.starts_with(b"PAR1") && file.ends_with(b"PAR1");
    ensure(is_framed, || "PAR1 does not stand at both ends".to_owned())?;
    let end = file.len() - 8;
    let length = little(&file[end..end + 4]) as usize;
    ensure(length <= end - 4, || format!("the footer has {length} bytes"))?;
    let (pages, mut footer) = file[..end].split_at(end - length);
    let meta = message(&mut footer)?;
    ensure(footer.is_empty(), || format!("{} bytes follow the footer", footer.len()))?;
    FILE.hold(&meta)?;
    let elements = parts(&meta, 2)?;
    ensure(elements.len() == SCHEMA.len() + 1, || format!("{} elements", elements.len()))?;
    ELEMENT.hold(elements[0])?;
    let children = number(elements[0], 5)?;
    ensure(children == SCHEMA.len() as i64, || format!("the root has {children} columns"))?;
    for (element, column) in elements[1..].iter().zip(SCHEMA) {
        is_of(element, *column)?;
    }
    let (mut table, mut rows, mut at) = (Table::new(), 0, 4);
    for group in parts(&meta, 4)? {
        GROUP.hold(group)?;
        let chunks = parts(group, 1)?;
        ensure(chunks.len() == SCHEMA.len(), || format!("{} chunks", chunks.len()))?;
        let of_group = number(group, 3)?;
        for (chunk, column) in chunks.into_iter().zip(SCHEMA) {
            CHUNK.hold(chunk)?;
            let values = of_chunk(pages, part(chunk, 3)?, *column, &mut at)?;
            ensure(values.len() as i64 == of_group, || format!("{} values", values.len()))?;
            table.entry(column.0).or_default().extend(values);
        }
        rows += of_group;
    }
    let said = number(&meta, 3)?;
    ensure(rows == said, || format!("{rows} rows of {said}"))?;
    Ok(table)
}

/// An element of the schema is that column.
fn is_of(element: &Message, (name, is_required, kind): Column) -> Checked {
    ELEMENT.hold(element)?;
    let (physical, converted, logical) = kind.types();
    for (id, expected) in [
        (1, Some(Item::Number(physical))),
        (3, Some(Item::Number(i64::from(!is_required)))),
        (4, Some(Item::Bytes(name.into()))),
        (5, None),
        (6, converted.map(Item::Number)),
        (10, logical),
    ] {
        let found = element.get(&id).cloned();
        ensure(found == expected, || format!("{name} has {found:?} in field {id}"))?;
    }
    Ok(())
}

/// The values of a column in a group of rows. Its pages lie behind those of the column before.
fn of_chunk(
    pages: &[u8],
    chunk: &Message,
    column: Column,
    at: &mut usize,
) -> Checked<Vec<Option<Value>>> {
    let (name, _, kind) = column;
    COLUMN.hold(chunk)?;
    ensure(number(chunk, 1)? == kind.types().0, || format!("{name} is of another type"))?;
    let is_its = *list(chunk, 3)? == [Item::Bytes(name.into())];
    ensure(is_its, || format!("the chunk of {name} is another's"))?;
    ensure(number(chunk, 4)? == 0, || format!("{name} is compressed"))?;
    let first = if chunk.contains_key(&11) { 11 } else { 9 };
    let (begin, length) = (number(chunk, first)? as usize, number(chunk, 7)? as usize);
    let is_behind = *at <= begin && begin.checked_add(length).is_some_and(|to| to <= pages.len());
    ensure(is_behind, || format!("{name} lies at {begin}, {length} bytes"))?;
    *at = begin + length;
    let mut bytes = &pages[begin..begin + length];
    let mut dictionary: Option<Vec<Value>> = None;
    let mut found = vec![];
    while !bytes.is_empty() {
        let page = message(&mut bytes)?;
        PAGE.hold(&page)?;
        let size = number(&page, 3)?;
        ensure(size == number(&page, 2)?, || format!("a page of {name} is compressed"))?;
        let content = taken(&mut bytes, size as usize)?;
        match number(&page, 1)? {
            0 => found.extend(of_page(&page, content, column, dictionary.as_deref())?),
            2 if dictionary.is_none() && found.is_empty() => {
                let header = part(&page, 7)?;
                DICTIONARY.hold(header)?;
                let words = plain(content, kind)?;
                let said = number(header, 1)?;
                let is_all = words.len() as i64 == said && [0, 2].contains(&number(header, 2)?);
                ensure(is_all, || format!("{} words of {said} in {name}", words.len()))?;
                dictionary = Some(words);
            }
            other => return Err(format!("{name} has a page of type {other}")),
        }
    }
    let said = number(chunk, 5)?;
    ensure(found.len() as i64 == said, || format!("{} values of {said}", found.len()))?;
    Ok(found)
}

fn of_page(
    page: &Message,
    mut bytes: &[u8],
    (name, is_required, kind): Column,
    dictionary: Option<&[Value]>,
) -> Checked<Vec<Option<Value>>> {
    let header = part(page, 5)?;
    DATA.hold(header)?;
    let count = number(header, 1)? as usize;
    let is_there = if is_required {
        vec![1; count]
    } else {
        ensure(number(header, 3)? == 3, || format!("levels of {name} are not RLE"))?;
        let length = little(taken(&mut bytes, 4)?) as usize;
        hybrid(taken(&mut bytes, length)?, 1, count)?
    };
    let known = is_there.iter().filter(|level| **level == 1).count();
    let values = match (number(header, 2)?, dictionary) {
        (0, _) => plain(bytes, kind)?,
        (5, _) => delta(bytes)?.into_iter().map(Value::Number).collect(),
        (2 | 8, Some(words)) => {
            let width = usize::from(taken(&mut bytes, 1)?[0]);
            let mut values = vec![];
            for place in hybrid(bytes, width, known)? {
                let word = words.get(place as usize).cloned();
                values.push(word.ok_or_else(|| format!("word {place} of {}", words.len()))?);
            }
            values
        }
        (other, _) => return Err(format!("{name} is encoded by {other}")),
    };
    let found = values.len();
    ensure(found == known, || format!("{found} values of {known} in a page of {name}"))?;
    let mut values = values.into_iter();
    let one = |level: u64| if level == 1 { values.next() } else { None };
    Ok(is_there.into_iter().map(one).collect())
}

/// The bytes of a number, the lowest first.
fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// Values one behind another.
fn plain(mut bytes: &[u8], kind: Kind) -> Checked<Vec<Value>> {
    let mut found = vec![];
    while !bytes.is_empty() {
        found.push(match kind {
            Kind::Text => {
                let length = little(taken(&mut bytes, 4)?) as usize;
                let text = String::from_utf8(taken(&mut bytes, length)?.to_vec());
                Value::Text(text.map_err(|error| error.to_string())?)
            }
            Kind::Unsigned(32) => Value::Number(little(taken(&mut bytes, 4)?).cast_signed()),
            _ => Value::Number(little(taken(&mut bytes, 8)?).cast_signed()),
        });
    }
    Ok(found)
}

/// Runs of one number, and groups of eight numbers.
fn hybrid(mut bytes: &[u8], width: usize, count: usize) -> Checked<Vec<u64>> {
    ensure(width <= 32, || format!("{width} bits"))?;
    let mut found = vec![];
    while found.len() < count {
        let header = varint(&mut bytes)?;
        let length = (header >> 1) as usize;
        ensure(length > 0, || "a run is empty".to_owned())?;
        if header & 1 == 0 {
            let value = little(taken(&mut bytes, width.div_ceil(8))?);
            ensure(length <= count - found.len(), || format!("a run of {length}"))?;
            found.extend(vec![value; length]);
        } else {
            let packed = taken(&mut bytes, length * width)?;
            let values = (0..length * 8).map(|nth| bits(packed, nth * width, width));
            // The last group is filled up.
            found.extend(values.take(count - found.len()));
        }
    }
    ensure(bytes.is_empty(), || format!("{} bytes follow the runs", bytes.len()))?;
    Ok(found)
}

/// A number at a place among packed ones, the lowest bit first.
fn bits(bytes: &[u8], from: usize, width: usize) -> u64 {
    let bit = |at: usize| u64::from((bytes[at / 8] >> (at % 8)) & 1);
    (0..width).fold(0, |sum, nth| sum | (bit(from + nth) << nth))
}

/// Differences, in blocks: each has its least one, and widths for its pieces.
fn delta(mut bytes: &[u8]) -> Checked<Vec<i64>> {
    let block = varint(&mut bytes)? as usize;
    let pieces = varint(&mut bytes)? as usize;
    let count = varint(&mut bytes)? as usize;
    let mut last = zigzag(varint(&mut bytes)?);
    let each = block.checked_div(pieces).unwrap_or_default();
    let is_sound = each > 0 && block.is_multiple_of(128) && each.is_multiple_of(32);
    ensure(is_sound, || format!("blocks of {block} in {pieces} pieces"))?;
    let mut found = vec![last; count.min(1)];
    while found.len() < count {
        let least = zigzag(varint(&mut bytes)?);
        for width in taken(&mut bytes, pieces)? {
            let left = count - found.len();
            if left == 0 {
                break;
            }
            let width = usize::from(*width);
            ensure(width <= 64, || format!("{width} bits"))?;
            let packed = taken(&mut bytes, each * width / 8)?;
            for nth in 0..each.min(left) {
                let more = bits(packed, nth * width, width).cast_signed();
                last = last.wrapping_add(least).wrapping_add(more);
                found.push(last);
            }
        }
    }
    ensure(bytes.is_empty(), || format!("{} bytes follow the differences", bytes.len()))?;
    Ok(found)
}

fn exported(path: &Path) -> Vec<u8> {
    let to = path.with_extension("columns");
    export(path, &["--to", "parquet", "-o", to.to_str().expect("a path")]);
    std::fs::read(to).expect("it is written")
}

fn numbers(of: impl Iterator<Item = u64>) -> Vec<Option<Value>> {
    of.map(|number| Some(Value::Number(number.cast_signed()))).collect()
}

fn text(text: &str) -> Option<Value> {
    Some(Value::Text(text.to_owned()))
}

#[test]
fn parquets_pages_have_the_traces_calls() {
    let path = requests("columns.trace");
    let table = read(&exported(&path)).expect("as the format has it");
    let calls = calls(&path);
    let names = ["main", "ns::request(int; char)", "parse"];
    let functions = calls.iter().map(|call| text(names[call.function.0 as usize - 1]));
    let functions: Vec<Option<Value>> = functions.collect();
    let (starts, ends) = (calls.iter().map(|call| call.start), calls.iter().map(|call| call.end));
    for (column, expected) in [
        ("function", functions),
        ("file", vec![text("x.rs"); calls.len()]),
        ("line", numbers(calls.iter().map(|_| 7))),
        ("depth", numbers(calls.iter().map(|call| u64::from(call.depth)))),
        ("begin_min_ns", numbers(starts.clone())),
        ("begin_max_ns", numbers(starts)),
        ("end_min_ns", numbers(ends.clone())),
        ("end_max_ns", numbers(ends)),
        ("thread_id", numbers(calls.iter().map(|_| 0))),
        ("tid", vec![None; calls.len()]),
        ("request", vec![None; calls.len()]),
    ] {
        assert!(table[column] == expected, "{column}: {:?}", table[column]);
    }
}

#[test]
fn parquets_pages_say_whose_calls_they_are() {
    let table = read(&exported(&trace("threads.trace", &fig1(), 0))).expect("as the format has it");
    let place = table["function"].iter().position(|found| *found == text("handle_request()"));
    let place = place.expect("it is there");
    assert_eq!(table["thread"][place], text("requests (100)"));
    assert_eq!(table["tid"][place], Some(Value::Number(100)));
    assert_eq!(table["request"][place], Some(Value::Number(42)));
    assert_eq!(table["begin_min_ns"][place], Some(Value::Number(5_000_488)));
    assert_eq!(table["thread"][1 - place], text("snapshot (101)"));
    assert_eq!(table["request"][1 - place], None);
}

/// More than a group of rows has, and more than a page.
#[test]
fn parquets_groups_and_pages_follow_one_another() {
    let calls = (0..140_000).map(|n| Record::Call(vague(1, (n * 10, 0), (n * 10 + 5, 0), 0)));
    let clock = Record::Clock(Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 });
    let records: Vec<Record> = [clock, function(1, "main")].into_iter().chain(calls).collect();
    let table = read(&exported(&trace("pages.trace", &records, 0))).expect("as the format has it");
    let ends = numbers((0..140_000).map(|n| (n * 10 + 5) * 1_000));
    assert!(table["end_max_ns"] == ends, "{} rows", table["end_max_ns"].len());
    assert!(table["function"] == vec![text("main"); 140_000]);
}

/// Changes the footer, whose length stands behind it.
fn with_footer(file: &mut Vec<u8>, change: impl Fn(&mut Vec<u8>)) {
    let end = file.len() - 8;
    let begin = end - little(&file[end..end + 4]) as usize;
    let mut footer = file.split_off(begin);
    footer.truncate(footer.len() - 8);
    change(&mut footer);
    file.extend_from_slice(&footer);
    file.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    file.extend_from_slice(b"PAR1");
}

/// Writes a field before the end of the footer.
fn with_field(file: &mut Vec<u8>, field: &[u8]) {
    with_footer(file, |footer| {
        footer.pop();
        footer.extend_from_slice(field);
        footer.push(0);
    });
}

/// Words of what is said, and what makes it so.
type Fault = (&'static str, fn(&mut Vec<u8>));

const FAULTS: &[Fault] = &[
    ("PAR1 does not stand", |file| file[0] = b'Q'),
    ("PAR1 does not stand", |file| file.truncate(file.len() - 1)),
    ("the footer has 4294967295 bytes", |file| {
        let end = file.len() - 8;
        file[end..end + 4].fill(255);
    }),
    ("1 bytes follow the footer", |file| with_footer(file, |footer| footer.push(0))),
    ("0 bytes are left, of 1", |file| {
        with_footer(file, |footer| footer.truncate(footer.len() - 1));
    }),
    ("FileMetaData has field 99", |file| with_field(file, &[0x05, 0xc6, 0x01, 0])),
    ("field 3 is there twice", |file| with_field(file, &[0x06, 6, 14])),
    ("thread_id has", |file| {
        with_footer(file, |footer| {
            let name = b"thread_id";
            let at = footer.windows(name.len()).position(|window| window == name);
            footer[at.expect("the schema has it")] = b'T';
        });
    }),
    ("no field is of kind 15", |file| file[4] = 255),
];

#[test]
fn files_that_are_not_parquets_are_refused() {
    let sound = exported(&requests("columns-broken.trace"));
    assert_eq!(read(&sound).err(), None);
    for (words, fault) in FAULTS {
        let mut file = sound.clone();
        fault(&mut file);
        let said = read(&file).expect_err(words);
        assert!(said.contains(*words), "{said}, for {words}");
    }
}
