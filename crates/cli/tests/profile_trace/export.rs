//! `export`: what is chosen of a trace, and where it is written. `formats` has what each format asks.

use super::made::{function, profile, told, trace, vague};
use std::path::{Path, PathBuf};
use tailwater_profile::record::{Call, Clock, FunctionId, Record};

/// A thousand requests of 100 µs, of which each hundredth takes 10 ms, in a parser.
pub(crate) fn requests(name: &str) -> PathBuf {
    let clock = Clock { ticks: 1 << 40, raw_ns: 1 << 40, real_ns: 1 << 40 };
    let mut records = vec![Record::Clock(clock)];
    records.extend([
        function(1, "main"),
        function(2, "ns::request(int; char)"),
        function(3, "parse"),
    ]);
    let nested = |generation, depth, function, parent, start, took| {
        let call = vague(function, (start, 0), (start + took, 0), 0);
        Record::Call(Call { generation, depth, parent: Some(FunctionId(parent)), ..call })
    };
    for n in 0..1_000 {
        let (start, parse) = (n * 20_000, if n % 100 == 0 { 9_900 } else { 40 });
        records.push(nested(3 + n * 2, 2, 3, 2, start + 30, parse));
        records.push(nested(2 + n * 2, 1, 2, 1, start, parse + 60));
    }
    records.push(Record::Call(Call { generation: 1, ..vague(1, (0, 0), (20_000_000, 0), 0) }));
    trace(name, &records, 0)
}

pub(crate) const PARSE_US: u64 = 990 * 40 + 10 * 9_900;
pub(crate) const REQUEST_US: u64 = 60_000;
pub(crate) const MAIN_US: u64 = 20_000_000 - PARSE_US - REQUEST_US;

pub(crate) fn export(path: &Path, flags: &[&str]) -> String {
    told(&profile("export", path, flags))
}

#[test]
fn the_tail_alone_is_exported_above_a_percentile() {
    let flags = ["--to", "folded", "--above", "p98", "-f", "ns::request*"];
    let text = export(&requests("above.trace"), &flags);
    let expected =
        "main;ns::request(int: char) 600000\nmain;ns::request(int: char);parse 99000000\n";
    assert_eq!(text, expected);
    let path = requests("refused.trace");
    for flags in [
        &["--to", "folded", "--above", "p99"][..],
        &["--to", "folded", "--above", "p100", "-f", "parse"],
        &["--to", "folded", "-f", "nowhere"],
        &["--to", "perfetto", "-f", "parse"],
        &["--to", "parquet", "-f", "parse"],
        &["--to", "nothing"],
    ] {
        let refused = profile("export", &path, flags);
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {refused:?}");
        assert!(refused.stdout.is_empty(), "{flags:?}");
    }
}

#[test]
fn a_file_is_written_where_it_is_asked_for_and_what_is_missing_told() {
    let path = requests("file.trace");
    let to = path.with_extension("folded");
    let to = to.to_str().expect("a path");
    let done = profile("export", &path, &["--to", "folded", "-o", to]);
    assert_eq!(told(&done), "");
    assert_eq!(std::fs::read_to_string(to).expect("it is written").lines().count(), 3);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("1 calls in 3 stacks") && said.contains("Lost: 0 calls"), "{said}");
    let refused = profile("export", &path, &["--to", "folded", "-o", "/nowhere/x"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// Its times are ticks, which nothing in the file of another tool says.
#[test]
fn a_trace_that_does_not_tell_how_long_ticks_are_is_exported_with_that_said() {
    let records = [function(1, "main"), Record::Call(vague(1, (0, 0), (100, 0), 0))];
    let path = trace("unmeasured-export.trace", &records, 0);
    let untold = "The trace holds no two clock readings: a tick is shown as a nanosecond.";
    for format in ["folded", "perfetto"] {
        let done = profile("export", &path, &["--to", format]);
        assert!(done.status.success(), "{done:?}");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains(untold), "{format}: {said}");
    }
    let done = profile("export", &requests("measured-export.trace"), &["--to", "folded"]);
    assert!(done.status.success(), "{done:?}");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(!said.contains(untold), "{said}");
}

#[test]
fn a_trace_is_never_written_over_and_what_was_there_stays_where_an_export_fails() {
    let path = requests("kept.trace");
    let before = std::fs::read(&path).expect("a trace");
    let link = path.with_extension("link");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    for to in [&path, &link] {
        let to = to.to_str().expect("a path");
        let refused = profile("export", &path, &["--to", "folded", "-o", to]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("is the trace itself; name another file"), "{said}");
    }
    assert_eq!(std::fs::read(&path).expect("still there"), before);
    let earlier = path.with_extension("earlier");
    std::fs::write(&earlier, "an earlier result").expect("written");
    let to = earlier.to_str().expect("a path");
    for (from, flags) in [
        (PathBuf::from("/nowhere.trace"), &["--to", "folded", "-o", to][..]),
        (path.clone(), &["--to", "folded", "-f", "nowhere", "-o", to]),
    ] {
        assert_eq!(profile("export", &from, flags).status.code(), Some(2));
        assert_eq!(std::fs::read(&earlier).expect("still there"), b"an earlier result");
    }
    assert!(profile("export", &path, &["--to", "folded", "-o", to]).status.success());
    assert_eq!(std::fs::read_to_string(&earlier).expect("written").lines().count(), 3);
    let folder = path.parent().expect("a folder");
    let left = std::fs::read_dir(folder).expect("a folder").flatten();
    let left = left.map(|one| one.file_name().to_string_lossy().into_owned());
    let drafts: Vec<String> = left.filter(|name| name.starts_with(".kept.earlier.")).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
}

#[test]
fn what_is_no_regular_file_is_written_to_as_it_is() {
    let done = profile("export", &requests("null.trace"), &["--to", "folded", "-o", "/dev/null"]);
    assert!(done.status.success(), "{done:?}");
    use std::os::unix::fs::FileTypeExt as _;
    let there = std::fs::metadata("/dev/null").expect("still there");
    assert!(there.file_type().is_char_device());
}

#[test]
fn a_tail_of_too_few_calls_is_refused_with_how_many_it_takes() {
    let few = [
        function(1, "handle"),
        Record::Call(Call { generation: 1, ..vague(1, (0, 0), (10, 0), 0) }),
        Record::Call(Call { generation: 2, ..vague(1, (20, 0), (90, 0), 0) }),
    ];
    let path = trace("few.trace", &few, 0);
    let to = path.with_extension("none");
    let flags = ["--to", "folded", "-f", "handle", "--above", "p99", "-o"];
    let flags: Vec<&str> = flags.into_iter().chain([to.to_str().expect("a path")]).collect();
    let refused = profile("export", &path, &flags);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("2 calls; p99 needs 100 or more"), "{said}");
    assert!(!to.exists());
}
