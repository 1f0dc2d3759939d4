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
pub const REFUSED: [Refused; 9] = [
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
        "tcp-nodelay",
        "whether small writes wait for the answer to earlier ones",
        "tailwater's sockets always have it on; other programs set it for their own.",
    ),
    refused(
        "socket-buffers",
        "bytes that one socket buffers",
        "only a program sets those of its own sockets; tcp-rmem and tcp-wmem set the usual ones.",
    ),
    refused(
        "busy-poll-socket",
        "for how long reads of one socket look at the device",
        "only a program sets that of its own sockets; busy-read-us sets the usual one.",
    ),
];
