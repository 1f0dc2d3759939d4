//! What every page has: the frame around its content, a table of contents, downloads, and figures.

use crate::model::Group;
use crate::plots;
use crate::svg::escape;
use crate::svg::look::Look;
use tailwater_stats::result::Experiment;

/// Sorts tables and shows values beside the pointer. A page without it holds the same.
const SCRIPT: &str = include_str!("page.js");

/// How every page looks, on paper, in the dark and on phones; also those of programs that serve pages.
pub const STYLE: &str = include_str!("page.css");

/// Its hash as browsers take it (CSP Level 3, §2.3.1); a test tells when the script has changed.
const SCRIPT_HASH: &str = "sha256-r8+wzjSubm9bS1hz0cDcaRC1zSoF7YbWuIpEC5k/xVI=";

/// The page fetches nothing and runs its own script alone, should some text ever slip through as markup.
fn policy() -> String {
    format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; img-src data:; \
         script-src '{SCRIPT_HASH}'"
    )
}

/// How the title of every page ends: by that a page is known to be one of these.
pub const TITLE_END: &str = " · tailwater";

/// A whole page of what is in the middle.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = format!("{title}{TITLE_END}");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n\
         <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape(&policy()),
        escape(&title),
        STYLE
    )
}

/// Links to the parts of a page, by their ids.
pub(crate) fn contents(parts: impl Iterator<Item = (String, String)>) -> String {
    let link = |(id, name): (String, String)| format!("<a href=\"#{id}\">{}</a>", escape(&name));
    format!("<nav>{}</nav>\n", parts.map(link).collect::<Vec<_>>().join(" · "))
}

/// A link that holds what it offers.
pub(crate) fn download(name: &str, kind: &str, mime: &str, text: &str) -> String {
    format!(
        "<a download=\"{}\" href=\"data:{mime};base64,{}\">Download as {kind}</a>",
        escape(name),
        base64(text.as_bytes())
    )
}

/// The pictures of a group, each for wide windows and for phones, with its title above it.
pub(crate) fn figures(experiment: &Experiment, (at, group): (usize, &Group<'_>)) -> String {
    let drawn = |look| plots::of_group(experiment, (at, group), look);
    let mut out = String::from("<div class=\"plots\">\n");
    for (wide, narrow) in drawn(Look::BARE).into_iter().zip(drawn(Look::NARROW)) {
        out.push_str(&format!(
            "<figure id=\"{}\">\n<figcaption><b>{}</b><br/>{}</figcaption>\n<div class=\"wide\">\n{}</div>\n\
             <div class=\"narrow\">\n{}</div>\n</figure>\n",
            wide.name,
            escape(&wide.title),
            escape(&wide.how),
            wide.svg,
            narrow.svg
        ));
    }
    out.push_str("</div>\n");
    out
}

/// A name that no file system minds.
pub(crate) fn file_name(scenario: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }
    };
    let name: String = scenario.chars().take(80).map(safe).collect();
    if name.is_empty() { "experiment".to_owned() } else { name }
}

/// Base64 with padding (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = group >> (18 - 6 * digit) & 63;
            let shown = digit as usize <= chunk.len();
            out.push(if shown { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_policy_allows_the_script_that_is_there_and_no_other() {
        let hash = format!("sha256-{}", base64(&Sha256::digest(SCRIPT)));
        assert_eq!(SCRIPT_HASH, hash, "write the right one as SCRIPT_HASH");
        assert!(!SCRIPT.contains(['<', '&']), "the page is XML besides");
    }

    #[test]
    fn base64_matches_the_vectors_of_rfc_4648() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn file_names_hold_no_path() {
        assert_eq!(file_name("../a<b"), "---a-b");
        assert_eq!(file_name(""), "experiment");
    }
}
