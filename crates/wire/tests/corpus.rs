//! Replays what the fuzzer starts from: `fuzz/corpus/wire_frame`.

use crate::check;
use std::fs;
use std::path::Path;

#[test]
fn the_fuzz_corpus_keeps_every_promise() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/wire_frame");
    let (mut files, mut frames) = (0, 0);
    for entry in fs::read_dir(&corpus).expect("the corpus is committed") {
        let path = entry.expect("a readable folder").path();
        let found = check::wire_frame(&fs::read(&path).expect("a readable file"));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert_eq!(found > 0, !name.starts_with("bad-"), "{name}: {found} frames");
        files += 1;
        frames += found;
    }
    assert!(files >= 20 && frames >= 30, "{files} files with {frames} frames");
}
