//! Results of benches as files of JSON, for `results/`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What an earlier run left there; nothing where there is no file.
///
/// # Errors
/// What of the file could not be read, and what to do.
pub fn read<T: Default + DeserializeOwned>(path: &Path) -> Result<T, String> {
    if !path.exists() {
        return Ok(T::default());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let read = text.and_then(|it| serde_json::from_str(&it).map_err(|error| error.to_string()));
    read.map_err(|error| format!("{}: {error}; remove it, or name another file", path.display()))
}

/// Writes the file whole, or leaves it as it was.
///
/// # Errors
/// What could not be written.
pub fn write(path: &Path, result: &impl Serialize) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = serde_json::to_string_pretty(result).map_err(|error| failed(&error))?;
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, text + "\n")
        .and_then(|()| std::fs::rename(&fresh, path))
        .map_err(|error| failed(&error))
}

/// Tries what [`write`] will do: better said before minutes of work than after. Nothing that is there changes.
///
/// # Errors
/// Why no file can be written there, and what to do.
pub fn refuse_unwritable(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(format!("{}: found no such folder; type: mkdir -p {0}", folder.display()));
    }
    let shown = path.display();
    if path.is_dir() {
        return Err(format!("{shown} is a folder; name a file"));
    }
    // Under a name of its own, as it is removed again.
    let trial = path.with_extension(format!("{}.part", std::process::id()));
    let tried = File::create_new(&trial).and_then(|_| std::fs::remove_file(&trial));
    tried.map_err(|error| {
        format!("{shown}: nothing can be written there ({error}); name another file")
    })
}

/// What makes a result again: the program, and what was typed behind it.
#[must_use]
pub fn command(program: &str, typed: &[String]) -> String {
    typed.iter().fold(program.to_owned(), |command, it| format!("{command} {}", told(it)))
}

/// Of an absolute path the last part alone: the others name a machine's owner.
fn told(argument: &str) -> String {
    let path = Path::new(argument);
    let last = path.file_name().filter(|_| path.is_absolute());
    last.map_or_else(|| argument.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The version of a package in the text of a `Cargo.lock`; of several, the first.
#[must_use]
pub fn locked<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let (_, rest) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    rest.split_once('"').map(|(version, _)| version)
}

/// Seconds since 1970, now. Results have them by `Origin`, beside their commit.
pub(crate) fn now_unix() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_broken_is_named() {
        let path = std::env::temp_dir().join(format!("machine-result-{}", std::process::id()));
        assert_eq!(read::<Vec<u64>>(&path), Ok(vec![]));
        write(&path, &[1, 2]).unwrap();
        assert_eq!(read::<Vec<u64>>(&path), Ok(vec![1, 2]));
        std::fs::write(&path, "[1,").unwrap();
        let error = read::<Vec<u64>>(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("machine-result-") && error.contains("remove it"), "{error}");
        assert!(write(Path::new("/nowhere/at/all"), &1).is_err());
    }

    #[test]
    fn what_cannot_be_written_is_named_before_the_work() {
        let refused = |path: &str| refuse_unwritable(Path::new(path)).unwrap_err();
        let error = refused("/nowhere/at/all");
        assert!(error.contains("mkdir -p /nowhere/at"), "{error}");
        let error = refused("/proc");
        assert!(error.contains("/proc is a folder"), "{error}");
        // Not even root may write there.
        let error = refused("/proc/here.json");
        assert!(error.contains("/proc/here.json: nothing can be written there ("), "{error}");
        assert_eq!(refuse_unwritable(Path::new("here.json")), Ok(()));
    }

    #[test]
    fn to_try_a_file_changes_nothing() {
        let folder = std::env::temp_dir().join(format!("machine-tried-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("a.json");
        assert_eq!(refuse_unwritable(&path), Ok(()));
        assert!(!path.exists(), "a run that is cut short leaves no empty result");
        std::fs::write(&path, "earlier").unwrap();
        assert_eq!(refuse_unwritable(&path), Ok(()));
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "earlier");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_command_names_no_owner() {
        let typed = ["--write", "out/n", "--out", "/a/b.json"].map(String::from);
        assert_eq!(command("x --", &typed), "x -- --write out/n --out b.json");
    }

    #[test]
    fn the_version_is_that_of_the_package_and_of_no_other() {
        let lock = "name = \"ab\"\nversion = \"1.0\"\n\nname = \"a\"\nversion = \"2.0\"\n";
        assert_eq!(locked(lock, "a"), Some("2.0"));
        assert_eq!(locked(lock, "c"), None);
    }
}
