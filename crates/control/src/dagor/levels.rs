//! Compound levels in the eight bits that a request's priority has on the wire.
//!
//! A level is a business priority (class) with a user priority below it (SoCC '18, §4.2.2); the
//! lowest is the most important. It travels in the high bits of the priority, so that the priority
//! of a client that knows nothing of levels means the same: 128 is the middle.

use crate::config_error::ConfigError;

/// How the bits of a level are divided. Together from 1 to 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels {
    /// High bits: the call's own priority. 0 ignores it, as the OSDI evaluation does.
    pub class_bits: u32,
    /// Low bits: drawn, so that a class is admitted in part. Too few move in coarse steps.
    pub user_bits: u32,
}

impl Levels {
    /// How many levels there are.
    #[must_use]
    pub const fn count(self) -> u16 {
        1 << self.bits()
    }

    /// The last level, the least important; to admit it is to admit everything.
    #[must_use]
    pub const fn top(self) -> u16 {
        self.count() - 1
    }

    /// How many user levels a class has.
    #[must_use]
    pub const fn users(self) -> u16 {
        1 << self.user_bits
    }

    /// The level of a request that came with `priority`.
    #[must_use]
    pub const fn of(self, priority: u8) -> u16 {
        (priority as u16) >> self.shift()
    }

    /// The priority to send a call of `priority` with when its user level is `user` (only its low
    /// bits count).
    #[must_use]
    pub fn stamp(self, priority: u8, user: u16) -> u8 {
        let class = u16::from(priority) >> (8 - self.class_bits);
        let level = (class << self.user_bits) | (user & (self.users() - 1));
        u8::try_from(level << self.shift()).unwrap_or(u8::MAX)
    }

    /// What to tell clients when levels up to `cursor` are admitted: the first priority that is
    /// not, or zero where there is none.
    #[must_use]
    pub const fn advertise(self, cursor: u16) -> u16 {
        if cursor >= self.top() { 0 } else { (cursor + 1) << self.shift() }
    }

    pub(super) fn check(self) -> Result<(), ConfigError> {
        let bits = u64::from(self.class_bits) + u64::from(self.user_bits);
        if (1..=8).contains(&bits) {
            return Ok(());
        }
        // A priority has eight bits.
        let needed = format!("with the {} of class_bits 1 to 8 in all", self.class_bits);
        Err(ConfigError::new("user_bits", self.user_bits, needed))
    }

    const fn bits(self) -> u32 {
        self.class_bits + self.user_bits
    }

    const fn shift(self) -> u32 {
        8 - self.bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_classes_the_priority_is_the_users_level_alone() {
        let levels = Levels { class_bits: 0, user_bits: 7 };
        assert_eq!((levels.count(), levels.top()), (128, 127));
        assert_eq!(levels.of(levels.stamp(255, 5)), 5);
        assert_eq!(levels.of(128), 64, "a client that does not stamp is in the middle");
    }

    #[test]
    fn classes_come_before_users() {
        let levels = Levels { class_bits: 3, user_bits: 5 };
        assert_eq!(levels.of(levels.stamp(128, 31)), 4 * 32 + 31);
        assert!(levels.stamp(96, 31) < levels.stamp(128, 0));
        let classes = Levels { class_bits: 8, user_bits: 0 };
        assert_eq!(classes.stamp(77, 3), 77);
    }

    #[test]
    fn of_a_users_level_only_its_own_bits_count() {
        let levels = Levels { class_bits: 3, user_bits: 4 };
        assert_eq!((levels.count(), levels.top(), levels.users()), (128, 127, 16));
        // Class 5 of a priority of 160 to 191, user 9, and the eighth bit left free.
        assert_eq!(levels.stamp(170, 16 + 9), (5 * 16 + 9) * 2);
        assert_eq!((levels.advertise(126), levels.advertise(127)), (254, 0));
    }

    proptest! {
        #[test]
        fn a_client_drops_exactly_what_the_server_would_shed(
            class_bits in 0_u32..=8, user_bits in 0_u32..=8, priority: u8, cursor in 0_u16..256,
        ) {
            let levels = Levels { class_bits, user_bits };
            prop_assume!(levels.check().is_ok());
            let told = levels.advertise(cursor);
            let drops = told != 0 && u16::from(priority) >= told;
            prop_assert_eq!(drops, levels.of(priority) > cursor);
        }
    }
}
