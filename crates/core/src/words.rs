//! Foreign words in messages.

/// Keeps messages readable whatever was written: the first 40 characters, escaped.
#[must_use]
pub fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        clipped.push('…');
    }
    clipped
}
