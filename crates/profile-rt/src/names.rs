//! Descriptors to functions.

use crate::abi::DESC_BYTES;
use crate::filter::Filter;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use tailwater_profile::record::{Function, FunctionId};

/// Names are cut to this length, in bytes.
const NAME_MAX: usize = 4096;
/// Distinct functions at most; those beyond share the last one's name, which says so.
const FUNCTIONS_MAX: usize = 1 << 20;
/// Bit 0 of a descriptor's flags.
const FILTERED: u32 = 1;

/// Numbers functions in the order in which they are first met.
#[derive(Debug)]
pub(crate) struct Names {
    /// The process's memory, read as a file: a descriptor whose library is gone is an error then, and
    /// no fault.
    memory: Option<File>,
    filter: Filter,
    known: HashMap<u64, Known>,
}

/// A function's number, and whether its calls are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) id: FunctionId,
    pub(crate) keeps: bool,
}

impl Names {
    pub(crate) fn new(filter: Filter) -> Self {
        Self { memory: File::open("/proc/self/mem").ok(), filter, known: HashMap::new() }
    }

    /// The function that the descriptor at `desc` describes, and what to record of it when it is met
    /// for the first time. `None` for no descriptor.
    pub(crate) fn of(&mut self, desc: u64) -> Option<(Known, Option<Function>)> {
        if desc == 0 {
            return None;
        }
        if let Some(known) = self.known.get(&desc) {
            return Some((*known, None));
        }
        if self.known.len() > FUNCTIONS_MAX {
            let id = FunctionId(FUNCTIONS_MAX as u32);
            return Some((Known { id, keeps: true }, None));
        }
        let id = FunctionId(self.known.len() as u32);
        let (function, flags) = self.read(desc, id);
        let keeps = flags & FILTERED == 0 && self.filter.keeps(&function.name);
        let known = Known { id, keeps };
        self.known.insert(desc, known);
        Some((known, Some(function)))
    }

    fn read(&self, desc: u64, id: FunctionId) -> (Function, u32) {
        let mut bytes = [0; DESC_BYTES];
        let readable =
            self.memory.as_ref().is_some_and(|file| file.read_exact_at(&mut bytes, desc).is_ok());
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let name = if id.0 as usize == FUNCTIONS_MAX {
            Some("(functions beyond the bound)".into())
        } else {
            self.text(word(8)).filter(|_| readable)
        };
        let function = Function {
            id,
            address: word(0),
            name: name.unwrap_or_else(|| format!("(unreadable descriptor {desc:#x})")),
            file: self.text(word(16)).unwrap_or_default(),
            line: half(24),
        };
        (function, half(28))
    }

    /// The null-terminated text at an address.
    fn text(&self, address: u64) -> Option<String> {
        const CHUNK: usize = 128;
        let file = self.memory.as_ref().filter(|_| address != 0)?;
        let mut text = Vec::new();
        while text.len() < NAME_MAX {
            let mut chunk = [0; CHUNK];
            // A read stops at the end of what is mapped.
            let read =
                file.read_at(&mut chunk, address + text.len() as u64).ok().filter(|n| *n > 0)?;
            let end = chunk[..read].iter().position(|byte| *byte == 0);
            text.extend_from_slice(&chunk[..end.unwrap_or(read)]);
            if end.is_some() {
                break;
            }
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[repr(C)]
    struct Desc(*const u8, *const i8, *const i8, u32, u32);

    fn desc(name: &'static CStr, flags: u32) -> Desc {
        Desc(std::ptr::dangling(), name.as_ptr().cast(), c"a.c".as_ptr().cast(), 7, flags)
    }

    #[test]
    fn functions_are_read_once_and_filtered() {
        let mut names = Names::new(Filter::parse("!b*"));
        let descs = [desc(c"alpha", 0), desc(c"beta", 0), desc(c"gamma", FILTERED)];
        let mut of = |at: usize| names.of(&raw const descs[at] as u64).expect("a descriptor");
        let (known, function) = of(0);
        let function = function.expect("met for the first time");
        assert_eq!(
            (function.name.as_str(), function.file.as_str(), function.line),
            ("alpha", "a.c", 7)
        );
        assert!(known.keeps);
        assert_eq!(of(0), (known, None));
        assert!(!of(1).0.keeps && !of(2).0.keeps);
        assert_eq!(of(2).0.id, FunctionId(2));
    }

    #[test]
    fn nothing_and_memory_that_is_gone_are_no_fault() {
        let mut names = Names::new(Filter::default());
        assert_eq!(names.of(0), None);
        let (_, function) = names.of(16).expect("an address");
        assert_eq!(function.expect("met first").name, "(unreadable descriptor 0x10)");
    }
}
