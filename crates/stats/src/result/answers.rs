//! Which answers were not as asked for.

use super::skip::is_none_counted;
use serde::{Deserialize, Serialize};

/// How many answers were wrong, and how many lacked a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AnswerReading {
    /// Answers that were not what was asked for. One voids the run.
    #[serde(rename = "wrong_answers", default, skip_serializing_if = "is_none_counted")]
    pub wrong: u64,
    /// Answers in the measured window that lacked a part, as the scenario lets them: they count as late, whenever they came.
    #[serde(rename = "partial_answers", default, skip_serializing_if = "is_none_counted")]
    pub partial: u64,
}
