//! Which fields of a run are left out of its JSON.

pub(super) const fn is_none_counted(count: &u64) -> bool {
    *count == 0
}

pub(super) fn is_zero(number: &f64) -> bool {
    *number == 0.0
}
