//! Where the kernel's list of tracepoints is mounted.

use crate::format::Format;
use std::io;
use std::path::{Path, PathBuf};

/// The file system of tracepoints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tracefs {
    events: PathBuf,
}

/// Why there is no list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Absent {
    /// It is mounted nowhere.
    Unmounted,
    /// It is mounted there, and this process may not look into it.
    Closed(PathBuf),
}

impl Tracefs {
    /// Where it is mounted; `mounts` is `/proc/self/mountinfo`. The kernel mounts it below debugfs of itself.
    pub(crate) fn find(mounts: &str) -> Result<Self, Absent> {
        Self::find_by(mounts, |events| std::fs::metadata(events).map(|_| ()))
    }

    fn find_by(mounts: &str, look: impl Fn(&Path) -> io::Result<()>) -> Result<Self, Absent> {
        let of = |system: &'static str| mounts.lines().filter_map(move |line| place(line, system));
        let below_debugfs = of("debugfs").map(|place| place.join("tracing"));
        let mut absent = Absent::Unmounted;
        for place in of("tracefs").chain(below_debugfs) {
            let events = place.join("events");
            match look(&events) {
                Ok(()) => return Ok(Self { events }),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    absent = Absent::Closed(place);
                }
                Err(_) => {}
            }
        }
        Err(absent)
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

/// The mount point of a line that is of such a file system: `36 35 0:12 / /sys/kernel/tracing rw - tracefs none rw`.
fn place(line: &str, kind: &str) -> Option<PathBuf> {
    let (mount, system) = line.split_once(" - ")?;
    let place = (system.split(' ').next()? == kind).then(|| mount.split(' ').nth(4))?;
    place.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "36 35 0:12 / /sys/kernel/tracing rw,nosuid shared:9 - tracefs none rw";

    #[test]
    fn the_mount_point_is_the_fifth_word() {
        assert_eq!(place(LINE, "tracefs"), Some(PathBuf::from("/sys/kernel/tracing")));
        assert_eq!(place(LINE, "debugfs"), None);
        assert_eq!(place("", "tracefs"), None);
    }

    #[test]
    fn what_is_mounted_and_closed_is_not_told_as_unmounted() {
        let closed = |_: &Path| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        let place = PathBuf::from("/sys/kernel/tracing");
        assert_eq!(Tracefs::find_by(LINE, closed), Err(Absent::Closed(place)));
        assert_eq!(Tracefs::find_by("", closed), Err(Absent::Unmounted));
        let both =
            format!("{LINE}\n{}", LINE.replace("tracefs", "debugfs").replace("tracing", "debug"));
        let below = |events: &Path| match events.starts_with("/sys/kernel/debug/tracing") {
            true => Ok(()),
            false => closed(events),
        };
        let found = Tracefs::find_by(&both, below).expect("debugfs is open");
        assert_eq!(found.events(), Path::new("/sys/kernel/debug/tracing/events"));
    }
}
