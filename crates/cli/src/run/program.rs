//! Which program this is.

use crate::failure::Failure;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Read as _;

/// The running program's file by its contents: SHA-256 in hexadecimal digits. Its version is the same for every build
/// between two releases.
pub(super) fn digest() -> Result<String, Failure> {
    // By the kernel's link, which names the running file even where another took its place.
    let unread = |error| Failure::work(format!("cannot read this program's own file: {error}"));
    let mut file = File::open("/proc/self/exe").map_err(unread)?;
    let (mut digest, mut block) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block).map_err(unread)? {
            0 => return Ok(hex(&digest.finalize())),
            len => digest.update(&block[..len]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
