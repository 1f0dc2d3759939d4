//! What the programs that were started here have computed: unlike the time that they took, it tells the same on a
//! machine that others use, too.

use crate::Result;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::process::{Command, Output};
use std::time::Duration;

/// Ticks a second in which Linux tells it to programs, on every machine that tailwater runs on (time(7), `USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

/// The fields `cutime` and `cstime` of proc_pid_stat(5): of children that have ended and were waited for, in user space and
/// in the kernel.
const CHILDREN: Range<usize> = 16..18;

/// `utime` and `stime` of the process itself, and [`CHILDREN`].
const ALL: Range<usize> = 14..18;

/// The first field behind the name, `state`. The name, in brackets, may hold anything.
const STATE: usize = 3;

/// How often a process that has said its last is asked whether it has ended.
const NAP: Duration = Duration::from_millis(2);

/// Of all that have ended and were waited for.
pub(crate) fn of_children() -> Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat").map_err(|error| format!("stat: {error}"))?;
    sum(&text, CHILDREN).ok_or_else(|| format!("found no times of children in `{text}`"))
}

/// Runs a command to its end. Tells what it said on those streams that are pipes, and what it and its children have computed.
pub(crate) fn output(command: &mut Command) -> io::Result<(Output, Duration)> {
    let mut child = command.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    // One by one, the other pipe could fill up and stop the command.
    let (stdout, stderr) = std::thread::scope(|scope| {
        let stderr = scope.spawn(|| whole(err));
        let stdout = whole(out);
        (stdout, stderr.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    // To wait for it takes these times away: until then it is kept as a zombie.
    let path = format!("/proc/{}/stat", child.id());
    let computed = loop {
        let text = fs::read_to_string(&path)?;
        match behind_name(&text).and_then(|mut fields| fields.next()) {
            Some("Z") => break sum(&text, ALL).unwrap_or_default(),
            _ => std::thread::sleep(NAP),
        }
    };
    let status = child.wait()?;
    Ok((Output { status, stdout: stdout?, stderr: stderr? }, computed))
}

fn whole(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut said = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut said)?;
    }
    Ok(said)
}

fn behind_name(text: &str) -> Option<impl Iterator<Item = &str>> {
    Some(text.rsplit_once(')')?.1.split_whitespace())
}

/// The times in these fields, counted as proc_pid_stat(5) counts them.
fn sum(text: &str, fields: Range<usize>) -> Option<Duration> {
    let found = behind_name(text)?.skip(fields.start - STATE).take(fields.len());
    let ticks: Vec<u64> = found.map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let is_whole = ticks.len() == fields.len();
    is_whole.then(|| Duration::from_millis(ticks.iter().sum::<u64>() * 1_000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn times_of_children_follow_those_of_the_program_itself() {
        let line = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 500 600 250 75 20 0";
        assert_eq!(sum(line, CHILDREN), Some(Duration::from_millis(3_250)));
        assert_eq!(sum(line, ALL), Some(Duration::from_millis(14_250)));
        assert_eq!(sum("7 (a) S 1 2", CHILDREN), None);
    }

    #[test]
    fn what_a_command_says_and_computes_is_told_with_its_childrens() {
        let child = "n=0; while [ $n -lt 300000 ]; do n=$((n + 1)); done";
        let script = format!("sh -c '{child}'; echo a; echo b >&2; exit 3");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (output, computed) = super::output(&mut command).unwrap();
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"a\n"[..], &b"b\n"[..]));
        assert_eq!(output.status.code(), Some(3));
        assert!(computed > Duration::ZERO);
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
