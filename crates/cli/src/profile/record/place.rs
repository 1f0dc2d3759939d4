//! Where a trace comes to lie, and what lies beside it afterwards.

use crate::failure::Failure;
use std::fs::File;
use std::path::Path;

/// The runtime takes what exists for another process's. A trace that cannot be written is found out by writing it,
/// before the program does its work in vain.
pub(super) fn make_room(trace: &Path) -> Result<(), Failure> {
    let trouble = |error: std::io::Error| Failure::usage(format!("{}: {error}", trace.display()));
    if let Some(folder) = trace.parent().filter(|folder| !folder.as_os_str().is_empty())
        && !folder.is_dir()
    {
        let folder = folder.display();
        let trace = trace.display();
        return Err(Failure::usage(format!(
            "{trace}: found no folder {folder}; type: mkdir -p {folder}"
        )));
    }
    if let Err(error) = std::fs::remove_file(trace)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(trouble(error));
    }
    File::create_new(trace).map_err(trouble)?;
    std::fs::remove_file(trace).map_err(trouble)
}
