//! What values of JSON have to be. Of an object all keys are known.

use serde_json::Value;

/// What was read, or why that is not what the format has.
pub(super) type Checked<T = ()> = Result<T, String>;

/// Words of what a reader says of a file, and what makes it say so.
pub(super) type Fault = (&'static str, fn(&mut Value));

/// The whole file.
pub(super) fn parsed(json: &str) -> Checked<Value> {
    serde_json::from_str(json).map_err(|error| format!("no JSON: {error}"))
}

pub(super) fn ensure(is_so: bool, why: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(why()) }
}

/// An object with these keys and no others. Those that end with `?` may be missing.
pub(super) fn object(value: &Value, what: &str, keys: &[&str]) -> Checked {
    let held = value.as_object().ok_or_else(|| format!("{what} is no object: {value}"))?;
    for key in keys {
        let is_there = key.ends_with('?') || held.contains_key(*key);
        ensure(is_there, || format!("{what} lacks {key}"))?;
    }
    for key in held.keys() {
        let is_known = keys.iter().any(|known| known.trim_end_matches('?') == key.as_str());
        ensure(is_known, || format!("{what} has a key {key}"))?;
    }
    Ok(())
}

pub(super) fn list<'a>(value: &'a Value, what: &str) -> Checked<&'a [Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{what} is no list: {value}"))
}

pub(super) fn text<'a>(value: &'a Value, what: &str) -> Checked<&'a str> {
    value.as_str().ok_or_else(|| format!("{what} is no text: {value}"))
}

pub(super) fn number(value: &Value, what: &str) -> Checked<f64> {
    value.as_f64().ok_or_else(|| format!("{what} is no number: {value}"))
}

/// A number that counts something.
pub(super) fn whole(value: &Value, what: &str) -> Checked<u64> {
    value.as_u64().ok_or_else(|| format!("{what} is no whole number: {value}"))
}

/// A place in a table of this length.
pub(super) fn place(value: &Value, length: usize, what: &str) -> Checked<usize> {
    let at = whole(value, what)? as usize;
    ensure(at < length, || format!("{what} is {at}, of {length}"))?;
    Ok(at)
}

/// Takes a key away.
pub(super) fn without(value: &mut Value, key: &str) {
    let taken = value.as_object_mut().expect("an object").remove(key);
    assert!(taken.is_some(), "no {key} to take away");
}

/// A sound file passes, and none does that has one of these faults.
pub(super) fn hold_to<T>(sound: &str, faults: &[Fault], read: impl Fn(&str) -> Checked<T>) {
    assert_eq!(read(sound).err(), None);
    for (words, fault) in faults {
        let mut file = parsed(sound).expect("it was read");
        fault(&mut file);
        let said = read(&file.to_string()).err();
        let is_it = said.as_ref().is_some_and(|said| said.contains(*words));
        assert!(is_it, "{said:?} of a file of which {words:?} is true");
    }
}
