//! Names that are typed behind `stress`, which has no harness to read them.

#[path = "stress/asked.rs"]
mod words;

use words::Asked;

fn read(line: &str) -> Asked {
    Asked::read(line.split_whitespace().map(str::to_owned))
}

/// Every name was taken for all of them.
#[test]
fn a_misspelt_name_means_no_lock() {
    let names = ["mutex", "mutex_of_tasks", "rwlock"];
    let meant = |line: &str| {
        let asked = read(line);
        names.iter().copied().filter(|name| asked.means(name)).collect::<Vec<_>>()
    };
    assert_eq!(meant(""), names);
    assert_eq!(meant("--nocapture --test-threads 1"), names);
    assert_eq!(meant("mutex"), ["mutex", "mutex_of_tasks"]);
    assert_eq!(meant("--exact mutex rwlock"), ["mutex", "rwlock"]);
    assert!(meant("mutx").is_empty());
    assert!(meant("--exact mutex_of").is_empty());
}

#[test]
fn names_may_be_listed() {
    assert!(read("--list").lists && read("mutex --list").lists && !read("list").lists);
    assert_eq!(read("mutex --skip x --list").words, ["mutex"]);
}
