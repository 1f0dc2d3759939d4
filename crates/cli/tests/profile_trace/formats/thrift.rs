//! Thrift's compact protocol, in which Parquet says what lies where.

use super::bytes::{taken, varint};
use super::shape::{Checked, ensure};
use std::collections::BTreeMap;

/// What a field holds. Truth is one or zero.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Item {
    Number(i64),
    Bytes(Vec<u8>),
    List(Vec<Item>),
    Struct(Message),
}

/// The fields of a struct, by their numbers.
pub(super) type Message = BTreeMap<i64, Item>;

/// A struct: the fields that it must have, and those that it may have beside them.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) must: &'static [i64],
    pub(super) may: &'static [i64],
}

impl Shape {
    pub(super) fn hold(&self, message: &Message) -> Checked {
        for id in self.must {
            ensure(message.contains_key(id), || format!("{} lacks field {id}", self.name))?;
        }
        for id in message.keys() {
            let is_known = self.must.contains(id) || self.may.contains(id);
            ensure(is_known, || format!("{} has field {id}", self.name))?;
        }
        Ok(())
    }
}

/// Takes a struct, up to its end.
pub(super) fn message(bytes: &mut &[u8]) -> Checked<Message> {
    let (mut found, mut last) = (Message::new(), 0);
    loop {
        let header = taken(bytes, 1)?[0];
        if header == 0 {
            return Ok(found);
        }
        let step = i64::from(header >> 4);
        let id = if step == 0 { zigzag(varint(bytes)?) } else { last + step };
        let held = match header & 0xf {
            1 => Item::Number(1),
            2 => Item::Number(0),
            kind => item(kind, bytes)?,
        };
        ensure(found.insert(id, held).is_none(), || format!("field {id} is there twice"))?;
        last = id;
    }
}

fn item(kind: u8, bytes: &mut &[u8]) -> Checked<Item> {
    Ok(match kind {
        // In a list.
        1 | 2 => Item::Number(i64::from(taken(bytes, 1)?[0] == 1)),
        3 => Item::Number(i64::from(taken(bytes, 1)?[0].cast_signed())),
        4..=6 => Item::Number(zigzag(varint(bytes)?)),
        8 => {
            let length = varint(bytes)? as usize;
            Item::Bytes(taken(bytes, length)?.to_vec())
        }
        9 => {
            let header = taken(bytes, 1)?[0];
            let short = u64::from(header >> 4);
            let length = if short == 15 { varint(bytes)? } else { short };
            let mut items = vec![];
            for _ in 0..length {
                items.push(item(header & 0xf, bytes)?);
            }
            Item::List(items)
        }
        12 => Item::Struct(message(bytes)?),
        _ => return Err(format!("no field is of kind {kind}")),
    })
}

/// A number with a sign, of one without.
pub(super) fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

pub(super) fn number(message: &Message, id: i64) -> Checked<i64> {
    match message.get(&id) {
        Some(Item::Number(number)) => Ok(*number),
        other => Err(format!("field {id} is no number: {other:?}")),
    }
}

pub(super) fn list(message: &Message, id: i64) -> Checked<&[Item]> {
    match message.get(&id) {
        Some(Item::List(items)) => Ok(items.as_slice()),
        other => Err(format!("field {id} is no list: {other:?}")),
    }
}

pub(super) fn part(message: &Message, id: i64) -> Checked<&Message> {
    match message.get(&id) {
        Some(Item::Struct(part)) => Ok(part),
        other => Err(format!("field {id} is no struct: {other:?}")),
    }
}

/// The structs of a list.
pub(super) fn parts(message: &Message, id: i64) -> Checked<Vec<&Message>> {
    let mut found = vec![];
    for item in list(message, id)? {
        match item {
            Item::Struct(part) => found.push(part),
            other => return Err(format!("field {id} has {other:?}")),
        }
    }
    Ok(found)
}
