//! Two cores that disturb each other least, of those that this process may use.

use crate::failure::Failure;
use rustix::thread::{CpuSet, sched_getaffinity};

/// One for the server and one for the load; `None` where this process may use no two.
pub(crate) fn two() -> Result<Option<(u32, u32)>, Failure> {
    let allowed = sched_getaffinity(None).map_err(Failure::work)?;
    let numbers = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    let cores: Vec<(u32, String)> = numbers.map(|core| (core as u32, siblings(core))).collect();
    Ok(choose(&cores))
}

/// The threads of its physical core as the kernel lists them; its own number where that is unknown.
fn siblings(core: usize) -> String {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    std::fs::read_to_string(path).unwrap_or_else(|_| core.to_string())
}

/// Of cores with their siblings: two that share no physical core, where there are two. Where there are three,
/// the first is left to the system, whose interrupts mostly go there.
fn choose(cores: &[(u32, String)]) -> Option<(u32, u32)> {
    let mut physical: Vec<&(u32, String)> = Vec::new();
    for core in cores {
        if !physical.iter().any(|known| known.1 == core.1) {
            physical.push(core);
        }
    }
    match *physical {
        [_, one, other, ..] | [one, other] => Some((one.0, other.0)),
        _ => cores.get(..2).map(|two| (two[0].0, two[1].0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(cores: &[(u32, &str)]) -> Option<(u32, u32)> {
        let cores: Vec<_> = cores.iter().map(|&(core, with)| (core, with.to_owned())).collect();
        choose(&cores)
    }

    #[test]
    fn threads_of_one_physical_core_are_taken_only_where_there_is_no_other() {
        assert_eq!(chosen(&[(0, "0-1"), (1, "0-1")]), Some((0, 1)));
        assert_eq!(chosen(&[(0, "0,4"), (1, "1,5"), (4, "0,4"), (5, "1,5")]), Some((0, 1)));
        assert_eq!(chosen(&[(4, "4"), (7, "7")]), Some((4, 7)), "whatever their numbers");
    }

    #[test]
    fn the_first_core_is_left_to_the_system_where_there_are_enough() {
        assert_eq!(chosen(&[(0, "0"), (1, "1"), (2, "2"), (3, "3")]), Some((1, 2)));
        let hyper = [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3"), (4, "4-5"), (5, "4-5")];
        assert_eq!(chosen(&hyper), Some((2, 4)));
    }

    #[test]
    fn one_core_is_not_enough() {
        assert_eq!(chosen(&[(3, "3")]), None);
        assert_eq!(chosen(&[]), None);
    }
}
