//! Gives threads the scheduling that was asked for.

use rustix::process::{getpriority_process, setpriority_process};
use std::fmt;
use tailwater_core::pace::Scheduling;
use thread_priority::{
    Error, NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority,
    ThreadPriorityValue, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
    thread_schedule_policy,
};

/// A scheduling that the kernel refuses. The operator acts, or asks for another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedulingError {
    scheduling: Scheduling,
    said: String,
}

impl fmt::Display for SchedulingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheduling, said } = self;
        write!(f, "a thread cannot be scheduled as {scheduling}: {said}; ")?;
        if let Scheduling::Fifo(at) | Scheduling::RoundRobin(at) = scheduling {
            write!(
                f,
                "root may have it, and so may a user with the limit that `ulimit -r {at}` shows, or "
            )?;
        }
        f.write_str("leave the scheduling out")
    }
}

impl std::error::Error for SchedulingError {}

/// For the calling thread. Normal scheduling is what it has.
///
/// # Errors
/// When the kernel refuses; the message says what gives the right.
pub fn schedule(scheduling: Scheduling) -> Result<(), SchedulingError> {
    let set = match scheduling {
        Scheduling::Normal => Ok(()),
        Scheduling::Batch => without_priority(NormalThreadSchedulePolicy::Batch),
        Scheduling::Idle => without_priority(NormalThreadSchedulePolicy::Idle),
        Scheduling::Fifo(at) => real_time(RealtimeThreadSchedulePolicy::Fifo, at),
        Scheduling::RoundRobin(at) => real_time(RealtimeThreadSchedulePolicy::RoundRobin, at),
    };
    set.map_err(|error| {
        let said = match error {
            Error::OS(errno) => std::io::Error::from_raw_os_error(errno).to_string(),
            other => format!("{other:?}"),
        };
        SchedulingError { scheduling, said }
    })
}

fn real_time(class: RealtimeThreadSchedulePolicy, priority: u8) -> Result<(), Error> {
    let policy = ThreadSchedulePolicy::Realtime(class);
    let priority = ThreadPriorityValue::try_from(priority).map(ThreadPriority::Crossplatform);
    let priority = priority.map_err(|_| Error::Priority("a priority is 1 to 99"))?;
    set_thread_priority_and_policy(thread_native_id(), priority, policy)
}

/// `thread_priority` sets a nice value beside such a class; the thread shall keep its own.
fn without_priority(class: NormalThreadSchedulePolicy) -> Result<(), Error> {
    let policy = ThreadSchedulePolicy::Normal(class);
    let nice = getpriority_process(None).map_err(|errno| Error::OS(errno.raw_os_error()))?;
    let words = (0..=99).filter_map(|at| ThreadPriorityValue::try_from(at).ok());
    let keeps = |word: &ThreadPriority| word.to_posix(policy).is_ok_and(|of| of == nice);
    let keeping = words.map(ThreadPriority::Crossplatform).find(keeps);
    let of_class = keeping.unwrap_or(ThreadPriority::Min);
    let set = set_thread_priority_and_policy(thread_native_id(), of_class, policy);
    if !thread_schedule_policy().is_ok_and(|found| found == policy) {
        return set;
    }
    // The class is set before the nice value, which an idle thread has no use for: 0 is its only word there. A user may
    // not be allowed to set that, or to go back from it.
    let _ = setpriority_process(None, nice);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own: other tests keep their scheduling.
    fn tried(scheduling: Scheduling) -> (Result<(), SchedulingError>, bool, ThreadSchedulePolicy) {
        let tried = move || {
            schedule(Scheduling::Normal).unwrap();
            let (before, nice) = (thread_schedule_policy().unwrap(), getpriority_process(None));
            let result = schedule(scheduling);
            let after = thread_schedule_policy().unwrap();
            if result.is_err() {
                assert_eq!(after, before);
            }
            (result, getpriority_process(None) == nice, after)
        };
        std::thread::spawn(tried).join().unwrap()
    }

    #[test]
    fn a_thread_has_what_was_asked_for_or_hears_what_gives_the_right() {
        for (scheduling, class) in [
            (Scheduling::Fifo(1), RealtimeThreadSchedulePolicy::Fifo),
            (Scheduling::RoundRobin(1), RealtimeThreadSchedulePolicy::RoundRobin),
        ] {
            match tried(scheduling) {
                (Ok(()), _, after) => assert_eq!(after, ThreadSchedulePolicy::Realtime(class)),
                (Err(why), ..) => {
                    let (word, why) = (scheduling.to_string(), why.to_string());
                    assert!(why.contains(&word) && why.contains("ulimit -r 1"), "{why}");
                }
            }
        }
    }

    #[test]
    fn classes_without_a_priority_are_everybodys_and_leave_the_nice_value() {
        for (scheduling, class) in [
            (Scheduling::Batch, NormalThreadSchedulePolicy::Batch),
            (Scheduling::Idle, NormalThreadSchedulePolicy::Idle),
        ] {
            let (result, keeps_nice, after) = tried(scheduling);
            assert_eq!(result, Ok(()));
            assert_eq!(after, ThreadSchedulePolicy::Normal(class));
            assert!(keeps_nice, "{scheduling}");
        }
    }
}
