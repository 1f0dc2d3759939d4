//! Waits until nobody else uses the machine.

use crate::host::Ticks;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Watched for so long.
const LOOK: Duration = Duration::from_millis(250);
/// All cores together may be busy for this share of it.
const BUSY_MAX: f64 = 0.06;
/// Then the run goes ahead; the rule on foreign CPU time decides whether it stands.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn wait() -> Result<(), String> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let before = Ticks::now()?;
        sleep(LOOK);
        let passed = Ticks::now()?.since(before);
        if passed.busy.as_secs_f64() < BUSY_MAX * passed.all.as_secs_f64() {
            break;
        }
    }
    Ok(())
}
