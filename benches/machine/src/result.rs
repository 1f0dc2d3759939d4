//! Results of benches as files of JSON, for `results/`.

use serde::Serialize;
use serde::de::DeserializeOwned;
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

/// Seconds since 1970, now.
#[must_use]
pub fn now_unix() -> u64 {
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
}
