//! Requests and the answers that they must get, as sections of a file.

use super::vectors::{bytes_of_found, found_of_bytes};
use crate::check::Expected;
use crate::nearest::Found;
use crate::questions::Questions;
use crate::wire::{self, Answer};
use tailwater_data::numbers::{bytes_of_u32, u32_of_bytes};
use tailwater_data::{Content, Data, DataError};

/// Raised when what is made of the same settings changes; older files are made anew.
pub(super) const KIND: &str = "hdsearch answers 2";

const REQUESTS: &str = "requests";
const CANDIDATES: &str = "candidates";
const COUNTS: &str = "counts";
const FOUND: &str = "found";
const RECALL: &str = "recall";

/// What a generator needs.
#[derive(Debug)]
pub struct Answers {
    /// Requests with the tag 0, all of one length.
    requests: Vec<u8>,
    expected: Vec<Expected>,
    /// See [`Questions::recall`].
    recall: f64,
}

impl Answers {
    /// How many queries there are, one at least.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.expected.len()
    }

    /// How good the answers are: see [`Questions::recall`].
    #[must_use]
    pub const fn recall(&self) -> f64 {
        self.recall
    }

    /// The request of a query, with this tag.
    #[must_use]
    pub fn request(&self, number: usize, tag: u64) -> Vec<u8> {
        let length = self.requests.len() / self.count();
        let mut request = self.requests[number * length..][..length].to_vec();
        request[..8].copy_from_slice(&tag.to_le_bytes());
        request
    }

    /// Whether this is the answer to a query.
    #[must_use]
    pub fn is_answer(&self, number: usize, answer: &Answer) -> bool {
        self.expected.get(number).is_some_and(|expected| expected.is(answer))
    }

    pub(super) fn of(questions: &Questions<'_>, truth: &[Vec<Found>]) -> Self {
        let all = 0..questions.count();
        Self {
            requests: all
                .clone()
                .flat_map(|number| wire::request(0, &questions.query(number)))
                .collect(),
            expected: all.map(|number| questions.expected(number).clone()).collect(),
            recall: questions.recall(truth),
        }
    }

    pub(super) fn fill(&self, content: Content) -> Content {
        let candidates: Vec<u32> = self.expected.iter().map(|one| one.candidates).collect();
        let counts: Vec<u32> = self.expected.iter().map(|one| one.found.len() as u32).collect();
        let found = self.expected.iter().flat_map(|one| bytes_of_found(&one.found)).collect();
        content
            .with(REQUESTS, self.requests.clone())
            .with(CANDIDATES, bytes_of_u32(&candidates))
            .with(COUNTS, bytes_of_u32(&counts))
            .with(FOUND, found)
            .with(RECALL, self.recall.to_le_bytes().into())
    }

    pub(super) fn read(data: &mut Data) -> Result<Self, DataError> {
        let requests = data.section(REQUESTS)?;
        let candidates = u32_of_bytes(&data.section(CANDIDATES)?);
        let counts = u32_of_bytes(&data.section(COUNTS)?);
        let found = found_of_bytes(&data.section(FOUND)?);
        let answers =
            candidates.zip(counts).zip(found).and_then(|((candidates, counts), found)| {
                let mut rest = &found[..];
                let mut expected = Vec::with_capacity(counts.len());
                for (&count, &candidates) in counts.iter().zip(&candidates) {
                    let (found, after) = rest.split_at_checked(count as usize)?;
                    rest = after;
                    expected.push(Expected { candidates, found: found.to_vec() });
                }
                let one = requests.len().checked_div(expected.len())?;
                let fits = candidates.len() == counts.len()
                    && rest.is_empty()
                    && one >= 8
                    && requests.len() == one * expected.len();
                fits.then_some(expected)
            });
        let expected = answers.ok_or_else(|| data.damaged("its answers are none".into()))?;
        Ok(Self { requests, expected, recall: recall(data)? })
    }
}

/// How good the answers are: see [`Questions::recall`].
pub(super) fn recall(data: &mut Data) -> Result<f64, DataError> {
    let bytes = data.section(RECALL)?;
    let recall = <[u8; 8]>::try_from(&bytes[..]).ok().map(f64::from_le_bytes);
    recall.ok_or_else(|| data.damaged("its recall is none".into()))
}
