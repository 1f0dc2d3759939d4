//! What of a file is built into programs.

/// Every line, empty in place of those that only tests and models have, so that places stay right.
pub(super) fn shipped(text: &str) -> impl Iterator<Item = &str> {
    let mut tests_only = false;
    text.lines().map(move |line| {
        tests_only |= line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
        let shown = if tests_only { "" } else { line };
        // An item ends with the first line that is not indented and closes it.
        let is_outer = !line.starts_with(char::is_whitespace);
        tests_only &= !(is_outer && line.ends_with([';', '}']));
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_an_item_of_tests_is_shipped() {
        let text = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(all(test, loom))]\nuse c::{\n    d,\n};\ne\n\
                    #[cfg(test)]\nmod more {\n    fn f() {\n    }\n}\ng\n";
        let lines: Vec<&str> = shipped(text).collect();
        assert_eq!(lines, ["a", "", "", "b", "", "", "", "", "e", "", "", "", "", "", "g"]);
    }
}
