//! `models`: whether each model of loom can fail, by a defect that is planted in what it guards.
//!
//! `list` finds the models, `defect` has one defect or more for each. Each model runs alone in a copy of the tree: it must
//! pass there as it is, and fail with each of its defects. It is no part of CI, which holds only that each can be planted.

mod defect;
mod list;

use crate::copy::copy;
use crate::process::said;
use crate::tally::Tally;
use crate::test::{Fate, model};
use crate::tree::Tree;
use crate::{Result, record};
use defect::Defect;
use list::Model;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// `cargo xtask models [--out FILE] [NAME…]`: of all models, or of those whose paths contain one of these words.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let (out, names) = parse(args)?;
    let chosen = chosen(root, names)?;
    let tree = root.join("target/models/tree");
    copy(root, &tree)?;
    let (mut tally, mut rows) = (Tally::default(), Vec::new());
    // All without defects first: each program is built once for that.
    let alone: Vec<Result> = chosen.iter().map(|(model, _)| passes(&tree, model)).collect();
    let with_each = chosen.iter().zip(&alone).flat_map(|((model, defects), alone)| {
        defects.iter().map(move |defect| (model, defect, alone))
    });
    for (model, defect, alone) in with_each {
        let row = alone.clone().and_then(|()| fails(&tree, model, defect));
        let (Ok(told) | Err(told)) = &row;
        println!("{:<6} {}: {told}", if row.is_ok() { "fails" } else { "WRONG" }, model.name);
        rows.push(json!({
            "model": model.name, "file": defect.file, "defect": defect.breaks,
            "fails": row.is_ok(), "says": told,
        }));
        tally.count(&model.name, row.map(drop));
    }
    if let Some(out) = out {
        let rustc = said(root, "rustc", &["--version"])?;
        record::write(root, &out, rustc, json!({ "models": rows }))?;
    }
    tally.some("model")?.verdict("defects by which their models fail")
}

/// `[--out FILE] [NAME…]`.
fn parse(args: &[String]) -> Result<(Option<PathBuf>, &[String])> {
    match args {
        [flag, file, names @ ..] if flag == "--out" => Ok((Some(file.into()), names)),
        names if names.iter().any(|name| name.starts_with('-')) => {
            let found = names.join(" ");
            Err(format!("found `{found}`; type `cargo xtask models [--out FILE] [NAME…]`"))
        }
        names => Ok((None, names)),
    }
}

/// The chosen models, each with its defects.
fn chosen(root: &Path, names: &[String]) -> Result<Vec<(Model, Vec<Defect>)>> {
    let defects = defect::all()?;
    let is_chosen = |model: &Model| {
        names.is_empty() || names.iter().any(|name| model.name.contains(name.as_str()))
    };
    let models = list::all(&Tree::read(root)?);
    let chosen = models.into_iter().filter(is_chosen);
    let with_defects = |model: Model| -> Result<(Model, Vec<Defect>)> {
        let own: Vec<Defect> =
            defects.iter().filter(|defect| defect.model == model.name).cloned().collect();
        if own.is_empty() {
            let lacks = "in xtask/src/models/defects.toml";
            return Err(format!("found no defect for `{}` {lacks}", model.name));
        }
        Ok((model, own))
    };
    chosen.map(with_defects).collect()
}

/// An error where the model fails without a defect.
fn passes(tree: &Path, of: &Model) -> Result {
    match model(tree, &of.which, &of.name)? {
        Fate::Passed => Ok(()),
        Fate::Failed(said) => Err(format!("fails without a defect: {}", reason(&said))),
    }
}

/// What the model said by its defect; an error where it passes with it. The copy is as before then.
fn fails(tree: &Path, of: &Model, defect: &Defect) -> Result<String> {
    let path = tree.join(&defect.file);
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(wrong)?;
    fs::write(&path, defect.plant(&text)?).map_err(wrong)?;
    let fate = model(tree, &of.which, &of.name);
    fs::write(&path, text).map_err(wrong)?;
    match fate? {
        Fate::Passed => Err(format!("passes, though {}", defect.breaks)),
        Fate::Failed(said) => Ok(reason(&said)),
    }
}

/// The first line that a panic said, cut to what fits a table. Where destructors panic, too, nothing is left of it.
fn reason(said: &str) -> String {
    let mut lines = said.lines().skip_while(|line| !line.contains(" panicked at "));
    let line = lines.nth(1).or_else(|| said.lines().last()).unwrap_or_default();
    line.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_before_names() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let args = words("--out x.json bell crew");
        assert_eq!(parse(&args), Ok((Some("x.json".into()), &args[2..])));
        let names = words("bell");
        assert_eq!(parse(&names), Ok((None, &names[..])));
        for wrong in ["--out", "bell --out x"] {
            assert!(parse(&words(wrong)).unwrap_err().contains("cargo xtask models"), "{wrong}");
        }
    }

    #[test]
    fn a_failure_is_told_by_what_its_panic_says_first() {
        let said = "running 1 test\n\nthread 'a' (7) panicked at b.rs:1:2:\ndeadlock; threads = []\nnote\n";
        assert_eq!(reason(said), "deadlock; threads = []");
        assert_eq!(reason("one\nit ended with signal: 6"), "it ended with signal: 6");
        assert_eq!(reason(""), "");
    }
}
