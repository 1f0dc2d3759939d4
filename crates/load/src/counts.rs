//! The server's own counts, as it tells them when asked.

use serde::Deserialize;
use std::collections::BTreeMap;

/// What [`tailwater_core::MethodId::INTROSPECT`] answers. Unknown fields are newer than this.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Counts {
    /// Requests received.
    pub received: u64,
    /// Requests answered by a handler.
    pub served: u64,
    /// Frames received.
    pub frames_in: u64,
    /// Frames sent.
    pub frames_out: u64,
    /// Frames that carried nothing but credits.
    pub credit_frames: u64,
    /// Time in turns that found something to do.
    pub busy_ns: u64,
    /// Time in handlers.
    pub handler_ns: u64,
    /// Sheds by reason.
    pub shed: BTreeMap<String, u64>,
}

impl Counts {
    /// Reads an answer.
    ///
    /// # Errors
    /// When it is not the JSON that a tailwater server sends.
    pub fn parse(answer: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(answer).map_err(|error| format!("the server's counts: {error}"))
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let shed = self.shed.iter().map(|(reason, count)| {
            (reason.clone(), count - earlier.shed.get(reason).copied().unwrap_or(0).min(*count))
        });
        Self {
            received: self.received - earlier.received,
            served: self.served - earlier.served,
            frames_in: self.frames_in - earlier.frames_in,
            frames_out: self.frames_out - earlier.frames_out,
            credit_frames: self.credit_frames - earlier.credit_frames,
            busy_ns: self.busy_ns - earlier.busy_ns,
            handler_ns: self.handler_ns - earlier.handler_ns,
            shed: shed.collect(),
        }
    }

    /// Sheds of all reasons.
    #[must_use]
    pub fn shed_total(&self) -> u64 {
        self.shed.values().sum()
    }
}
