//! What is offloaded: real work, twice. The host's way and the accelerator's give the same answer.

mod checksum;
mod cipher;
mod compression;
mod inference;
mod tables;

pub(super) use checksum::Checksum;
pub(super) use cipher::Cipher;
pub(super) use compression::Compression;
pub(super) use inference::Inference;

use tailwater_core::Rng;

/// Which side works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The host, as without an accelerator.
    Host,
    /// The accelerator.
    Device,
}

/// What a thread does with an input: gives the answer, which is a checksum where the kernel makes much.
pub(super) type Hand<'k> = Box<dyn FnMut(&[u8]) -> u64 + 'k>;

/// A kernel.
pub(super) trait Kernel: Sync {
    /// One thread's part, with buffers of its own.
    fn hand(&self, side: Side) -> Hand<'_>;
}

/// A kernel whose accelerator gets one input wrong: that of this answer.
#[cfg(test)]
pub(super) struct Flawed<K>(pub(super) K, pub(super) u64);

#[cfg(test)]
impl<K: Kernel> Kernel for Flawed<K> {
    fn hand(&self, side: Side) -> Hand<'_> {
        let mut sound = self.0.hand(side);
        Box::new(move |input| {
            let answer = sound(input);
            let is_flawed = side == Side::Device && answer == self.1;
            answer ^ u64::from(is_flawed)
        })
    }
}

/// Inputs of each size: more of them would not stay in a core's cache, which no part of the model is about.
pub(super) const INPUTS: usize = 16;

/// An input with its answer.
pub(super) struct Input {
    pub(super) bytes: Vec<u8>,
    pub(super) answer: u64,
}

/// The inputs of every size.
pub(super) struct Pool(Vec<Vec<Input>>);

impl Pool {
    /// Makes them, with the host's answers.
    pub(super) fn new(kernel: &dyn Kernel, sizes: &[u32], seed: u64) -> Self {
        let mut rng = Rng::from_seed(seed).split("inputs");
        let mut hand = kernel.hand(Side::Host);
        let mut input = |bytes: u32| {
            let bytes = text(&mut rng, bytes as usize);
            let answer = hand(&bytes);
            Input { bytes, answer }
        };
        Self(sizes.iter().map(|&size| (0..INPUTS).map(|_| input(size)).collect()).collect())
    }

    /// The `number`th of a size; numbers go round.
    pub(super) fn get(&self, size: usize, number: usize) -> &Input {
        &self.0[size][number % INPUTS]
    }
}

/// Words in random order: compression has something to find, as in what services send.
fn text(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "get", "set", "user", "profile", "timeline", "shard", "reply", "cache", "latency", "queue",
        "credit", "request", "accept", "reject", "record", "value",
    ];
    let mut text = Vec::with_capacity(bytes + 32);
    while text.len() < bytes {
        let word = WORDS[rng.below(WORDS.len() as u32) as usize];
        text.extend_from_slice(format!("{word}:{} ", rng.below(1_000)).as_bytes());
    }
    text.truncate(bytes);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_every_kernel_give_the_same_answers() {
        let kernels: [&dyn Kernel; 4] =
            [&Checksum::new(), &Cipher::new(), &Compression, &Inference::new()];
        for (at, kernel) in kernels.into_iter().enumerate() {
            let pool = Pool::new(kernel, &[1, 17, 4_096], 3);
            let mut device = kernel.hand(Side::Device);
            for (size, number) in (0..3).flat_map(|size| (0..INPUTS).map(move |n| (size, n))) {
                let input = pool.get(size, number);
                assert_eq!(
                    device(&input.bytes),
                    input.answer,
                    "kernel {at}, size {size}, {number}"
                );
            }
            assert_ne!(pool.get(2, 0).answer, pool.get(2, 1).answer);
        }
    }
}
