//! The model's own error: what it leaves out, whatever is known of its inputs.
//!
//! Inputs may be known to a tenth of a percent, and the model be wrong by one. It adds up costs that disturb one another: caches,
//! branch predictors, an answer that is there before its thread sleeps. No calibration tells that, since
//! each part is measured by itself. Trials of other cells do. A cell's own trials are never among them, nor those of its
//! size: these have the same calibration and the same kernel.

use super::compared::{Compared, OwnError, wider};
use std::collections::BTreeSet;
use tailwater_stats::t_975;

/// A cell in the host's nanoseconds for a request, in which the model adds up.
struct Times {
    /// Without the accelerator, by the inputs.
    without: f64,
    /// With it, as predicted.
    predicted: f64,
    /// With it, by the measured factor.
    measured: f64,
}

impl Times {
    fn of(compared: &Compared) -> Option<Self> {
        let found = compared.measured?;
        let known = compared.predicted.inputs.iter().find(|known| known.input == "n")?;
        let without = SECOND_NS / known.mean;
        Some(Self {
            without,
            predicted: without / compared.predicted.speedup,
            measured: without / found.speedup,
        })
    }

    fn difference(&self) -> f64 {
        self.measured - self.predicted
    }
}

/// C in nanoseconds, of which n is the number of requests.
const SECOND_NS: f64 = 1e9;

/// Finds each cell's own error by the others. A cell without others has none.
pub fn own_errors(cells: &mut [Compared]) {
    let found: Vec<Option<OwnError>> = cells.iter().map(|cell| own_error(cell, cells)).collect();
    for (cell, own_error) in cells.iter_mut().zip(found) {
        cell.own_error = own_error;
    }
}

fn own_error(compared: &Compared, all: &[Compared]) -> Option<OwnError> {
    let times = Times::of(compared)?;
    let is_other = |other: &&Compared| {
        other.cell.threading == compared.cell.threading && other.cell.bytes != compared.cell.bytes
    };
    let others: Vec<f64> = all
        .iter()
        .filter(is_other)
        .filter_map(|other| Some(Times::of(other)?.difference()))
        .collect();
    if others.is_empty() {
        return None;
    }
    let square = others.iter().map(|ns| ns * ns).sum::<f64>() / others.len() as f64;
    // Cells of one size have one calibration, so that they count as one.
    let sizes: BTreeSet<u32> = all.iter().filter(is_other).map(|other| other.cell.bytes).collect();
    let own = t_975(sizes.len()) * square.sqrt();
    let (fewer, more) = half_widths(compared, &times, own);
    let found = compared.measured?;
    let difference = times.difference();
    let of_trials = match difference >= 0.0 {
        true => times.measured - times.without / found.high,
        false => times.without / found.low - times.measured,
    };
    let half = if difference >= 0.0 { more } else { fewer };
    Some(OwnError {
        ns: square.sqrt(),
        cells: others.len() as u32,
        low: times.without / (times.predicted + more),
        // A request takes some time, whatever is not known.
        high: times.without / (times.predicted - fewer).max(f64::MIN_POSITIVE),
        covered: difference.abs() <= half.hypot(of_trials),
    })
}

/// By how many nanoseconds a request may take less, and more, than predicted.
fn half_widths(compared: &Compared, times: &Times, own: f64) -> (f64, f64) {
    let predicted = &compared.predicted;
    let of_inputs =
        |end: f64| (times.without / end - times.predicted).abs() * wider(predicted.rounds);
    (of_inputs(predicted.high).hypot(own), of_inputs(predicted.low).hypot(own))
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Cell, software};
    use super::super::compared::{Compared, MeasuredFactor};
    use super::super::parts::{Known, Prediction};
    use super::*;
    use crate::accelerator::Threading;

    /// Requests of 100 ns without the accelerator, predicted to take 50 with it; they took so much.
    fn compared(cell: Cell, took: f64) -> Compared {
        let inputs = vec![Known { input: "n".into(), mean: 1e7, low: 1e7, high: 1e7 }];
        let speedup = 100.0 / took;
        Compared {
            cell,
            predicted: Prediction {
                inputs,
                rounds: 20,
                speedup: 2.0,
                bound: None,
                low: 2.0,
                high: 2.0,
            },
            measured: Some(MeasuredFactor {
                speedup,
                low: speedup,
                high: speedup,
                trials: 12,
                points: 0.0,
                covered: false,
                without_ns: Some(100.0),
                with_ns: Some(took),
                switches: Some(0.0),
            }),
            set_aside: 0,
            own_error: None,
        }
    }

    fn of(threading: Threading) -> impl Iterator<Item = Cell> {
        software(false)
            .into_iter()
            .filter(move |cell| cell.threading == threading && cell.others_percent == 0)
    }

    #[test]
    fn an_error_is_that_of_cells_of_other_sizes_and_of_none_of_its_own() {
        // By 3 and 4 ns in the sizes of 1 and 4 KiB, by 100 in 16 KiB.
        let took = |cell: Cell| match cell.bytes {
            1_024 => 53.0,
            4_096 => 46.0,
            _ => 150.0,
        };
        let mut cells: Vec<Compared> =
            of(Threading::SyncOs).map(|cell| compared(cell, took(cell))).collect();
        // Another design tells nothing of this one.
        cells.extend(of(Threading::Async).map(|cell| compared(cell, 70.0)));
        own_errors(&mut cells);
        let largest =
            cells.iter().find(|one| one.cell.bytes == 16_384).and_then(|one| one.own_error);
        let largest = largest.expect("there are other sizes");
        assert!((largest.ns - 12.5_f64.sqrt()).abs() < 1e-9 && largest.cells == 6, "{largest:?}");
        // t with two degrees is 4.303: 15.21 ns.
        assert!((largest.low - 100.0 / 65.212).abs() < 1e-3, "{largest:?}");
        assert!((largest.high - 100.0 / 34.788).abs() < 1e-3, "{largest:?}");
        assert!(!largest.covered, "100 ns are more than others are wrong by");
        let small = cells[0].own_error.expect("there are other sizes");
        assert!(small.covered && small.ns > 70.0, "{small:?}");
    }

    #[test]
    fn one_size_alone_tells_nothing() {
        let mut cells: Vec<Compared> =
            software(true).into_iter().map(|cell| compared(cell, 60.0)).collect();
        own_errors(&mut cells);
        assert!(cells.iter().all(|cell| cell.own_error.is_none()));
    }
}
