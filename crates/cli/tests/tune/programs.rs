//! Programs that are started with knobs of their process.

use super::common::TAILWATER;
use super::machine::{stderr, stdout};
use std::process::{Command, Output};

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
