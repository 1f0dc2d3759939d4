//! AES-128 by four tables (Daemen and Rijmen, *The Design of Rijndael*, §4.2): what software did before processors had
//! instructions. Its time depends on its data, so it is for measuring alone, and never for secrets.

/// Rounds of a key of 128 bits.
const ROUNDS: usize = 10;

/// Multiplication by x in GF(2⁸) modulo x⁸ + x⁴ + x³ + x + 1.
const fn double(byte: u8) -> u8 {
    (byte << 1) ^ (if byte & 0x80 == 0 { 0 } else { 0x1b })
}

/// The S-box of FIPS 197, §5.1.1: inverses by walking the powers of 3 and of its inverse side by side, then the affine map.
const fn sbox() -> [u8; 256] {
    let mut table = [0; 256];
    let (mut power, mut inverse) = (1_u8, 1_u8);
    loop {
        power ^= double(power);
        inverse ^= inverse << 1;
        inverse ^= inverse << 2;
        inverse ^= inverse << 4;
        if inverse & 0x80 != 0 {
            inverse ^= 0x09;
        }
        let turned = inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4);
        table[power as usize] = inverse ^ turned ^ 0x63;
        if power == 1 {
            break;
        }
    }
    // Zero has no inverse.
    table[0] = 0x63;
    table
}

const SBOX: [u8; 256] = sbox();

/// S-box and column mixing of one row; the other rows are the same turned.
const fn mixed() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let once = SBOX[at];
        let twice = double(once);
        table[at] = u32::from_be_bytes([twice, once, once, twice ^ once]);
        at += 1;
    }
    table
}

const fn turned(by: u32) -> [u32; 256] {
    let (from, mut table) = (mixed(), [0; 256]);
    let mut at = 0;
    while at < 256 {
        table[at] = from[at].rotate_right(by);
        at += 1;
    }
    table
}

static ROWS: [[u32; 256]; 4] = [turned(0), turned(8), turned(16), turned(24)];

/// A key's rounds.
pub(super) struct Tables([[u32; 4]; ROUNDS + 1]);

impl Tables {
    /// FIPS 197, §5.2.
    pub(super) fn new(key: [u8; 16]) -> Self {
        let mut rounds = [[0; 4]; ROUNDS + 1];
        rounds[0] = words(key);
        let mut constant = 1_u8;
        for at in 1..=ROUNDS {
            let last = rounds[at - 1];
            let turned = last[3].rotate_left(8).to_be_bytes().map(|byte| SBOX[byte as usize]);
            let mut word = u32::from_be_bytes(turned) ^ (u32::from(constant) << 24);
            for (new, old) in rounds[at].iter_mut().zip(last) {
                word ^= old;
                *new = word;
            }
            constant = double(constant);
        }
        Self(rounds)
    }

    /// Adds the key's stream from this counter on.
    pub(super) fn apply_counter(&self, counter: [u8; 16], text: &mut [u8]) {
        let mut counter = u128::from_be_bytes(counter);
        for block in text.chunks_mut(16) {
            let stream = self.block(counter.to_be_bytes());
            block.iter_mut().zip(stream).for_each(|(byte, key)| *byte ^= key);
            counter = counter.wrapping_add(1);
        }
    }

    fn block(&self, text: [u8; 16]) -> [u8; 16] {
        let [first, middle @ .., last] = &self.0;
        let mut state = add(words(text), first);
        for key in middle {
            let column = |at: usize| {
                let byte = |row: usize| state[(at + row) % 4].to_be_bytes()[row] as usize;
                ROWS[0][byte(0)] ^ ROWS[1][byte(1)] ^ ROWS[2][byte(2)] ^ ROWS[3][byte(3)]
            };
            state = add([column(0), column(1), column(2), column(3)], key);
        }
        let column = |at: usize| {
            let byte = |row: usize| SBOX[state[(at + row) % 4].to_be_bytes()[row] as usize];
            u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)])
        };
        let ended = add([column(0), column(1), column(2), column(3)], last);
        let mut out = [0; 16];
        for (bytes, word) in out.chunks_exact_mut(4).zip(ended) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        out
    }
}

fn words(bytes: [u8; 16]) -> [u32; 4] {
    let word =
        |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [word(0), word(4), word(8), word(12)]
}

fn add(state: [u32; 4], key: &[u32; 4]) -> [u32; 4] {
    [state[0] ^ key[0], state[1] ^ key[1], state[2] ^ key[2], state[3] ^ key[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_of_the_standard() {
        // FIPS 197, appendix B.
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let text = 0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128.to_be_bytes();
        let found = u128::from_be_bytes(Tables::new(key).block(text));
        assert_eq!(found, 0x3925_841d_02dc_09fb_dc11_8597_196a_0b32);
    }
}
