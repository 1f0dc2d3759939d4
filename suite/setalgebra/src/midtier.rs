//! The mid-tier: asks all leaves and unites what they found.

use crate::union::union;
use crate::wire::{Answer, BAD_REQUEST, INTERSECT, read_request};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tailwater_load::application::Unanswered;
use tailwater_rt::client::{Answer as Answered, CallError};
use tailwater_rt::time::now;
use tailwater_rt::{Reply, Request, Router, downstream};

/// The tier that it asks.
pub const LEAF: &str = "leaf";

/// How the mid-tier asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MidTier {
    /// How many leaves there are.
    pub leaves: u32,
    /// How many of them must have answered. With fewer the request is refused for the reason of those that did not.
    pub least: u32,
    /// How long they are waited for; `None`: for as long as the request's deadline lets it. The answer then has what
    /// came by that time, and says which leaves are missing.
    pub patience: Option<Duration>,
    /// Most documents of an answer.
    pub hits: u32,
}

impl MidTier {
    /// Its method.
    #[must_use]
    pub fn router(self) -> Router {
        let turn = Arc::new(AtomicUsize::new(0));
        Router::new().route(INTERSECT.0, move |request: Request| {
            let turn = turn.clone();
            async move { self.reply(&turn, request).await }
        })
    }

    async fn reply(&self, turn: &AtomicUsize, mut request: Request) -> Reply {
        let tag = match read_request(&request.payload) {
            Ok((tag, _)) => tag,
            Err(why) => return Reply::failure(BAD_REQUEST, &why.to_string()),
        };
        let Some(tier) = downstream::tier(LEAF) else { return Unanswered::Wrong.into() };
        // Each leaf has as many connections as the scenario says, which are used in turn.
        let connections = tier.shards() / self.leaves as usize;
        // Relaxed: which connection is used orders nothing.
        let turn = turn.fetch_add(1, Ordering::Relaxed) % connections.max(1);
        let mut fan = tier.fan(&request);
        if let Some(patience) = self.patience {
            fan = fan.by(now() + patience);
        } else if self.least == self.leaves {
            fan = fan.fail_fast();
        }
        let payload = bytes::Bytes::from(std::mem::take(&mut request.payload));
        for leaf in 0..self.leaves as usize {
            fan = fan.call(leaf * connections + turn, INTERSECT.0, payload.clone());
        }
        match self.unite(tag, fan.await) {
            Ok(answer) => Reply::ok(answer.to_bytes()),
            Err(why) => why.into(),
        }
    }

    /// The answer to the request with this tag from those of the leaves, in their order.
    ///
    /// # Errors
    /// When too few leaves have answered, or one answered what is no answer.
    pub fn unite(
        &self,
        tag: u64,
        outcomes: Vec<Result<Answered, CallError>>,
    ) -> Result<Answer, Unanswered> {
        let (mut missing, mut found, mut lists, mut reasons) = (0, 0, Vec::new(), Vec::new());
        for (leaf, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(Answered { status: 0, payload, .. }) => {
                    let answer = Answer::of_bytes(&payload).filter(|answer| answer.tag == tag);
                    let is_own = |document: &u32| document % self.leaves == leaf as u32;
                    let answer = answer.filter(|answer| answer.documents.iter().all(is_own));
                    let answer = answer.ok_or(Unanswered::Wrong)?;
                    found = answer.found.checked_add(found).ok_or(Unanswered::Wrong)?;
                    lists.push(answer.documents);
                }
                Ok(_) => return Err(Unanswered::Wrong),
                Err(error) => {
                    missing |= 1 << leaf;
                    reasons.extend(Unanswered::because_of(&error));
                }
            }
        }
        let worst = Unanswered::worst(reasons);
        if worst == Some(Unanswered::Wrong) || (lists.len() as u32) < self.least {
            // Calls that nobody awaits any more were given up because of another, which says why.
            return Err(worst.unwrap_or(Unanswered::Wrong));
        }
        let mut documents = union(lists);
        documents.truncate(self.hits as usize);
        Ok(Answer { tag, missing, found, documents })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_control::Reason;

    const MID: MidTier = MidTier { leaves: 3, least: 2, patience: None, hits: 3 };

    fn from_leaf(found: u32, documents: &[u32]) -> Result<Answered, CallError> {
        let answer = Answer { tag: 5, missing: 0, found, documents: documents.to_vec() };
        Ok(Answered { status: 0, payload: answer.to_bytes(), sojourn: Duration::ZERO })
    }

    fn refused() -> Result<Answered, CallError> {
        Err(CallError::Shed(Reason::Delay))
    }

    #[test]
    fn documents_of_all_leaves_are_united_and_counted() {
        let outcomes = vec![from_leaf(2, &[0, 9]), from_leaf(0, &[]), from_leaf(4, &[2, 5, 8])];
        let answer = MID.unite(5, outcomes).expect("all have answered");
        assert_eq!(answer, Answer { tag: 5, missing: 0, found: 6, documents: vec![0, 2, 5] });
    }

    #[test]
    fn what_no_leaf_can_have_is_no_answer() {
        let wrong = |outcomes| assert_eq!(MID.unite(5, outcomes), Err(Unanswered::Wrong));
        wrong(vec![from_leaf(1, &[1]), from_leaf(0, &[]), from_leaf(0, &[])]);
        wrong(vec![from_leaf(u32::MAX, &[]), from_leaf(1, &[1]), from_leaf(0, &[])]);
    }

    #[test]
    fn missing_leaves_are_named_and_too_few_refuse() {
        let answer = MID.unite(5, vec![from_leaf(1, &[3]), refused(), from_leaf(1, &[2])]);
        assert_eq!(answer.map(|answer| (answer.missing, answer.documents)), Ok((2, vec![2, 3])));
        let too_few = MID.unite(5, vec![refused(), refused(), from_leaf(1, &[2])]);
        assert_eq!(too_few, Err(Unanswered::Refused(Reason::Delay)));
        let all = MidTier { least: 3, ..MID };
        let given_up = vec![Err(CallError::NotAwaited), refused(), from_leaf(1, &[2])];
        assert_eq!(all.unite(5, given_up), Err(Unanswered::Refused(Reason::Delay)));
    }

    #[test]
    fn an_answer_to_another_request_and_one_that_is_none_are_wrong() {
        for wrong in [
            MID.unite(6, vec![from_leaf(1, &[3]); 3]),
            MID.unite(5, vec![from_leaf(1, &[3]), from_leaf(1, &[1, 2]), from_leaf(0, &[])]),
            MID.unite(
                5,
                vec![
                    Ok(Answered { status: 400, payload: Vec::new(), sojourn: Duration::ZERO }),
                    from_leaf(0, &[]),
                    from_leaf(0, &[]),
                ],
            ),
        ] {
            assert_eq!(wrong, Err(Unanswered::Wrong));
        }
    }
}
