//! `tier.hedge`: second tries of calls that are late.

use super::section::Section;
use std::time::Duration;
use tailwater_core::Ratio;

/// When a call to a node that has replicas is sent to a second one, too, though the first has not failed. The fields have the
/// meanings of `tailwater_control::retry::HedgeConfig`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hedge {
    /// How long the first try is waited for. Default: for as long as 95 % of the calls took.
    pub after: HedgeAfter,
    /// Second tries for each call. Default 0.05.
    pub share: Ratio,
    /// Second tries that may come at once. Default 10.
    pub burst: u32,
}

/// See [`Hedge::after`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum HedgeAfter {
    /// For this long.
    Delay(Duration),
    /// For as long as this share of the calls took.
    Quantile(Ratio),
}

/// `None` where nothing is tried twice. `replicas` are those of a node.
pub(super) fn read(section: &Section<'_>, replicas: u32) -> Option<Hedge> {
    let item = section.item("hedge")?;
    if replicas < 2 {
        item.problem(format!(
            "{} is given, but {}.replicas is {replicas}; two or more are needed, or leave it out",
            item.name,
            section.name()
        ));
    }
    let section = item.section()?;
    let (after, quantile) = (section.item("after"), section.item("quantile"));
    if let (Some(after), Some(quantile)) = (&after, &quantile) {
        quantile.problem(format!(
            "{} contradicts {}; one of them is needed, leave the other out",
            quantile.name, after.name
        ));
    }
    let delay = after.and_then(|item| item.duration()).map(HedgeAfter::Delay);
    let quantile = quantile.and_then(|item| item.number()).unwrap_or(0.95);
    Some(Hedge {
        after: delay.unwrap_or(HedgeAfter::Quantile(Ratio(quantile))),
        share: Ratio(section.number("share").unwrap_or(0.05)),
        burst: section.whole("burst").unwrap_or(10),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    const TEXT: &str = r#"
slo = "1s"
clients.count = 1
demand.requests_per_second = 100
controller = { name = "breakwater" }
[[server.path]]
probability = 1.0
steps = [{ call = "leaf", fan_out = 2 }]
[[tier]]
name = "leaf"
nodes = 2
service = "5us"
"#;

    fn parsed(said: &str) -> Result<Scenario, String> {
        Scenario::parse("x.toml", &format!("{TEXT}{said}")).map_err(|error| error.to_string())
    }

    #[test]
    fn replicas_and_second_tries_are_read_with_their_defaults() {
        let tier = |said| parsed(said).unwrap().tiers.swap_remove(0);
        assert_eq!((tier("").replicas, tier("").hedge), (1, None));
        let all = HedgeAfter::Quantile(Ratio(0.95));
        let expected = Hedge { after: all, share: Ratio(0.05), burst: 10 };
        assert_eq!(tier("replicas = 2\nhedge = {}").hedge, Some(expected));
        let after = HedgeAfter::Delay(Duration::from_millis(1));
        let said = "replicas = 3\nhedge = { after = \"1ms\", share = 0.2, burst = 0 }";
        let expected = Some(Hedge { after, share: Ratio(0.2), burst: 0 });
        assert_eq!((tier(said).replicas, tier(said).hedge), (3, expected));
        let quantile = tier("replicas = 2\nhedge.quantile = 0.9").hedge.map(|hedge| hedge.after);
        assert_eq!(quantile, Some(HedgeAfter::Quantile(Ratio(0.9))));
    }

    #[test]
    fn a_tier_with_replicas_is_for_both_drivers_and_its_faults_count_all_of_them() {
        let scenario = parsed("replicas = 2").unwrap();
        assert_eq!(scenario.needs_simulator(), None);
        assert!(scenario.needs_sockets().is_none());
        let fault = |node| {
            let said = format!(
                "replicas = 2\n[[fault]]\nkind = \"server-pause\"\nat = \"1ms\"\nfor = \"1ms\"\n\
                 tier = \"leaf\"\nnode = {node}"
            );
            parsed(&said).map(|scenario| scenario.faults[0].nodes.node)
        };
        assert_eq!(fault(4), Ok(Some(3)));
        assert!(fault(5).unwrap_err().contains("a whole number from 1 to 4 is needed"));
    }

    #[test]
    fn messages_say_what_does_not_go_together() {
        for (said, message) in [
            (
                "hedge = {}",
                "x.toml:13:9: tier.hedge is given, but tier.replicas is 1; two or more are needed, or leave it out",
            ),
            (
                "replicas = 2\nhedge = { after = \"1ms\", quantile = 0.9 }",
                "x.toml:14:37: tier.hedge.quantile contradicts tier.hedge.after; one of them is needed, leave the \
                 other out",
            ),
            (
                "replicas = 2\nhedge = { quantile = 1 }",
                "x.toml:14:22: tier.hedge.quantile is 1; a number from 0.001 to 0.999 is needed",
            ),
        ] {
            assert_eq!(parsed(said).err().unwrap_or_default(), message, "{said}");
        }
    }
}
