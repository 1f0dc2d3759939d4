//! `sweep`: a simulation that takes hours, as shards one after the other, and their result as one file.
//!
//! A shard is a run of `tailwater run --shard`, in a folder of its own under `out/sweep/NAME`. One that this program
//! has played already is not played again, so that a sweep that was ended goes on where it was. `tailwater merge` puts
//! them together, and refuses what does not belong together.

use crate::Result;
use crate::process;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most shards: more than any sweep has pairs of configuration and controller.
const SHARDS_MAX: u32 = 10_000;

/// `cargo xtask sweep SCENARIO SHARDS [PROGRAM]`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let sweep = Sweep::of(root, args)?;
    if args.len() == 2 {
        process::build_release(root)?;
    }
    let folder = sweep.folder(root)?;
    let shards: Vec<PathBuf> =
        (0..sweep.shards).map(|index| folder.join(format!("shard-{index}"))).collect();
    for (index, shard) in (0..).zip(&shards) {
        if is_done(shard) {
            println!("shard {index} of {} is there already", sweep.shards);
        } else {
            process::run(&mut sweep.play(root, index, shard))?;
        }
    }
    process::run(&mut sweep.merge(root, &shards, &folder.join("whole")))?;
    println!("the result: {}", folder.join("whole/result.json").display());
    Ok(())
}

/// What is to be played, and by which program.
struct Sweep {
    scenario: String,
    shards: u32,
    program: PathBuf,
}

impl Sweep {
    fn of(root: &Path, args: &[String]) -> Result<Self> {
        let needed =
            "`sweep` needs SCENARIO SHARDS [PROGRAM], such as scenarios/ablations/crowds.toml 18";
        let (scenario, shards, program) = match args {
            [scenario, shards] => {
                (scenario, shards, process::built(root, "release").join("tailwater"))
            }
            [scenario, shards, program] => (scenario, shards, PathBuf::from(program)),
            _ => return Err(format!("found {} arguments; {needed}", args.len())),
        };
        let shards = shards.parse().ok().filter(|shards| (1..=SHARDS_MAX).contains(shards));
        let shards = shards.ok_or_else(|| format!("found no number of shards; {needed}"))?;
        Ok(Self { scenario: scenario.clone(), shards, program })
    }

    /// Of the scenario's name and of what decides its numbers: another program or another text has another folder.
    fn folder(&self, root: &Path) -> Result<PathBuf> {
        let path = root.join(&self.scenario);
        let mut digest = DefaultHasher::new();
        for file in [&path, &self.program] {
            let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            bytes.hash(&mut digest);
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let of = format!("{:016x}-{}", digest.finish(), self.shards);
        Ok(root.join("out/sweep").join(name).join(of))
    }

    fn play(&self, root: &Path, index: u32, out: &Path) -> Command {
        let mut command = self.tailwater(root);
        let shard = format!("{index}/{}", self.shards);
        command.args(["run", &self.scenario, "--on", "sim", "--shard", &shard, "--out"]).arg(out);
        command
    }

    fn merge(&self, root: &Path, shards: &[PathBuf], out: &Path) -> Command {
        let mut command = self.tailwater(root);
        command.arg("merge").args(shards).arg("--out").arg(out);
        command
    }

    fn tailwater(&self, root: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(root);
        command
    }
}

/// Whether a shard was played to its end: one that a signal ended says so.
fn is_done(shard: &Path) -> bool {
    let text = fs::read_to_string(shard.join("result.json")).unwrap_or_default();
    let result: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    result.is_some_and(|result| result.get("cut_short").is_none_or(serde_json::Value::is_null))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// A program of the shell that plays: its arguments become the result, and the third shard fails once.
    const PROGRAM: &str = "#!/bin/sh\n\
        out=; for word; do [ \"$last\" = --out ] && out=$word; last=$word; done\n\
        mkdir -p $out; echo \"$1\" >> said\n\
        [ \"$6\" = 2/3 ] && [ ! -e failed ] && { touch failed; echo '{\"cut_short\":\"signal\"}' > $out/result.json; exit 1; }\n\
        echo '{}' > $out/result.json\n";

    #[test]
    fn a_sweep_that_was_ended_goes_on_where_it_was() {
        let root = std::env::temp_dir().join(format!("xtask-sweep-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let program = root.join("program");
        fs::write(&program, PROGRAM).unwrap();
        fs::write(root.join("s.toml"), "seed = 1").unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&program).status().unwrap().success());
        let args = words(&["s.toml", "3", &program.to_string_lossy()]);
        assert!(main(&root, &args).unwrap_err().contains("shard 2/3"));
        assert_eq!(main(&root, &args), Ok(()));
        let said = fs::read_to_string(root.join("said")).unwrap();
        let folder = || Sweep::of(&root, &args).unwrap().folder(&root).unwrap();
        let before = folder();
        fs::write(root.join("s.toml"), "seed = 2").unwrap();
        let after = folder();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(said, "run\nrun\nrun\nrun\nmerge\n", "three shards, one of them twice");
        assert_ne!(before, after, "another scenario has another folder");
    }

    #[test]
    fn what_is_missing_is_named() {
        let of = |args: &[&str]| Sweep::of(Path::new("."), &words(args)).map(|sweep| sweep.shards);
        assert_eq!(of(&["s.toml", "18"]), Ok(18));
        for wrong in [&["s.toml"][..], &["s.toml", "0"], &["s.toml", "many"], &[]] {
            assert!(of(wrong).unwrap_err().contains("SCENARIO SHARDS"), "{wrong:?}");
        }
    }
}
