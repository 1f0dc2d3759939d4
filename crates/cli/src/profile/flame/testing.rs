//! Frames for tests.

use tailwater_profile::stacks::{FlameFrame, Frame, Spent};

/// With so much of the time in itself: as a share, and in milliseconds.
pub(super) fn frame(name: &str, depth: usize, tail: f64, all: f64) -> FlameFrame {
    let spent = |self_share: f64| Spent {
        share: 0.5,
        self_share,
        self_per_call_ns: self_share * 1e6,
        ..Spent::default()
    };
    FlameFrame {
        frame: Frame { name: name.to_owned(), file: String::new(), line: 0 },
        depth,
        tail: spent(tail),
        all: spent(all),
        grown: 0.0,
        self_grown: tail - all,
    }
}
