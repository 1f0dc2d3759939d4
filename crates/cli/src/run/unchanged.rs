//! Whether prepared data are still those that the result names.

use crate::failure::Failure;
use std::path::Path;
use tailwater_data::{Data, Folder};
use tailwater_stats::result::DataUsed;

/// Each process opens the data when it starts; another run may have made them anew since they were prepared.
///
/// # Errors
/// When a file has another hash by now, or cannot be opened.
pub(super) fn check(folder: &Path, used: &[DataUsed]) -> Result<(), Failure> {
    let folder = Folder::new(folder);
    used.iter().try_for_each(|used| {
        let file = folder.file(&used.name);
        let data = Data::open(&file).map_err(Failure::work)?;
        match data.header().sha256 == used.sha256 {
            true => Ok(()),
            false => Err(Failure::work(format!(
                "{}: the data were made anew meanwhile, so that processes may have others than the result names; run \
                 again",
                file.display()
            ))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_data::{Content, Origin};

    #[test]
    fn data_that_were_made_anew_are_found() {
        let path = std::env::temp_dir().join(format!("tailwater-unchanged-{}", std::process::id()));
        let folder = Folder::new(&path);
        let write = |byte| {
            let [about, source, licence, stamp] = ["a", "b", "c", "d"].map(str::to_owned);
            let origin = Origin { about, source, licence, stamp };
            let content = Content::new("test", origin).with("one", vec![byte]);
            folder.write("of/one", &content).expect("written").sha256
        };
        let used = [DataUsed { name: "of/one".into(), sha256: write(1), ..DataUsed::default() }];
        assert!(check(&path, &used).is_ok());
        write(2);
        let why = check(&path, &used).expect_err("others").to_string();
        assert!(why.contains("made anew meanwhile"), "{why}");
        std::fs::remove_dir_all(&path).expect("removed");
        assert!(check(&path, &used).is_err(), "gone");
    }
}
