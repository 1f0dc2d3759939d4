//! The last frame of either side: why it closes the connection.

use crate::goodbye_code::GoodbyeCode;
use crate::kind::{FrameKind, PREFIX_LEN};
use crate::limits::GOODBYE_TEXT_MAX;
use crate::prefix::{Prefix, prefix_bytes};
use std::fmt;

/// Flag: `taken` stands before the text.
const COUNTED: u8 = 1;

/// GOODBYE: the sender's last frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Goodbye<'a> {
    /// Why, as sent; [`Goodbye::reason`] gives it a meaning.
    pub code: u16,
    /// For people. Comes from the peer: print it through `Display`, which escapes it.
    pub text: &'a str,
    /// How many REQUEST frames of this connection the sender has read; later ones were surely not begun.
    /// `None` when it does not say.
    pub taken: Option<u64>,
}

impl<'a> Goodbye<'a> {
    /// A goodbye for `code`; `text` beyond [`GOODBYE_TEXT_MAX`] bytes is cut off when encoded.
    #[must_use]
    pub const fn new(code: GoodbyeCode, text: &'a str) -> Self {
        Self { code: code as u16, text, taken: None }
    }

    /// The same, which also says how many REQUEST frames were read.
    #[must_use]
    pub const fn after(self, taken: u64) -> Self {
        Self { taken: Some(taken), ..self }
    }

    /// The code's meaning; `None` for one that this version does not know.
    #[must_use]
    pub fn reason(&self) -> Option<GoodbyeCode> {
        GoodbyeCode::from_code(self.code)
    }

    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let text = &self.text[..self.text.floor_char_boundary(GOODBYE_TEXT_MAX)];
        let taken = self.taken.map(u64::to_le_bytes);
        let taken = taken.as_ref().map_or(&[][..], |bytes| &bytes[..]);
        let flags = if taken.is_empty() { 0 } else { COUNTED };
        let len = (PREFIX_LEN + taken.len() + text.len()) as u32;
        out.extend_from_slice(&prefix_bytes(len, FrameKind::Goodbye, flags, self.code));
        out.extend_from_slice(taken);
        out.extend_from_slice(text.as_bytes());
    }

    /// Keeps the text up to the first byte that is not UTF-8: the frame is the last one anyway, and
    /// an error here would hide the reason that the peer gave.
    pub(crate) fn decode(prefix: &Prefix, frame: &'a [u8]) -> Self {
        let body = frame.get(PREFIX_LEN..).unwrap_or_default();
        // A flag without its eight bytes says nothing.
        let counted = (prefix.flags & COUNTED != 0).then(|| body.split_first_chunk()).flatten();
        let (taken, text) = counted.map_or((None, body), |(taken, text)| (Some(*taken), text));
        let text = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        // Without the count, eight bytes more would fit the frame.
        let text = &text[..text.floor_char_boundary(GOODBYE_TEXT_MAX)];
        Self { code: prefix.code, text, taken: taken.map(u64::from_le_bytes) }
    }
}

impl fmt::Display for Goodbye<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason() {
            Some(reason) => f.write_str(reason.name())?,
            None => write!(f, "code {}", self.code)?,
        }
        if !self.text.is_empty() {
            write!(f, ": {}", self.text.escape_debug())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Goodbye<'_> {
        match crate::decode_from_server(bytes, &crate::Limits::default()) {
            Ok(Some((crate::ServerFrame::Goodbye(goodbye), _))) => goodbye,
            other => panic!("a goodbye was needed, {other:?} found"),
        }
    }

    #[test]
    fn what_was_taken_is_said_or_not() {
        let plain = Goodbye::new(GoodbyeCode::Draining, "restart");
        for goodbye in [plain, plain.after(0), plain.after(u64::MAX)] {
            let mut out = Vec::new();
            goodbye.encode(&mut out);
            assert_eq!(decoded(&out), goodbye);
        }
        // The flag, and seven bytes.
        let cut = [15, 0, 0, 0, 9, COUNTED, 2, 0, b'r', b'e', b's', b't', b'a', b'r', b't'];
        assert_eq!(decoded(&cut), plain);
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let text = "ä".repeat(129) + "x";
        let mut out = Vec::new();
        Goodbye::new(GoodbyeCode::Idle, &text).encode(&mut out);
        let text = "ä".repeat(128);
        assert_eq!(decoded(&out), Goodbye::new(GoodbyeCode::Idle, &text));
    }

    #[test]
    fn a_peers_text_cannot_steer_a_terminal() {
        let shown = Goodbye { code: 2, text: "\u{1b}[2Jbye\n", taken: None }.to_string();
        assert_eq!(shown, "draining: \\u{1b}[2Jbye\\n");
        assert_eq!(Goodbye { code: 999, text: "", taken: None }.to_string(), "code 999");
    }
}
