//! One block: the distances between its documents, less one, in as many bits as the largest needs.
//!
//! Whole blocks are packed by the crate bitpacking, four lanes at a time; shorter ones, the ends of lists, bit by bit.

use bitpacking::{BitPacker as _, BitPacker4x};

/// Documents of a whole block.
pub(super) const BLOCK: usize = BitPacker4x::BLOCK_LEN;

/// Appends the width, then the distances. `former` is the document before the block.
pub(super) fn pack(former: Option<u32>, block: &[u32], into: &mut Vec<u8>) {
    if block.len() < BLOCK {
        return pack_short(former, block, into);
    }
    let packer = BitPacker4x::new();
    let width = packer.num_bits_strictly_sorted(former, block);
    into.push(width);
    let start = into.len();
    into.resize(start + BitPacker4x::compressed_block_size(width), 0);
    packer.compress_strictly_sorted(former, block, &mut into[start..], width);
}

/// Reads as many documents as `into` has room for.
#[inline]
pub(super) fn unpack(former: Option<u32>, packed: &[u8], into: &mut [u32]) {
    let (width, packed) = (packed[0], &packed[1..]);
    if into.len() < BLOCK {
        return unpack_short(former, packed, width.into(), into);
    }
    BitPacker4x::new().decompress_strictly_sorted(former, packed, into, width);
}

/// The first document itself where there is none before it; else what lies between two.
fn distances(former: Option<u32>, block: &[u32]) -> impl Iterator<Item = u32> {
    let mut next = former.map_or(0, |former| former + 1);
    block.iter().map(move |&document| {
        let distance = document - next;
        // After the largest number nothing follows.
        next = document.wrapping_add(1);
        distance
    })
}

fn pack_short(former: Option<u32>, block: &[u32], into: &mut Vec<u8>) {
    let any = distances(former, block).fold(0, |any, distance| any | distance);
    let width = u32::BITS - any.leading_zeros();
    into.push(width as u8);
    let (mut bits, mut filled) = (0_u64, 0);
    for distance in distances(former, block) {
        bits |= u64::from(distance) << filled;
        filled += width;
        while filled >= 8 {
            into.push(bits as u8);
            bits >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        into.push(bits as u8);
    }
}

fn unpack_short(former: Option<u32>, packed: &[u8], width: u32, into: &mut [u32]) {
    let mask = (1_u64 << width) - 1;
    let mut bytes = packed.iter();
    let (mut bits, mut filled) = (0_u64, 0);
    let mut next = former.map_or(0, |former| former.wrapping_add(1));
    for document in into {
        while filled < width {
            bits |= u64::from(bytes.next().copied().unwrap_or(0)) << filled;
            filled += 8;
        }
        *document = next.wrapping_add((bits & mask) as u32);
        next = document.wrapping_add(1);
        bits >>= width;
        filled -= width;
    }
}
