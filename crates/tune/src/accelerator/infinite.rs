//! Numbers that may be infinite, as programs read them. JSON has no such number, and its `null` says that nothing is known.

use serde::Serializer;

/// As files have it, too.
const WORD: &str = "infinite";

/// A number, or the word.
pub(super) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match value.is_infinite() {
        true => serializer.serialize_str(WORD),
        false => serializer.serialize_f64(*value),
    }
}

/// The same of what may not be known.
pub(super) fn known<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number(value, serializer),
        None => serializer.serialize_none(),
    }
}
