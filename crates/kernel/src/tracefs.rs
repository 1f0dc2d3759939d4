//! Where the kernel's list of tracepoints is mounted.

use crate::format::Format;
use std::path::{Path, PathBuf};

/// The file system of tracepoints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tracefs {
    events: PathBuf,
}

impl Tracefs {
    /// Where it is mounted; `mounts` is `/proc/self/mountinfo`. The kernel mounts it below debugfs of itself.
    pub(crate) fn find(mounts: &str) -> Option<Self> {
        let places = mounts.lines().filter_map(place).map(PathBuf::from);
        let below_debugfs = PathBuf::from("/sys/kernel/debug/tracing");
        let mut events = places.chain([below_debugfs]).map(|place| place.join("events"));
        events.find(|events| events.is_dir()).map(|events| Self { events })
    }

    /// What the events of a tracepoint (`sched/sched_switch`) look like.
    pub(crate) fn format(&self, point: &str) -> Result<Format, String> {
        let path = self.events.join(point).join("format");
        let trouble = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| trouble(&error))?;
        Format::parse(&text).map_err(|error| trouble(&error))
    }

    /// Whether the kernel has such a tracepoint.
    pub(crate) fn has(&self, point: &str) -> bool {
        self.events.join(point).is_dir()
    }

    /// The folder of the tracepoints.
    pub(crate) fn events(&self) -> &Path {
        &self.events
    }
}

/// The mount point of a line that is of a tracefs: `36 35 0:12 / /sys/kernel/tracing rw - tracefs none rw`.
fn place(line: &str) -> Option<&str> {
    let (mount, system) = line.split_once(" - ")?;
    (system.split(' ').next()? == "tracefs").then(|| mount.split(' ').nth(4))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_point_is_the_fifth_word() {
        let line = "36 35 0:12 / /sys/kernel/tracing rw,nosuid shared:9 - tracefs none rw";
        assert_eq!(place(line), Some("/sys/kernel/tracing"));
        assert_eq!(place(&line.replace("tracefs", "debugfs")), None);
        assert_eq!(place(""), None);
    }
}
