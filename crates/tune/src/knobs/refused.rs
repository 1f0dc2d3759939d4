//! Knobs of the literature that are not set, and why.

/// A knob that is not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// How commands would call it.
    pub name: &'static str,
    /// What it decides.
    pub meaning: &'static str,
    /// Why it is not set, as one sentence.
    pub reason: &'static str,
}

const fn refused(name: &'static str, meaning: &'static str, reason: &'static str) -> Refused {
    Refused { name, meaning, reason }
}

/// All of them.
pub const REFUSED: [Refused; 13] = [
    refused(
        "uncore-frequency",
        "clock rate of caches and memory controller (µSKU's second knob)",
        "it takes writes to registers of the processor (MSR), which the kernel does not undo.",
    ),
    refused(
        "core-count",
        "CPUs that the system uses (µSKU's third knob)",
        "µSKU boots with isolcpus; without a reboot the knob cpus gives the service as many.",
    ),
    refused(
        "cdp",
        "ways of the last cache for code and for data (µSKU's fourth knob)",
        "it takes resctrl with code and data prioritisation, which is mounted for the whole machine.",
    ),
    refused(
        "prefetchers",
        "which of four prefetchers are on (µSKU's fifth knob)",
        "it takes writes to registers of the processor (MSR), which the kernel does not undo.",
    ),
    refused(
        "interrupt-coalescing",
        "packets for which a device interrupts once",
        "it is a setting of network devices, and traffic on loopback has none.",
    ),
    refused(
        "kernel-parameters",
        "what the boot loader tells the kernel, such as isolcpus, nohz_full or mitigations",
        "they take a reboot, after which no block can be compared with one before.",
    ),
    refused(
        "event-batch",
        "sockets of which the kernel tells a loop at once",
        "it is a constant of tailwater's loops, 64, whose room lies on the stack.",
    ),
    refused(
        "tcp-nodelay",
        "whether small writes wait for the answer to earlier ones",
        "tailwater's sockets always have it on; other programs set it for their own.",
    ),
    refused(
        "tcp-quickack",
        "whether what was received is acknowledged at once",
        "only a program sets that of its own sockets, again after each read; a scenario has server.socket.quick_ack.",
    ),
    refused(
        "socket-buffers",
        "bytes that one socket buffers",
        "only a program sets those of its own sockets; a scenario has server.socket.send_buffer and receive_buffer, and \
         tcp-rmem and tcp-wmem set the usual ones.",
    ),
    refused(
        "memory-lock",
        "memory that is never taken from a program, nor missing at its first use",
        "the lock ends where another program begins (mlockall(2)); a scenario has server.lock_memory, and memcached -k.",
    ),
    refused(
        "cpu-quota",
        "the share of CPU time that a control group has (cpu.shares, cpu.max)",
        "it takes a group made for the program; a word such as {quota} in systemd-run -p CPUQuota={quota} can be compared.",
    ),
    refused(
        "busy-poll-socket",
        "for how long reads of one socket look at the device",
        "only a program sets that of its own sockets; busy-read-us sets the usual one.",
    ),
];
