//! The reference of scenario files: as the page, as the manual page, and by name.

use crate::common::{Folder, TAILWATER};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

fn tailwater(arguments: &[&str]) -> Output {
    Command::new(TAILWATER).args(arguments).output().expect("the program starts")
}

fn said(arguments: &[&str]) -> String {
    let output = tailwater(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_page_is_what_the_declarations_say() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let drawn = said(&["keys", "--markdown"]);
    if std::env::var_os("TAILWATER_PAGES").is_some_and(|value| value == "write") {
        std::fs::write(&page, &drawn).expect("the page is written");
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    let mend = "TAILWATER_PAGES=write cargo test -p tailwater-cli --test all keys";
    assert!(found == drawn, "docs/scenarios.md differs from the declarations; type: {mend}");
}

#[test]
fn a_table_or_a_key_is_found_by_name() {
    let steps = said(&["keys", "demand.steps"]);
    assert!(steps.starts_with("demand.steps\n") && steps.contains("for = \"250ms\""), "{steps}");
    assert!(!steps.contains("[clients]"), "{steps}");
    let key = said(&["keys", "warm_up"]);
    assert!(key.contains("duration from 0s to 3600s; default \"500ms\"."), "{key}");
    assert!(said(&["keys", "[server.locks]"]).contains("hand_off"));
    let refused = tailwater(&["keys", "sever"]);
    assert_eq!(refused.status.code(), Some(2));
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(why.contains("'sever' found") && why.contains("server.path.steps"), "{why}");
    for (said, meant) in [("demnd", "demand"), ("clients.conut", "count"), ("sever", "server")] {
        let refused = tailwater(&["keys", said]);
        let why = String::from_utf8_lossy(&refused.stderr);
        let start = format!("'{said}' found; did you mean {meant}? A key or a table of");
        assert!(why.contains(&start), "{why}");
    }
    let refused = tailwater(&["keys", "zzzzzzzz"]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(why.contains("'zzzzzzzz' found, a key or a table of"), "{why}");
}

#[test]
fn the_manual_page_is_of_section_5_and_has_every_table() {
    let page = said(&["man", "scenario"]);
    assert!(page.contains(".TH tailwater-scenario 5"), "{page}");
    let heads: Vec<&str> = page.lines().filter(|line| line.starts_with(".SH")).collect();
    let distinct: BTreeSet<&str> = heads.iter().copied().collect();
    assert_eq!(heads.len(), distinct.len(), "{heads:?}");
    for head in [".SH [demand]", ".SH [[controller]]", ".SH [clients.retry]"] {
        assert!(page.contains(head), "{head}: {page}");
    }
    assert!(page.contains("\ncount = 100\n"), "a whole file: {page}");
}

/// `man 5 tailwater-scenario` finds a page, and `tailwater man tailwater-scenario` was refused.
#[test]
fn a_page_is_found_by_its_own_name_as_well() {
    for (page, verb) in [("tailwater-scenario", "scenario"), ("tailwater-run", "run")] {
        assert_eq!(said(&["man", page]), said(&["man", verb]), "{page}");
    }
    assert_eq!(said(&["man", "tailwater"]), said(&["man"]));
}

/// The page of section 5 could be printed and nothing else: `man 5 tailwater-scenario` found none.
#[test]
fn all_pages_are_written_to_where_man_looks() {
    let folder = Folder::new("manual");
    let root = folder.0.join("share/man");
    let said = said(&["man", "--all", &root.display().to_string()]);
    let found = root.canonicalize().expect("it was made");
    assert!(said.contains(&format!("export MANPATH={}:", found.display())), "{said}");
    assert!(said.contains("man 5 tailwater-scenario"), "{said}");
    let page = |name: &str| std::fs::read_to_string(root.join(name)).expect(name);
    assert!(page("man5/tailwater-scenario.5").contains(".TH tailwater-scenario 5"));
    for name in ["tailwater", "tailwater-run", "tailwater-profile-record"] {
        assert!(page(&format!("man1/{name}.1")).contains(&format!(".TH {name} 1")), "{name}");
    }
    let pages = std::fs::read_dir(root.join("man1")).expect("a folder").count();
    assert!(said.starts_with(&format!("{} pages", pages + 1)), "{pages}: {said}");
    assert!(!root.join("man1/tailwater-job.1").exists(), "it is hidden");
    let refused = tailwater(&["man", "--all", "/proc/nowhere"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("by --all"), "{refused:?}");
}
