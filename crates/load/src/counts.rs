//! The server's own counts, as results tell them.

use tailwater_rt::counts::LockCounts;
use tailwater_stats::result::LockReading;

/// The locks of one name, as results tell them.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "times of seconds")]
pub fn reading(lock: &LockCounts) -> LockReading {
    LockReading {
        tier: String::new(),
        lock: lock.name.clone(),
        contended: lock.contended,
        refused: lock.refused,
        gave_up: lock.gave_up,
        waited_us: lock.wait_ns as f64 / 1e3,
        longest_wait_us: lock.wait_max_ns as f64 / 1e3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_microseconds() {
        let lock = LockCounts {
            name: "slabs".into(),
            contended: 5,
            wait_ns: 8_000,
            wait_max_ns: 2_500,
            ..LockCounts::default()
        };
        let reading = reading(&lock);
        assert_eq!((&*reading.lock, reading.contended), ("slabs", 5));
        assert!((reading.waited_us - 8.0).abs() < 1e-9);
        assert!((reading.longest_wait_us - 2.5).abs() < 1e-9);
    }
}
