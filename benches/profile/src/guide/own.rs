//! What a program's own clock says of the calls of one function: the file that `programs/clocked.h` leaves.

use crate::Result;
use std::path::Path;

/// The calls that the program noted.
#[derive(Debug, PartialEq)]
pub(super) struct Own {
    pub(super) ns_per_tick: f64,
    /// In all, from its start to its end.
    pub(super) made: u64,
    /// Those for which there was no room.
    pub(super) left_out: u64,
    /// In the order in which each thread made them.
    pub(super) calls: Vec<OwnCall>,
}

/// A call, by the counter that the trace has its times from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnCall {
    pub(super) number: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    /// From what calls it to what it returns to: how much earlier, and how much later. Zeros where that was not noted.
    pub(super) around: [u64; 2],
}

impl Own {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let failed = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
        let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
        Self::decode(&bytes).ok_or_else(|| failed(&"is not what clocked.h writes, or a part of it"))
    }

    /// All of it, or nothing.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let (head, calls) = words.split_first_chunk::<7>()?;
        let [ticks, ns, ticks_end, ns_end, made, left_out, len] = *head;
        let (calls, half) = calls.as_chunks::<5>();
        let is_whole = rest.is_empty() && half.is_empty() && calls.len() as u64 == len;
        if !is_whole || ticks_end <= ticks || ns_end <= ns {
            return None;
        }
        let ns_per_tick = (ns_end - ns) as f64 / (ticks_end - ticks) as f64;
        let calls = calls.iter().map(|&[number, start, end, before, after]| {
            let around = [before, after];
            OwnCall { number, start, end, around }
        });
        Some(Self { ns_per_tick, made, left_out, calls: calls.collect() })
    }

    /// Those that lie between two times of the counter.
    pub(super) fn within(&self, from: u64, to: u64) -> impl Iterator<Item = OwnCall> {
        self.calls.iter().copied().filter(move |call| call.start >= from && call.end <= to)
    }

    pub(super) fn ns(&self, call: OwnCall) -> f64 {
        call.ticks() as f64 * self.ns_per_tick
    }
}

impl OwnCall {
    pub(super) fn ticks(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// From its call to its return.
    pub(super) fn ticks_around(self) -> u64 {
        self.ticks() + self.around.iter().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_log_is_read_whole_or_not_at_all() {
        let words = [100, 5_000, 300, 5_100, 9, 1, 2, 7, 110, 120, 0, 0, 8, 130, 160, 3, 4];
        let own = Own::decode(&bytes(&words)).expect("a log");
        assert_eq!((own.ns_per_tick, own.left_out, own.calls.len()), (0.5, 1, 2));
        assert_eq!(own.ns(own.calls[1]), 15.0);
        assert_eq!(own.calls.iter().map(|call| call.ticks_around()).collect::<Vec<_>>(), [10, 37]);
        let within: Vec<u64> = own.within(110, 159).map(|call| call.number).collect();
        assert_eq!(within, [7], "the other ended later");
        for end in 0..words.len() {
            assert_eq!(Own::decode(&bytes(&words[..end])), None, "{end} words");
        }
        assert_eq!(Own::decode(&bytes(&words)[1..]), None);
    }
}
