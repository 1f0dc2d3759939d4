//! What is tried.

use crate::accelerator::design::{STRATEGIES, THREADINGS};
use crate::accelerator::{Design, Strategy, Threading};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One design with one size of offloads, and an accelerator of one speed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// What threads do meanwhile.
    #[serde(serialize_with = "by_name", deserialize_with = "of_threading")]
    pub threading: Threading,
    /// Where the accelerator is.
    #[serde(serialize_with = "place", deserialize_with = "of_place")]
    pub strategy: Strategy,
    /// g: bytes of an offload.
    pub bytes: u32,
    /// A that the accelerator is slowed down to; none where it runs as fast as it can.
    pub acceleration: Option<f64>,
    /// The share of the accelerator's time that other hosts take, in percent.
    pub others_percent: u32,
}

fn by_name<S: Serializer>(threading: &Threading, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(threading.name())
}

fn place<S: Serializer>(strategy: &Strategy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(strategy.name())
}

fn of_threading<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Threading, D::Error> {
    named(&THREADINGS, deserializer)
}

fn of_place<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Strategy, D::Error> {
    named(&STRATEGIES, deserializer)
}

fn named<'de, T: Copy, D: Deserializer<'de>>(
    known: &[(&str, T)],
    deserializer: D,
) -> Result<T, D::Error> {
    let wanted = String::deserialize(deserializer)?;
    let found = known.iter().find(|(name, _)| *name == wanted);
    found.map(|(_, value)| *value).ok_or_else(|| D::Error::custom(format!("'{wanted}' found")))
}

impl Cell {
    /// The design as the model has it. The driver waits until the accelerator has the data.
    #[must_use]
    pub const fn design(&self) -> Design {
        Design { threading: self.threading, strategy: self.strategy, acknowledged: true }
    }
}

/// All designs of the thesis.
const DESIGNS: [Threading; 5] = [
    Threading::Sync,
    Threading::SyncOs,
    Threading::Async,
    Threading::AsyncDistinct,
    Threading::AsyncNoResponse,
];
/// Bytes of offloads: a kernel of a tenth, a third and two thirds of a request.
const SIZES: [u32; 3] = [1_024, 4_096, 16_384];
/// A from a modest device to the thesis' fastest (Table 6.7).
const ACCELERATIONS: [f64; 3] = [3.0, 9.0, 27.0];
/// With other hosts: the designs whose threads wait for the answer, and for the transfer alone.
const SHARED: [Threading; 2] = [Threading::Sync, Threading::Async];
const OTHERS_PERCENT: u32 = 30;

/// The cells of the software accelerator: designs × sizes × A, and some with other hosts at the accelerator. The short
/// list has one size and one A.
#[must_use]
pub fn software(short: bool) -> Vec<Cell> {
    let cell = |threading, bytes, acceleration, others_percent| Cell {
        threading,
        strategy: Strategy::OffChip,
        bytes,
        acceleration: Some(acceleration),
        others_percent,
    };
    let (sizes, speeds) =
        if short { (&SIZES[1..2], &ACCELERATIONS[1..2]) } else { (&SIZES[..], &ACCELERATIONS[..]) };
    let mut cells = Vec::new();
    for threading in DESIGNS {
        for &bytes in sizes {
            cells.extend(speeds.iter().map(|&speed| cell(threading, bytes, speed, 0)));
        }
    }
    for threading in SHARED {
        let speed = |&speed: &f64| cell(threading, SIZES[1], speed, OTHERS_PERCENT);
        cells.extend(speeds.iter().map(speed));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_another_and_every_design_is_tried() {
        for (short, count) in [(false, 51), (true, 7)] {
            let cells = software(short);
            assert_eq!(cells.len(), count);
            for (at, cell) in cells.iter().enumerate() {
                assert!(!cells[..at].contains(cell), "{cell:?} twice");
            }
            for design in DESIGNS {
                assert!(cells.iter().any(|cell| cell.threading == design), "{design:?}");
            }
        }
    }
}
