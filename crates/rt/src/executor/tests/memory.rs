//! What an executor keeps after a burst.

use super::spares::{SPARE, WINDOW};
use super::*;

/// Defect B8: after 65,536 tasks had waited at once, the box of each one's future stayed for good.
#[test]
fn boxes_are_given_back_after_a_burst() {
    let tasks = 65_536;
    let mut executor = executor(tasks);
    for id in 0..tasks {
        start(&mut executor, id as u32, || rounds(1));
    }
    assert_eq!(run(&mut executor).len(), tasks);
    assert!(executor.spares.len() <= WINDOW, "{} kept", executor.spares.len());
    for id in 0..WINDOW {
        let started = executor.start(id as u32, || rounds(0));
        assert!(matches!(started, Started::Finished(..)));
    }
    assert_eq!((executor.live(), executor.spares.len()), (0, SPARE));
    assert_eq!(executor.slots.len(), tasks, "their wakers may be anywhere");
}

/// Boxes are not freed and made again in every swing.
#[test]
fn a_load_that_comes_and_goes_keeps_its_boxes() {
    let mut executor = executor(300);
    for _ in 0..20 {
        for id in 0..300 {
            start(&mut executor, id, || rounds(1));
        }
        assert_eq!(run(&mut executor).len(), 300);
        assert_eq!(executor.spares.len(), 300);
    }
}
