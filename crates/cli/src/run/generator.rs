//! The load generator of a run, in a process of its own.

use super::course::Course;
use super::process::{myself, start};
use crate::failure::Failure;
use crate::job::{Begins, Job, Outcome};
use std::io::Read as _;
use std::process::{Child, ChildStdout, Command};
use tailwater_program::interrupt::Interrupt;

/// A load generator; killed when dropped, unless it has ended.
struct JobProcess(Child);

impl Drop for JobProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Does a job in a process of its own and waits for it, asleep but for what `course` has to be done meanwhile.
pub(super) fn perform(
    job: &Job,
    course: &mut Course<'_>,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let text = serde_json::to_vec(job).map_err(Failure::work)?;
    let mut program = Command::new(myself()?);
    program.arg("job");
    let (child, stdout, stdin) = start("the load generator", program, &text)?;
    drop(stdin);
    let mut process = JobProcess(child);
    let said = hear(stdout, course, interrupt)?;
    let status = process.0.wait().map_err(Failure::work)?;
    match serde_json::from_slice(outcome_of(&said)) {
        Ok(Outcome::Failed { usage: true, why }) => Err(Failure::Usage(why)),
        Ok(Outcome::Failed { usage: false, why }) => Err(Failure::Work(why)),
        Ok(outcome) => Ok(outcome),
        Err(error) => Err(Failure::work(format!(
            "the load generator ended with {status}, and its outcome cannot be read: {error}"
        ))),
    }
}

/// All that it says until it ends. A line of its own says when the measured window begins.
fn hear(
    mut stdout: ChildStdout,
    course: &mut Course<'_>,
    interrupt: &Interrupt,
) -> Result<Vec<u8>, Failure> {
    let mut said = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match course.next_due() {
            None => interrupt.wait_beside(&stdout)?,
            Some(due) => {
                if !interrupt.wait_beside_until(&stdout, due)? {
                    course.act(interrupt)?;
                    continue;
                }
            }
        }
        match stdout.read(&mut part).map_err(Failure::work)? {
            0 => break,
            count => said.extend_from_slice(&part[..count]),
        }
        if let Some(begins) = first_line(&said) {
            course.begin(begins);
        }
    }
    course.finish();
    Ok(said)
}

/// When the measured window begins, once that was said.
fn first_line(said: &[u8]) -> Option<Begins> {
    let end = said.iter().position(|byte| *byte == b'\n')?;
    serde_json::from_slice(&said[..end]).ok()
}

/// The last line.
fn outcome_of(said: &[u8]) -> &[u8] {
    let said = said.strip_suffix(b"\n").unwrap_or(said);
    let begin = said.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    &said[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_when_the_window_begins_and_the_last_what_came_of_it() {
        let said = b"{\"measured_from_ns\":42}\n{\"Closed\":{\"points\":[]}}\n";
        assert_eq!(first_line(said).map(|begins| begins.measured_from_ns), Some(42));
        assert_eq!(outcome_of(said), b"{\"Closed\":{\"points\":[]}}");
        assert!(first_line(&said[..20]).is_none(), "it is not whole");
        let closed = b"{\"Closed\":{\"points\":[]}}\n";
        assert!(first_line(closed).is_none());
        assert_eq!(outcome_of(closed), &closed[..closed.len() - 1]);
    }
}
