//! Processes that a recorded program forks: each that lives on has a trace of its own.

use crate::profiled::{
    Recorded, alone, bounded, folder, in_three_tries, record_program, text, tools,
};
use std::path::Path;
use std::process::Output;
use tailwater_profile::record::{CallFlags, LossKind};

fn ends(name: &str, word: &str) -> (std::path::PathBuf, Output) {
    let folder = folder(name);
    let program = tools().compiled("CC", "", "ends.c", &folder.join("ends"));
    let done = bounded(record_program(&folder, &program).arg(word));
    assert!(done.status.success(), "{}", text(&done.stderr));
    (folder, done)
}

/// The traces beside `x.trace`; `None` where one has no end.
fn beside(folder: &Path) -> Option<Vec<Recorded>> {
    let files = std::fs::read_dir(folder).expect("the folder").flatten();
    let named = files.filter(|file| file.file_name().to_string_lossy().starts_with("x.trace."));
    named.map(|file| Recorded::whole(&file.path())).collect()
}

/// All of it is there, from some time after the fork to the last call.
fn assert_is_whole(child: &Recorded) {
    let main: Vec<_> = child.calls("main").collect();
    assert_eq!(main.len(), 1);
    assert!(main[0].flags.has(CallFlags::STARTED_BEFORE), "it began in the parent");
    assert!(child.calls("last_child_work").next().is_some());
}

#[test]
fn workers_have_traces_beside_their_parents() {
    let _alone = alone();
    let (done, children) = in_three_tries(|| {
        let (folder, done) = ends("workers", "workers");
        let parent = Recorded::read(&folder.join("x.trace"));
        assert!(parent.is_finished());
        assert_eq!(parent.lost(LossKind::Children), 2);
        assert_eq!(parent.calls("child_work").count(), 0, "a trace is of one process");
        beside(&folder).map(|children| (done, children))
    });
    assert_eq!(children.len(), 2);
    children.iter().for_each(assert_is_whole);
    assert!(text(&done.stderr).contains("Beside it"), "{}", text(&done.stderr));
}

#[test]
fn a_daemon_is_recorded_after_its_parent_has_gone() {
    let _alone = alone();
    let daemon = in_three_tries(|| beside(&ends("daemon", "daemon").0));
    assert_eq!(daemon.len(), 1);
    assert_is_whole(&daemon[0]);
}

#[test]
fn a_child_that_may_not_write_there_says_so_and_lives_on() {
    let _alone = alone();
    let folder = folder("drops");
    let program = tools().compiled("CC", "", "ends.c", &folder.join("ends"));
    let done = bounded(record_program(&folder, &program).arg("drops").arg(&folder));
    let said = text(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert!(said.contains("cannot record a child beside "), "{said}");
    assert!(said.contains("record to a folder in which it may write, by -o"), "{said}");
    assert!(said.contains("1 process was forked: at least the first 20 ms"), "{said}");
    let parent = Recorded::read(&folder.join("x.trace"));
    assert!(parent.is_finished());
    assert_eq!(beside(&folder).map(|children| children.len()), Some(0));
}
