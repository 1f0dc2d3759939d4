//! Every request has exactly one fate, and until then is at exactly one place.

use super::Finding;
use crate::slab::Key;
use crate::space::{Event, Packet, Space};

/// At the end: fates counted against requests intended.
pub(crate) fn counted(intended: u64, ended: u64) -> Finding {
    (intended != ended)
        .then(|| format!("{intended} requests were intended, {ended} fates were counted"))
}

/// At the end: each request that has not ended must wait at a client or caller, be under way, or be at
/// a node. `waiting` are the calls in queues of clients and callers, `at_nodes` what nodes hold.
pub(crate) fn placed(waiting: u64, at_nodes: &[Key], space: &Space) -> Finding {
    let under_way = space.calendar.pending().filter_map(|event| match event {
        Event::Packet(Packet::Request(key)) | Event::Reply(key) | Event::CallLost(key) => {
            Some(*key)
        }
        _ => None,
    });
    let mut keys: Vec<Key> = at_nodes.iter().copied().chain(under_way).collect();
    keys.sort_unstable();
    if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("request {:?} is at two places", pair[0].id()));
    }
    let live = space.requests.iter().count() as u64;
    let known = waiting + keys.len() as u64;
    (live != known).then(|| {
        format!("{live} requests have not ended, but {known} are waiting, under way or at a node")
    })
}
