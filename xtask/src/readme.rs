//! `readme`: runs what the documents tell people to type, so that it stays true.
//!
//! Every block that is fenced as `sh` in README.md and docs/*.md runs in bash from the root, with
//! the release binary's folder on the path. `sh ignore` is left out; `sh long` may take longer and
//! is asked to be short. What a block leaves in the background ends with it.

use crate::Result;
use crate::markdown::{Block, blocks};
use crate::process::{self, SHORT};
use crate::tally::Tally;
use crate::tree::Tree;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(2);
const LONG_LIMIT: Duration = Duration::from_mins(10);
/// Set for the blocks; see [`refuse_inside`].
const INSIDE: &str = "TAILWATER_README";

/// `cargo xtask readme`.
pub(crate) fn main(root: &Path, _args: &[String]) -> Result {
    process::build_release(root)?;
    check(root)?.verdict("document commands")
}

/// Runs every block, each counted as one. Needs the release binary.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    refuse_inside()?;
    let mut tally = Tally::default();
    for command in commands(&Tree::read(root)?) {
        let place = format!("{}:{}", command.file, command.block.line);
        println!("$ {place}\n{}", command.block.body.trim_end());
        tally.count(&place, command.run(root));
    }
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

fn commands(tree: &Tree) -> Vec<DocCommand> {
    let files = tree.matching("README.md", "").chain(tree.matching("docs/", ".md"));
    let all = files.flat_map(|(file, text)| {
        blocks(text).into_iter().map(|block| {
            let long = block.info.iter().any(|word| word == "long");
            DocCommand { file: file.to_owned(), block, long }
        })
    });
    all.filter(|command| {
        let info = &command.block.info;
        info.first().is_some_and(|word| word == "sh") && !info.iter().any(|word| word == "ignore")
    })
    .collect()
}

impl DocCommand {
    fn run(&self, root: &Path) -> Result {
        let limit = if self.long { LONG_LIMIT } else { LIMIT };
        let mut command = process::limited(root, limit, Path::new("bash"));
        command.args(["-c", &self.script()]).env(INSIDE, "1").env("PATH", path(root)?);
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
        let mut commands = commands(&Tree::from([("README.md", text)]));
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
        let found: Vec<_> = commands(&tree).into_iter().map(|c| (c.block.body, c.long)).collect();
        assert_eq!(found, [("a\n".to_owned(), false), ("d\n".to_owned(), true)]);
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
        only(&format!("```{tag}\nexec 2>/dev/null\n{command}\n```\n")).run(root)
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
