//! What a process has mapped, as the kernel lists it.

use std::io;
use std::path::Path;

/// A line of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Of `start` in the file.
    pub(super) offset: u64,
    pub(super) inode: u64,
    pub(super) is_code: bool,
    /// Empty where there is no file.
    pub(super) path: String,
}

/// All of a process, by its folder below /proc.
pub(super) fn of(folder: &Path) -> io::Result<Vec<Mapping>> {
    let list = std::fs::read(folder.join("maps"))?;
    Ok(String::from_utf8_lossy(&list).lines().filter_map(parse).collect())
}

/// `low-high perms offset dev inode   path`.
fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = (hex(start)?, hex(end)?);
    let is_code = fields.next()?.contains('x');
    let offset = hex(fields.next()?)?;
    let inode = fields.nth(1)?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_start().to_owned();
    Some(Mapping { start, end, offset, inode, is_code, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_any_path_or_none() {
        let line = "7f00-7fff rw-s 00001000 00:01 1234                    /memfd:x y (deleted)";
        let expected = Mapping {
            start: 0x7f00,
            end: 0x7fff,
            offset: 0x1000,
            inode: 1234,
            is_code: false,
            path: "/memfd:x y (deleted)".into(),
        };
        assert_eq!(parse(line), Some(expected));
        let nameless = parse("1000-2000 r-xp 00000000 00:00 0 ").expect("a line");
        assert!(nameless.is_code && nameless.path.is_empty() && nameless.inode == 0);
        for nonsense in ["", "1000", "1000-2000", "x-y r-xp 0 00:00 0", "1-2 r-xp 0 00:00 x"] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn this_process_has_its_own_code_mapped() {
        let mapped = of(Path::new("/proc/self")).expect("it is there");
        let here = this_process_has_its_own_code_mapped as *const () as u64;
        let found = mapped.iter().find(|one| (one.start..one.end).contains(&here));
        assert!(found.is_some_and(|one| one.is_code && one.path.starts_with('/')), "{found:?}");
    }
}
