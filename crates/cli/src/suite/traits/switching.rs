//! What switches take of a tier's CPU time: their number times what one costs, as the thesis estimates it (§4.1.3.4, Fig. 4.4).

use crate::failure::Failure;
use crate::hand_over;
use std::collections::BTreeMap;

/// From … to, by where the cost of a switch comes from.
pub(super) type BySource = BTreeMap<String, (f64, f64)>;

/// On this machine, without what cold caches cost afterwards.
pub(super) const MEASURED: &str = "measured";
/// In papers.
pub(super) const PUBLISHED: &str = "published";
/// 5 to 20 µs, as the thesis quotes one of the two papers that its figure is estimated from (chapter II; Tsafrir, *The
/// context-switch overhead inflicted by hardware interrupts*, 2007).
const PUBLISHED_US: (f64, f64) = (5.0, 20.0);

/// What a switch costs, in µs.
pub(super) fn costs() -> Result<BySource, Failure> {
    let measured = hand_over::cost()?.map(|range| (MEASURED, range));
    let all = measured.into_iter().chain([(PUBLISHED, PUBLISHED_US)]);
    Ok(all.map(|(source, range)| (source.to_owned(), range)).collect())
}

/// The share of its CPU time that a tier's switches take, in per cent, by what it does per query; nothing where that is not
/// known.
pub(super) fn percent(per_query: &BTreeMap<String, f64>, costs: &BySource) -> BySource {
    let of = |key: &str| per_query.get(key).copied();
    let of_each_us = || {
        let switches = of("voluntary")? + of("involuntary")?;
        let cpu_us = 1e3 * of("core_ms").filter(|ms| *ms > 0.0)?;
        Some(100.0 * switches / cpu_us)
    };
    let Some(each) = of_each_us() else { return BySource::new() };
    costs.iter().map(|(source, (low, high))| (source.clone(), (each * low, each * high))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_of_both_kinds_take_a_share_of_the_tiers_cpu_time() {
        let costs: BySource =
            [(MEASURED.into(), (1.0, 2.0)), (PUBLISHED.into(), PUBLISHED_US)].into();
        let tier = [("voluntary", 3.0), ("involuntary", 1.0), ("core_ms", 0.1)];
        let mut tier: BTreeMap<String, f64> = tier.map(|(key, value)| (key.into(), value)).into();
        let found = percent(&tier, &costs);
        assert_eq!((found[MEASURED], found[PUBLISHED]), ((4.0, 8.0), (20.0, 80.0)));
        tier.remove("involuntary");
        assert!(percent(&tier, &costs).is_empty(), "half of them would look like all");
    }
}
