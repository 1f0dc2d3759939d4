//! The list of knobs, and plans.

use super::machine::{JOURNAL, Machine, json, stderr, stdout};
use serde_json::Value;

fn knob<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut rows = list.as_array().expect("a list").iter();
    rows.find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn knobs_say_what_they_are_now_and_why_some_cannot_be_set() {
    let machine = Machine::new("list");
    let list = json(&machine.tune("knobs", &["--json"]));
    let thp = knob(&list, "thp");
    assert_eq!((&thp["now"], &thp["allowed"]), (&"madvise".into(), &"always|madvise|never".into()));
    assert_eq!(thp["refused"], Value::Null);
    assert_eq!(knob(&list, "tcp-rmem")["now"], "4096 131072 33554432");
    assert_eq!(knob(&list, "tcp-congestion-control")["allowed"], "reno|cubic");
    assert_eq!(knob(&list, "malloc-arenas")["now"], "inherited");
    let inherits = knob(&list, "nice")["inherits"].as_str().expect("it can be asked");
    assert!(inherits.parse::<i32>().is_ok_and(|nice| (-20..=19).contains(&nice)), "{inherits}");
    for (name, why) in [
        ("frequency-max-khz", "clock rate"),
        ("base-slice-ns", "debugfs is not mounted"),
        ("prefetchers", "MSR"),
        ("thp-64kb", "Linux 6.8"),
        ("tcp-nodelay", "always have it on"),
        ("memory-lock", "server.lock_memory"),
        ("cpu-quota", "CPUQuota"),
    ] {
        let row = knob(&list, name);
        assert!(row["refused"].as_str().is_some_and(|reason| reason.contains(why)), "{row}");
    }
    let table = stdout(&machine.tune("knobs", &[]));
    assert!(table.contains("settable here") && table.contains("no: debugfs"), "{table}");
    let one = stdout(&machine.tune("knobs", &["swappiness"]));
    assert!(one.contains("now            60") && one.contains("settles in     500 ms"), "{one}");
    let unknown = machine.tune("knobs", &["swapiness"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("did you mean swappiness?"), "{}", stderr(&unknown));
}

#[test]
fn files_of_several_cpus_are_one_knob_and_tell_where_they_differ() {
    let machine = Machine::new("several");
    for (cpu, governor) in [(0, "powersave"), (1, "performance")] {
        let folder = format!("sys/devices/system/cpu/cpufreq/policy{cpu}");
        std::fs::create_dir_all(machine.path(&folder)).expect("in the test's folder");
        machine.write(&format!("{folder}/scaling_governor"), &format!("{governor}\n"));
        machine.write(&format!("{folder}/scaling_available_governors"), "performance powersave\n");
    }
    let list = json(&machine.tune("knobs", &["frequency-governor", "--json"]));
    assert_eq!(list[0]["now"], "powersave, performance");
    assert_eq!(list[0]["files"].as_array().map(Vec::len), Some(2));
    let arguments = ["--knob", "frequency-governor=performance", "--", "true"];
    let plan = machine.tune("plan", &arguments);
    assert_eq!(plan.status.code(), Some(2));
    assert!(stderr(&plan).contains("say by --against"), "{}", stderr(&plan));
}

#[test]
fn a_plan_prints_every_write_and_does_none() {
    let machine = Machine::new("plan");
    let arguments =
        ["--seed", "1", "--knob", "swappiness=10", "--knob", "nice=5", "--", "./bench", "{seed}"];
    let plan = machine.tune("plan", &arguments);
    let text = stdout(&plan);
    let root = machine.root();
    for line in [
        format!("what the files below say now goes to {root}/{JOURNAL}"),
        format!("write 60 to {root}/proc/sys/vm/swappiness\n  wait 500 ms\nThe block: ./bench 1"),
        format!("write 10 to {root}/proc/sys/vm/swappiness"),
        "The block: tailwater tune exec --knob nice=5 -- ./bench 1".into(),
        format!("by tailwater tune undo:\n  write 60 to {root}/proc/sys/vm/swappiness"),
        "is found in 5 % of all tests at most".into(),
    ] {
        assert!(text.contains(&line), "{line} is missing in\n{text}{}", stderr(&plan));
    }
    let dry = machine.tune("ab", &[&["--dry-run"], &arguments[..]].concat());
    assert_eq!(stdout(&dry), text);
    assert!(machine.is_as_before().is_ok() && !machine.has("run"));
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_mend() {
    let machine = Machine::new("refused");
    for (arguments, why) in [
        (&["--knob", "swappiness=300", "--", "true"][..], "0–200 is needed"),
        (&["--knob", "swappiness=60", "--", "true"], "both arms have 60"),
        (
            &["--knob", "prefetchers=off", "--", "true"],
            "is not set here: it takes writes to registers",
        ),
        (
            &["--knob", "numa-balancing=1", "--", "true"],
            "cannot be set here: this kernel has no such",
        ),
        (&["--knob", "swapiness=1", "--", "true"], "did you mean swappiness?"),
        (&["--knob", "threads=4", "--", "b", "{threads}"], "say by --against"),
        (&["--knob", "swappiness=10"], "there is nothing to measure"),
        (&["--knob", "swappiness", "--", "true"], "NAME=VALUE is needed"),
        (
            &["--knob", "swappiness=10", "--against", "1", "--against", "2", "--", "true"],
            "one for each",
        ),
        (&["--knob", "swappiness=10", "--metric", "cpu", "--", "true"], "a JSON pointer such as"),
    ] {
        let output = machine.tune("ab", arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(why), "{arguments:?}: {told}");
    }
    assert!(machine.is_as_before().is_ok());
}
