//! Where this process would turn knobs.

use super::root::Root;
use tailwater_tune::journal::Place;

/// The start of the machine that the root folder stands for.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// The namespace of this very process: whatever the root folder, `/proc/sys/net` shows that of its reader.
const NETWORK: &str = "/proc/self/ns/net";

pub(super) fn here(root: &Root) -> Place {
    let boot = root.read(BOOT).ok().map(|text| text.trim().to_owned());
    let network = std::fs::read_link(NETWORK).ok();
    Place { boot, network: network.map(|path| path.display().to_string()) }
}
