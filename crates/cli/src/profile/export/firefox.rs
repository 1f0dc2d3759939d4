//! The Firefox Profiler's processed format, by its makers' library.

use crate::profile::reading::near;
use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp,
    SamplingInterval, Timestamp,
};
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};
use tailwater_profile::stacks::Report;
use tailwater_profile::trace::Header;

/// A sample stands for so long: the format counts in whole ones.
const SAMPLE_NS: u64 = 1_000;
/// Samples of one entry at most, 35.8 min: its weight has 32 bits. A stack of more has several entries.
const ENTRY_MAX: u64 = i32::MAX as u64;

pub(super) fn write(report: &Report, header: &Header, to: &mut impl Write) -> io::Result<()> {
    let program = near(&header.program);
    let began = UNIX_EPOCH + Duration::from_nanos(header.clock.real_ns);
    let interval = SamplingInterval::from_nanos(SAMPLE_NS);
    let mut profile = Profile::new(program, ReferenceTimestamp::from(began), interval);
    // There are names only, and no addresses that its server could look up.
    profile.set_symbolicated(true);
    let start = Timestamp::from_nanos_since_reference(0);
    let process = profile.add_process(program, header.pid, start);
    let thread = profile.add_thread(process, header.pid, start, true);
    profile.set_thread_name(thread, "all threads, 1 sample for each µs");
    let names: Vec<_> =
        report.frames.iter().map(|frame| profile.intern_string(&frame.name)).collect();
    // What rounding takes from one stack goes to the next, and each has its place on the time line.
    let (mut told, mut left) = (0_u64, 0_u64);
    for stack in &report.stacks {
        left = stack.ns.saturating_add(left);
        let mut samples = left / SAMPLE_NS;
        left %= SAMPLE_NS;
        if samples == 0 {
            continue;
        }
        let frames = stack.frames.iter().map(|at| FrameInfo {
            frame: Frame::Label(names[*at as usize]),
            category_pair: CategoryHandle::OTHER.into(),
            flags: FrameFlags::empty(),
        });
        let handle = profile.intern_stack_frames(thread, frames);
        // All stacks together are of less than 2⁶⁴ ns, so some millions of entries at most are beyond one for each.
        while samples > 0 {
            let entry = samples.min(ENTRY_MAX);
            let at = Timestamp::from_nanos_since_reference(told);
            profile.add_sample(thread, at, handle, CpuDelta::ZERO, entry as i32);
            told = (entry * SAMPLE_NS).saturating_add(told);
            samples -= entry;
        }
    }
    serde_json::to_writer(&mut *to, &profile)?;
    writeln!(to)
}
