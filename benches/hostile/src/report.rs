//! Ratios within a repetition, their medians, and the verdict.

use crate::attack::Attack;
use serde::Serialize;

/// Goals, fixed beforehand: of the honest client's p99 and goodput, against the baseline's.
const P99_MOST: f64 = 2.0;
const GOODPUT_LEAST: f64 = 0.9;

/// One run.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Seen {
    pub(crate) goodput_rps: f64,
    pub(crate) offered_rps: f64,
    pub(crate) p99_us: f64,
    pub(crate) whole_p99_us: f64,
    /// Of one core.
    pub(crate) attacker_share: f64,
    /// Likewise, of the server.
    pub(crate) server_share: f64,
    /// Bytes.
    pub(crate) memory_max: u64,
}

/// An attack and the baseline beside it.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Pair {
    pub(crate) attack: Attack,
    pub(crate) repetition: u32,
    pub(crate) attacked: Seen,
    pub(crate) baseline: Seen,
}

impl Pair {
    fn p99_ratio(&self) -> f64 {
        self.attacked.p99_us / self.baseline.p99_us
    }

    fn goodput_ratio(&self) -> f64 {
        self.attacked.goodput_rps / self.baseline.goodput_rps
    }
}

/// All runs.
#[derive(Serialize)]
pub(crate) struct Report {
    short: bool,
    #[serde(flatten)]
    origin: ::machine::Origin,
    pairs: Vec<Pair>,
}

impl Report {
    /// To be taken before anything is measured, as its origin is.
    pub(crate) fn new(short: bool) -> Self {
        Self { short, origin: ::machine::Origin::now(), pairs: Vec::new() }
    }

    pub(crate) fn add(&mut self, pair: Pair) {
        self.pairs.push(pair);
    }

    /// Whether every attack stays within the goals. A short pass is not judged.
    pub(crate) fn is_good(&self) -> bool {
        self.short || self.attacks().iter().all(|&attack| self.row(attack).is_good())
    }

    pub(crate) fn print(&self, json: bool) -> Result<(), String> {
        if json {
            let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
            println!("{text}");
            return Ok(());
        }
        println!(
            "{:<9} {:>24} {:>24} {:>8} {:>8} {:>9} {:>10} {:>8}",
            "attack",
            "p99, ratio [range]",
            "goodput, ratio [range]",
            "p99 µs",
            "whole µs",
            "attacker",
            "server",
            "MiB"
        );
        for attack in self.attacks() {
            self.row(attack).print();
        }
        Ok(())
    }

    fn attacks(&self) -> Vec<Attack> {
        let mut attacks: Vec<Attack> = self.pairs.iter().map(|pair| pair.attack).collect();
        attacks.sort_unstable();
        attacks.dedup();
        attacks
    }

    fn row(&self, attack: Attack) -> Row {
        let pairs: Vec<&Pair> = self.pairs.iter().filter(|pair| pair.attack == attack).collect();
        let of =
            |value: fn(&Pair) -> f64| Range::of(pairs.iter().map(|pair| value(pair)).collect());
        Row {
            attack,
            p99_ratio: of(Pair::p99_ratio),
            goodput_ratio: of(Pair::goodput_ratio),
            p99_us: of(|pair| pair.attacked.p99_us),
            whole_p99_us: of(|pair| pair.attacked.whole_p99_us),
            share: of(|pair| pair.attacked.attacker_share),
            server_without: of(|pair| pair.baseline.server_share),
            server_added: of(|pair| pair.attacked.server_share - pair.baseline.server_share),
            memory_max: pairs.iter().map(|pair| pair.attacked.memory_max).max().unwrap_or_default(),
            added: pairs.iter().map(|pair| pair.added()).max().unwrap_or_default(),
        }
    }
}

impl Pair {
    fn added(&self) -> u64 {
        self.attacked.memory_max.saturating_sub(self.baseline.memory_max)
    }
}

struct Row {
    attack: Attack,
    p99_ratio: Range,
    goodput_ratio: Range,
    p99_us: Range,
    whole_p99_us: Range,
    share: Range,
    server_without: Range,
    server_added: Range,
    memory_max: u64,
    added: u64,
}

impl Row {
    fn is_good(&self) -> bool {
        self.p99_ratio.median <= P99_MOST && self.goodput_ratio.median >= GOODPUT_LEAST
    }

    fn print(&self) {
        let shown =
            |range: &Range| format!("{:.2} [{:.2}–{:.2}]", range.median, range.least, range.most);
        println!(
            "{:<9} {:>24} {:>24} {:>8.0} {:>8.0} {:>8.0}% {:>4.0}+{:<3.0}% {:>3}+{:<4}{}",
            format!("{:?}", self.attack).to_lowercase(),
            shown(&self.p99_ratio),
            shown(&self.goodput_ratio),
            self.p99_us.median,
            self.whole_p99_us.median,
            100.0 * self.share.median,
            100.0 * self.server_without.median,
            100.0 * self.server_added.median,
            (self.memory_max - self.added) >> 20,
            self.added >> 20,
            if self.is_good() { "" } else { " !" }
        );
    }
}

struct Range {
    least: f64,
    median: f64,
    most: f64,
}

impl Range {
    /// Of at least one value.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        Self { least: at(0), median: at(values.len() / 2), most: at(values.len().wrapping_sub(1)) }
    }
}
