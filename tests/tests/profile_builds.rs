//! Programs built in every way that `docs/profiling-build.md` names, then recorded: filters, build systems, Rust,
//! and shared libraries that come and go.

mod profiled;

use profiled::{
    Recorded, alone, folder, in_time, record_program, record_with, succeeds, text, tools,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tailwater_profile::record::{Call, MarkKind, Record, ThreadId, Wait};

const BUDGET: [&str; 2] = ["--budget", "100%"];

/// The names of all functions with calls in a trace.
fn called(recorded: &Recorded) -> BTreeSet<String> {
    let names = recorded.records.iter().filter_map(|record| match record {
        Record::Call(call) => Some(recorded.names[&call.function.0].clone()),
        _ => None,
    });
    names.collect()
}

/// What `scenes refresh` called, built by `build` into the path that it is given. Recorded until `sought` is
/// among it.
fn calls_of_scenes(
    name: &str,
    options: &[&str],
    sought: &str,
    build: impl Fn(&Path),
) -> BTreeSet<String> {
    let built = folder(&format!("{name}-built")).join("scenes");
    build(&built);
    in_time(100, |ms| {
        let folder = folder(name);
        let mut record = record_with(&folder, &[&BUDGET, options].concat(), &built);
        succeeds(record.args(["refresh", "100", ms]));
        let found = called(&Recorded::read(&folder.join("x.trace")));
        found.contains(sought).then_some(found)
    })
}

fn scenes(to: &Path) {
    tools().compiled("CC", "", "scenes.c", to);
}

#[test]
fn a_filter_at_run_time_needs_no_rebuild_and_keeps_what_it_names() {
    let _alone = alone();
    assert_eq!(
        calls_of_scenes("kept", &["--filter", "f?ames"], "frames", scenes),
        ["frames".into()].into()
    );
    let without = calls_of_scenes("dropped", &["--filter", "!frames"], "main", scenes);
    assert!(!without.contains("frames"), "{without:?}");
}

#[test]
fn a_filter_at_build_time_leaves_out_and_takes_in() {
    let _alone = alone();
    for (name, lines, expected) in [
        ("opted-out", "-frames\n", "main"),
        ("opted-in", "-*\n+file:*scenes.c\n-main\n-refresh\n", "frames"),
    ] {
        let filter = folder(&format!("{name}-filter")).join("filter.txt");
        std::fs::write(&filter, lines).expect("the filter");
        let found = calls_of_scenes(name, &[], expected, |to| {
            let filter = filter.to_str().expect("a path");
            let line = "$CC -O2 -o $0 $1";
            let mut build = tools().build(&["--filter", filter], &["sh", "-c", line]);
            succeeds(build.arg(to).arg(tools().sources().join("scenes.c")));
        });
        let other = if expected == "main" { "frames" } else { "main" };
        assert!(!found.contains(other), "{name}: {found:?}");
    }
}

#[test]
fn a_function_with_the_attribute_has_no_frames() {
    let _alone = alone();
    let source = folder("skipped-source").join("skipped.c");
    let text = "#include <tailwater/profile.h>\n#include <time.h>\n\
        static void nap(void) { nanosleep(&(struct timespec){0, 20000000}, 0); }\n\
        TW_PROFILE_SKIP __attribute__((noinline)) int skipped(void) { nap(); return 1; }\n\
        __attribute__((noinline)) int timed(void) { nap(); return skipped(); }\n\
        int main(void) { return timed() == 1 ? 0 : 1; }\n";
    std::fs::write(&source, text).expect("the source");
    let program = source.with_extension("");
    tools().compiled("CC", "", source.to_str().expect("a path"), &program);
    let found = in_time(1, |_| {
        let folder = folder("skipped");
        succeeds(&mut record_with(&folder, &BUDGET, &program));
        let found = called(&Recorded::read(&folder.join("x.trace")));
        found.contains("timed").then_some(found)
    });
    assert!(!found.contains("skipped"), "{found:?}");
}

const CMAKE_LISTS: &str = "cmake_minimum_required(VERSION 3.10)\nproject(scenes C CXX)\n\
    find_package(Threads REQUIRED)\nadd_executable(scenes ${SCENES})\n\
    target_link_libraries(scenes Threads::Threads)\n";

#[test]
fn cmake_and_ninja_build_it_by_environment_and_by_toolchain_file() {
    let _alone = alone();
    let starts = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let there = starts("cmake") && starts("ninja");
    assert!(there, "found not both; type: apt-get install cmake ninja-build");
    let project = folder("cmake-project");
    std::fs::write(project.join("CMakeLists.txt"), CMAKE_LISTS).expect("the project");
    let source = format!("-DSCENES={}", tools().sources().join("scenes.c").display());
    let toolchain =
        format!("-DCMAKE_TOOLCHAIN_FILE={}", tools().home().join("tailwater.cmake").display());
    // The compilers that the file names.
    succeeds(&mut tools().build(&[], &["true"]));
    for (name, toolchain) in [("cmake", None), ("toolchain", Some(&toolchain))] {
        calls_of_scenes(name, &[], "frames", |to| {
            let build = project.join(name);
            let line = ["cmake", "-G", "Ninja", "-S", ".", &source, "-B"];
            let mut configure = if toolchain.is_none() {
                tools().build(&[], &line)
            } else {
                let mut cmake = Command::new(line[0]);
                cmake.args(&line[1..]);
                cmake
            };
            succeeds(configure.arg(&build).args(toolchain).current_dir(&project));
            // Without the environment: cmake remembers.
            succeeds(Command::new("cmake").arg("--build").arg(&build));
            std::fs::copy(build.join("scenes"), to).expect("it is built");
        });
    }
}

#[test]
fn configure_finds_the_compilers_and_make_uses_them() {
    let _alone = alone();
    calls_of_scenes("configure", &[], "frames", |to| {
        let project = to.parent().expect("a folder");
        let configure =
            "#!/bin/sh\nprintf 'scenes:\\n\\t%s -O2 -o $@ %s\\n' \"$CC\" \"$1\" > Makefile\n";
        std::fs::write(project.join("configure"), configure).expect("the script");
        let source = tools().sources().join("scenes.c");
        let source = source.to_str().expect("a path");
        let mut configure = tools().build(&[], &["sh", "./configure", source]);
        succeeds(configure.current_dir(project));
        succeeds(Command::new("make").arg("scenes").current_dir(project));
    });
}

#[test]
fn a_build_that_names_its_own_compiler_is_told_of_and_what_is_named_then_works() {
    let _alone = alone();
    let folder = folder("named");
    let source = tools().sources().join("ends.c");
    let include = tools().home().join("include");
    let makefile = format!(
        "CC = cc\nends: {0}\n\t$(CC) -O2 -I{1} -o ends {0} -pthread\n",
        source.display(),
        include.display()
    );
    std::fs::write(folder.join("Makefile"), makefile).expect("a Makefile");
    let done = succeeds(tools().build(&[], &["make"]).current_dir(&folder));
    let said = text(&done.stderr);
    let words = "tailwater profile build -- make -B CC=tailwater-cc CXX=tailwater-c++";
    assert!(said.contains(words), "{said}");
    let made = ["make", "-B", "CC=tailwater-cc", "CXX=tailwater-c++"];
    let done = succeeds(tools().build(&[], &made).current_dir(&folder));
    assert!(!text(&done.stderr).contains("none of our compilers"), "{}", text(&done.stderr));
    let program = folder.join("ends");
    let done = record_program(&folder, &program).arg("_exit").output().expect("it starts");
    assert_eq!(done.status.code(), Some(7), "{}", text(&done.stderr));
    assert!(called(&Recorded::read(&folder.join("x.trace"))).contains("last_words"));
    let failed = tools().build(&[], &["sh", "-c", "exit 3"]).output().expect("it starts");
    assert_eq!(failed.status.code(), Some(3));
}

/// By objects of an earlier build, or a library of one.
#[test]
fn code_for_another_version_of_the_runtime_is_refused_with_what_to_type() {
    let _alone = alone();
    let folder = folder("stale");
    let source = |name: &str| tools().sources().join(name).display().to_string();
    let built = |line: &str, to: &str| {
        let to = folder.join(to);
        let mut build = tools().build(&[], &["sh", "-c", line]);
        succeeds(build.arg(&to));
        to
    };
    let own = format!("$CC -O2 -o $0 {} {}", source("ends.c"), source("stale.c"));
    let library = format!(
        "$CC -O2 -DWHO=stale -fPIC -shared -o $0 {} {}",
        source("plugin.c"),
        source("stale.c")
    );
    let program = built(&own, "ends");
    let static_program = built(&format!("{own} -static"), "ends-static");
    let library = built(&library, "libstale.so");
    let refused = |command: &mut Command, place: &str| {
        let done = command.output().expect("it starts");
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(127), "{said}");
        for words in
            [place, "code for version 3", "needed version 4", "tailwater profile build -- make -B"]
        {
            assert!(said.contains(words), "{words} in: {said}");
        }
    };
    refused(&mut Command::new(&program), "the program");
    refused(&mut Command::new(&static_program), "the program");
    let mut preloaded = Command::new("true");
    preloaded.env("LD_PRELOAD", &library).env("LD_LIBRARY_PATH", tools().home());
    refused(&mut preloaded, "libstale.so");
    // The same without the object of another version.
    let sound = built(&format!("$CC -O2 -o $0 {}", source("ends.c")), "sound");
    assert_eq!(Command::new(&sound).arg("return").status().expect("it starts").code(), Some(5));
}

/// examples/profiling/requests by a route, recorded until a function is seen.
fn rust(route: &str, sought: &str) -> Recorded {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("profile-rust").join(route);
    let mut build = tools().build(
        &["--rust-route", route],
        &["cargo", "build", "--release", "--locked", "--package", "requests"],
    );
    build.current_dir(tools().root()).env_remove("RUSTFLAGS");
    // CI lowers it for what it builds itself (`.ci/run`), and functions are inlined by it.
    build.env_remove("CARGO_PROFILE_RELEASE_OPT_LEVEL");
    build.env("CARGO_TARGET_DIR", &target).env("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu");
    succeeds(&mut build);
    let program = target.join("x86_64-unknown-linux-gnu/release/requests");
    in_time(5, |pairs| {
        let folder = folder("rust");
        succeeds(record_with(&folder, &BUDGET, &program).arg(pairs));
        let recorded = Recorded::read(&folder.join("x.trace"));
        called(&recorded).iter().any(|name| name.contains(sought)).then_some(recorded)
    })
}

#[test]
fn stable_rust_is_seen_with_its_requests() {
    let _alone = alone();
    let recorded = rust("lto", "parse");
    let names = called(&recorded);
    assert!(!names.iter().any(|name| name.contains("Timespec")), "std is as it was: {names:?}");
    let marks = recorded.marks();
    let of = |request| {
        let mut marks: Vec<_> = marks.iter().filter(|mark| mark.request == request).collect();
        marks.sort_by_key(|mark| mark.at);
        marks
    };
    let kinds = |request| of(request).iter().map(|mark| mark.kind).collect::<Vec<_>>();
    // Numbers count from one on.
    assert_eq!(kinds(1), [MarkKind::Start, MarkKind::EndAll]);
    let mut second = kinds(2);
    // That it queues is told afterwards, from a time that another clock has measured.
    second[1..3].sort();
    let expected =
        [MarkKind::Start, MarkKind::Block, MarkKind::Enqueue, MarkKind::Start, MarkKind::EndAll];
    assert_eq!(second, expected);
    // Two requests in one thread at a time, and two threads for one.
    assert!(of(1)[0].at <= of(2)[0].at && of(2)[0].at <= of(1)[1].at);
    let threads: HashSet<ThreadId> = of(2).iter().map(|mark| mark.thread).collect();
    assert_eq!(threads.len(), 2);
}

#[test]
fn the_bootstrap_route_covers_std_too() {
    let _alone = alone();
    let recorded = rust("bootstrap", "Timespec");
    assert!(recorded.marks().len() >= 5 * 7, "the marks are as ever");
}

/// Two libraries of plugin.c, whose functions lie at one offset each: names of other lengths before them move nothing.
fn plugins(folder: &Path) -> [PathBuf; 2] {
    ["first", "second"].map(|who| {
        let flags = format!("-shared -fPIC -Wl,-z,separate-loadable-segments -DWHO={who}");
        tools().compiled("CC", &flags, "plugin.c", &folder.join(format!("lib{who}.so")))
    })
}

#[test]
fn a_program_linked_with_profiled_libraries_is_recorded_once() {
    let _alone = alone();
    let built = folder("linked-built");
    let [first, _] = plugins(&built);
    let flags = format!("{} -Wl,-rpath,{}", first.display(), built.display());
    let program = tools().compiled("CC", &flags, "linked.c", &built.join("linked"));
    let found = in_time(1, |_| {
        let folder = folder("linked");
        let done = succeeds(&mut record_with(&folder, &BUDGET, &program));
        assert!(!text(&done.stderr).contains("cannot record"), "{}", text(&done.stderr));
        assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 1, "one trace");
        let found = called(&Recorded::read(&folder.join("x.trace")));
        found.contains("first_inner").then_some(found)
    });
    assert!(found.contains("first_outer"), "{found:?}");
}

/// A use of a library, as the program tells it: which, where, from when to when.
struct Use {
    who: &'static str,
    at: String,
    start: u64,
    end: u64,
}

fn uses(done: &Output) -> Vec<Use> {
    let one = |line: &str| {
        let [which, at, start, end] = *line.split(' ').collect::<Vec<_>>() else {
            panic!("found '{line}'")
        };
        let who = if which == "1" { "first" } else { "second" };
        let number = |text: &str| text.parse().expect("a number");
        Use { who, at: at.to_owned(), start: number(start), end: number(end) }
    };
    text(&done.stdout).lines().map(one).collect()
}

/// Records plugins.c; the libraries lie at one address at least once.
fn record_plugins(name: &str, options: &[&str], program: &Path) -> (Recorded, Vec<Use>) {
    let built = program.parent().expect("a folder");
    let [first, second] = plugins(built);
    in_time(2, |rounds| {
        let folder = folder(name);
        let mut record = record_with(&folder, &[&BUDGET, options].concat(), program);
        let done = succeeds(record.arg(rounds).arg("3000").args([&first, &second]));
        assert!(!text(&done.stderr).contains("cannot record"), "{}", text(&done.stderr));
        assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 1, "one trace");
        let (recorded, uses) = (Recorded::read(&folder.join("x.trace")), uses(&done));
        let mut places: HashMap<&str, HashSet<&str>> = HashMap::new();
        for one in &uses {
            places.entry(&one.at).or_default().insert(one.who);
        }
        assert!(places.values().any(|who| who.len() == 2), "one in the other's place");
        let names = called(&recorded);
        let all = ["first_inner", "second_inner", "first_farewell", "second_farewell"];
        all.iter().all(|name| names.contains(*name)).then_some((recorded, uses))
    })
}

#[test]
fn libraries_that_follow_each_other_in_one_place_keep_their_names() {
    let _alone = alone();
    let program = folder("plugins-built").join("plugins");
    tools().compiled("CC", "", "plugins.c", &program);
    for options in [&[][..], &["--scanners", "3"]] {
        let (recorded, uses) = record_plugins("plugins", options, &program);
        calls_are_of_the_library_that_was_there(&recorded, &uses);
        waits_name_libraries_that_went(&recorded);
    }
}

fn calls_are_of_the_library_that_was_there(recorded: &Recorded, uses: &[Use]) {
    let mut told = 0;
    for record in &recorded.records {
        let Record::Call(call) = record else { continue };
        let name = recorded.names[&call.function.0].as_str();
        assert!(!name.contains('('), "nothing is unreadable: {name}");
        let Some((who, part)) = name.split_once('_') else { continue };
        if !matches!(who, "first" | "second") {
            continue;
        }
        told += 1;
        assert!(uses.iter().any(|one| one.who == who && overlap(one, call)), "{name} {call:?}");
        let parent = call.parent.map(|id| recorded.names[&id.0].as_str());
        match part {
            "inner" => assert_eq!(parent, Some(format!("{who}_outer").as_str())),
            "outer" => assert_eq!(parent, Some("once")),
            _ => {}
        }
    }
    assert!(told >= 4, "{told}");
}

/// Whether a call may have been then, with room for clocks that are read too early.
fn overlap(one: &Use, call: &Call) -> bool {
    let from = call.start.saturating_sub(u64::from(call.start_slack));
    let to = call.end + u64::from(call.end_slack);
    from <= one.end && one.start <= to
}

fn waits_name_libraries_that_went(recorded: &Recorded) {
    let name = |id: Option<tailwater_profile::record::FunctionId>| {
        id.map(|id| recorded.names[&id.0].as_str())
    };
    let waits: Vec<&Wait> = recorded
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Wait(wait) if wait.kind as u8 == 0 => Some(wait),
            _ => None,
        })
        .collect();
    let told_late = waits.iter().find(|wait| name(wait.function) == Some("first_inner"));
    assert!(told_late.is_some(), "the first library had waited: {waits:?}");
    let taken_in_it = waits.iter().find(|wait| name(wait.function) == Some("holds_then_waits"));
    let holder = taken_in_it.map(|wait| name(wait.holder_function));
    assert_eq!(holder, Some(None), "who held it had taken it in a library that went: {waits:?}");
}

#[test]
fn a_plain_program_may_close_all_that_is_profiled() {
    let _alone = alone();
    let built = folder("plain-plugins");
    let program = built.join("plain");
    plain("plugins.c", &[], &program);
    let (recorded, _) = record_plugins("plain-record", &[], &program);
    let expected = ["first", "second"]
        .map(|who| ["inner", "outer", "farewell"].map(|part| format!("{who}_{part}")));
    let known: BTreeSet<String> = expected.into_iter().flatten().chain(["close".into()]).collect();
    let names = called(&recorded);
    assert!(names.is_subset(&known), "{names:?}");
}

/// A source compiled by clang alone.
fn plain(source: &str, flags: &[&str], to: &Path) {
    let mut clang = Command::new("clang-22");
    clang.arg("-DTAILWATER_PROFILE_DISABLE").arg("-I").arg(tools().home().join("include"));
    succeeds(clang.arg("-o").arg(to).arg(tools().sources().join(source)).args(flags));
}

#[test]
fn a_thread_may_be_cancelled_while_it_closes_a_library() {
    let _alone = alone();
    let built = folder("cancelled-built");
    let [first, _] = plugins(&built);
    let program = tools().compiled("CC", "", "cancelled.c", &built.join("cancelled"));
    let mut record = record_with(&folder("cancelled"), &BUDGET, &program);
    let done = succeeds(record.arg(first));
    assert_eq!(text(&done.stdout), "5 cancelled\n");
}

#[test]
fn a_library_that_is_closed_while_the_recording_stops_keeps_its_names() {
    let _alone = alone();
    let folder = folder("stopped");
    let [first, _] = plugins(&folder);
    let program = tools().compiled("CC", "", "stopped.c", &folder.join("stopped"));
    let traces: Vec<PathBuf> = (0..20).map(|nth| folder.join(format!("{nth}.trace"))).collect();
    let mut command = Command::new(&program);
    succeeds(command.env_remove("LD_LIBRARY_PATH").arg(first).args(&traces));
    let found: BTreeSet<String> =
        traces.iter().flat_map(|trace| called(&Recorded::read(trace))).collect();
    assert!(found.contains("first_inner"), "{found:?}");
    assert!(!found.iter().any(|name| name.contains('(')), "{found:?}");
}

#[test]
fn a_call_in_a_library_that_the_exit_cuts_short_keeps_its_name() {
    let _alone = alone();
    let built = folder("unended-built");
    let library = built.join("libunended.so");
    tools().compiled("CC", "-shared -fPIC -DLIBRARY", "unended.c", &library);
    let program = built.join("unended");
    let rpath = format!("-Wl,-rpath,{}", built.display());
    plain("unended.c", &[library.to_str().expect("a path"), &rpath], &program);
    let found = in_time(100, |ms| {
        let folder = folder("unended");
        succeeds(record_with(&folder, &BUDGET, &program).arg(ms));
        let found = called(&Recorded::read(&folder.join("x.trace")));
        (!found.is_empty()).then_some(found)
    });
    let expected = ["begin", "worker", "works_for_ever"].map(String::from);
    assert!(found.is_subset(&expected.into()), "{found:?}");
    assert!(found.contains("works_for_ever"), "{found:?}");
}

#[test]
fn the_report_names_the_lock_its_holder_and_the_line() {
    let _alone = alone();
    let folder = folder("blamed");
    let program = folder.join("scenes");
    scenes(&program);
    let said = in_time(20_000, |us| {
        succeeds(record_program(&folder, &program).args(["locks", us]));
        let report = |options: &[&str]| {
            let mut command = Command::new(&tools().tailwater);
            command.args(["profile"]).args(options).arg(folder.join("x.trace"));
            text(&succeeds(&mut command).stdout)
        };
        let table = report(&["report", "--locks", "--by-line", "--min-count", "0", "--limit", "0"]);
        let requests = report(&["requests"]);
        // A thread that is found when it has ended has no name any more.
        requests.contains("thread background").then_some((table, requests))
    });
    for line in ["mutex mutex", "snapshot", "scenes.c:"] {
        assert!(said.0.contains(line), "{line} in:\n{}", said.0);
    }
    for line in ["for mutex mutex in handler at ", "scenes.c:", "held by thread background"] {
        assert!(said.1.contains(line), "{line} in:\n{}", said.1);
    }
}
