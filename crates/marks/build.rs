//! Compiles the weak references: stable Rust has none.

fn main() {
    println!("cargo::rerun-if-changed=src/weak.c");
    cc::Build::new().file("src/weak.c").opt_level(2).warnings(true).compile("tailwater_marks");
}
