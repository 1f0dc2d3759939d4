//! Knobs of one process: what the measured program is started with. They end with it.

use super::launch::Launch;
use super::{Knob, Lever};
use std::time::Duration;

const NOBODY: &str = "nothing";
const PROGRAM: &str = "the program and what it starts";

const fn knob(
    name: &'static str,
    launch: Launch,
    needs: &'static str,
    meaning: &'static str,
) -> Knob {
    Knob {
        name,
        meaning,
        lever: Lever::Launch(launch),
        holds_for: PROGRAM,
        needs,
        settle: Duration::ZERO,
    }
}

/// Names of libraries as distributions have them.
const ALLOCATORS: &[(&str, &[&str])] = &[
    ("jemalloc", &["libjemalloc.so.2"]),
    ("mimalloc", &["libmimalloc.so.3", "libmimalloc.so.2"]),
    ("tcmalloc", &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"]),
];

/// Knobs that a program is started with.
pub const PROCESS: [Knob; 13] = [
    knob(
        "allocator",
        Launch::Preload(ALLOCATORS),
        "the library",
        "what hands out memory, loaded before the program (LD_PRELOAD)",
    ),
    knob(
        "malloc-arenas",
        Launch::Variable { name: "MALLOC_ARENA_MAX", low: 1, high: 1_024 },
        NOBODY,
        "heaps that the C library's threads share",
    ),
    knob(
        "malloc-trim-bytes",
        Launch::Variable { name: "MALLOC_TRIM_THRESHOLD_", low: 0, high: 1 << 40 },
        NOBODY,
        "free bytes at a heap's end from which on they go back to the kernel",
    ),
    knob(
        "malloc-mmap-bytes",
        Launch::Variable { name: "MALLOC_MMAP_THRESHOLD_", low: 0, high: 1 << 25 },
        NOBODY,
        "bytes from which on an allocation is mapped for itself",
    ),
    knob(
        "malloc-huge-pages",
        Launch::Tunable { name: "glibc.malloc.hugetlb", low: 0, high: 2 },
        "glibc 2.35",
        "huge pages for the heap: 1 by madvise, 2 from those set aside",
    ),
    knob(
        "malloc-cache-count",
        Launch::Tunable { name: "glibc.malloc.tcache_count", low: 0, high: 65_535 },
        "glibc 2.26",
        "free pieces of each size that a thread keeps",
    ),
    knob(
        "malloc-cache-bytes",
        Launch::Tunable { name: "glibc.malloc.tcache_max", low: 0, high: 1 << 22 },
        "glibc 2.26",
        "the largest piece that a thread keeps",
    ),
    knob(
        "bind-now",
        Launch::Flag { name: "LD_BIND_NOW", word: "now" },
        NOBODY,
        "whether functions of libraries are looked up at the start instead of at the first call",
    ),
    knob("nice", Launch::Nice, "root, below its own", "its weight against other programs"),
    knob(
        "scheduling",
        Launch::Scheduling,
        "nothing; root, or the limit of ulimit -r, for fifo and rr",
        "the class of its threads: batch, which takes no core from others when it is woken; idle, behind all others; fifo \
         and rr, before all others",
    ),
    knob(
        "cpus",
        Launch::Cpus,
        NOBODY,
        "the CPUs that it may run on (for µSKU's third knob, the number of cores)",
    ),
    knob("timer-slack", Launch::TimerSlack, NOBODY, "how late its timers may go off"),
    knob(
        "thp-process",
        Launch::NoHugePages,
        NOBODY,
        "whether it gets huge pages that the kernel's setting would give it",
    ),
];
