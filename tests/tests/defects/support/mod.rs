//! What several of these tests need beside the crate's helpers.

mod fake;
mod hung;
mod pace;

pub(crate) use fake::{Fake, Side};
pub(crate) use hung::{HANG, Hung};
pub(crate) use pace::Pace;

use std::time::Duration;
use tailwater_rt::client::CallOptions;

/// Far beyond what a busy machine needs: a call that fails by this deadline was lost.
pub(crate) const PATIENT: CallOptions = within(Duration::from_secs(60));

/// A call with this deadline.
pub(crate) const fn within(deadline: Duration) -> CallOptions {
    CallOptions { deadline, priority: 128, tenant: 0 }
}
