//! The page of `tailwater suite demo`, in a browser: an address that a person types is asked, and what the tiers answered is shown.

use crate::exports::Exports;
use crate::{Result, page};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

/// Few data, which take a moment.
const SETTINGS: [&str; 6] = [
    "hdsearch.vectors=words",
    "hdsearch.points=2000",
    "hdsearch.queries=50",
    "hdsearch.bits=6",
    "setalgebra.text=generated",
    "setalgebra.documents=1000",
];

/// The program while its page is there; it and its tiers end when this is dropped.
struct Demo {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Demo {
    fn start(exports: &Exports) -> Result<Self> {
        let mut demo = exports.tailwater();
        demo.args(["suite", "demo", "--listen", "127.0.0.1:0", "--data"]).arg(exports.of("demo"));
        for setting in SETTINGS {
            demo.args(["--set", setting]);
        }
        let demo = demo.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = demo.spawn().map_err(|error| format!("suite demo: {error}"))?;
        let stdout = child.stdout.take().ok_or("suite demo has no output")?;
        Ok(Self { child, stdout: BufReader::new(stdout) })
    }

    /// What it prints once all tiers stand, up to the page's host.
    fn address(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).map_err(|error| format!("suite demo: {error}"))?;
        let found = line.split_once("/ shows").map(|(address, _)| address.to_owned());
        found.ok_or_else(|| format!("suite demo told no address: {line:?}"))
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn read(exports: &Exports) -> Result<String> {
    let mut demo = Demo::start(exports)?;
    let address = demo.address()?;
    judge(&page::dom(&format!("{address}/?of=hdsearch&q=17#hdsearch"))?)
}

fn judge(shown: &str) -> Result<String> {
    if shown.contains("was not asked") {
        return Err("it takes a person's question for another site's".to_owned());
    }
    let rows = shown.matches("<li>").count();
    if rows != 10 || !shown.contains(">Right</span>") {
        return Err(format!("it shows {rows} of ten rows, or does not call them right"));
    }
    Ok(format!("an answer of {rows} rows, which it calls right"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_and_called_right_and_was_asked() {
        let right = "<span class=\"good\">Right</span>".to_owned();
        let whole = format!("{right}{}", "<li><a>point 1</a></li>".repeat(10));
        assert!(judge(&whole).is_ok());
        for other in [
            whole.replace("Right", "Wrong"),
            whole.replacen("<li>", "", 1),
            right,
            format!("{whole} and was not asked; press Search"),
        ] {
            assert!(judge(&other).is_err(), "{other}");
        }
    }
}
