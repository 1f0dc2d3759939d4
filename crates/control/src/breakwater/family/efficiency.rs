//! Breakwater's pool under Protego's law, as the catalog knows it.

use super::{AQM, DELAY_LAW, POOL, server};
use crate::breakwater::{Config, CreditGate, Decrease, Efficiency, Judge, Law, Span};
use crate::family::parse::{boolean, duration, number, set, whole};
use crate::family::{Draft, Family, Profile};
use crate::family::{clients, settings::Key};
use std::time::Duration;

pub(crate) const FAMILY: Family<Config> = Family {
    name: "efficiency",
    summary: "credits issued while more of them serve more (Protego, NSDI '23)",
    profiles: &[
        Profile {
            name: "default",
            server: |site| Config::efficiency_tuned(site.slo, site.serving_cores()),
            client: clients::for_a_share,
        },
        Profile {
            name: "paper",
            server: |site| Config::efficiency_paper(site.slo, site.serving_cores()),
            client: clients::for_the_slo,
        },
        Profile {
            name: "artifact",
            server: |site| Config::efficiency_artifact(site.slo, site.serving_cores()),
            client: clients::briefly,
        },
    ],
    settings: &[LAW, DELAY_LAW, POOL, AQM],
    server,
    gate: |_, _| Box::<CreditGate>::default(),
};

/// Changes the law, which every profile of this controller has.
fn law(
    draft: &mut Draft<Config>,
    change: impl FnOnce(&mut Efficiency) -> Result<(), String>,
) -> Result<(), String> {
    match &mut draft.server.law {
        Law::Efficiency(law) => change(law),
        Law::Delay => Err("the efficiency law is needed".into()),
    }
}

const LAW: &[Key<Draft<Config>>] = &[
    Key {
        name: "efficiency_threshold",
        help: "requests served more for each that comes in more, below which the pool shrinks, t_e; 0 to 1",
        apply: |draft, value| law(draft, |law| set(&mut law.threshold, number(value))),
    },
    Key {
        name: "drop_cap",
        help: "share of drops above which the pool shrinks in any case, t_d; 0 to 1",
        apply: |draft, value| law(draft, |law| set(&mut law.drop_cap, number(value))),
    },
    Key {
        name: "additive",
        help: "credits added per client in an iteration, at least one in all, a; 0 to 1",
        apply: |draft, value| law(draft, |law| set(&mut law.additive, number(value))),
    },
    Key {
        name: "decrease",
        help: "additive, or the share of the pool that goes, d, such as 0.02",
        apply: |draft, value| {
            let decrease = match value {
                "additive" => Ok(Decrease::Additive),
                _ => number(value).map(Decrease::Multiplicative),
            };
            law(draft, |law| set(&mut law.decrease, decrease))
        },
    },
    Key {
        name: "interval",
        help: "length of an iteration: credits (four times from the issue of a credit to the return of its \
               answer), measured (four round trips of network and server), or a constant",
        apply: |draft, value| {
            let measured = match value {
                "credits" => Some(Span::Credits),
                "measured" => Some(Span::RoundTrips),
                _ => None,
            };
            if let Some(span) = measured {
                return law(draft, |law| set(&mut law.span, Ok(span)));
            }
            let interval = duration(value)?;
            law(draft, |law| {
                let settle = match law.span {
                    Span::Fixed { settle, .. } => settle,
                    // As with round trips: the first of four.
                    Span::Credits | Span::RoundTrips => interval / 4,
                };
                set(&mut law.span, Ok(Span::Fixed { interval, settle }))
            })
        },
    },
    Key {
        name: "settle",
        help: "how much of a constant interval passes before counting begins; a duration",
        apply: |draft, value| {
            let settle: Duration = duration(value)?;
            law(draft, |law| match &mut law.span {
                Span::Fixed { settle: field, .. } => set(field, Ok(settle)),
                Span::Credits | Span::RoundTrips => {
                    Err("the interval is measured; a constant interval is needed first".into())
                }
            })
        },
    },
    Key {
        name: "judge",
        help: "what is efficient: difference (Algorithm 1), published (as in the code), or slope",
        apply: |draft, value| {
            let judge = match value {
                "difference" => Judge::Difference,
                "published" => Judge::Published,
                "slope" => SLOPE,
                _ => {
                    return Err(format!(
                        "'{value}' found, one of difference, published, slope is needed"
                    ));
                }
            };
            law(draft, |law| set(&mut law.judge, Ok(judge)))
        },
    },
    Key {
        name: "memory",
        help: "iterations that the slope is drawn through; 1 or more",
        apply: |draft, value| {
            let count = number(value)?;
            slope(draft, |memory, _| *memory = count)
        },
    },
    Key {
        name: "spared_drops",
        help: "share of drops up to which the slope is not asked; 0 to 1",
        apply: |draft, value| {
            let share = number(value)?;
            slope(draft, |_, spared| *spared = share)
        },
    },
    Key {
        name: "delay_steers",
        help: "true: the delay law steers too, and this one only holds back",
        apply: |draft, value| law(draft, |law| set(&mut law.delay_steers, boolean(value))),
    },
    Key {
        name: "pool_max",
        help: "largest pool, C_max; a whole number",
        apply: |draft, value| law(draft, |law| set(&mut law.pool_max, whole(value))),
    },
];

/// What `judge=slope` begins with.
const SLOPE: Judge = Judge::Slope { memory: 32.0, spared: 0.05 };

/// Changes how the slope is drawn, and draws one.
fn slope(draft: &mut Draft<Config>, change: impl FnOnce(&mut f64, &mut f64)) -> Result<(), String> {
    law(draft, |law| {
        if !matches!(law.judge, Judge::Slope { .. }) {
            law.judge = SLOPE;
        }
        if let Judge::Slope { memory, spared } = &mut law.judge {
            change(memory, spared);
        }
        Ok(())
    })
}
