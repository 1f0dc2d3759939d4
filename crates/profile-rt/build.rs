//! Compiles the C part, and has the shared library export its symbols: rustc lists Rust's only.

fn main() {
    println!("cargo::rerun-if-changed=src/shim");
    println!("cargo::rerun-if-changed=include");
    // Initial-exec is what both want: linkers relax it to local-exec in a program.
    cc::Build::new()
        .files([
            "src/shim/shim.c",
            "src/shim/interpose.c",
            "src/shim/ends.c",
            "src/shim/counters.c",
            "src/shim/versions.c",
        ])
        .include("include")
        .include("src/shim")
        .opt_level(2)
        .pic(true)
        .warnings(true)
        .flag("-std=gnu11")
        .flag("-ftls-model=initial-exec")
        .compile("tailwater_profile_shim");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={folder}/src/shim/exports.map");
    // A program may close the library that brought it, while its threads record.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
