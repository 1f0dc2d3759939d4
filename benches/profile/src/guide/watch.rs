//! What a recording takes of disk and memory while it lasts, as the file system and `/proc` tell.

use crate::Result;
use serde::Serialize;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Between two readings.
const EVERY: Duration = Duration::from_secs(1);
/// Readings that are kept.
const KEPT: usize = 60;
/// Of a block, as the file system counts them.
const BLOCK_BYTES: u64 = 512;

/// In bytes.
#[derive(Debug, Default, Serialize)]
pub(super) struct Usage {
    /// Of the trace and what is written beside it, the most of all readings.
    pub(super) disk_max: u64,
    /// Resident memory of the recorder and what reads its trace, at its most. Both hold the program's shared memory.
    pub(super) recorder_max: u64,
    /// Of the program, which keeps notes of its own.
    pub(super) server_max: u64,
    /// At most sixty readings, at even distances.
    readings: Vec<At>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct At {
    seconds: u64,
    disk: u64,
    recorder: u64,
    server: u64,
}

/// Runs the command, and reads what it takes until it has ended. What is written for `trace` begins with its name.
pub(super) fn watch(
    command: &mut Command,
    trace: &Path,
    server: u32,
    gives_up: &AtomicBool,
) -> Result<Usage> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("could not start the recorder: {error}"))?;
    let (mut usage, start) = (Usage::default(), Instant::now());
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if gives_up.load(Ordering::Relaxed) {
            // It may have ended by itself.
            let _ = child.kill();
        }
        usage.read(trace, child.id(), server, start.elapsed().as_secs());
        thread::sleep(EVERY);
    }
    usage.thin();
    ended(child).map(|()| usage)
}

fn ended(child: Child) -> Result {
    let done = child.wait_with_output().map_err(|error| error.to_string())?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("the recorder ended: {}", String::from_utf8_lossy(&done.stderr).trim()))
}

impl Usage {
    fn read(&mut self, trace: &Path, recorder: u32, server: u32, seconds: u64) {
        let all = [vec![recorder], children(recorder)].concat();
        let of_all = |key| all.iter().map(|pid| memory(*pid, key)).sum::<u64>();
        let at = At {
            seconds,
            disk: disk(trace),
            recorder: of_all(RESIDENT),
            server: memory(server, RESIDENT),
        };
        self.readings.push(at);
        self.disk_max = self.disk_max.max(at.disk);
        self.recorder_max = self.recorder_max.max(of_all(MOST));
        self.server_max = self.server_max.max(memory(server, MOST));
    }

    fn thin(&mut self) {
        let step = self.readings.len().div_ceil(KEPT).max(1);
        self.readings = self.readings.iter().copied().step_by(step).collect();
    }
}

const RESIDENT: &str = "VmRSS:";
const MOST: &str = "VmHWM:";

/// In bytes; nothing of a process that has ended.
fn memory(pid: u32, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Processes that any of its threads has started.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let words = texts.flat_map(|text| {
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()
    });
    words.collect()
}

/// What the file system has given to files whose names begin so, drafts included: these begin with a dot.
fn disk(trace: &Path) -> u64 {
    let folder = fs::read_dir(trace.parent().unwrap_or(trace)).into_iter().flatten().flatten();
    let name = trace.file_name().unwrap_or_default().as_encoded_bytes();
    let ours = folder.filter(|entry| {
        let file = entry.file_name();
        let file = file.as_encoded_bytes();
        file.strip_prefix(b".").unwrap_or(file).starts_with(name)
    });
    ours.filter_map(|entry| entry.metadata().ok()).map(|data| data.blocks() * BLOCK_BYTES).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_counts_with_what_it_has_started_and_with_all_that_it_writes() {
        let folder = std::env::temp_dir().join(format!("profile-watch-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let trace = folder.join("x.trace");
        fs::write(&trace, vec![1; 8192]).expect("room");
        fs::write(folder.join("x.trace.all"), vec![1; 8192]).expect("room");
        fs::write(folder.join("y.trace"), vec![1; 1 << 20]).expect("room");
        let mut usage = Usage::default();
        // This process has started the test's own.
        let mut child = Command::new("sleep").arg("100").spawn().expect("it starts");
        let own = std::process::id();
        assert!(children(own).contains(&child.id()));
        usage.read(&trace, own, child.id(), 7);
        child.kill().and_then(|()| child.wait()).expect("it ends");
        fs::remove_dir_all(&folder).expect("it was made");
        let [at] = usage.readings[..] else { panic!("one reading") };
        assert!(at.recorder > at.server && at.server > 0, "{at:?}");
        assert!(usage.recorder_max >= at.recorder && usage.server_max >= at.server);
        assert!(usage.disk_max < 1 << 20, "{} bytes of others", usage.disk_max);
    }

    #[test]
    fn hours_keep_as_many_readings_as_minutes() {
        let at = |seconds| At { seconds, disk: 0, recorder: 0, server: 0 };
        let mut usage = Usage { readings: (0..3_600).map(at).collect(), ..Usage::default() };
        usage.thin();
        assert_eq!((usage.readings.len(), usage.readings[1].seconds), (60, 60));
    }

    #[test]
    fn a_recorder_that_fails_is_told() {
        let mut failing = Command::new("sh");
        failing.args(["-c", "echo no room >&2; exit 1"]).stderr(Stdio::piped());
        let error = ended(failing.spawn().expect("it starts")).expect_err("it failed");
        assert!(error.contains("no room"), "{error}");
    }
}
