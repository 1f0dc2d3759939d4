//! Each value once, before time is spent on others: which can be measured, and which can wait.
//!
//! It leaves values out and orders them; nothing is adopted from it.

use super::super::ab::change;
use super::super::bench::{Bench, always_late};
use super::super::targets::{Late, Played};
use super::super::tell;
use super::file::{LeftOut, Wanted};
use crate::failure::Failure;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::Instant;
use tailwater_tune::ab::{Block, Pilot};

/// The share of the time after which no more values are tried one by one: what fails later ends its own test only.
const TRIALS: f64 = 0.1;

/// Values that can be measured, of each knob.
pub(super) type Values = [Vec<String>];

/// What trials say.
pub(super) struct Tried {
    values: Vec<Vec<String>>,
    /// Of values whose block counts, what it measured.
    measured: Vec<(usize, String, f64)>,
    pub(super) left_out: Vec<LeftOut>,
}

/// Which values have their turns first, of each knob, and which last.
pub(super) struct Turns {
    pub(super) values: Vec<Vec<String>>,
    pub(super) deferred: Vec<Deferred>,
}

/// A value that was far worse than stock at sight.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Deferred {
    /// Its knob's number.
    #[serde(skip)]
    pub(super) at: usize,
    pub(super) knob: String,
    pub(super) value: String,
    /// Logarithm of its second block ÷ the pilot's.
    pub(super) change: f64,
}

/// Values that wait for the others, with why.
pub(super) fn in_words(all: &[Deferred]) -> String {
    let each = all.iter().map(|of| format!("{}={} ({})", of.knob, of.value, change(of.change)));
    format!("{}, each in two blocks beside stock's", each.collect::<Vec<_>>().join(", "))
}

/// Plays each value once, and leaves out those that cannot be measured: one that is wrong costs a block, and not all that
/// was found before its turn. One that was late where stock was late, too, has another turn after all others. What is not
/// played within the time for trials stays.
pub(super) fn tried(bench: &mut Bench<'_>, wanted: &Wanted) -> Result<Tried, Failure> {
    let until = Instant::now() + wanted.time.mul_f64(TRIALS);
    let places = wanted.values.iter().enumerate();
    let mut turns: VecDeque<(usize, &String, bool)> = places
        .flat_map(|(at, values)| values.iter().map(move |value| (at, value, false)))
        .collect();
    let (mut left_out, mut measured) = (wanted.left_out.clone(), vec![]);
    let mut bad: Vec<(usize, &String)> = vec![];
    while let Some((at, value, is_second)) = turns.pop_front() {
        let knob = &wanted.dials[at].name;
        let because = match trial(bench, wanted, (at, value), until) {
            Ok(Trial::Good(block)) => {
                let counts = block.filter(|block| block.counts(&wanted.rules));
                measured.extend(counts.map(|block| (at, value.clone(), block.metric)));
                continue;
            }
            Ok(Trial::Busy(stock)) if is_second => {
                tell(&format!(
                    "{knob}={value} was late again, and stays: stock did not count either: {stock}"
                ));
                continue;
            }
            Ok(Trial::Busy(stock)) => {
                tell(&format!(
                    "{knob}={value} was late, and is tried again later: stock did not count either: {stock}"
                ));
                turns.push_back((at, value, true));
                continue;
            }
            Ok(Trial::Late(late)) => always_late(&late),
            Err(failure) if bench.is_over(&failure) => return Err(failure),
            Err(failure) => failure.to_string(),
        };
        tell(&format!("{knob}={value} is left out: {because}"));
        bad.push((at, value));
        left_out.push(LeftOut { knob: knob.clone(), value: value.clone(), because });
    }
    let values = without(&wanted.values, |at, value| bad.contains(&(at, value)));
    // The last is one of these trials.
    match left_out.last() {
        Some(first) if values.iter().all(Vec::is_empty) => Err(Failure::work(format!(
            "no value can be measured, {}={} for this reason: {}",
            first.knob, first.value, first.because
        ))),
        _ => Ok(Tried { values, measured, left_out }),
    }
}

/// Values but for some.
fn without(values: &Values, is_out: impl Fn(usize, &String) -> bool) -> Vec<Vec<String>> {
    let kept = |(at, values): (usize, &Vec<String>)| {
        values.iter().filter(|value| !is_out(at, value)).cloned().collect()
    };
    values.iter().enumerate().map(kept).collect()
}

/// What came of a trial.
enum Trial {
    /// Nothing speaks against the value, or there is no time to find out and no block.
    Good(Option<Block>),
    /// Its generator was late, and a block of stock was so, too, or failed, for this reason. That is no fault of the value.
    Busy(String),
    /// Its generator is late, with a block of stock in between that is not.
    Late(Late),
}

fn trial(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    (at, value): (usize, &String),
    until: Instant,
) -> Result<Trial, Failure> {
    let mut setting = wanted.stock.clone();
    setting[at].clone_from(value);
    let is_over = || Instant::now() >= until;
    if is_over() {
        return Ok(Trial::Good(None));
    }
    if let Played::Block(block) = bench.trial(&setting)? {
        return Ok(Trial::Good(Some(block)));
    }
    if is_over() {
        return Ok(Trial::Good(None));
    }
    // One block, and not the best of several: of a busy machine one in four may be in time.
    if let Some(why) = bench.once_more(&wanted.stock)? {
        return Ok(Trial::Busy(why));
    }
    Ok(match bench.trial(&setting)? {
        Played::Block(block) => Trial::Good(Some(block)),
        Played::Void(late) => Trial::Late(late),
    })
}

/// Parts values by whether they are far worse than the pilot's blocks of stock, twice: once may be a bad moment. Where all are, none
/// has others to wait for.
///
/// # Errors
/// With what ends the whole search.
pub(super) fn turns(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    tried: &Tried,
    pilot: &Pilot,
) -> Result<Turns, Failure> {
    let until = Instant::now() + wanted.time.mul_f64(TRIALS);
    let far = |metric: f64| pilot.far_worse(metric, wanted.rules.better);
    let mut deferred = Vec::new();
    for (at, value, _) in tried.measured.iter().filter(|(.., metric)| far(*metric).is_some()) {
        // Those that are left have their turns with the others.
        if Instant::now() >= until {
            break;
        }
        if let Some(change) = second(bench, wanted, (*at, value))?.and_then(far) {
            let (at, knob, value) = (*at, wanted.dials[*at].name.clone(), value.clone());
            deferred.push(Deferred { at, knob, value, change });
        }
    }
    let is_out =
        |at: usize, value: &String| deferred.iter().any(|of| of.at == at && of.value == *value);
    let values = without(&tried.values, is_out);
    if values.iter().all(Vec::is_empty) {
        return Ok(Turns { values: tried.values.clone(), deferred: Vec::new() });
    }
    if !deferred.is_empty() {
        tell(&format!("far worse than stock, with the last turns: {}", in_words(&deferred)));
    }
    Ok(Turns { values, deferred })
}

/// What another block of a value measures, where that counts.
fn second(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    (at, value): (usize, &String),
) -> Result<Option<f64>, Failure> {
    let mut setting = wanted.stock.clone();
    setting[at].clone_from(value);
    match bench.trial(&setting) {
        Ok(Played::Block(block)) if block.counts(&wanted.rules) => Ok(Some(block.metric)),
        Ok(_) => Ok(None),
        Err(failure) if bench.is_over(&failure) => Err(failure),
        // It has its turn, and fails there.
        Err(_) => Ok(None),
    }
}
