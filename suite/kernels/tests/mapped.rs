//! Files in memory.

use std::path::PathBuf;
use tailwater_kernels::{BLOCK, Mapped, MappedError, Rows};

/// A file of this test's own, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn with(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("tailwater-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("a file");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn numbers_come_back_as_they_were_written() {
    let numbers: Vec<u8> = (0..8_u32).flat_map(|number| (number << 20).to_ne_bytes()).collect();
    let file = Scratch::with("numbers", &numbers);
    for map in [Mapped::open(&file.0), Mapped::open_loaded(&file.0)] {
        let map = map.expect("mapped");
        assert_eq!(map.bytes(), numbers);
        assert_eq!(map.numbers::<u32>(8, 3).expect("three numbers"), [2 << 20, 3 << 20, 4 << 20]);
        assert_eq!(map.numbers::<u64>(0, 4).expect("four numbers").len(), 4);
        assert!(map.numbers::<f32>(32, 0).expect("none").is_empty());
    }
}

#[test]
fn rows_can_lie_in_a_file() {
    let values: Vec<u8> = (0..2 * BLOCK).flat_map(|at| (at as f32).to_ne_bytes()).collect();
    let file = Scratch::with("rows", &values);
    let map = Mapped::open(&file.0).expect("mapped");
    let rows = Rows::new(map.numbers(0, 2 * BLOCK).expect("floats"), 3).expect("two rows");
    assert_eq!((rows.count(), rows.vector(1)), (2, &[32.0, 33.0, 34.0][..]));
    assert!(Rows::new(&[0.0; BLOCK + 1], 3).is_none());
}

#[test]
fn what_the_file_has_not_is_refused() {
    let file = Scratch::with("short", &[0; 10]);
    let map = Mapped::open(&file.0).expect("mapped");
    let error = map.numbers::<u32>(4, 2).expect_err("it has ten bytes").to_string();
    assert!(error.ends_with("found 10 bytes; 12 are needed: make the file anew"), "{error}");
    assert!(matches!(map.numbers::<u32>(2, 1), Err(MappedError::Unaligned(_, 2))));
    assert!(matches!(map.numbers::<u64>(8, usize::MAX), Err(MappedError::Short { .. })));
    assert!(map.numbers::<u8>(11, 0).is_err());
}

#[test]
fn a_file_may_be_empty_or_missing() {
    let file = Scratch::with("empty", &[]);
    assert!(Mapped::open(&file.0).expect("mapped").bytes().is_empty());
    let error = Mapped::open("/nowhere/at/all".as_ref()).expect_err("not there").to_string();
    assert!(error.starts_with("/nowhere/at/all: "), "{error}");
}
