//! Lines and variables for addresses of the recorded process, from the files it had mapped.

mod calls;
mod chain;

use calls::Calls;
use chain::{Link, told};
use object::{Object as _, ObjectSymbol as _, SymbolKind};
use std::collections::BTreeMap;
use std::path::Path;
use tailwater_profile::names::{Names, demangled};
use tailwater_profile::record::{Module, Place};

/// Larger files are not read.
const FILE_MAX: u64 = 4 << 30;

/// Looks addresses up; each file is read once, when first asked about.
pub(super) struct Symbols<'a> {
    names: &'a Names,
    /// By path and build id: the recorded process may have mapped two builds of one path, one after the other.
    files: BTreeMap<(&'a str, &'a [u8]), Option<Program>>,
    changed: Vec<String>,
}

/// One file.
struct Program {
    lines: Option<addr2line::Loader>,
    /// Address, size and name of its variables, by address.
    variables: Vec<(u64, u64, String)>,
    calls: Calls,
}

impl Program {
    fn line(&self, at: u64) -> Option<String> {
        let mut frames = self.lines.as_ref()?.find_frames(at).ok()?;
        // The innermost comes first, and the function that was called last.
        let mut links = vec![];
        while let Ok(Some(frame)) = frames.next() {
            let name =
                frame.function.as_ref().and_then(|name| Some(name.raw_name().ok()?.into_owned()));
            let place = frame.location.and_then(|one| Some((one.file?.to_owned(), one.line?)));
            links
                .push(Link { function: demangled(&name.unwrap_or_else(|| "?".to_owned())), place });
        }
        links.reverse();
        told(&links)
    }

    fn symbol(&self, at: u64) -> Option<String> {
        self.lines.as_ref()?.find_symbol(at).map(demangled)
    }
}

impl<'a> Symbols<'a> {
    pub(super) const fn new(names: &'a Names) -> Self {
        Self { names, files: BTreeMap::new(), changed: Vec::new() }
    }

    /// File and line of the call that returns to `site`, in the function itself. Then the inlined functions that it
    /// went through, each with the line in it.
    pub(super) fn line(&mut self, site: u64) -> Option<String> {
        let (program, bias) = self.program(site)?;
        // The return address may belong to the next line already.
        program.line(site.wrapping_sub(bias).wrapping_sub(1))
    }

    /// File and line of an instruction, through inlined functions as in [`Self::line`]. Without a line it is the symbol around it,
    /// and without that the file.
    pub(super) fn instruction(&mut self, address: u64) -> String {
        let Some(module) = self.names.module_at(address) else {
            return "in no file of the program".into();
        };
        let file = Path::new(&module.path).file_name().unwrap_or_default().display();
        let named = self.program(address).and_then(|(program, bias)| {
            let at = address.wrapping_sub(bias);
            program.line(at).or_else(|| Some(format!("{} of {file}", program.symbol(at)?)))
        });
        named.unwrap_or_else(|| format!("in {file}"))
    }

    /// The same of a place in a function; `None` also where the function has no such place: the call came from other
    /// code that it had called.
    pub(super) fn line_in(&mut self, place: Place) -> Option<String> {
        let (program, bias) = self.program(place.function)?;
        let start = place.function.wrapping_sub(bias);
        let at = program.calls.returning_to(start, place.site.wrapping_sub(bias as u16))?;
        self.line(at.wrapping_add(bias))
    }

    /// The variable at an address, with the offset in it.
    pub(super) fn variable(&mut self, address: u64) -> Option<String> {
        let (program, bias) = self.program(address)?;
        let at = address.wrapping_sub(bias);
        let next = program.variables.partition_point(|one| one.0 <= at);
        let (start, size, name) = program.variables.get(next.checked_sub(1)?)?;
        match at - start {
            0 => Some(name.clone()),
            offset if offset < *size => Some(format!("{name}+{offset}")),
            _ => None,
        }
    }

    /// Files that are not what was recorded; nothing is looked up in them.
    pub(super) fn changed(&self) -> &[String] {
        &self.changed
    }

    fn program(&mut self, address: u64) -> Option<(&Program, u64)> {
        let module = self.names.module_at(address)?;
        let key = (module.path.as_str(), module.build_id.as_slice());
        if !self.files.contains_key(&key) {
            let program = self.load(module);
            self.files.insert(key, program);
        }
        let program = self.files.get(&key)?.as_ref()?;
        Some((program, module.bias))
    }

    fn load(&mut self, module: &Module) -> Option<Program> {
        let path = Path::new(&module.path);
        let bytes = bytes_of(path)?;
        let file = object::File::parse(&*bytes).ok()?;
        let build_id = file.build_id().ok().flatten().unwrap_or_default();
        if !module.build_id.is_empty() && module.build_id != build_id {
            self.changed.push(module.path.clone());
            return None;
        }
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let mut variables: Vec<_> = symbols
            .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0)
            .filter_map(|symbol| {
                let name = demangled(symbol.name().ok()?);
                Some((symbol.address(), symbol.size(), name))
            })
            .collect();
        variables.sort_unstable();
        let calls = Calls::of(path, &file);
        Some(Program { lines: addr2line::Loader::new(path).ok(), variables, calls })
    }
}

/// Those of a file. A trace from elsewhere may name a device or a pipe, which need not have an end.
fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    let found = std::fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > FILE_MAX {
        return None;
    }
    std::fs::read(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_profile::record::Record;

    /// Found again by its name.
    #[used]
    static TAILWATER_TEST_VARIABLE: [u64; 4] = [1, 2, 3, 4];

    fn own(build_id: Vec<u8>) -> Names {
        let path = std::env::current_exe().expect("a test has a file").display().to_string();
        let mut names = Names::default();
        let (start, end) = (0, u64::MAX);
        names.add(&Record::Module(Module { start, end, bias: 0, path, build_id }));
        names
    }

    #[test]
    fn a_variable_of_this_very_program_is_found() {
        assert_eq!(std::hint::black_box(&TAILWATER_TEST_VARIABLE)[0], 1);
        let names = own(Vec::new());
        let bytes = std::fs::read(std::env::current_exe().expect("a file")).expect("readable");
        let file = object::File::parse(&*bytes).expect("a program");
        let named = |name: &str| name.contains("TAILWATER_TEST_VARIABLE");
        let symbol = file.symbols().find(|one| one.name().is_ok_and(named));
        let address = symbol.expect("it is in the program").address();
        let mut symbols = Symbols::new(&names);
        let found = |address, symbols: &mut Symbols<'_>| symbols.variable(address).expect("in it");
        assert!(found(address, &mut symbols).ends_with("TAILWATER_TEST_VARIABLE"));
        assert!(found(address + 8, &mut symbols).ends_with("TAILWATER_TEST_VARIABLE+8"));
        assert_eq!(symbols.variable(1), None);
    }

    #[test]
    fn a_trace_that_names_a_device_for_a_library_has_it_left_alone() {
        assert!(bytes_of(&std::env::current_exe().expect("a file")).is_some());
        assert_eq!(bytes_of(Path::new("/dev/null")), None);
    }

    #[test]
    fn a_line_of_this_very_program_is_found() {
        let names = own(Vec::new());
        let bytes = std::fs::read(std::env::current_exe().expect("a file")).expect("readable");
        let file = object::File::parse(&*bytes).expect("a program");
        let own_name = |one: &object::Symbol<'_, '_>| {
            one.name().is_ok_and(|name| name.contains("a_line_of_this_very_program"))
        };
        let symbol = file.symbols().find(|one| own_name(one) && one.size() > 8);
        let site = symbol.expect("it is in the program").address() + 4;
        let line = Symbols::new(&names).line(site).expect("tests have debug information");
        assert!(line.contains(".rs:"), "{line}");
    }

    #[inline(always)]
    fn tailwater_test_inlined(of: u64) -> u64 {
        std::hint::black_box(of) + 1
    }

    #[inline(never)]
    fn tailwater_test_holder(of: u64) -> u64 {
        tailwater_test_inlined(of) * 3
    }

    #[test]
    fn an_inlined_function_is_named_and_the_line_is_that_of_its_caller() {
        assert_eq!(tailwater_test_holder(1), 6);
        let names = own(Vec::new());
        let bytes = std::fs::read(std::env::current_exe().expect("a file")).expect("readable");
        let file = object::File::parse(&*bytes).expect("a program");
        let named = |name: &str| name.contains("tailwater_test_holder");
        let symbol = file.symbols().find(|one| one.name().is_ok_and(named));
        let symbol = symbol.expect("it is in the program");
        let mut symbols = Symbols::new(&names);
        let sites = symbol.address() + 1..=symbol.address() + symbol.size();
        let lines: Vec<String> = sites.filter_map(|site| symbols.line(site)).collect();
        let with = lines.iter().find(|line| line.contains("tailwater_test_inlined"));
        let (place, inlined) =
            with.expect("in the debug information").split_once(", inlined ").unwrap();
        assert!(place.contains("symbols/mod.rs:"), "{place}");
        assert!(inlined.contains("tailwater_test_inlined at line "), "{inlined}");
        assert!(lines.iter().any(|line| !line.contains("inlined ")), "{lines:?}");
    }

    /// The file as it is now is the second build; lines of it are no lines of the first.
    #[test]
    fn of_two_builds_of_one_path_only_that_of_the_file_has_lines() {
        let path = std::env::current_exe().expect("a test has a file").display().to_string();
        let bytes = std::fs::read(&path).expect("readable");
        let file = object::File::parse(&*bytes).expect("a program");
        let named = |name: &str| name.contains("TAILWATER_TEST_VARIABLE");
        let symbol = file.symbols().find(|one| one.name().is_ok_and(named));
        let address = symbol.expect("it is in the program").address();
        let now = file.build_id().ok().flatten().unwrap_or_default().to_vec();
        let apart = 1 << 40;
        for builds in [[vec![9; 20], now.clone()], [now.clone(), vec![9; 20]]] {
            let is_now = |build: &Vec<u8>| *build == now;
            let mut names = Names::default();
            for (nth, build_id) in (0..).zip(&builds) {
                let (start, end) = (nth * apart, (nth + 1) * apart);
                let (path, build_id) = (path.clone(), build_id.clone());
                names.add(&Record::Module(Module { start, end, bias: start, path, build_id }));
            }
            let mut symbols = Symbols::new(&names);
            for (nth, build) in (0..).zip(&builds) {
                let found = symbols.variable(nth * apart + address);
                assert_eq!(found.is_some(), is_now(build), "{nth}: {found:?}");
            }
        }
    }

    #[test]
    fn a_file_that_has_changed_is_named_and_not_used() {
        let names = own(vec![9; 20]);
        let mut symbols = Symbols::new(&names);
        assert_eq!(symbols.line(0x1000), None);
        assert_eq!(symbols.changed().len(), 1);
    }
}
