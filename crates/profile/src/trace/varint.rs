//! Numbers in as many bytes as they need: LEB128, and zigzag for differences.

use super::TEXT_MAX;
use super::error::Trouble;

/// No number takes more bytes.
const LEN_MAX: usize = 10;

/// Appends `value`, seven bits a byte, low bits first.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends how far `value` is from `from`, either way, modulo 2⁶⁴.
pub(super) fn put_delta(out: &mut Vec<u8>, value: u64, from: u64) {
    let delta = value.wrapping_sub(from) as i64;
    put(out, ((delta << 1) ^ (delta >> 63)) as u64);
}

/// Appends an optional id: zero for none, otherwise one more than the id.
pub(super) fn put_optional(out: &mut Vec<u8>, id: Option<u32>) {
    put(out, id.map_or(0, |id| u64::from(id) + 1));
}

/// Appends bytes with their length, cut to [`TEXT_MAX`].
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(TEXT_MAX)];
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends text with its length, cut to [`TEXT_MAX`] at a character's edge.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, &text.as_bytes()[..text.floor_char_boundary(TEXT_MAX)]);
}

/// Reads numbers and texts off a payload.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Where the next byte lies in the payload.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) fn byte(&mut self) -> Result<u8, Trouble> {
        let byte = *self.bytes.get(self.at).ok_or(Trouble::EndsInRecord)?;
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, Trouble> {
        let mut value = 0u64;
        for index in 0..LEN_MAX {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if index == LEN_MAX - 1 && byte > 1 {
                return Err(Trouble::LongNumber);
            }
            value |= bits << (7 * index);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Trouble::LongNumber)
    }

    pub(super) fn delta(&mut self, from: u64) -> Result<u64, Trouble> {
        let coded = self.number()?;
        Ok(from.wrapping_add((coded >> 1) ^ (coded & 1).wrapping_neg()))
    }

    pub(super) fn small(&mut self) -> Result<u32, Trouble> {
        let value = self.number()?;
        u32::try_from(value).map_err(|_| Trouble::Number(value))
    }

    pub(super) fn optional(&mut self) -> Result<Option<u32>, Trouble> {
        let Some(id) = self.number()?.checked_sub(1) else { return Ok(None) };
        u32::try_from(id).map(Some).map_err(|_| Trouble::Number(id))
    }

    pub(super) fn fixed(&mut self) -> Result<u64, Trouble> {
        let bytes = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk);
        let bytes = bytes.ok_or(Trouble::EndsInRecord)?;
        self.at += bytes.len();
        Ok(u64::from_le_bytes(*bytes))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Trouble> {
        let len = self.number()?;
        if len > TEXT_MAX as u64 {
            return Err(Trouble::LongText(len));
        }
        let bytes = self.bytes.get(self.at..self.at + len as usize).ok_or(Trouble::EndsInRecord)?;
        self.at += bytes.len();
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<String, Trouble> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Trouble::NotText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_one(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, value);
        out
    }

    #[test]
    fn numbers_come_back_in_the_fewest_bytes() {
        for (value, len) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (u64::MAX, 10)] {
            let bytes = put_one(value);
            assert_eq!(bytes.len(), len);
            assert_eq!(Cursor::new(&bytes, 0).number(), Ok(value));
        }
        let too_long = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(Cursor::new(&too_long, 0).number(), Err(Trouble::LongNumber));
        assert_eq!(Cursor::new(&[0x80], 0).number(), Err(Trouble::EndsInRecord));
    }

    #[test]
    fn deltas_go_both_ways_and_wrap() {
        for (value, from) in [(5, 9), (9, 5), (0, u64::MAX), (u64::MAX, 0), (1 << 63, 0)] {
            let mut out = Vec::new();
            put_delta(&mut out, value, from);
            assert_eq!(Cursor::new(&out, 0).delta(from), Ok(value), "{value} from {from}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut out = Vec::new();
        put_text(&mut out, &"é".repeat(TEXT_MAX));
        assert_eq!(Cursor::new(&out, 0).text(), Ok("é".repeat(TEXT_MAX / 2)));
        let mut huge = put_one(TEXT_MAX as u64 + 1);
        huge.resize(TEXT_MAX + 10, b'a');
        assert_eq!(Cursor::new(&huge, 0).text(), Err(Trouble::LongText(TEXT_MAX as u64 + 1)));
        assert_eq!(Cursor::new(&[1, 0xff], 0).text(), Err(Trouble::NotText));
    }
}
