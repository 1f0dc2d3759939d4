//! What an executor keeps after a burst.

use super::spares::SPARE;
use super::*;

/// Defect B8: after 65,536 tasks had waited at once, the box of each one's future stayed for good.
#[test]
fn boxes_are_given_back_after_a_burst() {
    let burst = 65_536;
    let mut executor = executor(burst as usize);
    for id in 0..burst {
        start(&mut executor, id, || rounds(1));
    }
    let mut left = burst as usize;
    while let Some(polled) = executor.poll_next() {
        assert_eq!(polled.expect("one round is enough").1, Ok(1));
        left -= 1;
        assert!(executor.spares.len() <= left.max(SPARE), "{left} tasks");
    }
    assert_eq!((left, executor.live(), executor.spares.len()), (0, 0, SPARE));
    assert_eq!(executor.slots.len(), burst as usize, "their wakers may be anywhere");
}
