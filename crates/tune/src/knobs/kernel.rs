//! Knobs of the kernel: files below `/sys` and `/proc`, which hold for all programs of the machine.

use super::form::Form;
use super::{Knob, Lever};
use std::time::Duration;

/// What a machine without such a file mostly is.
const OLD: &str = "this kernel has no such setting";
const DEBUGFS: &str = "debugfs is not mounted (mount -t debugfs none /sys/kernel/debug), or this kernel has no such \
                       setting";
const NO_SIZES: &str =
    "this kernel, older than Linux 6.8, or this processor has no huge pages of that size";
const CPUFREQ: &str = "this machine lets no system choose its clock rate, as most virtual machines";
const NO_HALTPOLL: &str = "the module haltpoll is not there: it is for guests of virtual machines";

const ROOT: &str = "root";
const MEMORY: &str = "memory that is mapped from then on";
const CONNECTIONS: &str = "connections made from then on";
const PACKETS: &str = "packets at once";
const AT_ONCE: &str = "all threads at once";

/// A switch.
const FLAG: Form = Form::Number { low: 0, high: 1 };

/// From 4 KiB, below which connections starve, up to the largest `int`, which is what the kernel takes.
const SOCKET_BYTES: Form = Form::Triple { low: 4_096, high: i32::MAX as u64 };

/// The kernel's own words for huge pages, oldest interface first (Documentation/admin-guide/mm/transhuge.rst).
const THP: Form = Form::Marked(&["always", "madvise", "never"]);
const THP_DEFRAG: Form = Form::Marked(&["always", "defer", "defer+madvise", "madvise", "never"]);
const THP_SHMEM: Form =
    Form::Marked(&["always", "within_size", "advise", "never", "deny", "force"]);
/// Since Linux 6.8 each size has a word of its own; inherit is the one of `enabled` (same file, "Per THP size control").
const THP_SIZE: Form = Form::Marked(&["always", "inherit", "madvise", "never"]);
const PREEMPT: Form = Form::Marked(&["none", "voluntary", "full", "lazy"]);

const fn knob(
    name: &'static str,
    (pattern, form): (&'static str, Form),
    holds_for: &'static str,
    settle_ms: u64,
    meaning: &'static str,
) -> Knob {
    Knob {
        name,
        meaning,
        lever: Lever::Files { pattern, form, absent: OLD },
        holds_for,
        needs: ROOT,
        settle: Duration::from_millis(settle_ms),
    }
}

impl Knob {
    /// The same with another reason for a missing file.
    const fn absent(mut self, why: &'static str) -> Self {
        if let Lever::Files { pattern, form, .. } = self.lever {
            self.lever = Lever::Files { pattern, form, absent: why };
        }
        self
    }
}

const fn number(low: u64, high: u64) -> Form {
    Form::Number { low, high }
}

/// Knobs that are files. Settling times are those after which the kernel's own daemons and timers have had a turn.
pub const KERNEL: [Knob; 34] = [
    knob(
        "thp",
        ("/sys/kernel/mm/transparent_hugepage/enabled", THP),
        MEMORY,
        1_000,
        "which memory gets huge pages of its own accord (µSKU's sixth knob)",
    ),
    knob(
        "thp-defrag",
        ("/sys/kernel/mm/transparent_hugepage/defrag", THP_DEFRAG),
        MEMORY,
        1_000,
        "whether a page fault waits until memory for a huge page is put together",
    ),
    knob(
        "thp-shmem",
        ("/sys/kernel/mm/transparent_hugepage/shmem_enabled", THP_SHMEM),
        MEMORY,
        1_000,
        "which shared memory gets huge pages",
    ),
    knob(
        "thp-16kb",
        ("/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled", THP_SIZE),
        MEMORY,
        1_000,
        "which memory gets pages of 16 KiB of its own accord",
    )
    .absent(NO_SIZES),
    knob(
        "thp-64kb",
        ("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", THP_SIZE),
        MEMORY,
        1_000,
        "which memory gets pages of 64 KiB of its own accord",
    )
    .absent(NO_SIZES),
    knob(
        "thp-2mb",
        ("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", THP_SIZE),
        MEMORY,
        1_000,
        "which memory gets pages of 2 MiB of its own accord",
    )
    .absent(NO_SIZES),
    knob(
        "huge-pages",
        ("/proc/sys/vm/nr_hugepages", Form::Reserve { high: 1 << 20 }),
        "programs that ask for huge pages",
        1_000,
        "huge pages that are set aside (µSKU's seventh knob: 0 to 600)",
    ),
    knob(
        "compaction-proactiveness",
        ("/proc/sys/vm/compaction_proactiveness", number(0, 100)),
        "the background at once",
        1_000,
        "how much memory is moved together in the background",
    ),
    knob(
        "swappiness",
        ("/proc/sys/vm/swappiness", number(0, 200)),
        "memory that is reclaimed from then on",
        500,
        "whether programs' memory goes before cached files",
    ),
    knob(
        "numa-balancing",
        ("/proc/sys/kernel/numa_balancing", FLAG),
        AT_ONCE,
        2_000,
        "whether memory moves to the node that uses it",
    ),
    knob(
        "autogroup",
        ("/proc/sys/kernel/sched_autogroup_enabled", FLAG),
        AT_ONCE,
        500,
        "whether each session has a share of the CPU of its own",
    ),
    knob(
        "timer-migration",
        ("/proc/sys/kernel/timer_migration", FLAG),
        "timers set from then on",
        500,
        "whether timers of idle CPUs go off on busy ones",
    ),
    knob(
        "base-slice-ns",
        ("/sys/kernel/debug/sched/base_slice_ns", number(100_000, 1_000_000_000)),
        AT_ONCE,
        500,
        "for how long a thread runs before another has its turn",
    )
    .absent(DEBUGFS),
    knob(
        "preempt",
        ("/sys/kernel/debug/sched/preempt", PREEMPT),
        AT_ONCE,
        500,
        "where the kernel lets a thread that was woken run",
    )
    .absent(DEBUGFS),
    knob(
        "halt-poll-ns",
        ("/sys/module/haltpoll/parameters/guest_halt_poll_ns", number(0, 10_000_000)),
        "the next time a CPU goes idle",
        500,
        "for how long an idle CPU of a guest looks for work before it halts",
    )
    .absent(NO_HALTPOLL),
    knob(
        "halt-poll-shrink",
        ("/sys/module/haltpoll/parameters/guest_halt_poll_shrink", number(0, 16)),
        "the next time a CPU goes idle",
        500,
        "how fast that time shrinks where looking finds nothing; 0: to nothing",
    )
    .absent(NO_HALTPOLL),
    knob(
        "halt-poll-grow-start",
        ("/sys/module/haltpoll/parameters/guest_halt_poll_grow_start", number(0, 10_000_000)),
        "the next time a CPU goes idle",
        500,
        "where that time begins to grow, in ns",
    )
    .absent(NO_HALTPOLL),
    knob(
        "idle-governor",
        (
            "/sys/devices/system/cpu/cpuidle/current_governor",
            Form::Listed("/sys/devices/system/cpu/cpuidle/available_governors"),
        ),
        "the next time a CPU goes idle",
        500,
        "what chooses how deep an idle CPU sleeps",
    )
    .absent("this machine's CPUs have no idle states to choose from"),
    knob(
        "frequency-governor",
        (
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
            Form::Listed("/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors"),
        ),
        "all CPUs at once",
        1_000,
        "what chooses a CPU's clock rate",
    )
    .absent(CPUFREQ),
    knob(
        "frequency-max-khz",
        ("/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq", number(100_000, 10_000_000)),
        "all CPUs at once",
        1_000,
        "the highest clock rate (µSKU's first knob)",
    )
    .absent(CPUFREQ),
    knob(
        "no-turbo",
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", FLAG),
        "all CPUs at once",
        1_000,
        "whether clock rates stay below those that heat allows for a while",
    )
    .absent(CPUFREQ),
    knob(
        "tcp-congestion-control",
        (
            "/proc/sys/net/ipv4/tcp_congestion_control",
            Form::Listed("/proc/sys/net/ipv4/tcp_available_congestion_control"),
        ),
        CONNECTIONS,
        200,
        "the law by which TCP sends",
    ),
    knob(
        "tcp-autocorking",
        ("/proc/sys/net/ipv4/tcp_autocorking", FLAG),
        PACKETS,
        200,
        "whether small writes wait for packets that still lie in the device's queue",
    ),
    knob(
        "tcp-slow-start-idle",
        ("/proc/sys/net/ipv4/tcp_slow_start_after_idle", FLAG),
        PACKETS,
        200,
        "whether a connection starts slowly again after it was idle",
    ),
    knob(
        "tcp-notsent-lowat",
        ("/proc/sys/net/ipv4/tcp_notsent_lowat", number(1, 4_294_967_295)),
        PACKETS,
        200,
        "unsent bytes above which a socket takes no more",
    ),
    knob(
        "tcp-limit-output-bytes",
        ("/proc/sys/net/ipv4/tcp_limit_output_bytes", number(4_096, 1 << 30)),
        PACKETS,
        200,
        "bytes of one connection in the device's queue",
    ),
    knob(
        "tcp-rmem",
        ("/proc/sys/net/ipv4/tcp_rmem", SOCKET_BYTES),
        CONNECTIONS,
        200,
        "bytes for what a connection receives",
    ),
    knob(
        "tcp-wmem",
        ("/proc/sys/net/ipv4/tcp_wmem", SOCKET_BYTES),
        CONNECTIONS,
        200,
        "bytes for what a connection sends",
    ),
    knob(
        "netdev-budget",
        ("/proc/sys/net/core/netdev_budget", number(1, 65_536)),
        PACKETS,
        200,
        "packets that one turn of the network's soft interrupt takes",
    ),
    knob(
        "netdev-budget-usecs",
        ("/proc/sys/net/core/netdev_budget_usecs", number(1, 1_000_000)),
        PACKETS,
        200,
        "how long such a turn may be",
    ),
    knob(
        "busy-poll-us",
        ("/proc/sys/net/core/busy_poll", number(0, 100_000)),
        "calls of poll and select at once",
        200,
        "for how long poll looks at the device; nothing on loopback, which has no device",
    ),
    knob(
        "busy-read-us",
        ("/proc/sys/net/core/busy_read", number(0, 100_000)),
        CONNECTIONS,
        200,
        "for how long read looks at the device; nothing on loopback, which has no device",
    ),
    knob(
        "somaxconn",
        ("/proc/sys/net/core/somaxconn", number(1, 1 << 20)),
        "sockets that listen from then on",
        200,
        "connections that may wait to be accepted",
    ),
    knob(
        "rps-loopback",
        ("/sys/class/net/lo/queues/rx-*/rps_cpus", Form::Mask),
        PACKETS,
        200,
        "CPUs that take loopback's packets, beside the sender's own",
    ),
];
