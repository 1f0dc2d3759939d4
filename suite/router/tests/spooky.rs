//! SpookyHash V2 against another implementation, at every length in which its parts differ.

use anyhash::spooky::Spooky;
use anyhash::{Hasher, HasherWrite as _};
use proptest::prelude::*;
use tailwater_router::spooky::{hash32, hash64, hash128};

fn other(message: &[u8], seeds: [u64; 2]) -> [u64; 2] {
    let mut hasher = Spooky::with_seed(seeds[0], seeds[1]);
    // At an odd address: where the bytes lie at a multiple of eight, this version panics unless their number is one.
    let mut space = vec![0; message.len() + 8];
    let odd = 1 + space.as_ptr().align_offset(8) % 7;
    space[odd..odd + message.len()].copy_from_slice(message);
    hasher.write(&space[odd..odd + message.len()]);
    let whole: u128 = hasher.finish();
    [whole as u64, (whole >> 64) as u64]
}

#[test]
fn every_length_up_to_a_thousand() {
    let bytes: Vec<u8> = (0..1_000_u32).map(|at| (at * 131 % 251) as u8).collect();
    for length in 0..=bytes.len() {
        let message = &bytes[..length];
        assert_eq!(hash128(message, [7, 9]), other(message, [7, 9]), "{length} bytes");
    }
}

proptest! {
    #[test]
    fn any_bytes_and_seeds(message in prop::collection::vec(any::<u8>(), 0..600), seeds: [u64; 2]) {
        prop_assert_eq!(hash128(&message, seeds), other(&message, seeds));
        prop_assert_eq!(hash64(&message, seeds[0]), other(&message, [seeds[0]; 2])[0]);
        let narrow = seeds[0] as u32;
        prop_assert_eq!(hash32(&message, narrow), other(&message, [narrow.into(); 2])[0] as u32);
    }
}
