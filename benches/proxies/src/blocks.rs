//! Blocks of one proxy, and quads of both.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::process::Command;
use tailwater_stats::result::Spread;

use crate::programs::Proxy;

/// A quad with a block that left a larger share of its requests without an answer is set aside.
const UNANSWERED_MAX: f64 = 0.001;

/// What `tailwater tune drive` says of one block.
#[derive(Clone, Copy, Serialize, Deserialize, Debug)]
pub(crate) struct Block {
    /// Processor time of the proxy's threads for each request.
    cpu_ns_per_request: f64,
    p50_us: f64,
    p99_us: f64,
    /// Share of the requests.
    unanswered: f64,
}

impl Block {
    pub(crate) fn measure(
        tailwater: &Path,
        rps: u32,
        window_ms: u32,
        seed: u64,
        proxy: &[String],
    ) -> Result<Self, String> {
        let mut command = Command::new(tailwater);
        command.args(["tune", "drive", "memcached", "--rate", &rps.to_string()]);
        command.args(["--measure", &format!("{window_ms}ms"), "--seed", &seed.to_string(), "--"]);
        let output = command.args(proxy).output();
        let output = output.map_err(|error| format!("{}: {error}", tailwater.display()))?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("tailwater tune drive: {}", said.trim_end())
        })
    }
}

/// Two blocks of each proxy.
#[derive(Serialize, Debug)]
pub(crate) struct Quad {
    /// The router's blocks came first and last.
    router_outside: bool,
    router: [Block; 2],
    nutcracker: [Block; 2],
}

impl Quad {
    /// By a coin of the seed's: ABBA or BAAB.
    pub(crate) fn measure(
        seed: u64,
        block: &impl Fn(Proxy, u64) -> Result<Block, String>,
    ) -> Result<Self, String> {
        let router_outside = coin(seed);
        let (outer, inner) = match router_outside {
            true => (Proxy::Router, Proxy::Nutcracker),
            false => (Proxy::Nutcracker, Proxy::Router),
        };
        let first = block(outer, seed)?;
        let inside = [block(inner, seed)?, block(inner, seed)?];
        let outside = [first, block(outer, seed)?];
        let (router, nutcracker) = match router_outside {
            true => (outside, inside),
            false => (inside, outside),
        };
        Ok(Self { router_outside, router, nutcracker })
    }

    fn counts(&self) -> bool {
        let mut blocks = self.router.iter().chain(&self.nutcracker);
        blocks.all(|block| block.unanswered <= UNANSWERED_MAX)
    }

    /// The router's requests per second of processor time, as a multiple of nutcracker's.
    fn ratio(&self) -> f64 {
        let cost =
            |blocks: &[Block; 2]| blocks[0].cpu_ns_per_request + blocks[1].cpu_ns_per_request;
        cost(&self.nutcracker) / cost(&self.router)
    }
}

/// One bit of a number that is mixed well (the finaliser of SplitMix64, Steele et al. 2014).
const fn coin(seed: u64) -> bool {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) & 1 == 1
}

/// All quads of one rate.
#[derive(Serialize, Debug)]
pub(crate) struct Rate {
    requests_per_second: u32,
    /// Ratios of the quads that count: the router's requests per second of processor time over nutcracker's.
    pub(crate) median: f64,
    least: f64,
    largest: f64,
    /// Medians of blocks, in microseconds.
    router_us: f64,
    nutcracker_us: f64,
    counted: usize,
    set_aside: usize,
    quads: Vec<Quad>,
}

impl Rate {
    pub(crate) fn of(requests_per_second: u32, quads: Vec<Quad>) -> Self {
        let counted: Vec<&Quad> = quads.iter().filter(|quad| quad.counts()).collect();
        let ratios: Vec<f64> = counted.iter().map(|quad| quad.ratio()).collect();
        let Spread { min, median, max } = spread(&ratios);
        let us = |of: fn(&Quad) -> &[Block; 2]| {
            let blocks = counted.iter().flat_map(|quad| of(quad));
            spread(&blocks.map(|block| block.cpu_ns_per_request / 1e3).collect::<Vec<_>>()).median
        };
        Self {
            requests_per_second,
            median,
            least: min,
            largest: max,
            router_us: us(|quad| &quad.router),
            nutcracker_us: us(|quad| &quad.nutcracker),
            counted: counted.len(),
            set_aside: quads.len() - counted.len(),
            quads,
        }
    }
}

/// No numbers for none: a zero would look measured.
fn spread(values: &[f64]) -> Spread {
    match values {
        [] => Spread { min: f64::NAN, median: f64::NAN, max: f64::NAN },
        _ => Spread::of(values),
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests/s: router {:.2} µs, nutcracker {:.2} µs a request; {:.2} × its requests per second of \
             processor time ({:.2}–{:.2}, {} quads, {} set aside)",
            self.requests_per_second,
            self.router_us,
            self.nutcracker_us,
            self.median,
            self.least,
            self.largest,
            self.counted,
            self.set_aside
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(cpu_ns_per_request: f64, unanswered: f64) -> Block {
        Block { cpu_ns_per_request, p50_us: 0.0, p99_us: 0.0, unanswered }
    }

    #[test]
    fn a_proxy_that_costs_half_has_twice_the_requests_whichever_comes_first() {
        let cost =
            |proxy, _| Ok(block(if matches!(proxy, Proxy::Router) { 4e3 } else { 8e3 }, 0.0));
        let quads: Vec<Quad> = (0..16).map(|seed| Quad::measure(seed, &cost).unwrap()).collect();
        let outside = quads.iter().filter(|quad| quad.router_outside).count();
        assert!((1..16).contains(&outside), "{outside}");
        let rate = Rate::of(1_000, quads);
        assert_eq!((rate.median, rate.least, rate.largest), (2.0, 2.0, 2.0));
        assert_eq!((rate.router_us, rate.nutcracker_us), (4.0, 8.0));
        assert_eq!((rate.counted, rate.set_aside), (16, 0));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let quad = |router: f64| Quad {
            router_outside: true,
            router: [block(router, 0.0); 2],
            nutcracker: [block(8e3, 0.0); 2],
        };
        // Ratios of 1, 2, 4 and 8.
        let rate = Rate::of(1_000, [8e3, 4e3, 2e3, 1e3].map(quad).into());
        assert_eq!((rate.least, rate.median, rate.largest), (1.0, 3.0, 8.0));
        assert_eq!((rate.router_us, rate.nutcracker_us), (3.0, 8.0));
    }

    #[test]
    fn a_quad_with_requests_that_nothing_answered_is_set_aside_and_none_meets_no_goal() {
        let lossy = Quad {
            router_outside: true,
            router: [block(1.0, 0.0), block(1.0, 0.0011)],
            nutcracker: [block(9.0, 0.0); 2],
        };
        let rate = Rate::of(1_000, vec![lossy]);
        assert_eq!((rate.counted, rate.set_aside), (0, 1));
        assert!(rate.median.is_nan(), "it is at least nothing: {}", rate.median);
    }
}
