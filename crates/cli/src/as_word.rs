//! Values that are written as words, in JSON too: what a message says and what a flag says is the same.

use serde::{Deserialize as _, Deserializer, Serializer, de};
use std::fmt::Display;
use std::str::FromStr;

pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(from)?.parse().map_err(de::Error::custom)
}
