//! Replays what the fuzzer starts from: `fuzz/corpus/trace`.

use crate::check;
use std::fs;
use std::path::Path;

#[test]
fn the_fuzz_corpus_keeps_every_promise() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/trace");
    let (mut files, mut records) = (0, 0);
    for entry in fs::read_dir(&corpus).expect("the corpus is committed") {
        let path = entry.expect("a readable folder").path();
        let told = check::trace(&fs::read(&path).expect("a readable file"));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let sound = told.as_ref().is_some_and(|told| told.errors.is_empty());
        assert_eq!(sound, !name.starts_with("bad-"), "{name}");
        files += 1;
        records += told.map_or(0, |told| told.records.len());
    }
    assert!(files >= 12 && records >= 60, "{files} files with {records} records");
}
