//! One process at a time turns the knobs of a machine.

use super::root::Root;
use super::store;
use crate::failure::Failure;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};

/// The lock's file.
const PATH: &str = "/run/tailwater/tune.lock";
/// Digits of a process number and a newline.
const BYTES_MAX: u64 = 32;

/// Held while the file is open: the kernel gives it back however this process ends.
pub(super) fn take(root: &Root) -> Result<File, Failure> {
    store::make_folder(root)?;
    let path = root.join(PATH);
    let trouble = |error| Failure::work(format!("{}: {error}", path.display()));
    let opened = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let mut file = opened.map_err(trouble)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Not yet written, or gone: the number is for people only.
            let _ = file.take(BYTES_MAX).read_to_string(&mut holder);
            let holder = holder.trim();
            let named =
                if holder.is_empty() { String::new() } else { format!(" (process {holder})") };
            return Err(Failure::usage(format!(
                "another tailwater tune{named} turns knobs of this machine; wait until it has ended"
            )));
        }
        Err(TryLockError::Error(error)) => return Err(trouble(error)),
    }
    let number = || {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    let mut number = number;
    number().map_err(trouble)?;
    Ok(file)
}
