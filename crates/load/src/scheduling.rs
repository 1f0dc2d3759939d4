//! Gives the generator's threads the scheduling that was asked for.

use std::fmt;
use tailwater_core::pace::Scheduling;
use thread_priority::{
    Error, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// A scheduling that the kernel refuses. The operator acts, or asks for another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedulingError {
    priority: u8,
    said: String,
}

impl fmt::Display for SchedulingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { priority, said } = self;
        let scheduling = Scheduling::Fifo(*priority);
        write!(
            f,
            "the generator cannot be scheduled as {scheduling}: {said}; root may have it, and so may a user with \
             the limit that `ulimit -r {priority}` shows, or leave the scheduling out"
        )
    }
}

impl std::error::Error for SchedulingError {}

/// For the calling thread. Normal scheduling is what it has.
///
/// # Errors
/// When the kernel refuses; the message says what gives the right.
pub fn schedule(scheduling: Scheduling) -> Result<(), SchedulingError> {
    let Scheduling::Fifo(priority) = scheduling else {
        return Ok(());
    };
    let refused = |said| SchedulingError { priority, said };
    let wanted = ThreadPriorityValue::try_from(priority).map(ThreadPriority::Crossplatform);
    let wanted = wanted.map_err(refused)?;
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), wanted, fifo).map_err(|error| {
        refused(match error {
            Error::OS(errno) => std::io::Error::from_raw_os_error(errno).to_string(),
            other => format!("{other:?}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thread_priority::thread_schedule_policy;

    /// On a thread of its own: other tests keep their scheduling.
    #[test]
    fn a_thread_has_what_was_asked_for_or_hears_what_gives_the_right() {
        let tried = std::thread::spawn(|| {
            schedule(Scheduling::Normal).unwrap();
            let before = thread_schedule_policy().unwrap();
            (before, schedule(Scheduling::Fifo(1)), thread_schedule_policy().unwrap())
        });
        let (before, result, after) = tried.join().unwrap();
        match result {
            Ok(()) => {
                let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
                assert_eq!(after, fifo);
            }
            Err(why) => {
                let why = why.to_string();
                assert_eq!(after, before);
                assert!(why.contains("fifo:1") && why.contains("ulimit -r 1"), "{why}");
            }
        }
    }
}
