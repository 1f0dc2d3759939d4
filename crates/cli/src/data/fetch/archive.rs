//! The files of a tar archive that are wanted (tar(5)): no other is written, whatever it is called.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use tailwater_data::Member;

/// Everything in an archive stands in blocks.
const BLOCK: usize = 512;

/// Copies files that lie in the folder `within` of the archive. One that is not in it is left out.
///
/// # Errors
/// Where it is no archive, or ends too early; what the file system refuses.
pub(super) fn extract(
    mut archive: impl Read,
    within: &str,
    files: &[Member],
    to: &Path,
) -> io::Result<()> {
    let within = within.trim_start_matches('/');
    let mut header = [0; BLOCK];
    loop {
        archive.read_exact(&mut header)?;
        // A block of zeros is the end.
        if header == [0; BLOCK] {
            return Ok(());
        }
        let bytes = length(&header)?;
        let padded = bytes.next_multiple_of(BLOCK as u64);
        let wanted = name(&header).and_then(|path| {
            let file = path.strip_prefix(within)?.strip_prefix('/')?;
            files.iter().find(|wanted| wanted.name == file)
        });
        let mut content = archive.by_ref().take(padded);
        if let Some(wanted) = wanted.filter(|_| is_file(&header)) {
            io::copy(&mut content.by_ref().take(bytes), &mut File::create(to.join(wanted.name))?)?;
        }
        io::copy(&mut content, &mut io::sink())?;
        if content.limit() > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The path of a header; longer ones than its 100 bytes are none of ours.
fn name(header: &[u8; BLOCK]) -> Option<&str> {
    let name = header[..100].split(|byte| *byte == 0).next()?;
    let name = std::str::from_utf8(name).ok()?;
    Some(name.strip_prefix("./").unwrap_or(name))
}

/// The old letter for a file is a zero.
fn is_file(header: &[u8; BLOCK]) -> bool {
    matches!(header[156], b'0' | 0)
}

/// Octal digits, with zeros or spaces behind them.
fn length(header: &[u8; BLOCK]) -> io::Result<u64> {
    let digits = std::str::from_utf8(&header[124..136]).ok();
    let digits = digits.map(|digits| digits.trim_matches(|c| matches!(c, '\0' | ' ')));
    let length = digits.and_then(|digits| u64::from_str_radix(digits, 8).ok());
    length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "found no tar archive"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entry(path: &str, letter: u8, content: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; BLOCK];
        entry[..path.len()].copy_from_slice(path.as_bytes());
        entry[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        entry[156] = letter;
        entry.extend(content);
        entry.resize(entry.len().next_multiple_of(BLOCK), 0);
        entry
    }

    #[test]
    fn wanted_files_are_taken_and_no_others() {
        let to = std::env::temp_dir().join(format!("tailwater-archive-{}", std::process::id()));
        fs::create_dir_all(&to).expect("a folder");
        let member = |name| Member { name, bytes: 0, sha256: "" };
        let wanted = [member("one"), member("two"), member("three")];
        let long = [b'x'; 700];
        let archive = [
            entry("./usr/", b'5', b""),
            entry("./usr/share/one", b'0', &long),
            entry("./elsewhere/two", b'0', b"of another folder"),
            entry("./usr/share/../two", b'0', b"outside"),
            entry("./usr/share/three", b'2', b"a link"),
            entry("usr/share/two", 0, b"old"),
            vec![0; 2 * BLOCK],
        ]
        .concat();
        let extracted = |bytes: &[u8]| extract(bytes, "/usr/share", &wanted, &to);
        extracted(&archive).expect("an archive");
        assert_eq!(fs::read(to.join("one")).expect("there"), long);
        assert_eq!(fs::read(to.join("two")).expect("there"), b"old");
        assert_eq!(fs::read_dir(&to).expect("a folder").count(), 2);
        // Cut within the first file.
        let error = extracted(&archive[..3 * BLOCK]).expect_err("cut");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let error = extracted(&[b'x'; 2 * BLOCK]).expect_err("no archive").to_string();
        assert_eq!(error, "found no tar archive");
        fs::remove_dir_all(to).expect("removed");
    }
}
