//! How often CPU quotas stopped a process: `nr_throttled` of its control groups.

use std::path::{Path, PathBuf};

/// Counts how often the control groups that a process is in, and those around them, were stopped by a CPU quota.
#[derive(Debug)]
pub struct Throttling {
    files: Vec<PathBuf>,
    before: u64,
}

impl Throttling {
    /// Begins, for the groups that the process is in now; `None` where none of them can be read.
    #[must_use]
    pub fn begin(pid: u32) -> Option<Self> {
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let mut files = stat_files(&groups, &mounts);
        files.retain(|file| read(file).is_some());
        let mut begun = Self { files, before: 0 };
        begun.before = begun.all();
        (!begun.files.is_empty()).then_some(begun)
    }

    /// How often since then.
    #[must_use]
    pub fn times(&self) -> u64 {
        self.all().saturating_sub(self.before)
    }

    fn all(&self) -> u64 {
        self.files.iter().filter_map(|file| read(file)).sum()
    }
}

fn read(file: &Path) -> Option<u64> {
    throttled(&std::fs::read_to_string(file).ok()?)
}

fn throttled(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
}

/// The `cpu.stat` of each group, the innermost first. `groups` is `/proc/PID/cgroup`, `mounts` `/proc/self/mountinfo`;
/// both versions of control groups are told there (`cgroups(7)`).
fn stat_files(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut words = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (words.next(), words.next()) else { continue };
        let is_first = !controllers.is_empty();
        if is_first && !controllers.split(',').any(|one| one == "cpu") {
            continue;
        }
        let Some(root) = mounts.lines().find_map(|mount| mounted(mount, is_first)) else {
            continue;
        };
        let group = root.join(path.trim_start_matches('/'));
        let around = group.ancestors().take_while(|one| one.starts_with(&root));
        files.extend(around.map(|one| one.join("cpu.stat")));
    }
    files
}

/// Where control groups of that version are mounted, if the line says; of the first the ones that have quotas.
fn mounted(line: &str, is_first: bool) -> Option<PathBuf> {
    let (mount, system) = line.split_once(" - ")?;
    let mut words = system.split(' ');
    let (kind, options) = (words.next()?, words.nth(1)?);
    let is_it = match kind {
        "cgroup2" => !is_first,
        "cgroup" => is_first && options.split(',').any(|one| one == "cpu"),
        _ => false,
    };
    is_it.then(|| mount.split(' ').nth(4).map(PathBuf::from))?
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "24 1 0:21 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        30 24 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        32 24 0:28 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn quotas_of_all_groups_around_a_process_are_found() {
        let groups = "4:cpuset:/other\n3:cpu,cpuacct:/pod/one\n1:name=systemd:/x\n0::/slice\n";
        let files = stat_files(groups, MOUNTS);
        let expected = [
            "/sys/fs/cgroup/cpu,cpuacct/pod/one/cpu.stat",
            "/sys/fs/cgroup/cpu,cpuacct/pod/cpu.stat",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
            "/sys/fs/cgroup/unified/slice/cpu.stat",
            "/sys/fs/cgroup/unified/cpu.stat",
        ];
        assert_eq!(files, expected.map(PathBuf::from));
        assert!(stat_files("0::/a\n", "").is_empty(), "nothing is mounted");
    }

    #[test]
    fn both_versions_tell_it_alike() {
        assert_eq!(throttled("nr_periods 9\nnr_throttled 4\nthrottled_time 77\n"), Some(4));
        assert_eq!(throttled("usage_usec 1\nnr_throttled 0\nthrottled_usec 0\n"), Some(0));
        assert_eq!(throttled("usage_usec 1\n"), None, "the controller is off");
    }
}
