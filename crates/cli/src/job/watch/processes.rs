//! The processes that are watched, and whether they are there.

/// Those of the front, or of a tier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::job) struct Processes {
    /// Empty for the front.
    pub(in crate::job) tier: String,
    /// None where a fault takes some away.
    pub(in crate::job) pids: Vec<u32>,
    /// They wait for requests by looking for them all the time.
    pub(in crate::job) spins: bool,
}

impl Processes {
    /// The numbers of all their threads.
    pub(super) fn threads(&self) -> Vec<u32> {
        let entries =
            self.pids.iter().flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")));
        let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        entries.flatten().flatten().filter_map(number).collect()
    }

    /// Why nothing can be told of them now: a clause. Counts of a process that is gone would be those of one that rests.
    pub(super) fn absence(&self) -> Option<&'static str> {
        match self.pids.is_empty() {
            true => Some("none of its processes lasts for the whole run"),
            false if self.pids.iter().all(|pid| runs(*pid)) => None,
            false => Some("a process of it has ended"),
        }
    }

    /// That something is missing of them: a sentence.
    pub(super) fn without(&self, what: &str, why: &str) -> String {
        let whose = match &*self.tier {
            "" => "the front".to_owned(),
            tier => format!("tier {tier}"),
        };
        format!("No {what} for {whose}: {why}.")
    }
}

/// Whether the process is there, and not only its number until somebody hears of its end (proc_pid_stat(5)).
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    pub(in super::super) fn of(tier: &str, pids: &[u32]) -> Processes {
        Processes { tier: tier.into(), pids: pids.to_vec(), spins: false }
    }

    #[test]
    fn a_process_that_has_ended_is_absent_though_its_number_is_there() {
        let own = std::process::id();
        assert!(of("", &[own]).threads().contains(&own));
        assert_eq!(of("", &[own]).absence(), None);
        let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().expect("a process");
        let both = of("leaf", &[own, cat.id()]);
        assert_eq!(both.absence(), None);
        // It ends with its input, and nobody has waited for it.
        drop(cat.stdin.take());
        while runs(cat.id()) {
            std::thread::yield_now();
        }
        let why = both.absence().expect("it has ended");
        let told = both.without("system calls", why);
        assert_eq!(told, "No system calls for tier leaf: a process of it has ended.");
        cat.wait().expect("its end");
        assert!(both.absence().is_some() && of("", &[]).absence().is_some());
    }
}
