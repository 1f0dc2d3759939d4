//! What this process holds of the system.

use std::collections::BTreeMap;
use std::fs;

/// Descriptors by kind and threads by name, each with its count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    descriptors: BTreeMap<String, usize>,
    threads: BTreeMap<String, usize>,
}

impl Held {
    pub(crate) fn now() -> Self {
        Self {
            descriptors: counted("/proc/self/fd", kind),
            threads: counted("/proc/self/task", name),
        }
    }

    /// And this beside it.
    pub(crate) fn with(mut self, descriptors: &[(&str, usize)], threads: &[(&str, usize)]) -> Self {
        for (counts, more) in [(&mut self.descriptors, descriptors), (&mut self.threads, threads)] {
            for (name, count) in more.iter().filter(|(_, count)| *count > 0) {
                *counts.entry((*name).to_owned()).or_default() += count;
            }
        }
        self
    }
}

/// What a descriptor is of: a path, or a kind without its number.
fn kind(entry: &fs::DirEntry) -> Option<String> {
    let target = fs::read_link(entry.path()).ok()?.display().to_string();
    let kind = target.split(":[").next().unwrap_or_default();
    // The folder that is being read has a descriptor, under the number of the process.
    (!kind.starts_with("/proc/")).then(|| kind.to_owned())
}

/// What a thread is named; the kernel keeps 15 bytes of it.
fn name(entry: &fs::DirEntry) -> Option<String> {
    let name = fs::read_to_string(entry.path().join("comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// How often each name occurs among the entries that are still there.
fn counted(
    folder: &str,
    name: impl Fn(&fs::DirEntry) -> Option<String>,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("this is Linux") {
        let entry = entry.expect("an entry");
        if let Some(name) = name(&entry) {
            *counts.entry(name).or_default() += 1;
        }
    }
    counts
}

/// Memory in use, in KiB.
pub(crate) fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse().ok()).expect("a number")
}
