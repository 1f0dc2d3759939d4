//! A call's name, which both its ends know without another field on the wire.

use std::num::NonZeroU64;
use tailwater_core::RequestId;

/// What traces of several processes call a call: a name from HELLO's `client_id` and the request's id. `None` for a client
/// without a number.
///
/// It is one call's among all where a client's number is one connection's, as drawn numbers are: two connections of a million
/// calls have a name in common with a probability below 10⁻⁹. Names of one connection lie as far apart as its ids.
#[must_use]
pub const fn call_name(client_id: u64, id: RequestId) -> Option<NonZeroU64> {
    if client_id == 0 {
        return None;
    }
    // The zero is one call's in 2^64; it has no name then.
    NonZeroU64::new(mixed(client_id).wrapping_add(id.0))
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): clients may be numbered from 1 on.
const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn calls_of_clients_that_are_numbered_from_one_on_have_names_of_their_own() {
        let calls = (1..=300).flat_map(|client| (0..300u64).map(move |id| (client, id)));
        let names: BTreeSet<_> = calls
            .map(|(client, id)| {
                call_name(client, RequestId((id << 32) | (id % 7))).expect("a name")
            })
            .collect();
        assert_eq!(names.len(), 90_000);
    }

    /// `docs/protocol.md` has this example.
    #[test]
    fn a_name_can_be_computed_elsewhere() {
        assert_eq!(call_name(0, RequestId(7)), None, "it has no number");
        let name = call_name(1, RequestId(7)).map(NonZeroU64::get);
        assert_eq!(name, Some(0x5692_161d_100b_05e5 + 7));
    }
}
