//! Which folder of a crate may use which: rooms without circles can be read one after another.

use super::Problem;
use crate::tree::Tree;

/// Folders of sources whose folders each use those before them only.
const HOUSES: &[(&str, &[&str])] =
    &[("crates/profile-rt/src", &["memory", "system", "threads", "look", "write", "entry"])];

/// No file names a module of a room that comes after its own.
pub(super) fn depend_upwards(tree: &Tree) -> Vec<Problem> {
    HOUSES.iter().flat_map(|(house, rooms)| of_house(tree, house, rooms)).collect()
}

fn of_house(tree: &Tree, house: &str, rooms: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, room) in rooms.iter().enumerate() {
        let folder = format!("{house}/{room}/");
        for (path, text) in tree.matching(&folder, ".rs") {
            for (line, words) in text.lines().enumerate() {
                for later in &rooms[at + 1..] {
                    if words.contains(&format!("crate::{later}::")) {
                        let found = format!("found {later} used in {room}, which comes before it");
                        let mend =
                            format!("move what both need to {room} or before, or pass in a value");
                        problems.push(Problem::new(format!("{path}:{}", line + 1), found, mend));
                    }
                }
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_uses_those_before_it() {
        let tree = Tree::from([
            ("crates/profile-rt/src/memory/ring.rs", "use crate::memory::abi::What;\n"),
            ("crates/profile-rt/src/look/scan.rs", "\nuse crate::memory::ring::Ring;\n"),
            (
                "crates/profile-rt/src/threads/slow.rs",
                "\nfn f() { crate::entry::session::stop() }\n",
            ),
        ]);
        let places: Vec<String> = depend_upwards(&tree).into_iter().map(|one| one.place).collect();
        assert_eq!(places, ["crates/profile-rt/src/threads/slow.rs:2"]);
    }
}
