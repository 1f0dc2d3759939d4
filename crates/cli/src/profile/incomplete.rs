//! Requests of which a trace tells in part.

use super::bounds::shown;
use tailwater_profile::requests::Incomplete;
use tailwater_report::count;

/// A line on those that had not ended, if there are some.
pub(super) fn under_way(requests: &Incomplete) -> Option<String> {
    (requests.unfinished > 0).then(|| {
        format!(
            "{} more were under way when the trace ended, the oldest for {}\n",
            count(requests.unfinished),
            shown(requests.unfinished_max_ns)
        )
    })
}

/// A line on those that were given up, and on marks without one, if there are some.
pub(super) fn given_up(requests: &Incomplete) -> Option<String> {
    (requests.forgotten + requests.orphan_marks > 0).then(|| {
        format!(
            "{} requests were given up, having been open too long; {} marks belong to none.\n",
            count(requests.forgotten),
            count(requests.orphan_marks)
        )
    })
}
