//! SpookyHash V2: 128 bits of any bytes, by Bob Jenkins (public domain, 2012), which the thesis' Router places keys
//! by (§2.2.2: about 1 byte a cycle for short keys, 3 for long ones).
//!
//! Numbers are read little-endian, so that every machine places alike.

/// No special meaning: not zero, odd, and not regular.
const CONSTANT: u64 = 0xdead_beef_dead_beef;
/// From this length on, the long form is faster than the short one.
const LONG_BYTES: usize = 192;
const BLOCK_BYTES: usize = 96;

/// Both halves of the hash.
#[must_use]
pub fn hash128(message: &[u8], seeds: [u64; 2]) -> [u64; 2] {
    if message.len() < LONG_BYTES { short(message, seeds) } else { long(message, seeds) }
}

/// The first half, from one seed.
#[must_use]
pub fn hash64(message: &[u8], seed: u64) -> u64 {
    hash128(message, [seed; 2])[0]
}

/// Its lower half.
#[must_use]
pub fn hash32(message: &[u8], seed: u32) -> u32 {
    hash64(message, seed.into()) as u32
}

fn short(message: &[u8], [mut a, mut b]: [u64; 2]) -> [u64; 2] {
    let (mut c, mut d) = (CONSTANT, CONSTANT);
    let (pieces, mut rest) = message.as_chunks::<32>();
    for piece in pieces {
        c = c.wrapping_add(word(piece, 0));
        d = d.wrapping_add(word(piece, 1));
        short_mix(&mut a, &mut b, &mut c, &mut d);
        a = a.wrapping_add(word(piece, 2));
        b = b.wrapping_add(word(piece, 3));
    }
    if let Some((piece, after)) = rest.split_first_chunk::<16>() {
        c = c.wrapping_add(word(piece, 0));
        d = d.wrapping_add(word(piece, 1));
        short_mix(&mut a, &mut b, &mut c, &mut d);
        rest = after;
    }
    // The highest byte is the length; the others are those of the rest beyond eight.
    d = d.wrapping_add((message.len() as u64) << 56);
    if rest.is_empty() {
        c = c.wrapping_add(CONSTANT);
        d = d.wrapping_add(CONSTANT);
    } else {
        let (low, high) = rest.split_at(rest.len().min(8));
        c = c.wrapping_add(padded(low));
        d = d.wrapping_add(padded(high));
    }
    short_end(&mut a, &mut b, &mut c, &mut d);
    [a, b]
}

fn long(message: &[u8], [first, second]: [u64; 2]) -> [u64; 2] {
    let mut state = [0; 12];
    for part in state.chunks_exact_mut(3) {
        part.copy_from_slice(&[first, second, CONSTANT]);
    }
    let (blocks, rest) = message.as_chunks::<BLOCK_BYTES>();
    for block in blocks {
        mix(block, &mut state);
    }
    let mut last = [0; BLOCK_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    // Less than a block is left.
    last[BLOCK_BYTES - 1] = rest.len() as u8;
    for (index, part) in state.iter_mut().enumerate() {
        *part = part.wrapping_add(word(&last, index));
    }
    for _ in 0..3 {
        end_part(&mut state);
    }
    [state[0], state[1]]
}

fn word<const BYTES: usize>(bytes: &[u8; BYTES], index: usize) -> u64 {
    bytes.as_chunks::<8>().0.get(index).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Up to eight bytes, with zeros behind them.
fn padded(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// One step of the short form: `turned` is turned, grows by `added`, and goes into `into`.
fn short_step(turned: &mut u64, by: u32, added: u64, into: &mut u64) {
    *turned = turned.rotate_left(by).wrapping_add(added);
    *into ^= *turned;
}

fn short_mix(a: &mut u64, b: &mut u64, c: &mut u64, d: &mut u64) {
    for [first, second, third, fourth] in [[50, 52, 30, 41], [54, 48, 38, 37], [62, 34, 5, 36]] {
        short_step(c, first, *d, a);
        short_step(d, second, *a, b);
        short_step(a, third, *b, c);
        short_step(b, fourth, *c, d);
    }
}

/// One step of the short form's end.
fn short_end_step(into: &mut u64, turned: &mut u64, by: u32) {
    *into ^= *turned;
    *turned = turned.rotate_left(by);
    *into = into.wrapping_add(*turned);
}

fn short_end(a: &mut u64, b: &mut u64, c: &mut u64, d: &mut u64) {
    for [first, second, third, fourth] in [[15, 52, 26, 51], [28, 9, 47, 54]] {
        short_end_step(d, c, first);
        short_end_step(a, d, second);
        short_end_step(b, a, third);
        short_end_step(c, b, fourth);
    }
    short_end_step(d, c, 32);
    short_end_step(a, d, 25);
    short_end_step(b, a, 63);
}

fn mix(block: &[u8; BLOCK_BYTES], state: &mut [u64; 12]) {
    const TURNS: [u32; 12] = [11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46];
    for (at, turn) in TURNS.into_iter().enumerate() {
        let [next, after, last_but_one, last] = [1, 2, 10, 11].map(|step| (at + step) % 12);
        state[at] = state[at].wrapping_add(word(block, at));
        state[after] ^= state[last_but_one];
        state[last] ^= state[at];
        state[at] = state[at].rotate_left(turn);
        state[last] = state[last].wrapping_add(state[next]);
    }
}

fn end_part(state: &mut [u64; 12]) {
    const TURNS: [u32; 12] = [44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54];
    for (at, turn) in TURNS.into_iter().enumerate() {
        let [next, after, last] = [1, 2, 11].map(|step| (at + step) % 12);
        state[last] = state[last].wrapping_add(state[next]);
        state[after] ^= state[last];
        state[next] = state[next].rotate_left(turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the author's own test of this version (`TestResults` in TestSpookyV2.cpp): the first so many of the bytes from 128
    /// on. The long form begins at 192, and has a whole block more at 288.
    #[test]
    fn the_authors_numbers() {
        let bytes: Vec<u8> = (0..512_u32).map(|at| (at + 128) as u8).collect();
        for (length, expected) in [
            (0, 0x6bf5_0919),
            (1, 0x70de_1d26),
            (15, 0x83ec_01f9),
            (16, 0xf274_736c),
            (31, 0x027b_ca7c),
            (32, 0xe5cf_c8b6),
            (191, 0xe13d_9e19),
            (192, 0x77e0_12bd),
            (255, 0x2f40_ee0b),
            (287, 0xc22c_642d),
            (288, 0x4788_0140),
            (511, 0xcc1c_8250),
        ] {
            assert_eq!(hash32(&bytes[..length], 0), expected, "{length} bytes");
        }
    }

    /// Both halves, and other seeds: of the documentation of the Python binding `spookyhash`, which wraps the author's code.
    #[test]
    fn the_bindings_numbers() {
        let text = b"hello world";
        assert_eq!(hash32(text, 0), 2_617_184_861);
        assert_eq!(hash64(text, 0), 14_865_987_102_431_973_981);
        assert_eq!(hash128(text, [0, 0]), [14_865_987_102_431_973_981, 10_079_487_997_037_711_397]);
        assert_eq!(
            hash128(text, [123_000, 456_000]),
            [12_678_109_464_562_819_821, 7_812_831_891_108_919_044]
        );
    }
}
