//! A folder that stands for a machine, and a program to measure whose cost depends on the folder's knobs.

use super::common::{Folder, TAILWATER};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

pub(crate) const SWAPPINESS: &str = "proc/sys/vm/swappiness";
pub(crate) const BUDGET: &str = "proc/sys/net/core/netdev_budget";
pub(crate) const RMEM: &str = "proc/sys/net/ipv4/tcp_rmem";
pub(crate) const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";
pub(crate) const JOURNAL: &str = "run/tailwater/tune.journal";

/// What the files say at first.
pub(crate) const STOCK: [(&str, &str); 6] = [
    (SWAPPINESS, "60\n"),
    (BUDGET, "300\n"),
    (RMEM, "4096\t131072\t33554432\n"),
    (THP, "always [madvise] never\n"),
    ("proc/sys/net/ipv4/tcp_congestion_control", "cubic\n"),
    ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n"),
];

/// Four numbers of 16 bits, mixed from that of the call, and a factor of 1 ± 1 % from their sum. By the shell itself: a
/// process is what a block costs, of which there are thousands.
const DRAW: &str = "x=$((n * 2654435761 % 4294967296))
x=$(((x ^ (x >> 16)) * 73244475 % 4294967296))
x=$(((x ^ (x >> 16)) * 73244475 % 4294967296))
x=$((x ^ (x >> 16)))
y=$(((x + n * 2246822519 + 374761393) % 4294967296))
y=$(((y ^ (y >> 16)) * 73244475 % 4294967296))
y=$((y ^ (y >> 16)))
noise=$((1000000 + ((x & 65535) + (x >> 16) + (y & 65535) + (y >> 16) - 131070) * 5000 / 65535))e-6
";

/// A stand-in machine of the test's own.
pub(crate) struct Machine {
    folder: Folder,
}

impl Machine {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("tune-{name}"));
        for (path, text) in STOCK {
            let file = folder.0.join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("in the test's folder");
            fs::write(file, text).expect("in the test's folder");
        }
        Self { folder }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.0.join(path)
    }

    pub(crate) fn root(&self) -> String {
        self.folder.0.display().to_string()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("it is there")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).expect("in the test's folder");
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Whether every knob reads as at first, and no journal is left.
    pub(crate) fn is_as_before(&self) -> Result<(), String> {
        for (path, text) in STOCK {
            let found = self.read(path);
            if value(&found) != value(text) {
                return Err(format!("{path} says {found:?}, and said {text:?}"));
            }
        }
        if self.has(JOURNAL) { Err("a journal is left".into()) } else { Ok(()) }
    }

    /// Whether a knob's file says what it said at first.
    pub(crate) fn says_stock(&self, path: &str) -> bool {
        STOCK.iter().any(|(of, text)| *of == path && value(&self.read(path)) == value(text))
    }

    /// A program of these lines of a shell. `$root` is the folder, `$n` counts its calls, and `$noise` is a factor that
    /// a generator draws from that number alone.
    pub(crate) fn program(&self, name: &str, lines: &str) -> String {
        let head = format!(
            "root='{}'\nn=0\nread n 2>/dev/null <\"$root/{name}.count\"\nn=$((n + 1))\necho $n > \"$root/{name}.count\"\n",
            self.root()
        );
        let draw = if lines.contains("$noise") { DRAW } else { "" };
        let file = self.folder.write(name, &format!("{head}{draw}{lines}\n"));
        file.display().to_string()
    }

    /// `tailwater tune VERB --root …`.
    pub(crate) fn command(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(TAILWATER);
        command.args(["tune", verb, "--root", &self.root()]).args(arguments);
        command
    }

    pub(crate) fn tune(&self, verb: &str, arguments: &[&str]) -> Output {
        self.command(verb, arguments).output().expect("the program starts")
    }

    pub(crate) fn start(&self, verb: &str, arguments: &[&str]) -> Child {
        let mut command = self.command(verb, arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }
}

/// What the kernel would make of a text: the marked word, or all of it without its spaces.
pub(crate) fn value(text: &str) -> String {
    let marked = text.split_whitespace().find(|word| word.starts_with('['));
    let words = marked.map(|word| word.trim_matches(['[', ']']).to_owned());
    words.unwrap_or_else(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}
