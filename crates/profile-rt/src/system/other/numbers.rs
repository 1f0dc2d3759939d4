//! Threads' numbers: those that they have for themselves, and ours. They differ where the process has a namespace of
//! its own. What is read here is the kernel's, of our own /proc: what a process mounts for itself is never looked at.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Threads that are looked through; those beyond stay without a name. The arena has slots for a sixteenth of that, and
/// threads without one may come first.
const TASKS_MAX: usize = 1 << 16;
/// The kernel's names have 16 bytes at most.
const NAME_MAX: u64 = 64;

/// Of a process in a namespace of its own: our numbers of its threads, by theirs, as last seen.
#[derive(Debug, Default)]
pub(super) struct Numbers(Mutex<HashMap<u32, u32>>);

impl Numbers {
    /// Ours of the thread that numbers itself `own`, among those in `tasks`.
    pub(super) fn ours(&self, tasks: &Path, own: u32) -> Option<u32> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_still = |ours: &u32| innermost_of(&tasks.join(ours.to_string())) == Some(own);
        if let Some(ours) = known.get(&own).copied().filter(is_still) {
            return Some(ours);
        }
        // A list anew each time, so that it holds no more than there are threads.
        let tasks = std::fs::read_dir(tasks).ok()?.flatten().take(TASKS_MAX);
        *known = tasks
            .filter_map(|task| {
                let ours = task.file_name().to_str()?.parse().ok()?;
                Some((innermost_of(&task.path())?, ours))
            })
            .collect();
        known.get(&own).copied()
    }
}

fn innermost_of(task: &Path) -> Option<u32> {
    innermost(&std::fs::read_to_string(task.join("status")).ok()?)
}

/// The number that a process or a thread has for itself, by its status as the kernel writes it.
pub(super) fn innermost(status: &str) -> Option<u32> {
    numbers(status)?.next_back()?.parse().ok()
}

/// Whether that is of another namespace than ours.
pub(super) fn is_elsewhere(status: &str) -> bool {
    numbers(status).is_some_and(|numbers| numbers.count() > 1)
}

fn numbers(status: &str) -> Option<std::str::SplitWhitespace<'_>> {
    Some(status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace())
}

/// What the thread is called that has this folder.
pub(super) fn name(task: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(task.join("comm"))?.take(NAME_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_namespace_counts() {
        let here = "Name:\tx\nNSpid:\t123\nPid:\t123\n";
        assert_eq!((innermost(here), is_elsewhere(here)), (Some(123), false));
        let inside = "NSpid:\t123\t45\t6\n";
        assert_eq!((innermost(inside), is_elsewhere(inside)), (Some(6), true));
        for nothing in ["", "NSpid:\n", "NSpid:\tx\n", "Name:\tNSpid: 1 2\n"] {
            assert_eq!((innermost(nothing), is_elsewhere(nothing)), (None, false), "{nothing}");
        }
    }

    #[test]
    fn threads_are_found_by_their_own_numbers_also_where_one_is_used_anew() {
        let folder = std::env::temp_dir().join(format!("tailwater-numbers-{}", std::process::id()));
        let write = |ours: u32, status: &str| {
            let task = folder.join(ours.to_string());
            std::fs::create_dir_all(&task).expect("a folder for the test");
            std::fs::write(task.join("status"), status).expect("a file");
        };
        write(1001, "Name:\ta\nNSpid:\t1001\t7\n");
        write(1002, "Name:\tb\nNSpid:\t1002\t8\n");
        let numbers = Numbers::default();
        assert_eq!(numbers.ours(&folder, 7), Some(1001));
        assert_eq!(numbers.ours(&folder, 8), Some(1002));
        assert_eq!(numbers.ours(&folder, 1001), None, "ours are not theirs");
        write(1001, "Name:\tc\nNSpid:\t1001\t9\n");
        write(1003, "Name:\td\nNSpid:\t1003\t7\n");
        assert_eq!(numbers.ours(&folder, 7), Some(1003));
        assert_eq!(numbers.ours(&folder, 9), Some(1001));
        std::fs::remove_dir_all(&folder).expect("it was made");
    }

    #[test]
    fn of_a_name_no_more_is_read_than_the_kernel_gives() {
        let folder = std::env::temp_dir().join(format!("tailwater-comm-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        std::fs::write(folder.join("comm"), "x".repeat(1 << 20)).expect("a file");
        assert_eq!(name(&folder).expect("it is there").len() as u64, NAME_MAX);
        std::fs::remove_dir_all(&folder).expect("it was made");
    }
}
