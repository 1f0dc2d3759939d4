//! Programs that are started with knobs of their process.

use super::common::{TAILWATER, eventually};
use super::machine::{Machine, stderr, stdout};
use std::fs;
use std::process::{Command, Output, Stdio};

fn exec(knobs: &[&str], words: &[&str]) -> Output {
    let mut command = Command::new(TAILWATER);
    command.args(["tune", "exec"]).env("GLIBC_TUNABLES", "glibc.malloc.arena_max=3");
    command.args(knobs.iter().flat_map(|knob| ["--knob", *knob]));
    command.arg("--").args(words).output().expect("the program starts")
}

#[test]
fn a_program_has_what_its_knobs_say_and_nothing_else() {
    let knobs =
        ["malloc-arenas=2", "malloc-cache-count=9", "bind-now=now", "timer-slack=inherited"];
    let words = ["sh", "-c", "echo $MALLOC_ARENA_MAX $GLIBC_TUNABLES $LD_BIND_NOW"];
    let output = exec(&knobs, &words);
    let expected = "2 glibc.malloc.arena_max=3:glibc.malloc.tcache_count=9 1\n";
    assert_eq!(stdout(&output), expected, "{}", stderr(&output));
}

#[test]
fn niceness_cores_timers_and_huge_pages_reach_the_program() {
    let allowed = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let list =
        allowed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("it has");
    let cpu = list.trim().split([',', '-']).next().expect("one");
    let own: i32 = stdout(&exec(&[], &["nice"])).trim().parse().expect("a number");
    let nicer = (own + 1).min(19);
    let (nice, cpus) = (format!("nice={nicer}"), format!("cpus={cpu}"));
    let words = [
        "sh",
        "-c",
        "nice; grep -E 'Cpus_allowed_list|THP_enabled' /proc/self/status; cat /proc/self/timerslack_ns",
    ];
    let text = stdout(&exec(&[&nice, &cpus, "timer-slack=7us", "thp-process=never"], &words));
    let lines: Vec<&str> =
        text.lines().map(|line| line.rsplit('\t').next().unwrap_or(line)).collect();
    assert_eq!(lines.first(), Some(&nicer.to_string().as_str()), "{text}");
    assert!(lines.contains(&cpu), "{text}");
    assert!(lines.contains(&"0") || !text.contains("THP_enabled"), "{text}");
    assert_eq!(lines.last(), Some(&"7000"), "{text}");
}

#[test]
fn the_programs_end_is_its_own_and_what_is_wrong_is_told() {
    assert_eq!(exec(&["nice=inherited"], &["sh", "-c", "exit 7"]).status.code(), Some(7));
    for (knob, why) in [
        ("swappiness=10", "of a process knob is needed"),
        ("nice", "NAME=VALUE"),
        ("nice=40", "-20–19 is needed"),
    ] {
        let output = exec(&[knob], &["true"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
    let missing = exec(&[], &["no-such-program-at-all"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("no-such-program-at-all"), "{}", stderr(&missing));
}

/// What the kernel says of the class of a program that is started so: the 40th and 41st word of proc_pid_stat(5).
fn class(output: &Output) -> (String, String) {
    class_of(&stdout(output)).unwrap_or_else(|| panic!("{output:?}"))
}

fn class_of(stat: &str) -> Option<(String, String)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split_whitespace().skip(37).map(str::to_owned);
    Some((words.next()?, words.next()?))
}

#[test]
fn the_scheduling_class_reaches_the_program_and_leaves_its_niceness() {
    let stat = ["cat", "/proc/self/stat"];
    for (value, policy) in [("batch", "3"), ("idle", "5")] {
        let knob = format!("scheduling={value}");
        assert_eq!(class(&exec(&[&knob], &stat)), ("0".into(), policy.into()), "{value}");
        assert_eq!(stdout(&exec(&[&knob], &["nice"])), stdout(&exec(&[], &["nice"])), "{value}");
    }
    // Real-time classes take a right, which who runs this may have.
    let real_time = exec(&["scheduling=rr:2"], &stat);
    if real_time.status.success() {
        assert_eq!(class(&real_time), ("2".into(), "2".into()));
    } else {
        assert!(stderr(&real_time).contains("ulimit -r 2"), "{}", stderr(&real_time));
    }
}

/// Since Linux 6.12 a class of real time has no slack, whichever of the two is set first.
#[test]
fn what_one_knob_takes_back_of_another_is_told_in_either_order() {
    let [slack, class] = ["timer-slack=1ms", "scheduling=rr:2"];
    let code = |knobs: [&str; 2]| exec(&knobs, &["true"]).status.code();
    assert_eq!(code([slack, class]), code([class, slack]));
}

#[test]
fn what_the_kernel_does_not_take_is_told_before_the_program_starts() {
    let output = exec(&["cpus=0-1023"], &["echo", "started"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    let told = stderr(&output);
    assert!(told.contains("cpus=0-1023") && told.contains("the kernel did not take it"), "{told}");
}

/// Policies of the processes that one has started and whose command has this word.
fn policies(parent: u32, word: &str) -> Vec<String> {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let children = threads.map(|thread| read(format!("{}/children", thread.path().display())));
    let children: Vec<String> = children
        .flat_map(|it| it.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let ours = children
        .iter()
        .filter(|pid| read(format!("/proc/{pid}/cmdline")).split('\0').any(|said| said == word));
    ours.filter_map(|pid| class_of(&read(format!("/proc/{pid}/stat")))).map(|of| of.1).collect()
}

/// Less of a guard's quantity may be worse to whoever prints it with a minus: no evidence would ever be seen.
#[test]
fn a_guard_below_zero_ends_the_test_in_place_of_watching_nothing() {
    let machine = Machine::new("guard-below-zero");
    let program = machine.program("rate", "echo \"{\\\"cost\\\": $noise, \\\"rate\\\": -900}\"");
    let more =
        ["--knob", "malloc-arenas=1", "--metric", "/cost", "--guard", "/rate", "--pilot", "4"];
    let output = machine.tune("ab", &[&more[..], &["--", "sh", &program]].concat());
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("the guard /rate is -900; a number of at least 0 is needed"), "{told}");
}

#[test]
fn blocks_that_do_not_count_are_told_of_ever_more_rarely_and_each_time_with_their_reason() {
    let machine = Machine::new("not-valid");
    // Nothing is sent in no time at all, so no run counts.
    let text = "slo = \"1s\"\nwarm_up = \"0s\"\nduration = \"20ms\"\nrepetitions = 1\n\
        [server]\nservice = \"5us\"\n[clients]\ncount = 1\n[demand]\nrequests_per_second = 1000\n\
        [capacity]\nfixed_rps = 10000\n[validity]\nlateness_of_slo_max = 1e-12\n\
        [[controller]]\nname = \"none\"\n";
    machine.write("own.toml", text);
    let file = machine.path("own.toml").display().to_string();
    let more =
        ["--knob", "server.loops=2", "--scenario", &file, "--pilot", "4", "--late-max", "60s"];
    let output = machine.tune("ab", &more);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = stderr(&output);
    let of_blocks: Vec<&str> =
        told.lines().filter(|line| line.contains("not count; in the last, ")).collect();
    // B's trial and sixteen blocks of the pilot.
    let counts = ["a block does", "2 blocks do", "4 blocks do", "8 blocks do", "16 blocks do"];
    assert_eq!(of_blocks.len(), counts.len(), "{told}");
    for (line, count) in of_blocks.iter().zip(counts) {
        assert!(line.contains(count) && line.contains("late"), "{told}");
    }
    // What each block's run says for itself would be said sixteen times.
    assert!(!told.contains("no run is valid"), "{told}");
}

#[test]
fn a_scenarios_server_has_its_knobs_and_the_generator_has_none() {
    let machine = Machine::new("server-process");
    let text = "slo = \"1s\"\nwarm_up = \"0s\"\nduration = \"1s\"\nrepetitions = 1\n\
        [server]\nservice = \"5us\"\ndrain_every = \"20us\"\noutput_high = 65536\n\
        [server.process]\nscheduling = \"batch\"\nmalloc-arenas = 1\n\
        [server.socket]\nquick_ack = true\nsend_buffer = 65536\n\
        [clients]\ncount = 1\npace = \"sleep\"\n[demand]\nrequests_per_second = 100\n\
        [capacity]\nfixed_rps = 1000\n[[controller]]\nname = \"none\"\n";
    machine.write("own.toml", text);
    let file = machine.path("own.toml").display().to_string();
    let mut command = Command::new(TAILWATER);
    command.args(["run", &file, "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = command.spawn().expect("the program starts");
    let mut generator = Vec::new();
    eventually("the server is of its class while the generator runs", || {
        generator = policies(run.id(), "job");
        let server = policies(run.id(), "serve");
        let has_ended = run.try_wait().expect("it can be asked").is_some();
        has_ended || (server == ["3"] && !generator.is_empty())
    });
    let own = class_of(&fs::read_to_string("/proc/self/stat").expect("this is Linux"));
    assert_eq!(generator, [own.expect("it has a class").1], "the run ended before it was seen");
    let output = run.wait_with_output().expect("it ends");
    assert!(stdout(&output).contains("\"goodput_rps\""), "{output:?}");
    machine.write("own.toml", &text.replace("malloc-arenas", "malloc-arena"));
    let refused = Command::new(TAILWATER).args(["check", &file]).output().expect("it starts");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let told = format!("{}{}", stdout(&refused), stderr(&refused));
    assert!(told.contains("did you mean malloc-arenas?"), "{told}");
}
