//! Whether the program has any thread left. A main thread may leave by `pthread_exit`; the C library then exits when
//! the last thread ends, and the recorder's own would keep it from that.

use crate::system::process;

/// Whether the main thread has left, and no thread but the recorder's remains.
pub(crate) fn are_ours_alone() -> bool {
    // Of the process, as its main thread sees it.
    std::fs::read_to_string("/proc/self/stat")
        .is_ok_and(|stat| says_so(&stat, process::own_threads()))
}

fn says_so(stat: &str, recorders: u32) -> bool {
    // The second field is a name in brackets, which may hold anything.
    let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
    let mut fields = rest.split(' ');
    let is_zombie = fields.next() == Some("Z");
    // The 20th field of all: threads.
    let threads = fields.nth(16).and_then(|threads| threads.parse().ok());
    // The main thread stays behind as a zombie.
    is_zombie && threads.is_some_and(|threads: u32| threads <= recorders + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, state: &str, threads: u64) -> String {
        format!("71 ({name}) {state} 1 2 3 0 -1 4 5 0 6 0 7 8 0 0 20 0 {threads} 0 94 0")
    }

    #[test]
    fn a_zombie_with_two_threads_is_alone_and_no_other_is() {
        assert!(says_so(&stat("exits", "Z", 3), 2));
        assert!(says_so(&stat("exits", "Z", 6), 5), "there are more scanners");
        assert!(says_so(&stat("a) S 1 (b", "Z", 2), 2));
        assert!(!says_so(&stat("exits", "Z", 4), 2), "a thread of the program goes on");
        assert!(!says_so(&stat("exits", "S", 3), 2), "its main thread does");
        assert!(!says_so("", 2));
    }

    #[test]
    fn a_test_is_not_alone() {
        assert!(!are_ours_alone());
    }
}
