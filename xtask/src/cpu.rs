//! What the programs that were started here have computed: unlike the time that they took, it tells the same on a
//! machine that others use, too.

use crate::Result;
use std::fs;
use std::time::Duration;

/// Ticks a second in which Linux tells it to programs, on every machine that tailwater runs on (time(7), `USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

/// Of all that have ended and were waited for, in user space and in the kernel.
pub(crate) fn of_children() -> Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat").map_err(|error| format!("stat: {error}"))?;
    read(&text).ok_or_else(|| format!("found no times of children in `{text}`"))
}

/// The fields `cutime` and `cstime` of proc_pid_stat(5): the 16th and the 17th, of which the second, in brackets, may
/// hold anything.
fn read(text: &str) -> Option<Duration> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(13);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let all = ticks()?.checked_add(ticks()?)?;
    Some(Duration::from_millis(all * 1_000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_children_follow_those_of_the_program_itself() {
        let line = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 500 600 250 75 20 0";
        assert_eq!(read(line), Some(Duration::from_millis(3_250)));
        assert_eq!(read("7 (a) S 1 2"), None);
    }

    #[test]
    fn a_child_that_computes_is_counted() {
        let before = of_children().unwrap();
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "n=0; while [ $n -lt 300000 ]; do n=$((n + 1)); done"]);
        assert!(child.status().unwrap().success());
        assert!(of_children().unwrap() > before);
    }
}
