//! What can be had here, and what to type for the rest.

use crate::event::LocalInterrupt;
use crate::layout::{Layouts, Point};
use crate::ring;
use crate::tracefs::Tracefs;
use std::fmt;
use std::io;

/// The number of the first PID namespace (`PROC_PID_INIT_INO` in the kernel's `include/linux/proc_ns.h`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// A kind of events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// Switches, wakings, migrations, new threads. The others mean nothing without it.
    Scheduling,
    /// Devices' interrupts.
    Interrupts,
    /// Softirqs.
    Softirqs,
    /// The processors' own interrupts, such as that of the timer.
    LocalInterrupts,
    /// Page faults of programs.
    PageFaults,
    /// Segments that TCP sends again.
    Retransmissions,
}

/// Why something cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    what: String,
    mend: String,
}

/// What was found.
#[derive(Debug)]
pub struct Probe {
    layouts: Layouts,
    found: Vec<(Source, Result<(), Missing>)>,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Scheduling,
        Self::Interrupts,
        Self::Softirqs,
        Self::LocalInterrupts,
        Self::PageFaults,
        Self::Retransmissions,
    ];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduling => "scheduling",
            Self::Interrupts => "interrupts",
            Self::Softirqs => "softirqs",
            Self::LocalInterrupts => "local interrupts",
            Self::PageFaults => "page faults",
            Self::Retransmissions => "retransmissions",
        }
    }

    const fn points(self) -> &'static [(&'static str, Point)] {
        use LocalInterrupt::{Call, Reschedule, Timer};
        match self {
            Self::Scheduling => &[
                ("sched/sched_switch", Point::Switch),
                ("sched/sched_waking", Point::Waking),
                ("sched/sched_wakeup", Point::Wakeup),
                ("sched/sched_wakeup_new", Point::WakeupNew),
                ("sched/sched_migrate_task", Point::Migrate),
                ("sched/sched_process_fork", Point::Fork),
            ],
            Self::Interrupts => &[
                ("irq/irq_handler_entry", Point::InterruptEntry),
                ("irq/irq_handler_exit", Point::InterruptExit),
            ],
            Self::Softirqs => &[
                ("irq/softirq_entry", Point::SoftirqEntry),
                ("irq/softirq_exit", Point::SoftirqExit),
            ],
            Self::LocalInterrupts => &[
                ("irq_vectors/local_timer_entry", Point::LocalEntry(Timer)),
                ("irq_vectors/local_timer_exit", Point::LocalExit(Timer)),
                ("irq_vectors/reschedule_entry", Point::LocalEntry(Reschedule)),
                ("irq_vectors/reschedule_exit", Point::LocalExit(Reschedule)),
                ("irq_vectors/call_function_single_entry", Point::LocalEntry(Call)),
                ("irq_vectors/call_function_single_exit", Point::LocalExit(Call)),
            ],
            Self::PageFaults => &[("exceptions/page_fault_user", Point::Fault)],
            Self::Retransmissions => &[("tcp/tcp_retransmit_skb", Point::Retransmission)],
        }
    }
}

impl Probe {
    /// Looks, by opening one event for a moment.
    #[must_use]
    pub fn look() -> Self {
        match tracefs() {
            Ok(tracefs) => Self::of(&tracefs),
            Err(missing) => {
                let found = Source::ALL.map(|source| (source, Err(missing.clone())));
                Self { layouts: Layouts::default(), found: found.to_vec() }
            }
        }
    }

    /// Every source, available or with what is missing.
    pub fn sources(&self) -> impl Iterator<Item = (Source, Result<(), &Missing>)> + '_ {
        self.found.iter().map(|(source, found)| (*source, found.as_ref().copied()))
    }

    /// Whether that source can be had.
    #[must_use]
    pub fn has(&self, source: Source) -> bool {
        self.sources().any(|(one, found)| one == source && found.is_ok())
    }

    fn of(tracefs: &Tracefs) -> Self {
        let mut layouts = Layouts::default();
        let found = Source::ALL.map(|source| (source, add(source, tracefs, &mut layouts)));
        Self { layouts, found: found.to_vec() }
    }

    /// The layouts of what was found; without scheduling, what is missing.
    pub(crate) fn into_layouts(self) -> Result<Layouts, Missing> {
        match self.found.into_iter().next() {
            Some((_, Err(missing))) => Err(missing),
            _ => Ok(self.layouts),
        }
    }
}

/// Adds all of a source's tracepoints, or none: an entry without its exit would mislead.
fn add(source: Source, tracefs: &Tracefs, layouts: &mut Layouts) -> Result<(), Missing> {
    let mut all = layouts.clone();
    for (name, point) in source.points() {
        if !tracefs.has(name) {
            let what = format!("this kernel has no tracepoint {}", name.replace('/', ":"));
            return Err(Missing::new(what, "nothing can be typed; it depends on how it was built"));
        }
        let format = tracefs.format(name).map_err(|error| {
            Missing::new(error, format!("type, as root: ls {}", tracefs.events().display()))
        })?;
        all.add(*point, &format).map_err(|error| {
            let what = format!("the tracepoint {name} is another than was expected: {error}");
            Missing::new(what, "a newer tailwater may know it")
        })?;
    }
    *layouts = all;
    Ok(())
}

/// The list of tracepoints, once it is known that they may be opened.
pub(crate) fn tracefs() -> Result<Tracefs, Missing> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if namespace
        .to_str()
        .is_some_and(|name| name.starts_with("pid:") && name != FIRST_PID_NAMESPACE)
    {
        return Err(Missing::new(
            "this process has a PID namespace of its own, and tracepoints tell the host's numbers of threads",
            "run it on the host, or give the container the host's: --pid=host",
        ));
    }
    let paranoid = read("/proc/sys/kernel/perf_event_paranoid");
    if paranoid.is_empty() {
        return Err(Missing::new(
            "this kernel has no perf events",
            "nothing can be typed; it was built without CONFIG_PERF_EVENTS",
        ));
    }
    let Some(tracefs) = Tracefs::find(&read("/proc/self/mountinfo")) else {
        return Err(Missing::new(
            "tracefs, where the kernel lists its tracepoints, is not mounted or may not be read",
            "type, as root: mount -t tracefs tracefs /sys/kernel/tracing",
        ));
    };
    let format = tracefs.format("sched/sched_switch").map_err(|error| {
        Missing::new(error, "run it as root, or type, as root: chmod -R a+rX /sys/kernel/tracing")
    })?;
    match ring::builder(0, format.id).build() {
        Ok(_) => Ok(tracefs),
        Err(error) => Err(denied(&error, paranoid.trim())),
    }
}

fn denied(error: &io::Error, paranoid: &str) -> Missing {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return Missing::new(
            format!("a tracepoint could not be opened: {error}"),
            "where a container forbids perf_event_open, start it with --cap-add=PERFMON and a seccomp profile that \
             allows it",
        );
    }
    Missing::new(
        format!(
            "tracepoints may not be opened: kernel.perf_event_paranoid is {paranoid}, and this process has not \
             CAP_PERFMON"
        ),
        "run it as root, or type, as root: sysctl kernel.perf_event_paranoid=-1",
    )
}

impl Missing {
    pub(crate) fn new(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), mend: mend.into() }
    }

    /// Of rings that could not be had though the event could be opened.
    pub(crate) fn of_ring(error: &io::Error) -> Self {
        Self::new(
            format!("no ring for events could be had: {error}"),
            "type, as root: sysctl kernel.perf_event_mlock_kb=8192; and let more files be open: ulimit -n 65536",
        )
    }

    /// What is missing.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it.
    #[must_use]
    pub fn mend(&self) -> &str {
        &self.mend
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.mend)
    }
}

impl std::error::Error for Missing {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_is_there_or_says_what_to_type() {
        let probe = Probe::look();
        assert_eq!(probe.sources().count(), Source::ALL.len());
        for (source, found) in probe.sources() {
            if let Err(missing) = found {
                assert!(!missing.what().is_empty() && !missing.mend().is_empty(), "{source:?}");
            }
        }
    }

    #[test]
    fn a_refusal_names_the_setting_that_refuses() {
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        let missing = denied(&error, "2").to_string();
        assert!(missing.contains("perf_event_paranoid is 2"), "{missing}");
        assert!(missing.contains("sysctl kernel.perf_event_paranoid=-1"), "{missing}");
        let other = denied(&io::Error::other("no such thing"), "2").to_string();
        assert!(other.contains("no such thing"), "{other}");
    }
}
