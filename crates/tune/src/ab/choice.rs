//! What several claims come to: which setting to keep, or what would decide it.

use super::comparison::Verdict;
use super::conclusion::Conclusion;

/// What to keep. Where nothing is decided that is stock, and this says what a further search would need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// What was tested, the B of all claims.
    Tested,
    /// What was there before.
    Stock,
    /// The rival of this claim, by its place among all.
    Rival(usize),
    /// The time was over.
    Longer,
    /// The quads were spent.
    Larger,
    /// The machine is too noisy.
    Quieter,
    /// Something else ended it.
    Again,
}

impl Choice {
    /// Of the claims, against stock first.
    #[must_use]
    pub fn of(claims: &[&Conclusion]) -> Self {
        let Some((stock, rivals)) = claims.split_first() else { return Self::Again };
        match stock.verdict {
            Verdict::Better => best_rival(rivals).map_or(Self::Tested, |at| Self::Rival(at + 1)),
            Verdict::Worse | Verdict::Alike | Verdict::Alarm(_) => Self::Stock,
            Verdict::Noisy => Self::Quieter,
            Verdict::Open | Verdict::CutShort if stock.failed.is_some() => Self::Again,
            Verdict::CutShort if stock.noisy => Self::Quieter,
            Verdict::Open | Verdict::CutShort if stock.timed_out => Self::Longer,
            Verdict::Open | Verdict::CutShort => Self::Larger,
        }
    }

    /// Of claims against rivals alone, where what was tested is stock.
    #[must_use]
    pub fn of_rivals(claims: &[&Conclusion]) -> Self {
        best_rival(claims).map_or(Self::Stock, Self::Rival)
    }
}

/// The claim whose rival what was tested is shown to be worse than, the best of several.
fn best_rival(claims: &[&Conclusion]) -> Option<usize> {
    let gap = |claim: &Conclusion| claim.last.map_or(0.0, |look| look.mean.abs());
    let all = claims.iter().enumerate();
    let better = all.filter(|(_, claim)| claim.verdict == Verdict::Worse);
    better.max_by(|(_, one), (_, other)| gap(one).total_cmp(&gap(other))).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Look;
    use super::*;

    fn test(verdict: Verdict, mean: f64) -> Conclusion {
        let look = Look { quads: 20, evidence: 1.0, p_value: 0.5, mean, interval: None };
        Conclusion::after(verdict, 0.05, look)
    }

    fn choice(claims: &[Conclusion]) -> Choice {
        Choice::of(&claims.iter().collect::<Vec<_>>())
    }

    #[test]
    fn what_is_decided_against_stock_needs_no_longer_search() {
        for verdict in [Verdict::Worse, Verdict::Alike, Verdict::Alarm("errors".into())] {
            let said = format!("{verdict:?}");
            assert_eq!(choice(&[test(verdict, 0.01)]), Choice::Stock, "{said}");
        }
        assert_eq!(choice(&[test(Verdict::Noisy, 0.0)]), Choice::Quieter);
        let open = || test(Verdict::Open, 0.0);
        assert_eq!(choice(&[open()]), Choice::Larger);
        assert_eq!(choice(&[Conclusion { timed_out: true, ..open() }]), Choice::Longer);
        assert_eq!(choice(&[Conclusion { failed: Some("x".into()), ..open() }]), Choice::Again);
        assert_eq!(choice(&[]), Choice::Again);
    }

    #[test]
    fn what_is_cut_short_decides_nothing() {
        let cut = || test(Verdict::CutShort, 0.98_f64.ln());
        let failed = Conclusion { failed: Some("exit status: 3".into()), ..cut() };
        assert_eq!(choice(&[failed]), Choice::Again);
        assert_eq!(choice(&[Conclusion { timed_out: true, ..cut() }]), Choice::Longer);
        assert_eq!(choice(&[Conclusion { noisy: true, ..cut() }]), Choice::Quieter);
    }

    #[test]
    fn a_rival_that_is_better_is_kept_the_best_of_several() {
        let better = || test(Verdict::Better, -0.04);
        let rivals = || [0.01, 0.03, 0.02].map(|mean| test(Verdict::Worse, mean));
        let [one, other, third] = rivals();
        assert_eq!(choice(&[better(), one, other, third]), Choice::Rival(2));
        assert_eq!(choice(&[better(), test(Verdict::Alike, 0.0)]), Choice::Tested);
        // What is not better than stock is no reason to leave it.
        let open = test(Verdict::Open, -0.01);
        assert_eq!(choice(&[open, test(Verdict::Worse, 0.03)]), Choice::Larger);
        // Where stock itself was held against rivals, it is kept unless one is better.
        assert_eq!(Choice::of_rivals(&rivals().each_ref()), Choice::Rival(1));
        assert_eq!(Choice::of_rivals(&[&better()]), Choice::Stock);
    }
}
