//! Several tests of which it is claimed what they show, together as seldom wrong as one.
//!
//! The level is divided among the claims that are still open (Holm): what was shown leaves its share to the others.

use super::comparison::Verdict;
use super::conclusion::Conclusion;
use super::rules::{Better, ComparisonRules};
use tailwater_stats::holm;

/// Claims that are tested one after another.
#[derive(Clone, Debug)]
pub struct Claims {
    rules: ComparisonRules,
    number: usize,
    ended: Vec<Conclusion>,
}

impl Claims {
    /// So many claims by these rules, whose level they share; none is tested yet.
    #[must_use]
    pub fn new(rules: &ComparisonRules, number: usize) -> Self {
        Self { rules: rules.clone(), number, ended: Vec::new() }
    }

    /// The rules of the next test, at the share of the level that those shown leave to it. [`Claims::take`] may change them.
    ///
    /// What a rival is better by is worth knowing (`is_rivals`); that stock is better is enough to keep it.
    #[must_use]
    pub fn next_rules(&self, is_rivals: bool) -> ComparisonRules {
        let shown = shown(&self.ended, self.number, self.alpha()).into_iter().filter(|is| *is);
        let level = self.rules.level.divided(self.number - shown.count());
        ComparisonRules { level, has_losses_measured: is_rivals, ..self.rules.clone() }
    }

    /// Takes how the next test has ended, and gives all that have as they stand now. A claim that was open at its own share of
    /// the level may be shown at the larger one that others have left to it. One more than there were to be counts, too.
    pub fn take(&mut self, next: Conclusion) -> &[Conclusion] {
        self.ended.push(next);
        self.number = self.number.max(self.ended.len());
        let alpha = self.alpha();
        let shown = shown(&self.ended, self.number, alpha);
        settle(&mut self.ended, &shown, (self.number, alpha), self.rules.better);
        &self.ended
    }

    fn alpha(&self) -> f64 {
        self.rules.level.alpha()
    }
}

/// Which claims are shown among so many, of which the later ones may not be tested yet.
fn shown(ended: &[Conclusion], claims: usize, alpha: f64) -> Vec<bool> {
    let mut p_values: Vec<f64> = ended.iter().map(Conclusion::p_value).collect();
    p_values.resize(claims, 1.0);
    holm::rejected(&p_values, alpha)
}

/// Gives a verdict to what is shown and was open.
fn settle(ended: &mut [Conclusion], shown: &[bool], (claims, alpha): (usize, f64), better: Better) {
    let p_values: Vec<f64> = ended.iter().map(Conclusion::p_value).collect();
    let open = ended.iter_mut().zip(shown);
    for (claim, _) in open.filter(|(claim, shown)| **shown && claim.verdict == Verdict::Open) {
        // Holm's level of a claim is what those with smaller p-values leave, all of which are shown.
        let own = claim.p_value();
        let before = p_values.iter().filter(|of| **of < own).count();
        claim.shown_at = Some(alpha / (claims - before) as f64);
        let is_less = claim.strongest_mean.is_some_and(|mean| mean < 0.0);
        let is_better = is_less == (better == Better::Less);
        claim.verdict = if is_better { Verdict::Better } else { Verdict::Worse };
    }
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Look;
    use super::*;

    fn test(p_value: f64, mean: f64, verdict: Verdict) -> Conclusion {
        let interval = Some((mean - 0.03, mean + 0.03));
        let look = Look { quads: 20, evidence: 1.0 / p_value, p_value, mean, interval };
        Conclusion::after(verdict, 0.025, look)
    }

    #[test]
    fn claims_share_the_level_and_those_of_rivals_have_their_losses_measured() {
        let mut claims = Claims::new(&ComparisonRules::unguarded(), 2);
        let claim = claims.next_rules(true);
        assert!(claim.has_losses_measured && !claims.next_rules(false).has_losses_measured);
        assert_eq!((claim.level.alpha(), claim.quads_of_one(30, 2)), (0.025, 17));
        // What is open leaves nothing, and what is shown leaves its share.
        let open = claims.clone().take(test(0.04, -0.02, Verdict::Open)).to_vec();
        assert_eq!((&open[0].verdict, open[0].shown_at), (&Verdict::Open, None));
        claims.take(test(0.01, -0.02, Verdict::Better));
        assert_eq!(claims.next_rules(true).level.alpha(), 0.05);
        let all = claims.take(test(0.04, -0.02, Verdict::Open));
        assert_eq!((&all[1].verdict, all[1].shown_at), (&Verdict::Better, Some(0.05)));
    }

    #[test]
    fn what_was_cut_short_is_shown_at_no_level_and_leaves_no_share() {
        let whole = || test(0.04, -0.02, Verdict::Open);
        let mut failed = test(0.04, -0.02, Verdict::Open);
        failed.failed = Some("exit status: 3".into());
        let mut late = test(0.04, -0.02, Verdict::Open);
        late.last = late.last.map(|look| Look { interval: None, ..look });
        let short = test(0.001, -0.02, Verdict::CutShort);
        let mut claims = vec![whole(), failed, late, short];
        let none = shown(&claims, 4, 0.05);
        assert_eq!(none, [false; 4]);
        settle(&mut claims, &none, (4, 0.05), Better::Less);
        assert_eq!(claims[3].verdict, Verdict::CutShort);
        // Not even at the level of a claim that is alone.
        for claim in claims.chunks(1).skip(1) {
            assert_eq!(shown(claim, 1, 0.05), [false], "{claim:?}");
        }
        assert_eq!(shown(&claims[..1], 1, 0.05), [true]);
    }

    #[test]
    fn a_claim_has_the_sign_of_the_look_that_its_p_value_is_of() {
        // Its mean has turned since that look.
        let turned = Conclusion { strongest_mean: Some(-0.02), ..test(0.04, 0.001, Verdict::Open) };
        let mut claims = vec![turned];
        settle(&mut claims, &[true], (1, 0.05), Better::Less);
        assert_eq!(claims[0].verdict, Verdict::Better);
        settle(&mut claims, &[true], (1, 0.05), Better::More);
        assert_eq!(claims[0].verdict, Verdict::Better, "what has a verdict keeps it");
    }

    #[test]
    fn a_claim_that_others_leave_their_share_to_is_shown() {
        // Against stock it was open at 2.5 %; the rival's being shown leaves it all of 5 %.
        let mut claims = vec![test(0.04, -0.02, Verdict::Open), test(0.01, -0.02, Verdict::Better)];
        let first = shown(&claims[..1], 2, 0.05);
        assert_eq!(first, [false, false]);
        let both = shown(&claims, 2, 0.05);
        settle(&mut claims, &both, (2, 0.05), Better::Less);
        assert_eq!(claims[0].verdict, Verdict::Better);
        // The interval is of the level at which it was open, and has zero in it.
        assert_eq!((claims[0].shown_at, claims[1].shown_at), (Some(0.05), None));
        // With the other sign it is shown to be worse, and a guard's word stays.
        let mut claims = vec![
            test(0.04, 0.02, Verdict::Open),
            test(0.001, -0.02, Verdict::Alarm("errors".into())),
        ];
        let both = shown(&claims, 2, 0.05);
        settle(&mut claims, &both, (2, 0.05), Better::Less);
        assert_eq!(claims[0].verdict, Verdict::Worse);
        assert_eq!(claims[1].verdict, Verdict::Alarm("errors".into()));
    }
}
