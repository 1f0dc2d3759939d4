//! `readme`: runs what the documents tell people to type, so that it stays true.
//!
//! Every block that is fenced as `sh` in README.md and docs/*.md runs in bash from the root, with
//! the release binary's folder on the path. `sh ignore` is left out; `sh long` may take longer and
//! is asked to be short. What a block leaves in the background ends with it. Documents run beside one another, unless
//! they make the same files; what a block says is shown when its document is done.

use crate::markdown::{Block, blocks};
use crate::process::{self, SHORT};
use crate::slow::Slow;
use crate::tally::Tally;
use crate::tree::Tree;
use crate::{Result, lanes};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_mins(2);
const LONG_LIMIT: Duration = Duration::from_mins(10);
/// Set for the blocks; see [`refuse_inside`].
const INSIDE: &str = "TAILWATER_README";

/// `cargo xtask readme`.
pub(crate) fn main(root: &Path, _args: &[String]) -> Result {
    process::build_release(root)?;
    check(root)?.verdict("document commands")
}

/// Documents at a time. Most of what they start waits, or has a window of fixed length.
const AT_A_TIME: usize = 2;

/// Runs every block, each counted as one. Needs the release binary.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    refuse_inside()?;
    let folder = root.join("out/documents");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut tally = Tally::default();
    let mut slow = Slow::default();
    let perform = |group: &Vec<DocCommand>| -> Vec<_> {
        let timed = |command: &DocCommand| {
            let start = Instant::now();
            (command.aside(root, &folder), start.elapsed())
        };
        group.iter().map(timed).collect()
    };
    let mut groups = groups(commands(&Tree::read(root)?)?);
    // The most blocks first, so that they are not left to run alone.
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    lanes::each(AT_A_TIME, groups, perform, |group, done, _| {
        for (command, ((ran, said), took)) in group.iter().zip(done) {
            println!("$ {}\n{}\n{said}", command.place(), command.block.body.trim_end());
            slow.add(&command.place(), took, None);
            tally.count(&command.place(), ran);
        }
    });
    slow.print();
    Ok(tally)
}

/// An error when a document's block has started us: running the blocks again would never end.
pub(crate) fn refuse_inside() -> Result {
    match std::env::var_os(INSIDE) {
        None => Ok(()),
        Some(_) => Err("a document's block runs the documents' blocks; tag it `sh ignore`".into()),
    }
}

/// A block that is to be run.
struct DocCommand {
    file: String,
    block: Block,
    long: bool,
}

/// Blocks that have to follow one another: those of a document, and of documents that name the same file of `out/`.
fn groups(commands: Vec<DocCommand>) -> Vec<Vec<DocCommand>> {
    let mut groups: Vec<Vec<DocCommand>> = Vec::new();
    for command in commands {
        let meets = |group: &mut Vec<DocCommand>| group.iter().any(|other| other.meets(&command));
        let mut together: Vec<DocCommand> = groups.extract_if(.., meets).flatten().collect();
        together.push(command);
        groups.push(together);
    }
    groups
}

fn commands(tree: &Tree) -> Result<Vec<DocCommand>> {
    let files = tree.matching("README.md", "").chain(tree.matching("docs/", ".md"));
    let all = files.flat_map(|(file, text)| {
        blocks(text).into_iter().map(|block| {
            let long = block.info.iter().any(|word| word == "long");
            DocCommand { file: file.to_owned(), block, long }
        })
    });
    let all = all.filter(|command| {
        let info = &command.block.info;
        info.first().is_some_and(|word| word == "sh") && !info.iter().any(|word| word == "ignore")
    });
    let all: Vec<DocCommand> = all.collect();
    // All of nothing would be green.
    if all.is_empty() { Err("found no `sh` block in README.md and docs/".into()) } else { Ok(all) }
}

impl DocCommand {
    fn place(&self) -> String {
        format!("{}:{}", self.file, self.block.line)
    }

    /// Whether one of both has to wait for the other: they name the same file or folder, or what one names lies in
    /// what the other names.
    fn meets(&self, other: &Self) -> bool {
        let theirs: Vec<&Path> = other.made().collect();
        let meets = |file: &Path| {
            theirs.iter().any(|their| file.starts_with(their) || their.starts_with(file))
        };
        self.file == other.file || self.made().any(meets)
    }

    /// Files and folders of `out/`, up to the first full stop: with the same beginning, they are of one family. They
    /// may follow a sign of the shell, and end with one.
    fn made(&self) -> impl Iterator<Item = &Path> {
        let is_part = |c: char| c.is_alphanumeric() || "-_/".contains(c);
        let words = self.block.body.split(move |c: char| !is_part(c) && c != '.');
        let paths = words.filter(|word| word.starts_with("out/"));
        paths.map(|path| Path::new(path.split('.').next().unwrap_or(path)))
    }

    /// Beside others; and what it said.
    fn aside(&self, root: &Path, folder: &Path) -> (Result, String) {
        let path = folder.join(format!("{}.said", self.place().replace('/', "-")));
        let made = fs::File::create(&path);
        let ran = made
            .map_err(|error| format!("{}: {error}", path.display()))
            .and_then(|said| self.run(root, &said));
        (ran, String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned())
    }

    fn run(&self, root: &Path, said: &fs::File) -> Result {
        let stream =
            || said.try_clone().map_err(|error| format!("could not keep its output: {error}"));
        let limit = if self.long { LONG_LIMIT } else { LIMIT };
        let mut command = process::limited(root, limit, Path::new("bash"));
        command.args(["-c", &self.script()]).env(INSIDE, "1").env("PATH", path(root)?);
        command.stdout(stream()?).stderr(stream()?);
        if self.long {
            command.env(SHORT.0, SHORT.1);
        }
        let child = command.spawn().map_err(|error| format!("could not start bash: {error}"))?;
        process::finish(child, limit).map_err(|what| {
            format!("this block {what}; mend the command or the document, or tag it `sh ignore`")
        })
    }

    /// The block, pushed down so that bash's line numbers are the document's.
    fn script(&self) -> String {
        let trap = format!("echo \"{}:$LINENO: this command failed\" >&2", self.file);
        format!("set -eE; trap '{trap}' ERR{}{}", "\n".repeat(self.block.line - 1), self.block.body)
    }
}

pub(crate) fn path(root: &Path) -> Result<std::ffi::OsString> {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let folders = [process::built(root, "release")].into_iter().chain(std::env::split_paths(&old));
    std::env::join_paths(folders)
        .map_err(|error| format!("PATH cannot hold the target folder: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> DocCommand {
        let mut commands = commands(&Tree::from([("README.md", text)])).unwrap();
        assert_eq!(commands.len(), 1);
        commands.remove(0)
    }

    #[test]
    fn only_untagged_shell_of_the_user_documents_runs() {
        let tree = Tree::from([
            ("README.md", "```sh\na\n```\n```sh ignore\nb\n```\n```text\nc\n```\n"),
            ("docs/x.md", "```sh long\nd\n```\n```\ne\n```\n"),
            ("CONTRIBUTING.md", "```sh\nf\n```\n"),
        ]);
        assert!(commands(&Tree::default()).err().unwrap().contains("no `sh` block"));
        let found: Vec<_> =
            commands(&tree).unwrap().into_iter().map(|c| (c.block.body, c.long)).collect();
        assert_eq!(found, [("a\n".to_owned(), false), ("d\n".to_owned(), true)]);
    }

    #[test]
    fn documents_that_make_the_same_files_follow_one_another() {
        let tree = Tree::from([
            ("README.md", "```sh\na > out/x.txt\n```\n```sh\nb\n```\n"),
            ("docs/other.md", "```sh\nc --out out/y\n```\n"),
            ("docs/same.md", "```sh\nd\n```\n```sh\ne out/x.trace\n```\n"),
        ]);
        let groups = groups(commands(&tree).unwrap());
        let bodies = |group: &Vec<DocCommand>| -> Vec<String> {
            group.iter().map(|command| command.block.body.trim_end().to_owned()).collect()
        };
        let found: Vec<_> = groups.iter().map(bodies).collect();
        assert_eq!(
            found,
            [vec!["c --out out/y"], vec!["a > out/x.txt", "b", "d", "e out/x.trace"]]
        );
    }

    #[test]
    fn what_lies_in_a_folder_of_another_meets_it() {
        let meet = |one: &str, other: &str| {
            only(&format!("```sh\n{one}\n```\n")).meets(&DocCommand {
                file: "docs/other.md".into(),
                ..only(&format!("```sh\n{other}\n```\n"))
            })
        };
        for (one, other) in [
            ("a out/x", "b out/x/y.json"),
            ("a --out=out/x", "b <out/x/y"),
            ("a \"out/x/\"", "b $(cat out/x.json)"),
            ("a out/x/*.json", "b out/x/y"),
            ("rm -r out/", "b out/x"),
            ("a out/x.d/y", "b out/x"),
        ] {
            assert!(meet(one, other) && meet(other, one), "{one} and {other}");
        }
        for (one, other) in [("a out/x", "b out/xy"), ("a out/x/y", "b out/x/z"), ("a", "b out/x")]
        {
            assert!(!meet(one, other) && !meet(other, one), "{one} and {other}");
        }
    }

    #[test]
    fn a_failing_command_is_named_by_file_and_line() {
        let script = only("Title\n\n```sh\ntrue\nfalse\ntrue\n```\n").script();
        let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, "README.md:5: this command failed\n");
    }

    /// Runs a block of one command, and keeps what it says out of the tests' output.
    fn outcome(tag: &str, command: &str, root: &Path) -> Result {
        let nowhere = fs::File::options().write(true).open("/dev/null").unwrap();
        only(&format!("```{tag}\nexec 2>/dev/null\n{command}\n```\n")).run(root, &nowhere)
    }

    #[test]
    fn blocks_run_from_the_root_and_may_fail() {
        let root = std::env::temp_dir().canonicalize().unwrap();
        let here = format!("test \"$(pwd -P)\" = \"{}\"", root.display());
        assert_eq!(outcome("sh", &here, &root), Ok(()));
        assert!(outcome("sh", &here, Path::new("/")).is_err());
        assert!(outcome("sh", "exit 7", &root).unwrap_err().contains('7'));
    }

    #[test]
    fn only_long_blocks_are_asked_to_be_short() {
        let asked = format!("test -n \"${}\"", SHORT.0);
        assert_eq!(outcome("sh long", &asked, Path::new("/")), Ok(()));
        let untagged = outcome("sh", &asked, Path::new("/"));
        assert_eq!(untagged.is_err(), std::env::var_os(SHORT.0).is_none());
    }
}
