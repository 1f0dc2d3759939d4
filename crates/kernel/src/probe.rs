//! What can be had here, and what to type for the rest.

use crate::event::LocalInterrupt;
use crate::layout::{Layouts, Point};
use crate::open_files::hard_limit;
use crate::processors;
use crate::ring;
use crate::tracefs::{Absent, Tracefs};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fmt;
use std::io;
use std::path::Path;

/// The setting that says which users may use perf events.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// A kind of events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// Switches, wakings, migrations, new threads. Without it no state of a thread is known; the others still say which thread
    /// they interrupted.
    Scheduling,
    /// Threads' new names.
    Names,
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
    /// Without any of these nothing is recorded.
    needed: Vec<Source>,
}

/// What is needed where no source was chosen: without it no state of a thread is known.
const NEEDED: [Source; 1] = [Source::Scheduling];

impl Source {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Scheduling,
        Self::Names,
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
            Self::Names => "names of threads",
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
            Self::Names => &[("task/task_rename", Point::Rename)],
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
                let (layouts, needed) = (Layouts::default(), NEEDED.to_vec());
                Self { layouts, found: found.to_vec(), needed }
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

    /// Leaves out all other sources: each costs time for every event that it tells. A recording then needs every one that is
    /// wanted: of one that is missing, no events would look like none that happened.
    #[must_use]
    pub fn only(mut self, wanted: &[Source]) -> Self {
        self.found.retain(|(source, _)| wanted.contains(source));
        self.needed = wanted.to_vec();
        let points = self.found.iter().flat_map(|(source, _)| source.points());
        let points: Vec<Point> = points.map(|(_, point)| *point).collect();
        self.layouts.keep(&points);
        self
    }

    fn of(tracefs: &Tracefs) -> Self {
        let mut layouts = Layouts::default();
        let found = Source::ALL.map(|source| (source, add(source, tracefs, &mut layouts)));
        Self { layouts, found: found.to_vec(), needed: NEEDED.to_vec() }
    }

    /// The layouts of what was found; the first that is missing of the sources that are needed.
    pub(crate) fn into_layouts(self) -> Result<Layouts, Missing> {
        let Self { layouts, found, needed } = self;
        let mut of_needed = found.into_iter().filter(|(source, _)| needed.contains(source));
        of_needed.try_for_each(|(_, found)| found)?;
        Ok(layouts)
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
    if read(PARANOID).is_empty() {
        return Err(Missing::new(
            "this kernel has no perf events",
            "nothing can be typed; it was built without CONFIG_PERF_EVENTS",
        ));
    }
    let is_root = geteuid().is_root();
    let tracefs = Tracefs::find(&read("/proc/self/mountinfo"))
        .map_err(|absent| Missing::of_tracefs(&absent, is_root))?;
    let format = tracefs.format("sched/sched_switch").map_err(|error| {
        let place = tracefs.events().parent().unwrap_or(tracefs.events());
        Missing::new(error, opened(place, is_root))
    })?;
    // The first processor may be offline.
    let cpu = processors::online().into_iter().next().unwrap_or(0);
    match ring::builder(cpu, format.id).build() {
        Ok(_) => Ok(tracefs),
        Err(error) => Err(Missing::of_event(&error)),
    }
}

/// What makes a tracefs readable.
fn opened(place: &Path, is_root: bool) -> String {
    let place = place.display();
    if is_root {
        return format!(
            "root may not read {place} here, as in a container: run it on the host, or mount it there readable"
        );
    }
    format!("run it as root, or type, as root: chmod -R a+rX {place}")
}

/// Why an event could not be opened (`perf_event_open(2)`, "Errors"), in a sentence for each error.
fn refused(error: &io::Error, paranoid: &str, is_root: bool) -> Missing {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS) => Missing::new(
            format!(
                "tracepoints may not be opened: kernel.perf_event_paranoid is {paranoid}, and this process has not \
                 CAP_PERFMON"
            ),
            if is_root {
                "start the container with --cap-add=PERFMON, or type, as root of the host: sysctl \
                 kernel.perf_event_paranoid=-1"
            } else {
                "run it as root, or type, as root: sysctl kernel.perf_event_paranoid=-1"
            },
        ),
        Some(Errno::PERM) => Missing::new(
            "perf_event_open is forbidden here, as by the seccomp profile of a container or by a kernel that is locked down",
            "start the container with --security-opt seccomp=unconfined, or with a profile that allows perf_event_open; \
             /sys/kernel/security/lockdown says what is locked",
        ),
        Some(Errno::NODEV) => Missing::new(
            "the processor of an event went offline while it was opened",
            "run it again",
        ),
        Some(Errno::MFILE) => Missing::new(
            format!("no more files may be open: the hard limit is {}", hard_limit()),
            "type, as root: ulimit -n 65536",
        ),
        Some(Errno::NFILE) => Missing::new(
            "the machine has as many files open as it may have",
            "type, as root: sysctl fs.file-max=1000000",
        ),
        Some(Errno::NOSYS) => Missing::new(
            "this kernel has no perf_event_open",
            "nothing can be typed; it was built without CONFIG_PERF_EVENTS",
        ),
        _ => Missing::new(
            format!("an event could not be opened: {error}"),
            "perf_event_open(2) says what that means, and the kernel's log (dmesg) may say more",
        ),
    }
}

/// Why no ring could be had though its event could be opened.
fn ringless(error: &io::Error, files: usize) -> Missing {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE) => Missing::new(
            format!(
                "the events of all processors need {files} open files, and the hard limit is {}",
                hard_limit()
            ),
            format!("type, as root, in the shell that starts it: ulimit -n {}", files + 1024),
        ),
        // An event that was opened a moment ago is not forbidden: its memory is.
        Some(Errno::PERM | Errno::NOMEM) => Missing::new(
            format!("no memory for the rings of events: {error}"),
            "type, as root: sysctl kernel.perf_event_mlock_kb=8192; or raise the memory that may be locked: ulimit -l",
        ),
        _ => Missing::of_event(error),
    }
}

impl Missing {
    pub(crate) fn new(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), mend: mend.into() }
    }

    fn of_tracefs(absent: &Absent, is_root: bool) -> Self {
        match absent {
            Absent::Unmounted => Self::new(
                "tracefs, where the kernel lists its tracepoints, is not mounted",
                "type, as root: mount -t tracefs tracefs /sys/kernel/tracing",
            ),
            Absent::Closed(place) => Self::new(
                format!(
                    "tracefs, where the kernel lists its tracepoints, is mounted at {} and may not be read",
                    place.display()
                ),
                opened(place, is_root),
            ),
        }
    }

    /// Of an event that could not be opened.
    pub(crate) fn of_event(error: &io::Error) -> Self {
        let paranoid = std::fs::read_to_string(PARANOID).unwrap_or_default();
        refused(error, paranoid.trim(), geteuid().is_root())
    }

    /// Of rings that could not be had though an event could be opened; they take that many files.
    pub(crate) fn of_ring(error: &io::Error, files: usize) -> Self {
        ringless(error, files)
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
    use std::path::PathBuf;

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
    fn sources_that_are_not_wanted_are_neither_told_of_nor_recorded() {
        let wanted = [Source::Scheduling, Source::Softirqs];
        let probe = Probe::look().only(&wanted);
        let told: Vec<Source> = probe.sources().map(|(source, _)| source).collect();
        assert_eq!(told, wanted);
        let points: usize = wanted.iter().map(|source| source.points().len()).sum();
        assert!(probe.layouts.ids().count() <= points);
    }

    /// The first that was wanted decided alone, and the others were recorded without a word.
    #[test]
    fn every_source_that_is_wanted_must_be_there() {
        let missing = Missing::new("no page faults", "nothing can be typed");
        let probe = |needed: &[Source]| Probe {
            layouts: Layouts::default(),
            found: vec![
                (Source::Scheduling, Ok(())),
                (Source::Softirqs, Ok(())),
                (Source::PageFaults, Err(missing.clone())),
            ],
            needed: needed.to_vec(),
        };
        let refused = |probe: Probe| probe.into_layouts().err();
        let wanted = [Source::Softirqs, Source::PageFaults];
        assert_eq!(refused(probe(&NEEDED).only(&wanted)), Some(missing.clone()));
        assert_eq!(refused(probe(&NEEDED).only(&wanted[..1])), None);
        assert_eq!(refused(probe(&NEEDED)), None, "what is told by `sources` may be missing");
    }

    fn of(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    fn has(missing: &Missing, wanted: &[&str]) {
        let text = missing.to_string();
        wanted.iter().for_each(|one| assert!(text.contains(one), "no {one} in {text}"));
    }

    #[test]
    fn a_refusal_names_the_setting_that_refuses() {
        let missing = refused(&of(Errno::ACCESS), "2", false);
        has(&missing, &["perf_event_paranoid is 2", "sysctl kernel.perf_event_paranoid=-1"]);
        let missing = refused(&of(Errno::ACCESS), "2", true);
        has(&missing, &["perf_event_paranoid is 2", "--cap-add=PERFMON"]);
        assert!(!missing.to_string().contains("run it as root"), "it is: {missing}");
    }

    #[test]
    fn each_error_has_its_own_mend() {
        let missing = refused(&of(Errno::PERM), "-1", true);
        has(&missing, &["seccomp"]);
        assert!(!missing.to_string().contains("paranoid"), "{missing}");
        has(&refused(&of(Errno::NODEV), "2", false), &["offline", "run it again"]);
        has(&refused(&of(Errno::MFILE), "2", false), &["files", "ulimit -n"]);
        has(&refused(&io::Error::other("no such thing"), "2", false), &["no such thing"]);
        let missing = ringless(&of(Errno::MFILE), 1_104);
        has(&missing, &["need 1104 open files", "ulimit -n 2128"]);
        assert!(!missing.to_string().contains("mlock"), "{missing}");
        has(&ringless(&of(Errno::PERM), 34), &["perf_event_mlock_kb"]);
    }

    #[test]
    fn a_tracefs_that_is_closed_is_opened_not_mounted() {
        let closed = Absent::Closed(PathBuf::from("/sys/kernel/tracing"));
        let missing = Missing::of_tracefs(&closed, false);
        has(&missing, &["may not be read", "chmod -R a+rX /sys/kernel/tracing"]);
        assert!(!missing.to_string().contains("mount -t"), "{missing}");
        has(&Missing::of_tracefs(&Absent::Unmounted, false), &["mount -t tracefs"]);
    }
}
