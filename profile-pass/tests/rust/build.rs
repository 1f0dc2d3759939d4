//! Links the library of `../shadow.c`, which lies in the folder that the test names.

#![forbid(unsafe_code)]

fn main() {
    let folder = std::env::var("SHADOW_FOLDER").expect("SHADOW_FOLDER names the folder");
    println!("cargo::rustc-link-search={folder}");
    println!("cargo::rustc-link-lib=static:+whole-archive=shadow");
}
