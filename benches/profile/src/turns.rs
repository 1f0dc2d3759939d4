//! Repetitions by turns: what drifts meets all contenders alike.

use crate::Result;
use tailwater_stats::result::Spread;

/// What each contender, by its number, found in each repetition. Every other one runs backwards, so that
/// nobody is always the first.
pub(crate) fn by_turns<T>(
    contenders: usize,
    repetitions: usize,
    mut run: impl FnMut(usize) -> Result<T>,
) -> Result<Vec<Vec<T>>> {
    let mut found: Vec<Vec<T>> = (0..contenders).map(|_| vec![]).collect();
    for repetition in 0..repetitions {
        for turn in 0..contenders {
            let contender = if repetition % 2 == 0 { turn } else { contenders - 1 - turn };
            found[contender].push(run(contender)?);
        }
    }
    Ok(found)
}

/// Quotients within a repetition; those of unequal length are cut.
pub(crate) fn ratios(values: &[f64], bases: &[f64]) -> Spread {
    let ratios: Vec<f64> = values.iter().zip(bases).map(|(value, base)| value / base).collect();
    Spread::of(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_repetition_runs_backwards() {
        let mut order = vec![];
        let found = by_turns(3, 3, |contender| {
            order.push(contender);
            Ok(order.len())
        });
        assert_eq!(found.unwrap(), [[1, 6, 7], [2, 5, 8], [3, 4, 9]]);
        assert_eq!(order, [0, 1, 2, 2, 1, 0, 0, 1, 2]);
    }

    #[test]
    fn ratios_pair_what_ran_together() {
        let spread = ratios(&[2.0, 30.0, 4.0], &[1.0, 10.0, 1.0]);
        assert_eq!((spread.min, spread.median, spread.max), (2.0, 3.0, 4.0));
    }
}
