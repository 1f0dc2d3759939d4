//! The reference of scenario files: as the page, as the manual page, and by name.

use crate::common::TAILWATER;
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
}
