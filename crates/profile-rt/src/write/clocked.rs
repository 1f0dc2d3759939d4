//! A call that its thread has clocked, as the trace tells of it.

use crate::look::scan::Window;
use crate::memory::event::Clocked;
use tailwater_profile::record::{Call, CallFlags, FunctionId, ThreadId, Ticks};

/// From the reading of the clock to the function's own code, or back, at most as a rule: a note, a frame, and the reading
/// itself. Whose this time is, is not known.
const READING_NS: u64 = 50;

/// With so many ticks to a microsecond.
pub(crate) fn told(
    clocked: &Clocked,
    us: Ticks,
    thread: ThreadId,
    function: FunctionId,
    parent: Option<FunctionId>,
) -> Call {
    let [(start, start_slack), (end, end_slack)] = windows(clocked, us).map(Window::middle);
    Call {
        thread,
        function,
        parent,
        depth: clocked.depth,
        generation: clocked.generation,
        start,
        start_slack,
        // Cores may disagree about the time.
        end: end.max(start),
        end_slack,
        flags: CallFlags(CallFlags::CLOCKED),
        site: clocked.what.site,
    }
}

/// When it began and ended.
fn windows(call: &Clocked, us: Ticks) -> [Window; 2] {
    let Clocked { start, end, .. } = *call;
    let reading = (us * READING_NS / 1000).min(end.saturating_sub(start) / 2);
    // Half of it is a slack that a trace can tell as it is.
    let reading = reading & !15;
    // One that was found gone may have ended at any time since it began.
    let ended = if call.is_found_gone { start } else { end - reading };
    [Window::new(start, start + reading), Window::new(ended, end)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::abi::What;
    use tailwater_profile::record::Counts;

    #[test]
    fn a_clocked_call_took_no_longer_than_between_its_readings_and_not_much_less() {
        for (start, end, is_found_gone) in
            [(1_000, 101_000, false), (1_000, 1_070, false), (1_000, 1_001, false), (5, 905, true)]
        {
            let what = What { desc: 8, site: 0, is_clocked: true };
            let clocked = Clocked {
                what,
                parent: 0,
                depth: 0,
                generation: 1,
                start,
                end,
                is_found_gone,
                counts: Counts::default(),
            };
            let [began, ended] = windows(&clocked, 2_100);
            assert_eq!((began.from, ended.to), (start, end));
            assert!(is_found_gone || began.to <= ended.from);
            assert!(began.to - start <= 105 && (is_found_gone || end - ended.from <= 105));
            assert_eq!(ended.from == start, is_found_gone);
            for window in [began, ended] {
                let (_, slack) = window.middle();
                assert_eq!(u64::from(slack) * 2, window.to - window.from, "told as it is");
            }
        }
    }
}
