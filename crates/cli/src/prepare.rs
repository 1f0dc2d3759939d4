//! Data that are prepared before anything starts, and what is said meanwhile: what takes minutes does not look like a
//! program that hangs.

use crate::applications;
use crate::failure::Failure;
use crate::progress::Progress;
use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use tailwater_load::application::Whose;
use tailwater_stats::result::DataUsed;
use tailwater_workload::Scenario;

/// Prepares what these processes need, while `goes_on` says so: its error ends the preparation. A terminal is shown what
/// is being done; others are told once that something is.
pub(crate) fn prepare(
    scenario: &Scenario,
    data: &Path,
    whose: Whose<'_>,
    goes_on: &dyn Fn() -> Result<(), String>,
) -> Result<Vec<DataUsed>, Failure> {
    let (progress, told) = (Progress::new(1), Cell::new(0_u32));
    let tell = |what: &str| {
        progress.say(what);
        told.set(told.get().saturating_add(1));
        // First it looks at what is there; whatever is said then is work.
        if told.get() == 2 && !std::io::stderr().is_terminal() {
            let folder = data.display();
            // Standard error may be closed, which changes nothing.
            let _ = writeln!(std::io::stderr(), "tailwater: preparing data in {folder}: {what}");
        }
        goes_on()
    };
    applications::prepare(scenario, data, whose, &tell)
}
