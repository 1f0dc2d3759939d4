//! A result that a verb keeps: what it has found, beside commit, date and compiler.

use crate::Result;
use crate::process::said;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Writes an object to a file, whose path counts from the root. `rustc` is the compiler as it names itself.
pub(crate) fn write(root: &Path, out: &Path, rustc: String, mut found: Value) -> Result {
    let commit = said(root, "git", &["describe", "--always", "--dirty", "--exclude=*"])?;
    found["commit"] = commit.into();
    found["date"] = said(root, "date", &["-u", "+%F"])?.into();
    found["rustc"] = rustc.into();
    let text = serde_json::to_string_pretty(&found).map_err(|error| error.to_string())?;
    let path = root.join(out);
    fs::write(&path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_kept_with_its_commit_and_day() {
        let path = std::env::temp_dir().join(format!("xtask-record-{}", std::process::id()));
        let found = serde_json::json!({ "passed": 7 });
        let wrote = write(&crate::root().unwrap(), &path, "rustc 1".to_owned(), found);
        let text = fs::read_to_string(&path);
        let _ = fs::remove_file(&path);
        assert_eq!(wrote, Ok(()));
        let read: Value = serde_json::from_str(&text.unwrap()).unwrap();
        assert_eq!(read["passed"], 7);
        assert_eq!(read["rustc"], "rustc 1");
        assert_eq!(read["date"].as_str().map(str::len), Some("2026-11-28".len()));
        assert!(read["commit"].is_string());
    }
}
