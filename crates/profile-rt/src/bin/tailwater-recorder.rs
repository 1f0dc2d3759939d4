//! `tailwater-recorder PID TRACE`: the scanner of a process, in a process of its own. `tailwater profile attach` starts
//! it, and gives it the variables that `tailwater profile record` sets. It ends when its standard input does.
//!
//! It says in lines when it has begun (`recording NAME`) and how it ended (`over WORD`). Its exit code is 0, 1
//! where the trace is incomplete, or 2 where there is none. Standard error says why.

use std::ffi::OsString;
use std::io::{Write as _, stdin, stdout};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;
use tailwater_profile_rt::attach::{End, Recorded, Refusal, record};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [pid, trace] = arguments.as_slice() else { return misused() };
    let Some(pid) = pid.to_str().and_then(|pid| pid.parse().ok()) else { return misused() };
    let began = |name: &str| tell(&format!("recording {name}"));
    match record(pid, Path::new(trace), stdin().as_fd(), began) {
        Ok(recorded) => over(&recorded),
        Err(refusal) => refused(&refusal),
    }
}

fn over(recorded: &Recorded) -> ExitCode {
    let word = match recorded.end {
        End::Asked => "asked",
        End::Gone => "gone",
        End::Replaced => "replaced",
        End::Late => "late",
    };
    tell(&format!("over {word}"));
    match &recorded.written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("the trace is incomplete: {error}"), 1),
    }
}

fn refused(refusal: &Refusal) -> ExitCode {
    complain(&refusal.to_string(), 2)
}

fn misused() -> ExitCode {
    complain("needed a process's number and a trace's name; type: tailwater profile attach PID", 2)
}

/// The process that started it may be gone.
fn tell(line: &str) {
    let _ = writeln!(stdout(), "{line}");
}

fn complain(why: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{why}");
    ExitCode::from(code)
}
