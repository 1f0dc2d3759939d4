//! A compiler's command line, extended: the plugin where code is made, the runtime where it is linked.

use super::LLVM;
use super::installed::Installed;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

/// Which of the two compilers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Language {
    C,
    Cxx,
}

impl Language {
    /// By the name under which this program was started.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "tailwater-cc" => Some(Self::C),
            "tailwater-c++" => Some(Self::Cxx),
            _ => None,
        }
    }

    pub(super) fn clang(self) -> String {
        let name = if self == Self::C { "clang" } else { "clang++" };
        format!("{name}-{LLVM}")
    }
}

/// What is to come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Output {
    /// Nothing that can be run: preprocessed text, questions to the compiler, `-r`.
    Other,
    Executable,
    /// Without a dynamic linker.
    Static,
    SharedLibrary,
}

/// Flags after which nothing is linked.
const STOPS: &[&str] = &[
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-r",
    "--help",
    "--version",
    "-dumpversion",
    "-dumpmachine",
    "--precompile",
    "--analyze",
    "-emit-ast",
    "-nostdlib",
];
/// Flags that leave out the dynamic linker.
const STATIC: &[&str] = &["-static", "--static", "-static-pie", "--static-pie"];
/// glibc's own names for what the runtime wraps. A dynamic linker finds the functions behind the
/// wrappers; a static link brings them in only when it is asked to.
const REAL: &[&str] = &[
    "mutex_lock",
    "mutex_trylock",
    "mutex_timedlock",
    "mutex_clocklock",
    "mutex_unlock",
    "rwlock_rdlock",
    "rwlock_tryrdlock",
    "rwlock_timedrdlock",
    "rwlock_clockrdlock",
    "rwlock_wrlock",
    "rwlock_trywrlock",
    "rwlock_timedwrlock",
    "rwlock_clockwrlock",
    "rwlock_unlock",
    "cond_wait",
    "cond_timedwait",
    "cond_clockwait",
    "join",
];
/// Flags whose value is the next word: that word is no input.
const TAKE_VALUE: &[&str] = &[
    "-o",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-x",
    "-u",
    "-z",
    "-T",
    "-e",
    "-B",
    "-F",
    "-G",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-A",
    "-h",
    "-target",
    "-arch",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-Xclang",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-mllvm",
    "--param",
    "-rpath",
    "-soname",
];

/// The words for clang. Ours come first where the user's may overrule them, and last where order
/// matters to the linker.
pub(super) fn extend(arguments: &[OsString], installed: &Installed) -> Vec<OsString> {
    let meant = expanded(arguments);
    let output = output(&meant);
    let mut words = before(output, installed);
    words.extend_from_slice(arguments);
    let runtime = if brings_runtime(&meant) {
        // So that its wrappers of locks are taken from there, and not the C library's functions.
        "-Wl,-u,pthread_mutex_lock".into()
    } else {
        installed.object().into()
    };
    words.extend(after(output, runtime, installed));
    words
}

/// Not all apply to every step; clang is told not to mind those that do not.
fn before(output: Output, installed: &Installed) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--start-no-unused-arguments".into()];
    words.push(joined("-fpass-plugin=", &installed.plugin()));
    words.push("-gline-tables-only".into());
    words.push(joined("-idirafter", &installed.include()));
    if output != Output::Other {
        words.push(format!("--ld-path=ld.lld-{LLVM}").into());
        words.push(joined("-Wl,--load-pass-plugin=", &installed.plugin()));
    }
    words.push("--end-no-unused-arguments".into());
    words
}

fn after(output: Output, runtime: OsString, installed: &Installed) -> Vec<OsString> {
    match output {
        Output::Other => vec![],
        Output::Executable => {
            // Libraries that are opened later find the executable's copy.
            with_runtime(runtime, vec!["-Wl,--export-dynamic-symbol=tw_*".into()])
        }
        Output::Static => {
            let asks = REAL.iter().map(|name| format!("-Wl,-u,___pthread_{name}").into());
            with_runtime(runtime, asks.collect())
        }
        Output::SharedLibrary => {
            let library = installed.library();
            let folder = library.parent().unwrap_or(Path::new("."));
            // By its name alone: a path would be written into the file and looked for there only.
            let mut name = OsString::from("-l:");
            name.push(library.file_name().unwrap_or_default());
            let mut words: Vec<OsString> =
                vec!["-x".into(), "none".into(), installed.in_libraries().into()];
            words.extend([joined("-L", folder), joined("-Wl,-rpath,", folder), name]);
            words
        }
    }
}

fn with_runtime(runtime: OsString, flags: Vec<OsString>) -> Vec<OsString> {
    // Back to binaries, should the last input have been of a declared language.
    let mut words: Vec<OsString> = vec!["-x".into(), "none".into(), runtime];
    words.extend(flags);
    words.extend(["-lpthread", "-ldl", "-lm", "-lc"].map(OsString::from));
    words
}

/// The arguments with those of response files (`@FILE`, as rustc writes where a line were too long) in their
/// place. One that cannot be read is clang's to complain of; one in another stays as it is.
fn expanded(arguments: &[OsString]) -> Vec<OsString> {
    let mut words = Vec::new();
    for word in arguments {
        let file = word.to_str().and_then(|word| word.strip_prefix('@'));
        match file.and_then(|file| std::fs::read(file).ok()) {
            Some(text) => words.extend(split(&text)),
            None => words.push(word.clone()),
        }
    }
    words
}

/// The words of a response file: white space parts them, and quotes and backslashes keep it.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, _) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// Whether a Rust program that marks its requests has the runtime as a crate among its own.
fn brings_runtime(arguments: &[OsString]) -> bool {
    arguments.iter().any(|word| {
        let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with("libtailwater_profile_rt") && name.ends_with(".rlib")
    })
}

fn output(arguments: &[OsString]) -> Output {
    if !has_input(arguments) || arguments.iter().any(|word| stops(word)) {
        Output::Other
    } else if arguments.iter().any(|word| word == "-shared") {
        Output::SharedLibrary
    } else if arguments.iter().any(|word| word.to_str().is_some_and(|word| STATIC.contains(&word)))
    {
        Output::Static
    } else {
        Output::Executable
    }
}

fn stops(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| STOPS.contains(&word) || word.starts_with("-print-"))
}

/// Whether anything is compiled or linked.
pub(super) fn has_input(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if TAKE_VALUE.contains(&word.as_ref()) {
            words.next();
        } else if word == "-" || !word.starts_with('-') {
            return true;
        }
    }
    false
}

fn joined(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Output {
        output(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_linked_is_told_from_the_flags() {
        for line in
            ["a.c", "-O2 a.o -o a", "a.o -nodefaultlibs -lc", "-o a @objects", "-x c -", "-pie a.o"]
        {
            assert_eq!(of(line), Output::Executable, "{line}");
        }
        for line in ["-static main.o -lm", "-o a a.o -static-pie"] {
            assert_eq!(of(line), Output::Static, "{line}");
        }
        assert_eq!(of("-shared -fPIC a.o -o liba.so"), Output::SharedLibrary);
        assert_eq!(of("-static -c a.c"), Output::Other);
        let others = [
            "-c a.c",
            "-E a.c",
            "-S -o a.s a.c",
            "-MM a.c",
            "--version",
            "-v",
            "-print-file-name=x.a",
            "-r a.o b.o -o c.o",
            "-o a",
            "-I include -x c",
            "-dumpmachine",
            "",
        ];
        for line in others {
            assert_eq!(of(line), Output::Other, "{line}");
        }
    }

    #[test]
    fn a_program_has_one_runtime() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(brings_runtime(&words("a.o deps/libtailwater_profile_rt-0a1b.rlib -o a")));
        assert!(!brings_runtime(&words("a.o deps/libtailwater_profile-0a1b.rlib -o a")));
    }

    #[test]
    fn response_files_are_looked_into() {
        let folder = std::env::temp_dir();
        let file = folder.join(format!("tailwater-wrapper-{}", std::process::id()));
        let text = "-shared\n\"a b.o\" c\\ d.o\n'deps/libtailwater_profile_rt-0a1b.rlib' ''\n";
        std::fs::write(&file, text).expect("a response file");
        let words = expanded(&["-o".into(), "a".into(), joined("@", &file), "@nowhere".into()]);
        std::fs::remove_file(&file).expect("it was written");
        let runtime = "deps/libtailwater_profile_rt-0a1b.rlib";
        assert_eq!(words, ["-o", "a", "-shared", "a b.o", "c d.o", runtime, "", "@nowhere"]);
        assert!(brings_runtime(&words));
        assert_eq!(output(&words), Output::SharedLibrary);
    }

    #[test]
    fn only_our_names_are_compilers() {
        assert_eq!(Language::of("tailwater-cc"), Some(Language::C));
        assert_eq!(Language::of("tailwater-c++").map(Language::clang), Some("clang++-22".into()));
        assert_eq!(Language::of("tailwater"), None);
    }
}
