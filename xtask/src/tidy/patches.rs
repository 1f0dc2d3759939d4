//! Patches of the guide's programs are unified diffs that `patch --strip 0` takes without guessing.

use super::Problem;
use crate::Result;
use crate::tree::Tree;

const PATCHES: &str = "examples/profiling/patches/";
/// Has a branch for each program.
const GUIDE: &str = "examples/profiling/guide.sh";
/// Which files of a program patches may change: its sources are not in the repository.
const SOURCES: &[(&str, &[&str])] = &[
    ("memcached", &["memcached.c"]),
    ("redis", &["src/networking.c", "src/t_string.c"]),
    ("sqlite", &["sqlite3.c"]),
];

/// Each is called after a program of the guide, changes a file of that, and has the lines that its hunks' headers say.
pub(super) fn are_unified_diffs(tree: &Tree) -> Vec<Problem> {
    let guide = tree.text(GUIDE).unwrap_or_default();
    let faults = tree.matching(PATCHES, "").filter_map(|(path, text)| {
        let found = checked(path, text, guide).err()?;
        let mend = "make it by `diff -u`, for a program of the guide and a file that \
                    xtask/src/tidy/patches.rs names";
        Some(Problem::new(path, found, mend))
    });
    faults.collect()
}

fn checked(path: &str, text: &str, guide: &str) -> Result {
    let name = path.strip_prefix(PATCHES).unwrap_or(path);
    let stem = name.strip_suffix(".patch").ok_or("found a name without .patch")?;
    let program = stem.split('-').next().unwrap_or(stem);
    let branch = format!("{program})");
    if !guide.lines().any(|line| line == branch) {
        return Err(format!("found {program}, which {GUIDE} does not know"));
    }
    let (file, hunks) = parsed(text)?;
    if !SOURCES.iter().any(|(name, files)| *name == program && files.contains(&file)) {
        return Err(format!("found {file}, which is no known source of {program}"));
    }
    add_up(&hunks)
}

/// A part of a diff.
struct Hunk<'a> {
    /// Its first line in the old file and in the new one, as its header says.
    starts: [usize; 2],
    /// How many lines of each it has, as its header says.
    counts: [usize; 2],
    lines: Vec<&'a str>,
}

impl Hunk<'_> {
    fn headed(line: &str) -> Option<Self> {
        let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let [old, new] = [old, new].map(|range| -> Option<(usize, usize)> {
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        });
        let (old, new) = (old?, new?);
        Some(Self { starts: [old.0, new.0], counts: [old.1, new.1], lines: Vec::new() })
    }
}

/// What else `patch` obeys before a diff: headers of git, and other forms of diffs.
const OBEYED: [&str; 11] = [
    "diff ",
    "Index:",
    "index ",
    "rename ",
    "copy ",
    "deleted ",
    "new ",
    "old ",
    "similarity ",
    "Prereq:",
    "*** ",
];

/// The file that a diff changes, and its hunks. Words before it are for people.
fn parsed(text: &str) -> Result<(&str, Vec<Hunk<'_>>)> {
    let is_obeyed = |line: &&str| {
        OBEYED.iter().any(|word| line.starts_with(word))
            || line.starts_with(|c: char| c.is_ascii_digit())
    };
    let words = text.lines().take_while(|line| !line.starts_with("--- "));
    if let Some(line) = words.clone().find(is_obeyed) {
        return Err(format!("found a line before the diff that is more than words: {line:?}"));
    }
    let mut lines = text.lines().skip(words.count());
    let old = lines.next().and_then(|line| line.strip_prefix("--- "));
    let new = lines.next().and_then(|line| line.strip_prefix("+++ "));
    let (Some(old), Some(new)) = (old, new) else {
        return Err("found no file that it changes".to_owned());
    };
    if old != new || !text.ends_with('\n') {
        return Err(format!("found that {old} becomes {new}, or that the last line has no end"));
    }
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    for line in lines {
        if let Some(hunk) = Hunk::headed(line) {
            hunks.push(hunk);
        } else if let Some(hunk) = hunks.last_mut()
            && line.starts_with([' ', '-', '+'])
        {
            hunk.lines.push(line);
        } else {
            return Err(format!("found a line that belongs to no hunk: {line:?}"));
        }
    }
    Ok((old, hunks))
}

fn add_up(hunks: &[Hunk<'_>]) -> Result {
    if hunks.is_empty() {
        return Err("found no hunk".to_owned());
    }
    let (mut end, mut before) = (1, [0, 0]);
    for (nth, hunk) in (1..).zip(hunks) {
        let of = |mark: char| hunk.lines.iter().filter(|line| line.starts_with(mark)).count();
        let (same, taken, added) = (of(' '), of('-'), of('+'));
        let (said, lines) = (hunk.counts, [same + taken, same + added]);
        if said != lines || taken + added == 0 {
            return Err(format!("found {lines:?} lines in hunk {nth}, of {said:?} to be changed"));
        }
        let [old, new] = hunk.starts;
        if old < end || new + before[0] != old + before[1] {
            return Err(format!("found hunk {nth} at {old} and {new}, after {before:?} lines"));
        }
        end = old + said[0];
        before = [before[0] + said[0], before[1] + said[1]];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "Words.\n--- sqlite3.c\n+++ sqlite3.c\n@@ -7,3 +7,4 @@\n a\n+b\n c\n d\n\
                         @@ -20,2 +21 @@ f()\n-e\n f\n";

    fn found(name: &str, text: &str) -> String {
        let path = format!("{PATCHES}{name}");
        let guide = "case $name in\nredis)\n    ;;\nsqlite)\n    ;;\nesac\n";
        let tree = Tree::from([(GUIDE, guide), (path.as_str(), text)]);
        are_unified_diffs(&tree).into_iter().map(|problem| problem.found).collect()
    }

    #[test]
    fn unified_diffs_of_the_guides_programs_pass() {
        assert_eq!(found("sqlite.patch", SOUND), "");
        assert_eq!(found("sqlite-planted.patch", SOUND), "");
        assert!(found("sqlite.diff", SOUND).contains("without .patch"));
        assert!(found("nginx.patch", SOUND).contains("nginx, which examples/"));
        assert!(found("redis.patch", SOUND).contains("no known source of redis"));
    }

    #[test]
    fn what_patch_would_have_to_guess_is_a_problem() {
        for (words, from, to) in [
            ("no file that it changes", "--- ", "~~~ "),
            ("more than words", "Words.", "rename from sqlite3.c"),
            ("more than words", "Words.", "3d"),
            ("sqlite3.c becomes b/sqlite3.c", "+++ ", "+++ b/"),
            ("no known source", "sqlite3.c", "a/sqlite3.c"),
            ("belongs to no hunk: \"c\"", " c\n", "c\n"),
            ("belongs to no hunk: \" a\"", "@@ -7,3 +7,4 @@\n", ""),
            ("belongs to no hunk: \"@@ -7", "-7,3", "-7,x"),
            ("[3, 3] lines in hunk 1, of [3, 4]", "+b\n", ""),
            ("[1, 1] lines in hunk 2, of [1, 1]", "20,2 +21 @@ f()\n-e\n", "20 +21 @@\n"),
            ("hunk 2 at 20 and 22", "+21", "+22"),
            ("hunk 2 at 9 and 10", "-20,2 +21", "-9,2 +10"),
            ("last line has no end", "-e\n f\n", "-e\n f"),
        ] {
            let broken = SOUND.replace(from, to);
            assert_ne!(broken, SOUND, "{from:?}");
            let found = found("sqlite.patch", &broken);
            assert!(found.contains(words), "{found} for {words}");
        }
        let headers = "--- sqlite3.c\n+++ sqlite3.c\n";
        assert_eq!(found("sqlite.patch", headers), "found no hunk");
    }
}
