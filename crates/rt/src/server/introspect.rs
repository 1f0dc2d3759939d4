//! What a server tells of itself when asked: its counts, and the locks that were waited for longest.

use super::egress::grant;
use super::event_loop::EventLoop;
use crate::service::{Reply, status};
use std::fmt::Write as _;
use std::time::Duration;
use tailwater_core::{Instant, Nanos as _, RequestId, SessionId};
use tailwater_sync::LockStats;
use tailwater_wire::{ReplyHead, Response};

/// Locks that are told of; the rest waited less. `tailwater-load` knows the number too (`counts.rs`).
const LOCKS_TOLD: usize = 32;

/// How often a client may ask: so many times in a row, and once more for each of these gaps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Questions {
    /// When the last question would have been due, had they come at the gap.
    paid_until: Instant,
}

impl Questions {
    const BURST: u64 = 16;
    const GAP: Duration = Duration::from_millis(20);

    /// Whether one more may be answered now. It takes some ten microseconds of a loop that may be full.
    fn may_ask(&mut self, now: Instant) -> bool {
        let ahead = Self::GAP.nanos() * Self::BURST;
        if self.paid_until.as_nanos() > now.as_nanos() + ahead {
            return false;
        }
        self.paid_until = self.paid_until.max(now) + Self::GAP;
        true
    }
}

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// Beside admission: it must answer when everything is shed. Who asks too often is told so.
    pub(super) fn introspect(&mut self, key: u32, id: RequestId) {
        let may_ask = self.connections[key as usize].questions.may_ask(self.now);
        let (status, text) = if may_ask {
            (0, self.counts())
        } else {
            (status::TOO_OFTEN, "counts are told 50 times a second at most; ask later".into())
        };
        let stamp = self.now.stamp();
        self.shard.on_sent(self.now, SessionId(key));
        let connection = &mut self.connections[key as usize];
        let grant = grant(connection.offer);
        let head = ReplyHead { id, grant, stamp, sojourn_ns: 0, waited_ns: 0 };
        let limits = connection.limits;
        let response = Response { head, status, payload: text.as_bytes() };
        if response.encode(&limits, connection.output()).is_err() {
            let payload = b"the counts are longer than the client accepts";
            let response = Response { head, status: status::ANSWER_TOO_LONG, payload };
            let fits = response.encode(&limits, connection.output());
            debug_assert!(fits.is_ok(), "the smallest frame size holds an explanation");
        }
        self.totals.frames_out += 1;
        self.after_output(key);
    }

    /// One JSON object.
    fn counts(&self) -> String {
        self.shared.counters[self.index()].store(&self.totals);
        let mut json = self.shared.totals().to_json(&self.shared.admission.gauges());
        json.truncate(json.trim_end_matches('}').len());
        if let Some(budgets) = &self.budgets {
            json.push_str(",\"budgets\":");
            json.push_str(&budgets.to_json());
        }
        json.push_str(",\"locks\":[");
        for (index, lock) in tailwater_sync::report_top(LOCKS_TOLD).iter().enumerate() {
            json.push_str(if index == 0 { "" } else { "," });
            write_lock(&mut json, lock);
        }
        json.push_str("]}");
        json
    }
}

fn write_lock(json: &mut String, lock: &LockStats) {
    json.push_str("{\"name\":\"");
    write_text(json, lock.name);
    let _ = write!(
        json,
        "\",\"contended\":{},\"refused\":{},\"gave_up\":{},\"wait_ns\":{},\"wait_p50_ns\":{},\
         \"wait_p99_ns\":{},\"wait_max_ns\":{}}}",
        lock.contended,
        lock.refused,
        lock.gave_up,
        lock.wait_total.nanos(),
        lock.wait_p50.nanos(),
        lock.wait_p99.nanos(),
        lock.wait_max.nanos()
    );
}

/// A name may be anything; JSON wants quotes, backslashes and control characters escaped.
fn write_text(json: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_keeps_asking_is_answered_at_the_gap_and_who_pauses_may_ask_in_a_row_again() {
        let mut questions = Questions::default();
        let at = |ms: u64| Instant::from_nanos((10_000 + ms) * 1_000_000);
        let mut answered =
            |from: u64, to: u64| (from..to).filter(|ms| questions.may_ask(at(*ms))).count();
        assert_eq!(answered(0, 17), 17, "a few in a row");
        assert_eq!(answered(17, 1_017), 50, "then fifty a second");
        assert_eq!(answered(5_000, 5_017), 17, "after a pause");
    }

    #[test]
    fn any_name_of_a_lock_makes_valid_json() {
        let mut json = String::new();
        write_text(&mut json, "a \"b\" \\ \n ü");
        assert_eq!(json, "a \\\"b\\\" \\\\ \\u000a ü");
    }
}
