//! CRC-32C (Castagnoli), eight bytes a step.

/// The reflected polynomial 0x1EDC6F41 of RFC 3720, §12.1.
const POLYNOMIAL: u32 = 0x82f6_3b78;

static TABLES: [[u32; 256]; 8] = tables();

/// The checksum of `bytes`.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    let mut eights = bytes.chunks_exact(8);
    for eight in &mut eights {
        let [a, b, c, d, e, f, g, h] = *eight else { unreachable!("chunks of eight") };
        let low = crc ^ u32::from_le_bytes([a, b, c, d]);
        let [a, b, c, d] = low.to_le_bytes();
        let step = |table: usize, byte: u8| TABLES[table][usize::from(byte)];
        crc = step(7, a) ^ step(6, b) ^ step(5, c) ^ step(4, d);
        crc ^= step(3, e) ^ step(2, f) ^ step(1, g) ^ step(0, h);
    }
    for &byte in eights.remainder() {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc.to_le_bytes()[0] ^ byte)];
    }
    !crc
}

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    // Each further table shifts by one more byte.
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_3720_come_out() {
        // RFC 3720, appendix B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }
}
