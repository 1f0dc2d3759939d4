//! What functions and threads are called.

use crate::hash::Map;
use crate::record::{Function, FunctionId, Module, OUTSIDE, Place, Record, Thread, ThreadId};
use std::collections::{HashMap, HashSet};

/// Bytes of text kept in all; names beyond are forgotten.
const TEXT_MAX: usize = 256 << 20;
/// Entries of each kind kept.
pub(crate) const ENTRIES_MAX: usize = 1 << 20;

/// The tables of a trace, in bounded memory: 2²⁰ entries of a kind, 256 MiB of text.
#[derive(Default, Debug)]
pub struct Names {
    functions: Map<FunctionId, Function>,
    threads: Map<ThreadId, Thread>,
    modules: Vec<Module>,
    text: usize,
    forgotten: u64,
}

impl Names {
    /// Keeps what names something; other records change nothing.
    pub fn add(&mut self, record: &Record) {
        match record {
            Record::Function(function) => self.add_function(function),
            Record::Thread(thread) => self.add_thread(thread),
            Record::Module(module) => self.add_module(module),
            _ => {}
        }
    }

    /// The function with this number, if its name was in the trace and kept.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(&id)
    }

    /// What to call a function: demangled, or its number where the name is lost.
    #[must_use]
    pub fn of(&self, id: FunctionId) -> String {
        self.function(id)
            .map_or_else(|| format!("function#{}", id.0), |function| demangled(&function.name))
    }

    /// The place in a function that these low bits are of; `None` where either is unknown.
    #[must_use]
    pub fn place(&self, id: Option<FunctionId>, site: u16) -> Option<Place> {
        let function = self.function(id?)?.address;
        (site != 0 && function != 0).then_some(Place { function, site })
    }

    /// What to call a thread: its name and the kernel's number.
    #[must_use]
    pub fn of_thread(&self, id: ThreadId) -> String {
        let Some(Thread { tid, name, .. }) = self.threads.get(&id) else {
            return format!("thread#{}", id.0);
        };
        let tid = match tid.checked_sub(OUTSIDE) {
            Some(host) => format!("{host} of the host"),
            None => tid.to_string(),
        };
        if name.is_empty() { format!("thread {tid}") } else { format!("{name} ({tid})") }
    }

    /// A thread's own name, without its number; empty where it has none or it was not kept.
    #[must_use]
    pub fn own_name(&self, id: ThreadId) -> &str {
        self.threads.get(&id).map_or("", |thread| &thread.name)
    }

    /// The kernel's number of a thread, if its name was in the trace and kept.
    #[must_use]
    pub fn tid(&self, id: ThreadId) -> Option<u32> {
        self.threads.get(&id).map(|thread| thread.tid)
    }

    /// The module that holds an address; `None` where two did, one after the other: a library may be
    /// unloaded and its place be taken, and addresses do not say when they were meant.
    #[must_use]
    pub fn module_at(&self, address: u64) -> Option<&Module> {
        let holds = |module: &&Module| (module.start..module.end).contains(&address);
        let mut all = self.modules.iter().filter(holds);
        let first = all.next()?;
        let same = |other: &Module| {
            (&other.path, other.bias, &other.build_id) == (&first.path, first.bias, &first.build_id)
        };
        all.all(same).then_some(first)
    }

    /// Names that were left out for want of room.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn add_function(&mut self, function: &Function) {
        if self.has_room(self.functions.len(), function.name.len() + function.file.len()) {
            self.functions.insert(function.id, function.clone());
        }
    }

    fn add_thread(&mut self, thread: &Thread) {
        if self.has_room(self.threads.len(), thread.name.len()) {
            self.threads.insert(thread.id, thread.clone());
        }
    }

    fn add_module(&mut self, module: &Module) {
        if self.has_room(self.modules.len(), module.path.len()) {
            self.modules.push(module.clone());
        }
    }

    const fn has_room(&mut self, entries: usize, text: usize) -> bool {
        if entries >= ENTRIES_MAX || self.text + text > TEXT_MAX {
            self.forgotten += 1;
            return false;
        }
        self.text += text;
        true
    }
}

/// A symbol as its programmer wrote it: Rust (both manglings, without the hash) and C++.
#[must_use]
pub fn demangled(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    if symbol.starts_with("_Z") || symbol.starts_with("__Z") {
        // Its recursion is bounded by default; what is too deep stays mangled.
        let name = cpp_demangle::Symbol::new(symbol).ok();
        return name.and_then(|name| name.demangle().ok()).unwrap_or_else(|| symbol.to_owned());
    }
    symbol.to_owned()
}

/// `name` in at most `width` characters: argument lists and template arguments go first, innermost
/// first, then the middle.
fn clipped(name: &str, width: usize) -> String {
    let mut text = name.to_owned();
    // One character stands for what went, so that it is not found again.
    while shown_len(&text) > width {
        let Some((open, close)) = innermost(&text) else { break };
        let mark = if text.as_bytes()[open] == b'<' { "\u{1}" } else { "\u{2}" };
        text.replace_range(open..=close, mark);
    }
    middle_cut(&text.replace('\u{1}', "<…>").replace('\u{2}', "(…)"), width)
}

/// Names in about `width` characters. Those that are not the same stay distinct: what would look alike gets more room.
#[must_use]
pub fn clipped_apart(names: &[&str], width: usize) -> Vec<String> {
    let mut shown: Vec<String> = names.iter().map(|name| clipped(name, width)).collect();
    let mut wider = width;
    loop {
        let mut meant: HashMap<&str, HashSet<&str>> = HashMap::new();
        for (shown, name) in shown.iter().zip(names) {
            meant.entry(shown).or_default().insert(name);
        }
        let alike: Vec<usize> =
            (0..names.len()).filter(|at| meant[&*shown[*at]].len() > 1).collect();
        if alike.is_empty() {
            return shown;
        }
        // Whole names are distinct.
        wider = wider * 2 + 1;
        for at in alike {
            shown[at] = clipped(names[at], wider);
        }
    }
}

/// The same in their places: all names that a reader sees in one text.
pub fn shorten<'a>(names: impl IntoIterator<Item = &'a mut String>, width: usize) {
    let places: Vec<&mut String> = names.into_iter().collect();
    let names: Vec<&str> = places.iter().map(|place| place.as_str()).collect();
    let shown = clipped_apart(&names, width);
    places.into_iter().zip(shown).for_each(|(place, shown)| *place = shown);
}

/// The first bracket that has no bracket in it.
fn innermost(text: &str) -> Option<(usize, usize)> {
    let mut open = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => open = Some((at, c)),
            // The arrow of a function type closes nothing.
            '>' if before == '-' => {}
            '>' | ')' => match open {
                Some((from, '<')) if c == '>' => return Some((from, at)),
                Some((from, '(')) if c == ')' => return Some((from, at)),
                _ => open = None,
            },
            _ => {}
        }
        before = c;
    }
    None
}

fn shown_len(text: &str) -> usize {
    text.chars().map(|c| if matches!(c, '\u{1}' | '\u{2}') { 3 } else { 1 }).sum()
}

fn middle_cut(text: &str, width: usize) -> String {
    let len = text.chars().count();
    if len <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept / 2, kept - kept / 2);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(len - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_all_three_manglings_read_well() {
        let legacy = "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE";
        assert_eq!(demangled(legacy), "core::fmt::Formatter::pad");
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(
            demangled("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back(int&&)"
        );
        assert_eq!(demangled("do_item_get"), "do_item_get");
        assert_eq!(demangled("_Z"), "_Z");
    }

    #[test]
    fn threads_outside_a_namespace_are_named_as_the_host_does() {
        let thread = |id, tid, name: &str| {
            Record::Thread(Thread { id: ThreadId(id), tid, name: name.to_owned() })
        };
        let mut names = Names::default();
        for record in [thread(0, 7, "server"), thread(1, OUTSIDE | 7, "cc1plus"), thread(2, 9, "")]
        {
            names.add(&record);
        }
        let called = [0, 1, 2, 3].map(|id| names.of_thread(ThreadId(id)));
        assert_eq!(called, ["server (7)", "cc1plus (7 of the host)", "thread 9", "thread#3"]);
    }

    #[test]
    fn an_address_that_two_libraries_had_is_neither_ones() {
        let module = |path: &str, start, end| {
            Record::Module(Module { start, end, bias: start, path: path.into(), build_id: vec![] })
        };
        let mut names = Names::default();
        for record in [module("a", 0, 100), module("b", 200, 300), module("a", 0, 100)] {
            names.add(&record);
        }
        assert_eq!(names.module_at(50).map(|one| one.path.as_str()), Some("a"), "it came back");
        names.add(&module("c", 250, 350));
        assert_eq!(names.module_at(249).map(|one| one.path.as_str()), Some("b"));
        assert_eq!(names.module_at(250), None);
        assert_eq!(names.module_at(320).map(|one| one.path.as_str()), Some("c"));
    }

    #[test]
    fn long_names_lose_arguments_before_the_middle() {
        let name = "std::vector<int, std::allocator<int> >::push_back(int&&)";
        assert_eq!(clipped(name, 100), name);
        assert_eq!(clipped(name, 44), "std::vector<…>::push_back(int&&)");
        assert_eq!(clipped(name, 28), "std::vector<…>::push_back(…)");
        assert_eq!(clipped(name, 15).chars().count(), 15);
        assert_eq!(clipped("f(std::function<int()->bool>)", 12), "f(…)");
        for width in 0..60 {
            assert!(clipped(name, width).chars().count() <= width.max(1), "{width}");
        }
    }

    #[test]
    fn names_that_would_look_alike_get_more_room() {
        let names = [
            "<tokio::runtime::task::core::Core<F, S> as core::future::Future>::poll",
            "<hyper::proto::h1::Dispatcher<D, B> as core::future::Future>::poll",
            "main",
            "main",
        ];
        assert_eq!(clipped(names[0], 12), clipped(names[1], 12));
        let shown = clipped_apart(&names, 12);
        assert_ne!(shown[0], shown[1]);
        assert_eq!((&*shown[2], &*shown[3]), ("main", "main"), "these are the same");
        let all: HashSet<&String> = shown.iter().collect();
        assert_eq!(all.len(), 3);
        assert_eq!(clipped_apart(&["a", "b"], 0).len(), 2);
    }
}
