//! Descriptors to functions.

use crate::memory::abi::DESC_BYTES;
use crate::system::subject::Subject;
use crate::write::filter::Filter;
use std::cell::OnceCell;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use tailwater_profile::record::{Function, FunctionId, Module, Ticks};

/// Names are cut to this length, in bytes.
const NAME_MAX: usize = 4096;
/// Distinct functions at most; those beyond share the last one's name, which says so.
const FUNCTIONS_MAX: u32 = 1 << 20;
/// Libraries that went, remembered for what is told late; the oldest is forgotten.
const RETIRED_MAX: usize = 256;
/// Bit 0 of a descriptor's flags.
const FILTERED: u32 = 1;

/// Numbers functions in the order in which they are first met.
#[derive(Debug)]
pub(crate) struct Names {
    /// The process's memory, read as a file: a descriptor whose library is gone is an error then, and
    /// no fault. Opened by the thread that reads it, which has a table of files of its own (`trace_file`).
    memory: OnceCell<Option<File>>,
    subject: Subject,
    filter: Filter,
    known: HashMap<u64, Known>,
    numbered: u32,
    /// What was mapped when that was last needed, and no library had gone since.
    modules: Vec<Module>,
    retired: VecDeque<Retired>,
    /// Functions of libraries that went, by what they are called: one that comes back is the same.
    gone: HashMap<u64, FunctionId>,
    /// Stands for all functions that went before they were met.
    unmet: Option<Known>,
}

/// A function's number, and whether its calls are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) id: FunctionId,
    pub(crate) keeps: bool,
    /// Of name and place.
    hash: u64,
}

/// A library that went: its descriptors, what they were, and when.
#[derive(Debug)]
struct Retired {
    descs: Range<u64>,
    known: HashMap<u64, Known>,
    at: Ticks,
}

impl Names {
    pub(crate) fn new(filter: Filter, subject: Subject) -> Self {
        Self {
            memory: OnceCell::new(),
            subject,
            filter,
            known: HashMap::new(),
            numbered: 0,
            modules: Vec::new(),
            retired: VecDeque::new(),
            gone: HashMap::new(),
            unmet: None,
        }
    }

    /// Opens what it reads. For the thread that reads, first of all: a program that gives privileges away may not.
    pub(crate) fn open(&self) {
        let _ = self.memory();
    }

    /// The function that the descriptor at `desc` described at the time `at`, and what to record of it
    /// when it is met for the first time. `None` for no descriptor. `stands` is asked when all was read: whether no library went
    /// unawaited meanwhile.
    pub(crate) fn of(
        &mut self,
        desc: u64,
        at: Ticks,
        stands: impl FnOnce() -> bool,
    ) -> Option<(Known, Option<Function>)> {
        if desc == 0 {
            return None;
        }
        if self.retired.back().is_some_and(|last| at <= last.at)
            && let Some(gone) = self.retired_at(desc, at)
        {
            return Some(gone.map_or_else(|| self.unmet(), |known| (known, None)));
        }
        if let Some(known) = self.known.get(&desc) {
            return Some((*known, None));
        }
        if self.numbered > FUNCTIONS_MAX {
            let id = FunctionId(FUNCTIONS_MAX);
            return Some((Known { id, keeps: true, hash: 0 }, None));
        }
        let (function, flags) = self.read(desc, FunctionId(self.numbered));
        let hash = self.hash_of(&function);
        if !stands() {
            // It may be another library's, which was mapped there meanwhile. Nothing of it is kept: who asks again reads again.
            return Some(self.unmet());
        }
        let (known, function) = self.number(function, flags, hash);
        self.known.insert(desc, known);
        Some((known, function))
    }

    /// The library with these descriptors goes, and all its calls were told of that were seen. What is
    /// asked for with a time up to `at` is still it.
    pub(crate) fn retire(&mut self, descs: Range<u64>, at: Ticks) {
        // In order: a library that went unawaited is told of once more, after later ones.
        let at = self.retired.back().map_or(at, |last| last.at.max(at));
        let known: HashMap<u64, Known> =
            self.known.extract_if(|desc, _| descs.contains(desc)).collect();
        self.gone.extend(known.values().map(|known| (known.hash, known.id)));
        if self.retired.len() == RETIRED_MAX {
            self.retired.pop_front();
        }
        self.retired.push_back(Retired { descs, known, at });
        self.modules.clear();
    }

    /// Libraries with descriptors in this range went unawaited between these times. What is known is the first one's; what lay
    /// there meanwhile nobody knows.
    pub(crate) fn retire_unawaited(&mut self, descs: Range<u64>, first: Ticks, last: Ticks) {
        self.retire(descs.clone(), first);
        self.retire(descs, last);
    }

    /// `Some(None)`: a function of a library that went, and nobody met it before.
    fn retired_at(&self, desc: u64, at: Ticks) -> Option<Option<Known>> {
        let first = self.retired.partition_point(|gone| gone.at < at);
        let gone = self.retired.range(first..).find(|gone| gone.descs.contains(&desc))?;
        Some(gone.known.get(&desc).copied())
    }

    fn unmet(&mut self) -> (Known, Option<Function>) {
        if let Some(known) = self.unmet {
            return (known, None);
        }
        let name = "(functions of libraries that were closed)".to_owned();
        let id = FunctionId(self.numbered);
        let function = Function { id, address: 0, name, file: String::new(), line: 0 };
        let hash = self.hash_of(&function);
        let (known, function) = self.number(function, 0, hash);
        self.unmet = Some(known);
        (known, function)
    }

    /// What is known of a function that was just read. It is told of unless it came back.
    fn number(&mut self, function: Function, flags: u32, hash: u64) -> (Known, Option<Function>) {
        let keeps = flags & FILTERED == 0 && self.filter.keeps(&function.name);
        if let Some(id) = self.gone.get(&hash) {
            return (Known { id: *id, keeps, hash }, None);
        }
        self.numbered += 1;
        (Known { id: function.id, keeps, hash }, Some(function))
    }

    fn hash_of(&mut self, function: &Function) -> u64 {
        let module = if function.line == 0 { self.module_of(function.address) } else { None };
        hash(function, module)
    }

    fn module_of(&mut self, address: u64) -> Option<&Module> {
        let holds = |module: &Module| (module.start..module.end).contains(&address);
        if !self.modules.iter().any(holds) {
            self.modules = self.subject.modules();
        }
        self.modules.iter().find(|module| holds(module))
    }

    fn read(&self, desc: u64, id: FunctionId) -> (Function, u32) {
        let mut bytes = [0; DESC_BYTES];
        let readable =
            self.memory().is_some_and(|file| file.read_exact_at(&mut bytes, desc).is_ok());
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let name = if id.0 == FUNCTIONS_MAX {
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

    fn memory(&self) -> Option<&File> {
        self.memory.get_or_init(|| self.subject.memory().ok()).as_ref()
    }

    /// The null-terminated text at an address.
    fn text(&self, address: u64) -> Option<String> {
        const CHUNK: usize = 128;
        let file = self.memory().filter(|_| address != 0)?;
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

/// Of what makes two functions the same, wherever they lie; without a line that is where they lie, too,
/// and in which file.
fn hash(function: &Function, module: Option<&Module>) -> u64 {
    let Function { id: _, address, name, file, line } = function;
    let mut hasher = DefaultHasher::new();
    (name, file, line).hash(&mut hasher);
    if *line == 0 {
        (address, module.map(|module| (&module.path, &module.build_id))).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;
    use std::ffi::CStr;

    #[repr(C)]
    pub(crate) struct Desc(*const u8, *const i8, *const i8, u32, u32);

    pub(crate) fn desc(name: &'static CStr, flags: u32) -> Desc {
        Desc(std::ptr::dangling(), name.as_ptr().cast(), c"a.c".as_ptr().cast(), 7, flags)
    }

    fn names(filter: Filter) -> Names {
        Names::new(filter, Subject::Own)
    }

    /// No library has gone.
    fn stands() -> bool {
        true
    }

    pub(crate) fn address(desc: &Desc) -> u64 {
        &raw const *desc as u64
    }

    #[test]
    fn functions_are_read_once_and_filtered() {
        let mut names = names(Filter::parse("!b*"));
        let descs = [desc(c"alpha", 0), desc(c"beta", 0), desc(c"gamma", FILTERED)];
        let mut of = |at: usize| names.of(address(&descs[at]), 0, stands).expect("a descriptor");
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
        let mut names = names(Filter::default());
        assert_eq!(names.of(0, 0, stands), None);
        let (_, function) = names.of(16, 0, stands).expect("an address");
        assert_eq!(function.expect("met first").name, "(unreadable descriptor 0x10)");
    }

    #[test]
    fn functions_without_a_line_are_the_same_in_one_library_only() {
        let mut names = names(Filter::default());
        let address = functions_without_a_line_are_the_same_in_one_library_only as *const () as u64;
        let here = names.module_of(address).cloned().expect("the test program");
        assert_eq!(names.module_of(1), None);
        let other = Module { path: "other.so".into(), ..here.clone() };
        let of = |line| Function {
            id: FunctionId(0),
            address,
            name: "init".into(),
            file: String::new(),
            line,
        };
        assert_eq!(hash(&of(0), Some(&here)), hash(&of(0), Some(&here)));
        assert_ne!(hash(&of(0), Some(&here)), hash(&of(0), Some(&other)));
        assert_eq!(hash(&of(7), Some(&here)), hash(&of(7), Some(&other)));
    }

    #[test]
    fn a_place_has_the_name_of_its_time() {
        let mut names = names(Filter::default());
        let mut place = [desc(c"alpha", 0), desc(c"beta", 0)];
        let [first, second] = [address(&place[0]), address(&place[1])];
        let alpha = names.of(first, 10, stands).expect("a descriptor").0;
        names.retire(first..second + 1, 100);
        place = [desc(c"gamma", 0), desc(c"delta", 0)];
        std::hint::black_box(&place);
        let (gamma, function) = names.of(first, 101, stands).expect("a descriptor");
        assert_eq!(function.expect("met first").name, "gamma");
        assert_eq!(names.of(first, 100, stands), Some((alpha, None)), "told late");
        let (beta, function) = names.of(second, 100, stands).expect("a descriptor");
        assert!(function.expect("met first").name.contains("closed"), "nobody read its name");
        assert_eq!(names.of(second, 90, stands), Some((beta, None)));
        names.retire(first..second + 1, 200);
        place = [desc(c"alpha", 0), desc(c"beta", 0)];
        std::hint::black_box(&place);
        assert_eq!(
            names.of(first, 201, stands),
            Some((alpha, None)),
            "the same function as before"
        );
        assert_eq!(names.of(first, 150, stands), Some((gamma, None)));
    }

    #[test]
    fn what_is_read_while_a_library_goes_is_nobodys() {
        let mut names = names(Filter::default());
        let place = Cell::new(desc(c"alpha", 0));
        let address = std::hint::black_box(&place).as_ptr() as u64;
        let (lost, function) = names.of(address, 10, || false).expect("a descriptor");
        assert!(function.expect("met first").name.contains("closed"));
        let is_asked_last = || {
            place.set(desc(c"beta", 0));
            true
        };
        let (alpha, function) = names.of(address, 10, is_asked_last).expect("a descriptor");
        assert_eq!(function.expect("nothing of it was kept").name, "alpha");
        assert_ne!(alpha.id, lost.id);
    }
}
