//! Defects to plant: what stands in a file, what it becomes, and the model that must fail by it.

use crate::Result;

const DEFECTS: &str = include_str!("defects.toml");

/// One change of a protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Defect {
    /// The path of the model that must fail.
    pub(super) model: String,
    pub(super) file: String,
    stands: String,
    becomes: String,
    /// What is wrong then.
    pub(super) breaks: String,
}

impl Defect {
    /// The file's text with the defect.
    ///
    /// # Errors
    /// When what must stand there does not, or stands there more than once.
    pub(super) fn plant(&self, text: &str) -> Result<String> {
        match text.matches(&self.stands).count() {
            1 => Ok(text.replacen(&self.stands, &self.becomes, 1)),
            found => Err(format!(
                "{}: found `{}` {found} times, needed it once; mend the defect for `{}` in \
                 xtask/src/models/defects.toml",
                self.file, self.stands, self.model
            )),
        }
    }
}

/// All of them.
pub(super) fn all() -> Result<Vec<Defect>> {
    read(DEFECTS).map_err(|why| format!("xtask/src/models/defects.toml: {why}"))
}

fn read(text: &str) -> Result<Vec<Defect>> {
    let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
    let entries = table.get("defect").and_then(toml::Value::as_array).into_iter().flatten();
    let one = |entry: &toml::Value| {
        let text = |key: &str| entry.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let (stands, becomes) = (text("stands")?, text("becomes")?);
        let (model, file, breaks) = (text("model")?, text("file")?, text("breaks")?);
        Some(Defect { model, file, stands, becomes, breaks })
    };
    let needed = "needed model, file, stands, becomes and breaks";
    entries.map(|entry| one(entry).ok_or_else(|| format!("{needed}, found {entry}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::list;
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn each_model_has_defects_that_can_be_planted() {
        let tree = Tree::read(&crate::root().unwrap()).unwrap();
        let defects = all().unwrap();
        for defect in &defects {
            let text = tree.text(&defect.file).unwrap_or_default();
            let planted = defect.plant(text).unwrap_or_else(|why| panic!("{why}"));
            assert_ne!(planted, text, "{}", defect.model);
        }
        let mut models: Vec<String> = list::all(&tree).into_iter().map(|it| it.name).collect();
        let mut guarded: Vec<String> = defects.into_iter().map(|it| it.model).collect();
        models.sort_unstable();
        guarded.sort_unstable();
        guarded.dedup();
        assert_eq!(guarded, models, "see xtask/src/models/defects.toml");
    }

    #[test]
    fn what_stands_there_no_more_or_twice_is_told() {
        let text = "[[defect]]\nmodel = \"m\"\nfile = \"f\"\nstands = \"ab\"\nbecomes = \"\"\nbreaks = \"b\"\n";
        let defect = read(text).unwrap().remove(0);
        assert_eq!(defect.plant("xaby"), Ok("xy".to_owned()));
        for (text, found) in [("x", "0 times"), ("ab ab", "2 times")] {
            let why = defect.plant(text).unwrap_err();
            assert!(why.contains(found) && why.contains("`m`"), "{why}");
        }
        assert!(read("[[defect]]\nmodel = \"m\"").unwrap_err().contains("breaks"));
    }
}
