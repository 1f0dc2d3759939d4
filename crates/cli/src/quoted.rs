//! What people are to type in a shell.

/// As one word of a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_./:=@%+,-".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[test]
fn a_shell_reads_what_was_meant() {
    for word in ["/tmp/a.toml", "my pages", "it's", "$HOME;x", ""] {
        let line = format!("printf %s {}", quoted(word));
        let read = std::process::Command::new("sh").args(["-c", &line]).output();
        assert_eq!(read.expect("a shell").stdout, word.as_bytes(), "{line}");
    }
    assert_eq!(quoted("127.0.0.1:7000"), "127.0.0.1:7000");
}
