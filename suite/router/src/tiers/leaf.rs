//! A leaf: a key-value store that holds the keys which are placed on it.

use super::register::{key_of, preloaded};
use crate::placement::Placement;
use std::sync::Arc;
use std::time::Duration;
use tailwater_keyvalue::locks::{Tasks, at_once};
use tailwater_keyvalue::rpc::{self, Overhead};
use tailwater_keyvalue::store::{Config, Put, Store, Stored, When};
use tailwater_load::work::Spinner;
use tailwater_rt::Router;

/// The methods of leaf `number`, with all of its keys of the first so many stored, in so many bytes.
///
/// # Errors
/// A sentence for people when they do not fit.
pub fn router(
    placement: &Placement,
    number: u32,
    keys: u32,
    (memory, spinner): (usize, Spinner),
) -> Result<Router, String> {
    let config = Config { memory, ..Config::default() };
    let store = Store::<Tasks>::new(config).map_err(|error| error.to_string())?;
    for key in 0..keys {
        let name = key_of(key);
        if !placement.of(&name).nodes().iter().any(|&node| u32::from(node) == number) {
            continue;
        }
        let (key, value) = (&name[..], &preloaded(key)[..]);
        // No request contends yet, so no wait suspends.
        let put = Put { key, value, flags: 0, expires: 0, when: When::Always };
        match at_once(store.put(put, 1)) {
            Ok(Stored::Stored) => {}
            other => return Err(format!("a key could not be stored: {other:?}")),
        }
    }
    let evictions = at_once(store.counts()).evictions;
    if evictions > 0 {
        return Err(format!(
            "{} MiB hold all but {evictions} of the keys of leaf {number}; raise server.settings.memory",
            memory >> 20
        ));
    }
    let overhead = Overhead { spinner, time: Duration::ZERO };
    Ok(rpc::router(&Arc::new(store), overhead))
}
