//! Which processors are online.

/// The processors that are online now; of a machine that does not tell, the first.
pub(crate) fn online() -> Vec<u32> {
    let told = std::fs::read_to_string("/sys/devices/system/cpu/online");
    let cpus = listed(&told.unwrap_or_default());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The processors of a list such as `0-3,8`.
fn listed(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(listed("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(listed("0"), [0]);
        assert_eq!(listed(""), []);
        assert!(!online().is_empty());
    }
}
