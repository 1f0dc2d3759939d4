//! Normal deviates that are the same on every machine.

use std::f64::consts::TAU;
use tailwater_core::Rng;

/// Normally distributed around zero with deviation one, by Box and Muller. By `libm`, since the logarithms of C
/// libraries differ in their last bit, and generated sets shall not.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
    radius * libm::cos(TAU * rng.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviates_are_normal() {
        let mut rng = Rng::from_seed(1);
        let drawn: Vec<f64> = (0..100_000).map(|_| normal(&mut rng)).collect();
        let moment = |power| drawn.iter().map(|x: &f64| x.powi(power)).sum::<f64>() / 1e5;
        assert!(moment(1).abs() < 0.02 && (moment(2) - 1.0).abs() < 0.03, "{}", moment(2));
        assert!((moment(4) - 3.0).abs() < 0.2, "{}", moment(4));
    }
}
