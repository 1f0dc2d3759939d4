//! How well a document answers a term: Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance
//! Framework: BM25 and Beyond", 2009, eq. 3.15), with Lucene's inverse document frequency, which is
//! never negative.

/// How soon repeating a term stops to help; the usual value.
pub const K1: f64 = 1.2;
/// How much long documents are held against them, 0 to 1; the usual value.
pub const B: f64 = 0.75;

/// What every score depends on: the documents' lengths in tokens.
#[derive(Debug)]
pub(crate) struct Lengths {
    tokens: Vec<u32>,
    mean: f64,
}

impl Lengths {
    pub(crate) fn new(tokens: Vec<u32>) -> Self {
        let total: f64 = tokens.iter().copied().map(f64::from).sum();
        let mean = total / tokens.len().max(1) as f64;
        Self { tokens, mean }
    }

    /// Of every document, in its order.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// ln(1 + (documents − with + ½) / (with + ½)): what a term is worth that so many documents hold.
    pub(crate) fn rarity(&self, with: usize) -> f64 {
        let (all, with) = (self.tokens.len() as f64, with as f64);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// What a term of this rarity adds to the score of a document that holds it `frequency` times.
    pub(crate) fn score(&self, rarity: f64, document: u32, frequency: u32) -> f32 {
        let length = f64::from(self.tokens[document as usize]);
        let frequency = f64::from(frequency);
        let damped = frequency + K1 * (1.0 - B + B * length / self.mean);
        (rarity * (frequency * (K1 + 1.0)) / damped) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: ten documents of mean length 4, a term in two of them, twice in one of 8 tokens.
    #[test]
    fn agrees_with_a_calculation_by_hand() {
        let lengths = Lengths::new(vec![8, 4, 4, 4, 4, 4, 4, 4, 2, 2]);
        assert!((lengths.mean - 4.0).abs() < 1e-12);
        // ln(1 + 8.5/2.5) = 1.48160; 2·2.2 / (2 + 1.2·(0.25 + 0.75·2)) = 4.4/4.1.
        let score = lengths.score(lengths.rarity(2), 0, 2);
        assert!((score - 1.590_01).abs() < 1e-4, "{score}");
    }

    #[test]
    fn rare_beats_common_and_short_beats_long() {
        let lengths = Lengths::new(vec![10, 20, 30]);
        assert!(lengths.rarity(1) > lengths.rarity(3) && lengths.rarity(3) > 0.0);
        assert!(lengths.score(1.0, 0, 1) > lengths.score(1.0, 1, 1));
        assert!(lengths.score(1.0, 1, 2) > lengths.score(1.0, 1, 1));
    }
}
