//! What the verbs' unit tests share.

use tailwater_profile::record::Clock;
use tailwater_profile::trace::Header;

/// Of the trace of a program whose clock began at zero.
pub(super) fn header() -> Header {
    Header {
        architecture: "x86_64".into(),
        pid: 1,
        program: "x".into(),
        build_id: vec![],
        clock: Clock { ticks: 0, raw_ns: 0, real_ns: 0 },
    }
}
