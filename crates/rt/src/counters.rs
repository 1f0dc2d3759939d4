//! What a server counts. Each loop adds to integers of its own and publishes them now and then.

use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_control::Reason;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counts of a server since it started, over all loops.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Totals {
            $($(#[$doc])* pub $name: u64,)*
            /// Sheds by reason, in order of [`Reason::ALL`].
            #[serde(with = "by_name")]
            pub shed: [u64; Reason::ALL.len()],
        }

        /// A loop's published counts.
        #[derive(Debug, Default)]
        pub(crate) struct Published {
            $($name: AtomicU64,)*
            shed: [AtomicU64; Reason::ALL.len()],
        }

        impl Published {
            /// Only the owning loop stores, so plain stores suffice.
            pub(crate) fn store(&self, totals: &Totals) {
                // Relaxed: each count is read for itself.
                $(self.$name.store(totals.$name, Relaxed);)*
                for (published, count) in self.shed.iter().zip(totals.shed) {
                    // Relaxed: as above.
                    published.store(count, Relaxed);
                }
            }

            pub(crate) fn add_to(&self, totals: &mut Totals) {
                // Relaxed: as they are stored.
                $(totals.$name += self.$name.load(Relaxed);)*
                for (published, count) in self.shed.iter().zip(&mut totals.shed) {
                    // Relaxed: as they are stored.
                    *count += published.load(Relaxed);
                }
            }
        }

        impl Totals {
            /// What was counted here and by another.
            #[must_use]
            pub fn and(&self, other: &Self) -> Self {
                let shed = std::array::from_fn(|reason| self.shed[reason] + other.shed[reason]);
                Self { $($name: self.$name + other.$name,)* shed }
            }

            /// What was counted since `earlier`.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                let shed = std::array::from_fn(|reason| {
                    self.shed[reason].saturating_sub(earlier.shed[reason])
                });
                Self { $($name: self.$name.saturating_sub(earlier.$name),)* shed }
            }
        }
    };
}

counters! {
    /// Requests received.
    received,
    /// Requests answered by a handler.
    served,
    /// Frames received, of any kind.
    frames_in,
    /// Frames sent, of any kind.
    frames_out,
    /// Frames sent only to carry credits.
    credit_frames,
    /// Connections accepted.
    accepted,
    /// Connections closed, for whatever reason.
    closed,
    /// Connections turned away: too many, or out of descriptors.
    turned_away,
    /// Connections closed because they broke the protocol.
    protocol_errors,
    /// Connections closed because they did not read.
    slow_readers,
    /// Handlers ended because they took longer than allowed.
    timed_out,
    /// Requests that would have been shed in enforcing mode.
    spared,
    /// How long all that were answered by a handler had waited for its start, in nanoseconds.
    waited_ns,
    /// Time in turns that found something to do, in nanoseconds.
    busy_ns,
    /// Time in handlers, in nanoseconds (in-line placement only).
    handler_ns,
}

impl Totals {
    /// Sheds of all reasons.
    #[must_use]
    pub fn shed_total(&self) -> u64 {
        self.shed.iter().sum()
    }

    pub(crate) fn count_shed(&mut self, reason: Reason) {
        self.shed[reason as usize - 1] += 1;
    }
}

/// Sheds in JSON: an object of counts by the reason's name.
mod by_name {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::collections::BTreeMap;
    use tailwater_control::Reason;

    type Counts = [u64; Reason::ALL.len()];

    pub(super) fn serialize<S: Serializer>(counts: &Counts, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(Reason::ALL.into_iter().map(Reason::name).zip(counts))
    }

    /// Reasons that are not known were added by a newer server.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Counts, D::Error> {
        let named = BTreeMap::<String, u64>::deserialize(from)?;
        Ok(Reason::ALL.map(|reason| named.get(reason.name()).copied().unwrap_or(0)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn published_counts_add_up_over_loops() {
        let mut own = Totals { received: 3, ..Totals::default() };
        own.count_shed(Reason::Deadline);
        let published = [Published::default(), Published::default()];
        published.iter().for_each(|loop_counts| loop_counts.store(&own));
        let mut sum = Totals::default();
        published.iter().for_each(|loop_counts| loop_counts.add_to(&mut sum));
        assert_eq!((sum.received, sum.shed_total()), (6, 2));
    }
}
