//! Replays what the fuzzer starts from: `fuzz/corpus/journal`.

use crate::check;
use std::fs;
use std::path::Path;

#[test]
fn the_fuzz_corpus_keeps_every_promise() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/journal");
    let (mut files, mut sound) = (0, 0);
    for entry in fs::read_dir(&corpus).expect("the corpus is committed") {
        let path = entry.expect("a readable folder").path();
        let found = check::journal(&fs::read_to_string(&path).expect("a readable file"));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert_eq!(found, !name.starts_with("bad-"), "{name}");
        files += 1;
        sound += u32::from(found);
    }
    assert!(files >= 10 && sound >= 3, "{files} files, of which {sound} are journals");
}
