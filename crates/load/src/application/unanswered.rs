//! Calls to a tier that were not answered, and what their caller answers then.

use tailwater_control::Reason;
use tailwater_rt::Reply;
use tailwater_rt::client::{CallError, Fault};

/// Why a call to a tier has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unanswered {
    /// It was refused, which is what overload does.
    Refused(Reason),
    /// The tier is broken: it answered something else, or not as one that knows the method.
    Wrong,
}

impl Unanswered {
    /// What a call's error means; `None` where its answer was not awaited any more, as others decided.
    #[must_use]
    pub const fn because_of(error: &CallError) -> Option<Self> {
        let reason = match error {
            // The other call that was refused says why.
            CallError::NotAwaited => return None,
            CallError::TooLong { .. } | CallError::AnswersTooLong { .. } => {
                return Some(Self::Wrong);
            }
            // The tier's own limit is part of what it does under load.
            CallError::Runtime(Fault::HandlerTimeout) => Reason::Deadline,
            CallError::Runtime(_) => return Some(Self::Wrong),
            CallError::Shed(reason) => *reason,
            CallError::QueueFull => Reason::QueueFull,
            CallError::Expired | CallError::TimedOut => Reason::Deadline,
            // The connection was lost, or this version knows no more of it.
            _ => Reason::Unavailable,
        };
        Some(Self::Refused(reason))
    }

    /// Of several, the one to tell: what is wrong, whatever else was refused; then what may have been carried out, whatever
    /// was not begun. Of those that are alike, the first.
    pub fn worst(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let rank = |it: &Self| match it {
            Self::Wrong => 0,
            Self::Refused(Reason::Unavailable) => 1,
            Self::Refused(_) => 2,
        };
        all.into_iter().min_by_key(rank)
    }
}

/// A refusal is passed on with its reason; a broken tier is a failure, so that runs with one do not count.
impl From<Unanswered> for Reply {
    fn from(why: Unanswered) -> Self {
        match why {
            Unanswered::Refused(reason) => Self::Shed(reason),
            Unanswered::Wrong => Self::failure(502, "the answer of a tier was wrong"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_before_what_was_refused() {
        let (refused, other) =
            (Unanswered::Refused(Reason::Lock), Unanswered::Refused(Reason::Deadline));
        assert_eq!(Unanswered::worst([refused, other]), Some(refused));
        assert_eq!(Unanswered::worst([refused, Unanswered::Wrong, other]), Some(Unanswered::Wrong));
        let lost = Unanswered::Refused(Reason::Unavailable);
        for all in [[refused, lost], [lost, refused]] {
            assert_eq!(Unanswered::worst(all), Some(lost), "it may have been carried out there");
        }
        assert_eq!(Unanswered::worst([]), None);
    }
}
