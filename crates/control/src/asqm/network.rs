//! What the network takes, as the clients say: a minority of them cannot move it.

use super::quantile::{BUCKETS, UPDATE_EVERY, bucket, largest_of, of_rank};
use crate::server::Echo;
use std::time::Duration;
use tailwater_core::{Instant, Nanos, SessionId};

/// The 99th percentile of a typical session's round trips through the network.
///
/// How long a client held a stamp is its word. So readings of several sessions are never mixed: each session has one
/// voice, and the lower median of the voices counts. Ours; the paper has one percentile of all round trips, which one
/// reading in a hundred moves. The sessions number at most the loop's connections, and each takes 24 bytes. At each reading
/// eight of them are looked at for their age.
#[derive(Clone, Debug)]
pub(super) struct Network {
    /// By session.
    voices: Vec<Voice>,
    /// How many sessions say what, by bucket.
    counts: Vec<u32>,
    /// Sessions that have said something.
    speakers: u32,
    /// The voice that was looked at last for its age.
    hand: usize,
    until_update: u32,
    /// The bucket that counts now.
    level: Option<usize>,
}

/// What a session's round trips are like. All values are buckets.
#[derive(Clone, Copy, Debug)]
struct Voice {
    /// The last block was whole then; until one is whole, the first reading came then.
    since: Instant,
    /// The lower median of its last three whole blocks; until one is whole, the longest of all readings.
    said: Option<u16>,
    longest: u16,
    /// The longest of whole blocks, the last one first.
    blocks: [u16; BLOCKS],
    /// How many of them there are.
    whole: u8,
    readings: u8,
}

/// The longest of 69 readings lies beyond the 99th percentile half of the time, as 0.99⁶⁹ is a half. The median of many
/// such longest ones therefore is that percentile.
const BLOCK: u8 = 69;
/// One event that all sessions meet is in one block of each. Of three blocks the median leaves it out.
const BLOCKS: usize = 3;
/// A block is whole within this, or its session's voice ends: one second for each reading. Clients return no stamp
/// that they held for longer (`docs/protocol.md`), so one that calls steadily and returns stamps has a block by then.
const BLOCK_TIME: Duration = Duration::from_secs(BLOCK as u64);
/// Voices that are looked at for each reading. A silent one is found within an eighth as many readings as there are
/// sessions.
const LOOKED_AT: usize = 8;
/// What is taken goes this part of the way to the median at each update. The longest of one session's block varies by a
/// quarter where round trips are exponential, so that of few sessions a single median says little.
const PART: usize = 4;

impl Network {
    pub(super) fn new() -> Self {
        Self {
            voices: Vec::new(),
            counts: vec![0; BUCKETS],
            speakers: 0,
            hand: 0,
            until_update: UPDATE_EVERY,
            level: None,
        }
    }

    /// A session returned a stamp that it was sent.
    #[expect(clippy::cast_possible_truncation, reason = "there are a few hundred buckets")]
    pub(super) fn on_echo(&mut self, arrived: Instant, session: SessionId, echo: Echo) {
        // Less than a second, for which there is a bucket.
        let Some(rtt) = echo.rtt(arrived) else {
            return;
        };
        let index = session.index();
        if self.voices.len() <= index {
            self.voices.resize(index + 1, Voice::NONE);
        }
        self.end_if_old(arrived, index);
        for _ in 0..LOOKED_AT.min(self.voices.len()) {
            self.hand = (self.hand + 1) % self.voices.len();
            self.end_if_old(arrived, self.hand);
        }
        let voice = &mut self.voices[index];
        let before = voice.said;
        voice.hear(arrived, bucket(rtt.nanos()) as u16);
        let after = voice.said;
        self.recount(before, after);
        self.until_update -= 1;
        if self.until_update == 0 {
            self.until_update = UPDATE_EVERY;
            let median = self.median();
            self.level = Some(self.level.map_or(median, |level| nearer(level, median)));
        }
    }

    /// The session's voice ends with it.
    pub(super) fn on_close(&mut self, session: SessionId) {
        if session.index() < self.voices.len() {
            self.end(session.index());
        }
        if self.speakers == 0 {
            self.voices = Vec::new();
        }
    }

    /// The latest value; `None` before there are 128 readings.
    pub(super) fn value(&self) -> Option<Duration> {
        self.level.map(|level| Duration::from_nanos(largest_of(level)))
    }

    /// The lower median, so that of two sessions the one that says more does not count.
    fn median(&self) -> usize {
        of_rank(&self.counts, self.speakers.div_ceil(2))
    }

    fn end_if_old(&mut self, now: Instant, index: usize) {
        if self.voices[index].is_old(now) {
            self.end(index);
        }
    }

    fn end(&mut self, index: usize) {
        let before = std::mem::replace(&mut self.voices[index], Voice::NONE).said;
        self.recount(before, None);
    }

    fn recount(&mut self, before: Option<u16>, after: Option<u16>) {
        if let Some(bucket) = before {
            self.counts[usize::from(bucket)] -= 1;
            self.speakers -= 1;
        }
        if let Some(bucket) = after {
            self.counts[usize::from(bucket)] += 1;
            self.speakers += 1;
        }
    }
}

impl Voice {
    /// Nothing was said.
    const NONE: Self = Self {
        since: Instant::ZERO,
        said: None,
        longest: 0,
        blocks: [0; BLOCKS],
        whole: 0,
        readings: 0,
    };

    fn is_old(&self, now: Instant) -> bool {
        self.said.is_some() && now.since(self.since) > BLOCK_TIME
    }

    fn hear(&mut self, now: Instant, reading: u16) {
        if self.said.is_none() {
            self.since = now;
        }
        self.longest = self.longest.max(reading);
        self.readings += 1;
        if self.readings == BLOCK {
            self.blocks.rotate_right(1);
            self.blocks[0] = self.longest;
            self.whole = (self.whole + 1).min(BLOCKS as u8);
            (self.since, self.longest, self.readings) = (now, 0, 0);
            let mut whole = self.blocks;
            let whole = &mut whole[..usize::from(self.whole)];
            whole.sort_unstable();
            self.said = Some(whole[(whole.len() - 1) / 2]);
        } else if self.whole == 0 {
            self.said = Some(self.longest);
        }
    }
}

const fn nearer(level: usize, median: usize) -> usize {
    let step = level.abs_diff(median).div_ceil(PART);
    if median > level { level + step } else { level - step }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use tailwater_core::Rng;

    fn us(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    const START: Instant = Instant::from_nanos(5_000_000_000);

    fn hear(network: &mut Network, session: u32, rtt: Duration) {
        hear_at(network, START, session, rtt);
    }

    fn hear_at(network: &mut Network, stamped: Instant, session: u32, rtt: Duration) {
        let echo = Echo { stamp: stamped.stamp(), hold: Duration::ZERO };
        network.on_echo(stamped + rtt, SessionId(session), echo);
    }

    /// What is taken of 200 sessions, as a part of the true 99th percentile, which is ln 100 means. Round trips are
    /// exponential with a mean of 20 µs. The first `liars` say `lie` instead, ten times as often.
    fn of_true(liars: u32, lie: Duration) -> f64 {
        let (mut network, mut rng) = (Network::new(), Rng::from_seed(1));
        for _ in 0..500 {
            for session in 0..200 {
                if session < liars {
                    (0..10).for_each(|_| hear(&mut network, session, lie));
                } else {
                    let rtt = Duration::from_nanos(rng.exponential(20_000.0) as u64);
                    hear(&mut network, session, rtt);
                }
            }
        }
        network.value().unwrap().nanos() as f64 / (20_000.0 * 100_f64.ln())
    }

    #[test]
    fn the_median_of_the_longest_of_69_is_the_99th_percentile() {
        let found = of_true(0, Duration::ZERO);
        assert!((0.92..1.18).contains(&found), "{found} of the true percentile");
    }

    /// With a fifth of liars the median is between the 37.5th and the 62.5th percentile of the honest voices. In their
    /// readings that is between 98.6 and 99.3 of a hundred.
    #[test]
    fn a_fifth_of_the_sessions_moves_it_by_less_than_a_quarter() {
        for (liars, lie) in [(2, us(900_000)), (40, us(900_000)), (40, Duration::ZERO)] {
            let found = of_true(liars, lie);
            assert!((0.80..1.25).contains(&found), "{liars} say {lie:?}: {found} of the true one");
        }
    }

    #[test]
    fn fewer_than_half_move_nothing_where_all_others_agree() {
        for lie in [Duration::ZERO, us(900_000)] {
            let mut network = Network::new();
            for _ in 0..100 {
                for session in 0..99 {
                    hear(&mut network, session, if session < 49 { lie } else { us(20) });
                }
            }
            let found = network.value().unwrap();
            assert!(found >= us(20) && found <= us(22), "{lie:?}: {found:?}");
        }
    }

    /// It was alone for a night.
    #[test]
    fn a_lie_that_was_alone_is_forgotten_once_others_speak() {
        let mut network = Network::new();
        (0..100_000).for_each(|_| hear(&mut network, 0, us(900_000)));
        for _ in 0..1_500 {
            hear(&mut network, 1, us(20));
            hear(&mut network, 2, us(20));
        }
        let found = network.value().unwrap();
        assert!(found <= us(22), "{found:?}");
    }

    #[test]
    fn one_late_round_trip_is_forgotten_with_its_block() {
        let mut voice = Voice::NONE;
        let hear = |voice: &mut Voice, reading| voice.hear(START, reading);
        hear(&mut voice, 300);
        (1..69).for_each(|_| hear(&mut voice, 100));
        assert_eq!(voice.said, Some(300));
        (1..69).for_each(|_| hear(&mut voice, 100));
        assert_eq!(voice.said, Some(300), "the next block is not whole");
        hear(&mut voice, 100);
        assert_eq!(voice.said, Some(100), "the lower of two");
        (0..138).for_each(|_| hear(&mut voice, 100));
        hear(&mut voice, 300);
        (0..207).for_each(|_| {
            hear(&mut voice, 100);
            assert_eq!(voice.said, Some(100), "one of three blocks");
        });
    }

    #[test]
    fn what_is_taken_goes_a_quarter_of_the_way_and_one_bucket_at_least() {
        let found = [(100, 180), (180, 100), (100, 101), (101, 100), (100, 105), (100, 100)]
            .map(|(level, median)| nearer(level, median));
        assert_eq!(found, [120, 160, 101, 100, 102, 100]);
    }

    #[test]
    fn a_voice_is_old_after_69_seconds_if_it_has_said_anything() {
        let mut voice = Voice::NONE;
        let after = |nanos| START + Duration::from_secs(69) + Duration::from_nanos(nanos);
        assert!(!voice.is_old(after(1)), "nothing was said");
        voice.hear(START, 100);
        assert_eq!([0, 1].map(|nanos| voice.is_old(after(nanos))), [false, true]);
    }

    /// As when a link stands still for a moment.
    #[test]
    fn one_event_that_all_sessions_meet_moves_nothing_once_they_have_said_enough() {
        let mut network = Network::new();
        for round in 0..700 {
            let rtt = if round == 300 { us(50_000) } else { us(20) };
            (0..100).for_each(|session| hear(&mut network, session, rtt));
            let found = network.value();
            assert!(found.is_none_or(|found| found <= us(22)), "{round}: {found:?}");
        }
    }

    #[test]
    fn there_is_no_value_before_128_readings_and_a_session_that_is_over_has_no_voice() {
        let mut network = Network::new();
        (0..127).for_each(|_| hear(&mut network, 0, us(900)));
        assert_eq!(network.value(), None);
        network.on_close(SessionId(0));
        network.on_close(SessionId(7));
        hear(&mut network, 1, us(20));
        let found = network.value().unwrap();
        assert!(found >= us(20) && found <= us(22), "{found:?}");
    }

    #[test]
    fn of_a_session_that_closes_its_own_voice_ends_and_with_the_last_one_all_is_given_back() {
        let mut network = Network::new();
        (0..3).for_each(|session| hear(&mut network, session, us(20)));
        network.on_close(SessionId(1));
        let said = |network: &Network| -> Vec<bool> {
            network.voices.iter().map(|voice| voice.said.is_some()).collect()
        };
        assert_eq!((said(&network), network.speakers), (vec![true, false, true], 2));
        [2, 0].into_iter().for_each(|session| network.on_close(SessionId(session)));
        assert_eq!((said(&network), network.speakers), (vec![], 0));
        assert_eq!(network.voices.capacity(), 0);
        network.on_close(SessionId(0));
    }

    /// A hundred sessions were far away and have a voice. Then three others speak.
    #[test]
    fn silent_sessions_count_for_69_seconds() {
        for (after, least, most) in [(60, 500, 532), (70, 20, 22)] {
            let mut network = Network::new();
            for _ in 0..69 {
                (0..100).for_each(|session| hear(&mut network, session, us(500)));
            }
            let now = START + Duration::from_secs(after);
            for _ in 0..700 {
                (100..103).for_each(|session| hear_at(&mut network, now, session, us(20)));
            }
            let found = network.value().unwrap();
            assert!(found >= us(least) && found <= us(most), "after {after} s: {found:?}");
        }
    }

    /// The route changes, and each session speaks only every other second from then on.
    #[test]
    fn a_change_of_route_is_known_after_69_seconds_however_little_is_said() {
        let mut network = Network::new();
        for _ in 0..69 {
            (0..100).for_each(|session| hear(&mut network, session, us(500)));
        }
        for second in (2..130).step_by(2) {
            let now = START + Duration::from_secs(second);
            (0..100).for_each(|session| hear_at(&mut network, now, session, us(20)));
            let found = network.value().unwrap();
            assert!(second > 69 || found >= us(500), "{second} s: {found:?}");
        }
        let found = network.value().unwrap();
        assert!(found >= us(20) && found <= us(22), "{found:?}");
    }

    #[test]
    fn the_voices_of_silent_sessions_are_found_by_a_few_readings() {
        let mut network = Network::new();
        (0..800).for_each(|session| hear(&mut network, session, us(20)));
        let now = START + Duration::from_secs(70);
        (0..99).for_each(|_| hear_at(&mut network, now, 0, us(20)));
        assert!(network.speakers > 1, "792 of them were looked at");
        (0..9).for_each(|_| hear_at(&mut network, now, 0, us(20)));
        assert_eq!(network.speakers, 1, "only one has spoken since");
    }

    proptest! {
        /// Beside a list of all that each session said.
        #[test]
        fn it_is_the_lower_median_of_one_voice_for_each_session(
            said in proptest::collection::vec((0..7_u32, 0..400_usize, 0..40_u8), 1..1_200),
        ) {
            let (mut network, mut all) = (Network::new(), BTreeMap::<u32, Vec<usize>>::new());
            for (session, reading, dice) in said {
                if dice == 0 {
                    network.on_close(SessionId(session));
                    all.remove(&session);
                    continue;
                }
                hear(&mut network, session, Duration::from_nanos(largest_of(reading)));
                all.entry(session).or_default().push(reading);
                let voice = |readings: &Vec<usize>| {
                    let longest = |block: &[usize]| block.iter().copied().max().unwrap();
                    let blocks: Vec<usize> = readings.chunks_exact(69).map(longest).collect();
                    let mut last = blocks[blocks.len().saturating_sub(3)..].to_vec();
                    last.sort_unstable();
                    let median = last.get(last.len().saturating_sub(1) / 2).copied();
                    median.unwrap_or_else(|| longest(readings))
                };
                let mut voices: Vec<usize> = all.values().map(voice).collect();
                voices.sort_unstable();
                prop_assert_eq!(network.median(), voices[(voices.len() - 1) / 2]);
            }
        }
    }
}
