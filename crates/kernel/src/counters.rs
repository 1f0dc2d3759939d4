//! Whether the processor's own counters can be read here: cycles, misses of caches. Virtual machines often have none.

use std::path::Path;

/// Where the kernel lists what counts.
const DEVICES: &str = "/sys/bus/event_source/devices";

/// Whether there are any. Nothing here reads them.
#[must_use]
pub fn has_counters() -> bool {
    are_in(Path::new(DEVICES))
}

/// `cpu`, of processors with two kinds of cores `cpu_core`, on Arm `armv8_pmuv3_0` and the like.
fn are_in(devices: &Path) -> bool {
    let names = std::fs::read_dir(devices).into_iter().flatten().flatten();
    let mut names = names.map(|device| device.file_name().to_string_lossy().into_owned());
    names.any(|name| name == "cpu" || name.starts_with("cpu_") || name.starts_with("armv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_events_of_software_alone_is_no_counter_of_the_processor() {
        let folder =
            std::env::temp_dir().join(format!("tailwater-counters-{}", std::process::id()));
        let make = |name: &str| std::fs::create_dir_all(folder.join(name)).expect("a folder");
        ["software", "tracepoint", "msr", "breakpoint"].iter().for_each(|name| make(name));
        assert!(!are_in(&folder));
        make("cpu_core");
        assert!(are_in(&folder));
        std::fs::remove_dir_all(&folder).expect("it was made");
        assert!(!are_in(&folder), "there is no such folder");
    }
}
