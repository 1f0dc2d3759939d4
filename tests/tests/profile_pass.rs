//! The profiler's compiler pass with real compilers: what it writes, and whether the shadow stack
//! follows programs built in every way, C, C++ and Rust. The programs lie in `profile-pass/tests`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The plugin, built once for all tests.
fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        let mut xtask = Command::new(env!("CARGO"));
        xtask.current_dir(root()).args(["run", "--quiet", "--locked", "--package", "xtask", "--"]);
        let said = succeeds(xtask.args(["pass", "--plugin"]));
        let folder = said.lines().next_back().expect("the last line names the folder").to_owned();
        root().join(folder).join("libtailwater_profile_pass.so")
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

fn sources() -> PathBuf {
    root().join("profile-pass/tests")
}

/// An empty folder for what a test builds.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-pass-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Runs to a good end and answers what was printed.
fn succeeds(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| {
        panic!("could not start {command:?}: {error}; `make setup-test` installs what is needed")
    });
    let (said, complained) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?} ended with {}\n{said}{complained}", done.status);
    said.into_owned()
}

/// A compiler at work in the folder of the sources.
fn clang(name: &str) -> Command {
    let mut command = Command::new(format!("{name}-22"));
    command.current_dir(sources()).arg(format!("-I{}", header_folder().display()));
    command
}

fn header_folder() -> PathBuf {
    root().join("crates/profile-rt/include")
}

/// One way to build the program of correctness.
struct Build {
    folder: PathBuf,
    compile: Vec<&'static str>,
    link: Vec<&'static str>,
}

impl Build {
    fn new(name: &str, compile: &'static str, link: &'static str) -> Self {
        let words = |line: &'static str| line.split_whitespace().collect();
        Self { folder: folder(name), compile: words(compile), link: words(link) }
    }

    /// Compiles with the pass, and with the flags.
    fn instrumented(&self, compiler: &str, source: &str) -> Command {
        let mut command = clang(compiler);
        command.arg(format!("-fpass-plugin={}", plugin().display())).args(&self.compile);
        command.arg(source);
        command
    }

    /// Adds the flags of C++ and says where an opened library lies, if there is to be one.
    fn program(&self, library: Option<&Path>) {
        let mut compiler = self.instrumented("clang++", "correct.cpp");
        compiler.args(["-std=c++20", "-gline-tables-only", "-DDEBUG_LINES=1"]);
        if let Some(library) = library {
            compiler.arg(format!("-DLIBRARY=\"{}\"", library.display()));
        }
        succeeds(compiler.arg("-c").arg("-o").arg(self.folder.join("correct.o")));
    }

    fn mutual(&self) {
        let mut compiler = self.instrumented("clang", "mutual.c");
        succeeds(compiler.arg("-c").arg("-o").arg(self.folder.join("mutual.o")));
    }

    /// Without the pass: the runtime, and what stands for stock libraries.
    fn plain(&self) {
        for (compiler, source) in [("clang", "runtime.c"), ("clang++", "quiet.cpp")] {
            let object = self.folder.join(source).with_extension("o");
            succeeds(clang(compiler).args(["-O2", "-c", source, "-o"]).arg(object));
        }
    }

    fn runs(&self, objects: &[&str]) {
        let program = self.folder.join("correct");
        let mut linker = clang("clang++");
        linker.args(["--ld-path=ld.lld-22"]).args(&self.compile).args(&self.link);
        linker.arg(format!("-Wl,--load-pass-plugin={}", plugin().display()));
        linker.args(objects.iter().map(|object| self.folder.join(object)));
        succeeds(linker.arg("-Wno-unused-command-line-argument").arg("-o").arg(&program));
        // Exceptions in a signal handler are what the test is about.
        let said = succeeds(Command::new(program).env("TSAN_OPTIONS", "report_signal_unsafe=0"));
        assert_eq!(said, "all depths as they should be\n");
    }
}

/// Builds in one way, runs, and expects every depth as it should be.
fn depths_are_right(name: &str, compile: &'static str, link: &'static str) {
    let build = Build::new(name, compile, link);
    build.program(None);
    build.mutual();
    build.plain();
    build.runs(&["correct.o", "mutual.o", "runtime.o", "quiet.o"]);
}

#[test]
fn depths_without_optimisation() {
    depths_are_right("o0", "-O0", "");
}

#[test]
fn depths_at_every_level_of_optimisation() {
    depths_are_right("o1", "-O1", "");
    depths_are_right("o2", "-O2", "");
    depths_are_right("o3", "-O3", "");
    depths_are_right("os", "-Os", "");
}

#[test]
fn depths_with_optimisation_at_link_time() {
    depths_are_right("full", "-O2 -flto", "");
    depths_are_right("thin", "-O2 -flto=thin", "");
}

#[test]
fn depths_of_executables_of_every_kind() {
    depths_are_right("fixed", "-O1 -fno-pie", "-no-pie");
    depths_are_right("static", "-O1", "-static");
    depths_are_right("static-pie", "-O1", "-static-pie");
    depths_are_right("pic", "-O1 -fPIC", "");
}

#[test]
fn depths_under_sanitizers() {
    depths_are_right("asan", "-O1 -fsanitize=address", "");
    depths_are_right("ubsan", "-O1 -fsanitize=undefined", "");
    depths_are_right("tsan", "-O0 -fsanitize=thread", "");
}

#[test]
fn depths_with_an_instrumented_library_that_is_opened() {
    let build = Build::new("opened", "-O1", "-Wl,--export-dynamic-symbol=tw_*");
    let library = build.folder.join("libmutual.so");
    let mut linker = build.instrumented("clang", "mutual.c");
    succeeds(linker.args(["-fPIC", "-shared", "--ld-path=ld.lld-22", "-o"]).arg(&library));
    build.program(Some(&library));
    build.plain();
    build.runs(&["correct.o", "runtime.o", "quiet.o"]);
}

/// Every `ir/*.ll` holds its checks; its RUN lines say which passes, and which environment.
#[test]
fn the_code_is_as_the_abi_says() {
    let folder = sources().join("ir");
    let entries = std::fs::read_dir(&folder).expect("the folder of the checks");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "ll"));
    assert!(files.len() >= 5, "found {files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        let runs: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("; RUN: ")).collect();
        assert!(!runs.is_empty(), "{file:?} has no RUN line");
        for run in runs {
            let script = format!(
                "{},verify -load-pass-plugin={} -S {file} | FileCheck-22 {file}",
                run.replace("opt ", "opt-22 "),
                plugin().display(),
                file = file.file_name().expect("a name").display(),
            );
            let mut bash = Command::new("bash");
            succeeds(bash.args(["-o", "pipefail", "-c", &script]).current_dir(&folder));
        }
    }
}

#[test]
fn a_broken_filter_is_an_error_that_names_its_line() {
    let folder = folder("filter");
    let filter = folder.join("filter.txt");
    std::fs::write(&filter, "+fine\nmissing\n").expect("the filter");
    let mut compiler = clang("clang");
    compiler
        .arg(format!("-fpass-plugin={}", plugin().display()))
        .env("TAILWATER_PROFILE_FILTER", &filter);
    let done = compiler.args(["-c", "mutual.c", "-o"]).arg(folder.join("mutual.o")).output();
    let done = done.expect("clang starts");
    let complained = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success(), "a broken filter is refused");
    assert!(complained.contains("filter.txt:2: found 'missing'"), "{complained}");
}

/// The folder that `make pass` would make, with the tests' runtime in place of the real one.
fn installed(folder: &Path) {
    std::fs::copy(plugin(), folder.join("libtailwater_profile_pass.so")).expect("the plugin");
    let object = folder.join("tailwater_profile_rt.o");
    succeeds(clang("clang").args(["-O2", "-fPIC", "-c", "runtime.c", "-o"]).arg(&object));
    let library = folder.join("libtailwater_profile_rt.so");
    succeeds(clang("clang").args(["-shared", "-o"]).arg(library).arg(object));
    let goes = root().join("crates/profile-rt/src/shim/library.c");
    let object = folder.join("tailwater_profile_library.o");
    succeeds(clang("clang").args(["-O2", "-fPIC", "-c", "-o"]).arg(object).arg(goes));
}

/// `tailwater profile build -- …` by the command that `cargo xtask test` names, or from the folder that cargo has
/// built into.
fn profile_build(home: &Path) -> Command {
    let built = || {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root()).args(["build", "--quiet", "--locked"]);
        succeeds(cargo.args(["--package", "tailwater-cli"]));
        let target = home.ancestors().find(|folder| folder.join("debug/tailwater").exists());
        target.expect("cargo's folder").join("debug/tailwater")
    };
    let tailwater = std::env::var_os("TAILWATER_BINARY").map_or_else(built, PathBuf::from);
    let mut command = Command::new(tailwater);
    command.args(["profile", "build"]).env("TAILWATER_PROFILE_HOME", home);
    command
}

#[test]
fn a_makefile_is_built_as_it_is() {
    let home = folder("wrapped");
    installed(&home);
    let makefile = "correct: correct.o libmutual.so quiet.o\n\t$(CXX) $(CXXFLAGS) -o $@ $^ -Wl,-rpath,.\n\
                    libmutual.so: mutual.c\n\t$(CC) -shared -fPIC -o $@ $<\n";
    std::fs::write(home.join("Makefile"), makefile).expect("the makefile");
    for name in ["correct.cpp", "depth.h", "mutual.c", "quiet.cpp"] {
        std::fs::copy(sources().join(name), home.join(name)).expect("a copy");
    }
    let flags =
        format!("CXXFLAGS=-O1 -Werror -std=c++20 -DDEBUG_LINES=1 -I{}", header_folder().display());
    succeeds(profile_build(&home).args(["--", "make", "correct", &flags]).current_dir(&home));
    let said = succeeds(Command::new("./correct").current_dir(&home));
    assert_eq!(said, "all depths as they should be\n");
}

#[test]
fn a_cargo_project_is_built_with_stable_rust() {
    let home = folder("rust");
    installed(&home);
    let (object, archive) = (home.join("shadow.o"), home.join("libshadow.a"));
    succeeds(clang("clang").args(["-O2", "-c", "shadow.c", "-o"]).arg(&object));
    succeeds(Command::new("llvm-ar-22").arg("rcs").arg(archive).arg(object));
    let program = home.join("target/x86_64-unknown-linux-gnu/release/depths");
    let build = |options: &[&str]| {
        let mut cargo = profile_build(&home);
        cargo
            .args(options)
            .args(["--", "cargo", "build", "--release", "--offline"])
            .current_dir(sources().join("rust"));
        cargo.env("CARGO_TARGET_DIR", home.join("target")).env("SHADOW_FOLDER", &home);
        cargo.env("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu").env_remove("RUSTFLAGS");
        // CI lowers it for what it builds itself (`.ci/run`), and functions are inlined by it.
        cargo.env_remove("CARGO_PROFILE_RELEASE_OPT_LEVEL");
        succeeds(&mut cargo);
        assert_eq!(succeeds(&mut Command::new(&program)), "all depths as they should be\n");
        program.metadata().and_then(|data| data.modified()).expect("a time")
    };
    let first = build(&[]);
    assert_eq!(build(&[]), first, "nothing has changed");
    assert_ne!(build(&["--whole"]), first, "cargo knows nothing of what decides");
}
