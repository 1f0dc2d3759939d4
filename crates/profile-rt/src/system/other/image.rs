//! A program or a library, by the headers that the loader has mapped with it. Its file may have been replaced since.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use tailwater_profile::record::Module;

const PAGE: u64 = 4096;
/// The parts of the ELF's headers that are read, for 64 bits: sizes of a header, and kinds of a part.
const HEAD: usize = 64;
const PART: usize = 56;
const LOAD: u32 = 1;
const NOTE: u32 = 4;
/// Parts are read so many at most, and so much of their notes.
const PARTS_MAX: u16 = 64;
const NOTES_MAX: u64 = 4096;
/// The kind of the note that holds a build id, whose owner is "GNU".
const BUILD_ID: u32 = 3;

/// What the ELF at `start` of a process's memory is, and where it lies; `None` where there is none.
pub(super) fn module(memory: &File, start: u64, path: &str) -> Option<Module> {
    let parts = parts(memory, start)?;
    let first = parts.iter().find(|part| part.kind == LOAD && part.offset == 0)?;
    let bias = start.wrapping_sub(first.address / PAGE * PAGE);
    let loaded = || parts.iter().filter(|part| part.kind == LOAD);
    let lowest = loaded().map(|part| part.address).min()?;
    let highest = loaded().map(|part| part.address.saturating_add(part.size)).max()?;
    let notes = parts.iter().filter(|part| part.kind == NOTE);
    let build_id = notes.filter_map(|part| {
        let mut bytes = vec![0; part.size.min(NOTES_MAX) as usize];
        memory.read_exact_at(&mut bytes, bias.wrapping_add(part.address)).ok()?;
        build_id(&bytes)
    });
    Some(Module {
        start: bias.wrapping_add(lowest),
        end: bias.wrapping_add(highest),
        bias,
        path: path.to_owned(),
        build_id: build_id.into_iter().next().unwrap_or_default(),
    })
}

/// A program header.
struct Part {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

fn parts(memory: &File, start: u64) -> Option<Vec<Part>> {
    let mut head = [0; HEAD];
    memory.read_exact_at(&mut head, start).ok()?;
    // Of 64 bits, with the lowest byte first.
    if head[..6] != *b"\x7fELF\x02\x01" || usize::from(short(&head, 54)) != PART {
        return None;
    }
    let (at, count) = (start.checked_add(long(&head, 32))?, short(&head, 56).min(PARTS_MAX));
    let mut bytes = vec![0; PART * usize::from(count)];
    memory.read_exact_at(&mut bytes, at).ok()?;
    let part = |bytes: &[u8]| Part {
        kind: word(bytes, 0),
        offset: long(bytes, 8),
        address: long(bytes, 16),
        size: long(bytes, 40),
    };
    Some(bytes.chunks_exact(PART).map(part).collect())
}

/// Notes are their sizes, a kind, an owner and what they say, the latter two padded to four bytes.
fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    while notes.len() >= 12 {
        let (owner, said) = (word(notes, 0) as usize, word(notes, 4) as usize);
        let kind = word(notes, 8);
        let said_at = 12 + owner.checked_next_multiple_of(4)?;
        let end = said_at.checked_add(said)?;
        let text = notes.get(said_at..end)?;
        if kind == BUILD_ID && notes.get(12..16) == Some(b"GNU\0") && owner == 4 {
            return Some(text.to_owned());
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
    None
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::shim;

    #[test]
    fn it_is_what_the_loader_says() {
        let memory = File::open("/proc/self/mem").expect("it is there");
        // The vdso has no file, and the program's own path is empty.
        let told = shim::modules();
        let mut compared = 0;
        for told in told.iter().filter(|told| told.path.starts_with('/')) {
            let start = told.start / PAGE * PAGE;
            let found = module(&memory, start, &told.path).expect("an image");
            assert_eq!(found, *told);
            compared += 1;
        }
        assert!(compared > 0, "the C library at least");
        assert_eq!(module(&memory, 0, "nothing"), None);
    }

    #[test]
    fn notes_that_are_cut_or_lie_about_their_sizes_have_no_build_id() {
        let mut notes = Vec::new();
        for (kind, owner, said) in [(1_u32, "GNU\0", [9; 4]), (3, "GNU\0", [7; 4])] {
            notes.extend(4_u32.to_le_bytes());
            notes.extend(4_u32.to_le_bytes());
            notes.extend(kind.to_le_bytes());
            notes.extend(owner.as_bytes());
            notes.extend(said);
        }
        assert_eq!(build_id(&notes), Some(vec![7; 4]));
        for cut in 0..notes.len() {
            assert_eq!(build_id(&notes[..cut]), None, "{cut} bytes");
        }
        notes[20] = 0xff;
        notes[23] = 0xff;
        assert_eq!(build_id(&notes), None);
    }
}
