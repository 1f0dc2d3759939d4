//! Which calls or requests are slow, and why there are none.

use super::FlameOptions;
use crate::failure::{Failure, tell};
use crate::profile::chosen;
use crate::profile::percentile::percentile_name;
use crate::profile::reading::Trace;
use tailwater_profile::stacks::{Choice, MarkedCalls};
use tailwater_report::count;

/// Why no request is slow: of any number one is.
const NONE_MARKED: &str = "no request was marked: name a function by --function, or see docs/profiling-requests.md, \"Mark requests\"";

/// Slow ones and all, before the reading that says where their time went.
pub(super) struct Sides {
    pub(super) slow: Choice,
    pub(super) all: Choice,
    /// How many slow requests there are, and how many in all. Calls are counted as they are read.
    pub(super) requests: Option<[u64; 2]>,
    /// Among how many calls or requests slow ones were looked for.
    pub(super) among: u64,
}

pub(super) fn of_calls(options: &FlameOptions, functions: &[String]) -> Result<Sides, Failure> {
    let tail = chosen::tail(&options.trace, functions, Some(options.above))?;
    let (all, among) = (tail.all(), tail.calls());
    Ok(Sides { slow: tail.finish(), all, requests: None, among })
}

pub(super) fn of_requests(options: &FlameOptions) -> Result<Sides, Failure> {
    let trace = Trace::open(&options.trace)?;
    let mut marked = MarkedCalls::new(trace.header());
    let ending = trace.read(|item| {
        // Damage is counted in the second reading.
        if let Ok(record) = item {
            marked.add(record);
        }
    });
    let found = marked.finish(&ending, options.above);
    if found.requests == 0 {
        return Err(Failure::usage(NONE_MARKED));
    }
    if found.left_out > 0 {
        let left_out = count(found.left_out);
        tell(&format!("{left_out} requests beyond the first millions are in neither graph."));
    }
    let requests = Some([found.slow_requests, found.requests]);
    Ok(Sides { slow: found.slow, all: found.all, requests, among: found.requests })
}

/// Why there is nothing to draw, of so many calls or requests.
pub(super) fn no_calls(options: &FlameOptions, among: u64) -> String {
    if !options.function.is_empty() {
        return chosen::none_above(&options.function, options.above, among);
    }
    format!(
        "no call was seen within a request above {} of {}: take a lower percentile, or name a function by --function",
        percentile_name(options.above),
        count(among)
    )
}
