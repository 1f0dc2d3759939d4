//! AES-128 in counter mode: by tables, as before processors had instructions for it, against those instructions.

use super::tables::Tables;
use super::{Hand, Kernel, Side};
use aes::Aes128;
use aes::cipher::{InnerIvInit as _, KeyInit as _, StreamCipher as _, StreamCipherCoreWrapper};

type Core = ctr::CtrCore<Aes128, ctr::flavors::Ctr128BE>;

/// A key of no secret.
const KEY: [u8; 16] = *b"tailwater, a key";
const COUNTER: [u8; 16] = [0; 16];

/// Encrypts, and takes a checksum of what comes out.
pub(in super::super) struct Cipher {
    tables: Tables,
}

impl Cipher {
    pub(in super::super) fn new() -> Self {
        Self { tables: Tables::new(KEY) }
    }
}

impl Kernel for Cipher {
    fn hand(&self, side: Side) -> Hand<'_> {
        let mut text = Vec::new();
        let keyed = Aes128::new(&KEY.into());
        Box::new(move |input| {
            text.clear();
            text.extend_from_slice(input);
            match side {
                Side::Host => self.tables.apply_counter(COUNTER, &mut text),
                Side::Device => {
                    let core = Core::inner_iv_init(keyed.clone(), &COUNTER.into());
                    StreamCipherCoreWrapper::from_core(core).apply_keystream(&mut text);
                }
            }
            u64::from(crc32fast::hash(&text))
        })
    }
}
