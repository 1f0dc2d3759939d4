//! The time for which tasks hold their thread.

use super::*;

/// Holds its thread for so many seconds in each of three polls: what it had held before each.
async fn holds(seconds: u64) -> [u64; 3] {
    let mut before = [0; 3];
    for seen in &mut before {
        *seen = held().as_secs();
        add_held(Duration::from_secs(seconds));
        crate::time::yield_now().await;
    }
    before
}

#[test]
fn what_a_task_has_held_its_thread_is_its_own_through_all_of_its_polls() {
    let mut executor = executor(2);
    start(&mut executor, 1_u32, || holds(1));
    // In the making of its future, too.
    start(&mut executor, 2_u32, || {
        add_held(Duration::from_secs(5));
        holds(10)
    });
    assert_eq!(run(&mut executor), [(1, Ok([0, 1, 2])), (2, Ok([5, 15, 25]))]);
    assert_eq!(held(), Duration::ZERO, "nothing is left for the next");
}
