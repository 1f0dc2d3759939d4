//! What the events of a line of `perf script` tell, point by point.

use super::{CPUS_MAX, SWITCH};
use crate::event::{Context, Left, LocalInterrupt, Name, What};

/// What a line tells.
pub(super) enum Told {
    /// Nothing that is wanted.
    Nothing,
    /// Something that was not understood.
    Unread,
    /// This, with the number of the thread that had the processor where it says so itself.
    What(Option<u32>, What),
}

pub(super) fn told_by(point: &str, told: &str) -> Told {
    use LocalInterrupt::{Call, Reschedule, Timer};
    let what = match point {
        SWITCH => {
            return switch(told).map_or(Told::Unread, |(tid, what)| Told::What(Some(tid), what));
        }
        "sched:sched_waking" => waking(told),
        "sched:sched_wakeup" => wakeup(told, false),
        "sched:sched_wakeup_new" => wakeup(told, true),
        "sched:sched_migrate_task" => migrate(told),
        "sched:sched_process_fork" => last(told, "child_pid=").map(|child| What::Fork { child }),
        "irq:irq_handler_entry" => first(told, "irq=").map(|line| What::InterruptEntry { line }),
        "irq:irq_handler_exit" => Some(What::InterruptExit),
        "irq:softirq_entry" => first(told, "vec=").map(|vector| What::SoftirqEntry { vector }),
        "irq:softirq_exit" => Some(What::SoftirqExit),
        "irq_vectors:local_timer_entry" => Some(What::LocalEntry(Timer)),
        "irq_vectors:local_timer_exit" => Some(What::LocalExit(Timer)),
        "irq_vectors:reschedule_entry" => Some(What::LocalEntry(Reschedule)),
        "irq_vectors:reschedule_exit" => Some(What::LocalExit(Reschedule)),
        "irq_vectors:call_function_single_entry" => Some(What::LocalEntry(Call)),
        "irq_vectors:call_function_single_exit" => Some(What::LocalExit(Call)),
        // The address is told as a symbol where there is one.
        "exceptions:page_fault_user" => Some(What::Fault { address: 0 }),
        "tcp:tcp_retransmit_skb" => Some(What::Retransmission),
        _ => return Told::Nothing,
    };
    what.map_or(Told::Unread, |what| Told::What(None, what))
}

/// `prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120`, or with a plugin of perf's
/// `a:1 [120] S ==> b:2 [120]`.
fn switch(told: &str) -> Option<(u32, What)> {
    let ((previous, tid, state), (next_name, next)) = match told.split_once(" ==> next_comm=") {
        Some((from, to)) => {
            let (name, from) = from.strip_prefix("prev_comm=")?.rsplit_once(" prev_pid=")?;
            let (tid, from) = from.split_once(' ')?;
            let (_, state) = from.rsplit_once("prev_state=")?;
            let (next_name, to) = to.rsplit_once(" next_pid=")?;
            ((name, tid, state), (next_name, to.split(' ').next()?))
        }
        None => {
            let (from, to) = told.rsplit_once(" ==> ")?;
            let (from, state) = from.rsplit_once(' ')?;
            let (name, tid) = thread(from)?;
            ((name, tid, state), thread(to)?)
        }
    };
    let what = What::Switch {
        previous_name: Name::new(previous.as_bytes()),
        left: Left::of_letters(state),
        next: next.parse().ok()?,
        next_name: Name::new(next_name.as_bytes()),
    };
    Some((tid.parse().ok()?, what))
}

/// `a:1 [120]`: a name and a number.
fn thread(told: &str) -> Option<(&str, &str)> {
    told.rsplit_once(" [")?.0.rsplit_once(':')
}

/// `comm=a pid=1 prio=120 target_cpu=001`, or `a:1 [120] CPU:001`.
fn queued(told: &str) -> Option<(u32, u32)> {
    let (tid, cpu) = match last(told, "target_cpu=") {
        Some(cpu) => (last(told, " pid=")?, cpu),
        None => (thread(told)?.1.parse().ok()?, last(told, "CPU:")?),
    };
    can_be(cpu).then_some((tid, cpu))
}

fn waking(told: &str) -> Option<What> {
    queued(told).map(|(tid, cpu)| What::Waking { tid, cpu, context: Context::Innermost })
}

fn wakeup(told: &str, is_new: bool) -> Option<What> {
    queued(told).map(|(tid, cpu)| What::Wakeup { tid, cpu, is_new })
}

/// `comm=a pid=1 prio=120 orig_cpu=0 dest_cpu=1`.
fn migrate(told: &str) -> Option<What> {
    let (tid, cpu) = (last(told, " pid=")?, last(told, "dest_cpu=")?);
    can_be(cpu).then_some(What::Migrate { tid, cpu })
}

/// The number after the last such key: a name before it may look like one.
fn last(told: &str, key: &str) -> Option<u32> {
    number(told.rsplit_once(key)?.1)
}

/// From another processor no event would ever come, and until then nothing is certain.
fn can_be(cpu: u32) -> bool {
    cpu < CPUS_MAX
}

/// The number after a key that comes first.
fn first(told: &str, key: &str) -> Option<u32> {
    number(told.strip_prefix(key)?)
}

fn number(told: &str) -> Option<u32> {
    told.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}
