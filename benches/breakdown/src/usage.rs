//! What CPU time a process has used, by the kernel's own account.

use crate::Result;
use std::time::Instant;

/// Until a time, of all threads that are there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    at: Instant,
    /// On a core, in nanoseconds (`schedstat`).
    pub(crate) ran_ns: u64,
    /// In the program and in the kernel, in ticks of the clock (`stat`): by samples.
    user: u64,
    system: u64,
}

/// Between two times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    /// Nanoseconds on a core in each second.
    pub(crate) ns_per_second: f64,
    /// Of that, in the kernel: by the clock's ticks. None where no tick fell.
    pub(crate) in_kernel: Option<f64>,
}

impl Usage {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let folder = format!("/proc/{pid}/task");
        let threads = std::fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
        let mut usage = Self { at: Instant::now(), ran_ns: 0, user: 0, system: 0 };
        for thread in threads.flatten() {
            // One that ends meanwhile is nothing.
            let read = |name| std::fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            usage.add(&read("schedstat"), &read("stat"));
        }
        Ok(usage)
    }

    fn add(&mut self, schedstat: &str, stat: &str) {
        self.ran_ns += nth(schedstat.split_whitespace(), 0);
        // Its name comes first, in brackets, and may have spaces; then come the third field and on (`proc(5)`).
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        self.user += nth(rest.split(' '), 11);
        self.system += nth(rest.split(' '), 12);
    }

    pub(crate) fn since(&self, before: &Self) -> Used {
        let ticks = |now: u64, before: u64| now.saturating_sub(before) as f64;
        let (user, system) = (ticks(self.user, before.user), ticks(self.system, before.system));
        let seconds = (self.at - before.at).as_secs_f64();
        Used {
            ns_per_second: ticks(self.ran_ns, before.ran_ns) / seconds.max(1e-9),
            in_kernel: (user + system > 0.0).then(|| system / (user + system)),
        }
    }
}

fn nth<'t>(mut words: impl Iterator<Item = &'t str>, nth: usize) -> u64 {
    words.nth(nth).and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A thread's line in which each field is its number.
    fn stat(user: u64, system: u64) -> String {
        format!("7 (a name) of two) S 4 5 6 7 8 9 10 11 12 13 {user} {system} 16 17\n")
    }

    #[test]
    fn threads_add_up_and_a_second_is_a_second() {
        let begin = Usage { at: Instant::now(), ran_ns: 0, user: 0, system: 0 };
        let mut before = begin;
        before.add("1000 20 3\n", &stat(10, 20));
        before.add("500 1 1\n", &stat(1, 2));
        // One that ends meanwhile.
        before.add("", "");
        assert_eq!((before.ran_ns, before.user, before.system), (1_500, 11, 22));
        let mut after = Usage { at: before.at + Duration::from_secs(2), ..before };
        assert_eq!(after.since(&before).in_kernel, None, "no tick fell");
        after.add("4000000000 0 0\n", &stat(1, 3));
        let used = after.since(&before);
        assert_eq!((used.ns_per_second, used.in_kernel), (2e9, Some(0.75)));
        assert_eq!(begin.since(&before).ns_per_second, 0.0, "a thread has ended with its time");
    }
}
