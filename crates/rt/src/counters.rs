//! What a server counts. Each loop adds to integers of its own and publishes them now and then.

use std::fmt::Write as _;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_control::{Gauges, Reason};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counts of a server since it started, over all loops.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Totals {
            $($(#[$doc])* pub $name: u64,)*
            /// Sheds by reason, in order of [`Reason::ALL`].
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
                $(self.$name.store(totals.$name, Relaxed);)*
                for (published, count) in self.shed.iter().zip(totals.shed) {
                    published.store(count, Relaxed);
                }
            }

            pub(crate) fn add_to(&self, totals: &mut Totals) {
                $(totals.$name += self.$name.load(Relaxed);)*
                for (published, count) in self.shed.iter().zip(&mut totals.shed) {
                    *count += published.load(Relaxed);
                }
            }
        }

        impl Totals {
            /// One JSON object, with the controller's gauges.
            #[must_use]
            pub fn to_json(&self, gauges: &Gauges) -> String {
                let mut json = String::from("{");
                $(let _ = write!(json, "\"{}\":{},", stringify!($name), self.$name);)*
                json.push_str("\"shed\":{");
                for (index, reason) in Reason::ALL.into_iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    let _ = write!(json, "{comma}\"{}\":{}", reason.name(), self.shed[index]);
                }
                let _ = write!(
                    json,
                    "}},\"pool\":{},\"issued\":{},\"sessions\":{},\"delay_ns\":{},\"rtt_ns\":{}}}",
                    gauges.pool,
                    gauges.issued,
                    gauges.sessions,
                    gauges.delay.as_nanos(),
                    gauges.rtt.as_nanos()
                );
                json
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
    /// Requests that would have been shed in enforcing mode.
    spared,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_counts_add_up_over_loops_and_read_as_json() {
        let mut own = Totals { received: 3, ..Totals::default() };
        own.count_shed(Reason::Deadline);
        let published = [Published::default(), Published::default()];
        published.iter().for_each(|loop_counts| loop_counts.store(&own));
        let mut sum = Totals::default();
        published.iter().for_each(|loop_counts| loop_counts.add_to(&mut sum));
        assert_eq!((sum.received, sum.shed_total()), (6, 2));
        let json = sum.to_json(&Gauges::default());
        assert!(json.starts_with("{\"received\":6,"), "{json}");
        assert!(json.contains("\"shed\":{\"delay\":0,\"deadline\":2,"), "{json}");
    }
}
