//! A place in a function, and through which inlined functions it was reached, in words.

use std::path::Path;
use tailwater_profile::names::clipped_apart;

/// Of the name of an inlined function, in characters.
const INLINED_WIDTH: usize = 64;
/// Inlined functions told of. Of more, the outermost and the innermost halves of that.
const INLINED_MAX: usize = 8;

/// A function of a chain.
pub(super) struct Link {
    /// Demangled.
    pub(super) function: String,
    /// File and line in it at which the next function of the chain, or at last the call itself, stands.
    pub(super) place: Option<(String, u32)>,
}

/// `FILE:LINE` of the first function of a chain, and after it each that was inlined: `, inlined NAME at line 12, NAME at
/// folder/file.h:7`. `None` where the first has no line: the machine code is no function's of ours.
pub(super) fn told(chain: &[Link]) -> Option<String> {
    let (own, inlined) = chain.split_first()?;
    let (file, line) = own.place.as_ref()?;
    let mut before = file.as_str();
    let functions: Vec<&str> = inlined.iter().map(|link| link.function.as_str()).collect();
    let mut names = Vec::with_capacity(inlined.len());
    for (function, link) in clipped_apart(&functions, INLINED_WIDTH).iter().zip(inlined) {
        names.push(format!("{function}{}", at(link, before)));
        before = link.place.as_ref().map_or(before, |(file, _)| file);
    }
    let hidden = names.len().saturating_sub(INLINED_MAX);
    if hidden > 0 {
        let first = INLINED_MAX / 2;
        names.splice(first..first + hidden, [format!("… {hidden} more …")]);
    }
    Some(match &names[..] {
        [] => format!("{file}:{line}"),
        names => format!("{file}:{line}, inlined {}", names.join(", ")),
    })
}

/// The line where the file is that of the function around; otherwise its last folder, too: many are called `mod.rs`.
fn at(link: &Link, before: &str) -> String {
    match &link.place {
        None => String::new(),
        Some((file, line)) if file == before => format!(" at line {line}"),
        Some((file, line)) => {
            let path = Path::new(file);
            let name = |part: Option<&std::ffi::OsStr>| {
                part.map(|part| part.to_string_lossy().into_owned())
            };
            let folder = name(path.parent().and_then(Path::file_name));
            let folder = folder.map_or_else(String::new, |folder| format!("{folder}/"));
            format!(" at {folder}{}:{line}", name(path.file_name()).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(function: &str, file: &str, line: u32) -> Link {
        let place = (line > 0).then(|| (file.to_owned(), line));
        Link { function: function.to_owned(), place }
    }

    #[test]
    fn each_inlined_function_has_its_line() {
        let chain = [
            link("handle", "/x/src/store.c", 53),
            link("insert", "/x/src/store.c", 20),
            link("lock", "/usr/include/c++/bits/std_mutex.h", 118),
            link("__gthread_mutex_lock", "/usr/include/gthr.h", 0),
        ];
        assert_eq!(told(&chain[..1]).as_deref(), Some("/x/src/store.c:53"));
        let expected = "/x/src/store.c:53, inlined insert at line 20, lock at bits/std_mutex.h:118, \
                        __gthread_mutex_lock";
        assert_eq!(told(&chain).as_deref(), Some(expected));
        assert_eq!(told(&[link("handle", "", 0)]), None);
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn of_a_long_chain_both_ends_are_told() {
        let name = |n: u32| link(&format!("f{n}"), "/a.rs", n + 1);
        let chain: Vec<Link> = (0..12).map(name).collect();
        let expected = "/a.rs:1, inlined f1 at line 2, f2 at line 3, f3 at line 4, f4 at line 5, … 3 more …, \
                        f8 at line 9, f9 at line 10, f10 at line 11, f11 at line 12";
        assert_eq!(told(&chain).as_deref(), Some(expected));
        assert!(!told(&chain[..9]).expect("a line").contains('…'), "eight are told of");
    }
}
