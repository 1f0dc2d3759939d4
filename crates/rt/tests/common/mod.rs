//! What several of these programs do.

/// Looks until it is so, for as long as the harness allows: what a server counts is published with a delay. Ten million
/// looks take minutes.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let found = (0..10_000_000).any(|_| {
        std::thread::yield_now();
        holds()
    });
    assert!(found, "{what}");
}
