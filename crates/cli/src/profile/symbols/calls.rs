//! Which call of a function returns to an address of which the low bits are known.

use object::{Architecture, Object, ObjectSegment as _, ObjectSymbol as _, SymbolKind};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Addresses with the same low bits are this far apart.
const APART: u64 = 1 << 16;
/// A damaged file may say that a function is larger: each of its addresses would be looked at.
const SIZE_MAX: u64 = 1 << 30;
/// The longest call before a return address that is looked at.
const CALL_MAX: usize = 7;

/// The calls in one file's functions.
pub(super) struct Calls {
    /// Sizes of functions, by address.
    sizes: HashMap<u64, u64>,
    /// Address, length, and offset in the file of what is mapped.
    segments: Vec<(u64, u64, u64)>,
    file: Option<File>,
    is_x86_64: bool,
}

impl Calls {
    /// Those of `file`, which lies at `path`.
    pub(super) fn of<'a>(path: &Path, file: &impl Object<'a>) -> Self {
        let functions = file.symbols().chain(file.dynamic_symbols());
        let functions =
            functions.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        let segments = file.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            (segment.address(), length, offset)
        });
        Self {
            sizes: functions.map(|symbol| (symbol.address(), symbol.size())).collect(),
            segments: segments.collect(),
            file: File::open(path).ok(),
            is_x86_64: file.architecture() == Architecture::X86_64,
        }
    }

    /// The address after a call in the function at `start` whose low bits are `site`. `None` where there is none, or
    /// more than one may be meant, as in functions of more than 64 KiB.
    pub(super) fn returning_to(&self, start: u64, site: u16) -> Option<u64> {
        let size = *self.sizes.get(&start).filter(|size| **size <= SIZE_MAX)?;
        let first = start.checked_add(site.wrapping_sub(start as u16).into())?;
        let mut all = (first..=start.checked_add(size)?).step_by(APART as usize);
        let mut calls = all.by_ref().filter(|at| *at > start && self.follows_call(*at));
        let found = calls.next()?;
        calls.next().is_none().then_some(found)
    }

    /// Whether what ends at `address` may be a call. Where code is not of a kind that is known here: yes.
    fn follows_call(&self, address: u64) -> bool {
        if !self.is_x86_64 {
            return true;
        }
        let mut before = [0; CALL_MAX];
        let from = address.checked_sub(CALL_MAX as u64);
        from.and_then(|from| self.read(from, &mut before)).is_some() && ends_with_call(before)
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Option<()> {
        // A damaged file may have any numbers.
        let within = |&(start, length, offset): &(u64, u64, u64)| {
            let within = address.checked_sub(start).filter(|within| *within < length)?;
            Some(within.checked_add(offset))
        };
        let at = self.segments.iter().find_map(within)??;
        self.file.as_ref()?.read_exact_at(to, at).ok()
    }
}

/// A call on x86-64: `e8` with four bytes of distance, or `ff /2` with a register or memory.
fn ends_with_call(bytes: [u8; CALL_MAX]) -> bool {
    let is_indirect = |length: usize| {
        let code = &bytes[CALL_MAX - length..];
        let has_place =
            |mode: u8| (mode >> 3) & 7 == 2 && indirect_length(mode, code.get(2)) == length;
        code[0] == 0xff && has_place(code[1])
    };
    bytes[CALL_MAX - 5] == 0xe8 || (2..=CALL_MAX).any(is_indirect)
}

/// Bytes of an `ff` instruction with this second one and, where that asks for it, this third one (Intel's manual,
/// volume 2, tables 2-2 and 2-3).
fn indirect_length(mode: u8, third: Option<&u8>) -> usize {
    let has_index = mode & 7 == 4 && mode >> 6 != 3;
    let base = if has_index { third.map_or(0, |index| index & 7) } else { mode & 7 };
    let distance = match mode >> 6 {
        // Relative to the next instruction, or from an index alone.
        0 if base == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    2 + usize::from(has_index) + distance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_damaged_file_says_is_followed_by_no_call() {
        let file = std::env::current_exe().and_then(File::open).expect("it is there");
        let segments = vec![(0, u64::MAX, u64::MAX)];
        let sizes = HashMap::from([(0x1000, u64::MAX / 2), (u64::MAX - 4, 4)]);
        let calls = Calls { sizes, segments, file: Some(file), is_x86_64: true };
        for address in [0, 3, 8, u64::MAX] {
            assert!(!calls.follows_call(address), "{address}");
        }
        for (start, site) in [(0x1000, 0x1008), (u64::MAX - 4, 8)] {
            assert_eq!(calls.returning_to(start, site), None, "{start}");
        }
    }

    #[test]
    fn calls_are_told_from_what_else_comes_before_an_address() {
        let ends = |tail: &[u8]| {
            // What comes before the last seven bytes is a prefix.
            let tail = &tail[tail.len().saturating_sub(CALL_MAX)..];
            let mut bytes = [0x90; CALL_MAX];
            bytes[CALL_MAX - tail.len()..].copy_from_slice(tail);
            ends_with_call(bytes)
        };
        for call in [
            &[0xe8, 1, 2, 3, 4][..],
            &[0xff, 0xd0],                         // call rax
            &[0x41, 0xff, 0xd7],                   // call r15
            &[0xff, 0x10],                         // call [rax]
            &[0x41, 0xff, 0x14, 0x24],             // call [r12]
            &[0x41, 0xff, 0x55, 0],                // call [r13]
            &[0xff, 0x50, 0x18],                   // call [rax + 24]
            &[0xff, 0x54, 0x24, 0x18],             // call [rsp + 24]
            &[0x41, 0xff, 0x54, 0x24, 0x18],       // call [r12 + 24]
            &[0xff, 0x15, 1, 2, 3, 4],             // call [rip + …]
            &[0xff, 0x90, 1, 2, 3, 4],             // call [rax + …]
            &[0xff, 0x94, 0x24, 1, 2, 3, 4],       // call [rsp + …]
            &[0xff, 0x14, 0xc8],                   // call [rax + 8 * rcx]
            &[0xff, 0x54, 0xcd, 0],                // call [rbp + 8 * rcx]
            &[0xff, 0x54, 0xc8, 0x18],             // call [rax + 8 * rcx + 24]
            &[0xff, 0x94, 0xc8, 1, 2, 3, 4],       // call [rax + 8 * rcx + …]
            &[0xff, 0x14, 0xc5, 1, 2, 3, 4], // call [8 * rax + …]: a table, where code is not moved
            &[0x42, 0xff, 0x14, 0xcd, 1, 2, 3, 4], // call [8 * r9 + …]
            &[0xff, 0x14, 0x25, 1, 2, 3, 4], // call […]
        ] {
            assert!(ends(call), "{call:x?}");
        }
        for other in [
            &[0x48, 0x89, 0xd8][..],
            &[0xff, 0xe0],
            &[0xff, 0xd0, 0x90],
            &[0xe9, 1, 2, 3, 4],
            &[0xff, 0x14, 0xc5],             // four bytes are missing
            &[0xff, 0x14, 0xc8, 1, 2, 3, 4], // four bytes are too many
            &[0xff, 0x24, 0xc5, 1, 2, 3, 4], // jmp [8 * rax + …]
        ] {
            assert!(!ends(other), "{other:x?}");
        }
    }

    #[test]
    fn a_place_is_found_by_its_low_bits_where_only_one_can_be_meant() {
        let calls = |size| Calls {
            sizes: HashMap::from([(0x2_fff0, size)]),
            segments: Vec::new(),
            file: None,
            is_x86_64: false,
        };
        assert_eq!(calls(0x40).returning_to(0x2_fff0, 0x0008), Some(0x3_0008));
        assert_eq!(calls(0x40).returning_to(0x2_fff0, 0x0108), None, "beyond its end");
        assert_eq!(calls(0x40).returning_to(0x2_fff0, 0xffe0), None, "before its start");
        assert_eq!(calls(0x2_0000).returning_to(0x2_fff0, 0x0008), None, "two have these bits");
        assert_eq!(calls(0x40).returning_to(0x2_0000, 0x0008), None, "no function begins there");
    }
}
