//! How long after one another the looks at a thread come that find out all its frames.

use tailwater_profile::record::{Looks, ThreadId, Ticks};

/// Within this much, looks are not told apart: most of them come so soon, and counting must be cheap.
const SOON: Ticks = 64;
/// Four to each power of two beyond that, up to what a record can say.
const BUCKETS: usize = 1 + (32 - SOON.ilog2() as usize) * 4;

/// A count of looks, by the time since the last.
#[derive(Debug)]
pub(crate) struct Counts {
    last: Ticks,
    buckets: [Bucket; BUCKETS],
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    count: u64,
    ticks: u64,
}

impl Counts {
    /// The first look is measured from `began`.
    pub(crate) const fn new(began: Ticks) -> Self {
        Self { last: began, buckets: [Bucket { count: 0, ticks: 0 }; BUCKETS] }
    }

    #[inline]
    pub(crate) const fn note(&mut self, at: Ticks) {
        let since = at.saturating_sub(self.last);
        self.last = at;
        let bucket = &mut self.buckets[if since <= SOON { 0 } else { bucket_of(since) }];
        bucket.count += 1;
        bucket.ticks += since;
    }

    /// Those noted since this was last asked.
    pub(crate) fn take(&mut self, thread: ThreadId) -> impl Iterator<Item = Looks> {
        let noted = self.buckets.iter_mut().enumerate().filter(|(_, bucket)| bucket.count > 0);
        noted.map(move |(at, bucket)| {
            let Bucket { count, ticks } = std::mem::replace(bucket, Bucket { count: 0, ticks: 0 });
            Looks { thread, within: within(at), count, ticks }
        })
    }
}

/// For times beyond [`SOON`].
const fn bucket_of(since: Ticks) -> usize {
    let below = since - 1;
    let power = below.ilog2();
    let quarter = (below >> (power - 2)) & 3;
    let at = 1 + (power - SOON.ilog2()) as usize * 4 + quarter as usize;
    if at < BUCKETS { at } else { BUCKETS - 1 }
}

/// The longest time that falls into a bucket.
const fn within(at: usize) -> u32 {
    let Some(beyond) = at.checked_sub(1) else { return SOON as u32 };
    if at == BUCKETS - 1 {
        return u32::MAX;
    }
    let (power, quarter) = (SOON.ilog2() + beyond as u32 / 4, beyond as u64 % 4);
    ((5 + quarter) << (power - 2)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_look_is_within_its_bucket_and_beyond_the_one_before() {
        let mut counts = Counts::new(1000);
        let mut at = 1000;
        let times = [0, 1, 64, 65, 79, 80, 81, 96, 112, 128, 129, 5000, 1 << 31, 1 << 40];
        for since in times {
            at += since;
            counts.note(at);
            let found: Vec<Looks> = counts.take(ThreadId(3)).collect();
            let [looks] = found[..] else { panic!("{found:?}") };
            assert_eq!((looks.thread, looks.count, looks.ticks), (ThreadId(3), 1, since));
            let since = since.min(u64::from(u32::MAX));
            assert!(u64::from(looks.within) >= since, "{since} within {}", looks.within);
            assert!(
                looks.within == 64
                    || looks.within == u32::MAX
                    || u64::from(looks.within) < since * 5 / 4 + 1,
                "{since} within {}",
                looks.within
            );
        }
        assert_eq!(counts.take(ThreadId(3)).count(), 0);
    }
}
