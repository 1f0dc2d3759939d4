//! How long a page fault takes here: an event tells that one begins, and none that it ends.

use crate::recorder::now_ns;
use memmap2::MmapMut;
use rustix::param::page_size;

/// Pages touched in a round: few enough that their events fit into the smallest ring.
const PAGES: usize = 64;
/// Rounds, of which the middle one counts: others met an interrupt, or the first pages of a table.
const ROUNDS: usize = 3;

/// How long the first touch of a page takes, in nanoseconds; `None` where no memory can be had. It takes some hundred
/// microseconds to find out.
#[must_use]
pub fn first_touch_ns() -> Option<u64> {
    let mut rounds: Vec<u64> = (0..ROUNDS).filter_map(|_| round()).collect();
    rounds.sort_unstable();
    rounds.get(rounds.len() / 2).copied()
}

/// Too little memory to be given by huge pages.
fn round() -> Option<u64> {
    let page = page_size();
    let mut memory = MmapMut::map_anon(PAGES * page).ok()?;
    let began_ns = now_ns();
    (0..PAGES).for_each(|nth| memory[nth * page] = 1);
    let took_ns = now_ns() - began_ns;
    std::hint::black_box(&memory);
    Some(took_ns / PAGES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_touch_takes_time() {
        assert!(first_touch_ns().expect("there is memory") > 0);
    }
}
