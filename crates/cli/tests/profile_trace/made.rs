//! Traces made up for tests, and the command that reads them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tailwater_profile::record::{
    Call, CallFlags, Clock, Function, FunctionId, Mark, MarkKind, Record, Thread, ThreadId, Wait,
    WaitKind,
};
use tailwater_profile::trace::{Header, Writer};

pub(crate) const US: u64 = 1_000;

/// The paper's Fig. 1: a request waits for the lock that the snapshot thread holds.
pub(crate) fn fig1() -> Vec<Record> {
    let function = |id, name: &str| {
        let (name, file) = (name.to_owned(), "fig1.cc".to_owned());
        Record::Function(Function { id: FunctionId(id), address: 64, name, file, line: 7 })
    };
    let thread = |id, name: &str| {
        Record::Thread(Thread { id: ThreadId(id), tid: 100 + id, name: name.to_owned() })
    };
    let mark = |kind, at| Record::Mark(Mark { thread: ThreadId(0), request: 42, kind, at });
    let call = |thread, function, start, end| {
        Record::Call(Call {
            thread: ThreadId(thread),
            function: FunctionId(function),
            parent: None,
            depth: 0,
            generation: 1,
            start,
            start_slack: 500,
            end,
            end_slack: 500,
            flags: CallFlags::default(),
            site: 0,
        })
    };
    let wait = Record::Wait(Wait {
        thread: ThreadId(0),
        kind: WaitKind::Mutex,
        object: 0x5000,
        start: 5_010 * US,
        end: 5_910 * US,
        released: 5_911 * US,
        holder: Some(ThreadId(1)),
        function: Some(FunctionId(1)),
        holder_function: Some(FunctionId(2)),
        holder_site: 0,
        site: 0,
    });
    vec![
        Record::Clock(Clock { ticks: 10_000_000, raw_ns: 10_000_000, real_ns: 10_000_000 }),
        function(1, "_Z14handle_requestv"),
        function(2, "_RNvC4fig18snapshot"),
        thread(0, "requests"),
        thread(1, "snapshot"),
        mark(MarkKind::Start, 5_000 * US),
        call(1, 2, 4_890 * US, 5_905 * US),
        wait,
        call(0, 1, 5_001 * US, 5_929 * US),
        mark(MarkKind::End, 5_930 * US),
    ]
}

/// Writes a trace and gives its path; `cut` bytes are taken off its end.
pub(crate) fn trace(name: &str, records: &[Record], cut: usize) -> PathBuf {
    let header = Header {
        architecture: "x86_64".into(),
        pid: 1,
        program: "bin/fig1".into(),
        build_id: Vec::new(),
        clock: Clock { ticks: 0, raw_ns: 0, real_ns: 0 },
    };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &header).expect("memory does not fail");
    records.iter().for_each(|record| writer.write(record).expect("memory does not fail"));
    writer.finish().expect("memory does not fail");
    drop(writer);
    bytes.truncate(bytes.len() - cut);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("the target folder can be written to");
    path
}

pub(crate) fn profile(verb: &str, path: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater"));
    command.args(["profile", verb]).arg(path).args(flags).output().expect("it starts")
}

pub(crate) fn told(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("it prints text")
}

/// A call of thread 0, whose start and end are known to within so many µs.
pub(crate) fn vague(function: u32, start: (u64, u32), end: (u64, u32), flags: u8) -> Call {
    Call {
        thread: ThreadId(0),
        function: FunctionId(function),
        parent: None,
        depth: 0,
        generation: start.0,
        start: start.0 * US,
        start_slack: start.1 * 1_000,
        end: end.0 * US,
        end_slack: end.1 * 1_000,
        flags: CallFlags(flags),
        site: 0,
    }
}

pub(crate) fn function(id: u32, name: &str) -> Record {
    let (name, file) = (name.to_owned(), "x.rs".to_owned());
    Record::Function(Function { id: FunctionId(id), address: 64, name, file, line: 7 })
}
