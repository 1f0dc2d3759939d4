//! Blocks with knobs turned: turn, settle, measure, and see that nothing else has turned them.

use super::dial::{Dial, Setting, turn};
use super::machine::Session;
use super::noise::Steal;
use super::targets::{Late, Played, Target};
use super::tell;
use crate::failure::Failure;
use serde::Serialize;
use std::time::{Duration, Instant};
use tailwater_program::interrupt::Interrupt;
use tailwater_stats::anytime::{Arm, QuadOrder};
use tailwater_tune::ab::{Block, QuadTimes};

/// How often a block is made again whose generator was late.
pub(super) const AGAIN_MAX: u32 = 3;

/// Blocks that were void since their generator was late, of each arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Void {
    pub(super) a: u32,
    pub(super) b: u32,
}

/// Where blocks are measured.
pub(super) struct Bench<'a> {
    pub(super) session: Session,
    pub(super) dials: &'a [Dial],
    pub(super) target: &'a Target,
    pub(super) interrupt: &'a Interrupt,
    /// When nothing is begun any more.
    pub(super) until: Instant,
    /// Of the next quad: blocks of one have the same.
    pub(super) seed: u64,
    /// Blocks that were void so far, whatever they were for.
    pub(super) void: u32,
    /// Blocks so far whose run did not count by its own rules.
    invalid: u32,
    /// How long quads took so far.
    pub(super) times: QuadTimes,
}

impl<'a> Bench<'a> {
    pub(super) const fn new(
        session: Session,
        (dials, target): (&'a [Dial], &'a Target),
        interrupt: &'a Interrupt,
        (until, seed): (Instant, u64),
    ) -> Self {
        Self {
            session,
            dials,
            target,
            interrupt,
            until,
            seed,
            void: 0,
            invalid: 0,
            times: QuadTimes::new(),
        }
    }

    /// How many quads fit into the time that is left.
    pub(super) fn quads_left(&self) -> u32 {
        self.quads_until(self.until)
    }

    /// How many quads end before then.
    pub(super) fn quads_until(&self, until: Instant) -> u32 {
        self.quads_within(until.saturating_duration_since(Instant::now()))
    }

    /// How many quads fit into so much time.
    pub(super) fn quads_within(&self, time: Duration) -> u32 {
        self.times.fit(time)
    }

    /// When one of so many tests ends that share the time that is left. Each has time for so many quads at least, as long as
    /// there is any.
    pub(super) fn until_one_of(&self, tests: usize, quads_min: u32) -> Instant {
        let now = Instant::now();
        let share = self.until.saturating_duration_since(now) / tests.max(1) as u32;
        // One more, since only a whole quad is begun, and the first one begins a little later than now.
        let least = self.times.of(quads_min + 1);
        (now + share.max(least)).min(self.until)
    }

    /// The time that nine quads of ten take at most.
    pub(super) fn quad_time(&self) -> Duration {
        self.times.usual()
    }

    /// Blocks of two settings in this order. `step` hears of each, and `void` of those before them that were void.
    pub(super) fn quad(
        &mut self,
        order: QuadOrder,
        (a, b): (&Setting, &Setting),
        void: &mut Void,
        step: &dyn Fn(),
    ) -> Result<[Block; 4], Failure> {
        let began = Instant::now();
        let seed = self.next_seed();
        let mut blocks = Vec::with_capacity(4);
        for arm in order.arms() {
            let (setting, void) = match arm {
                Arm::A => (a, &mut void.a),
                Arm::B => (b, &mut void.b),
            };
            let before = self.void;
            let block = self.block(setting, seed);
            *void += self.void - before;
            blocks.push(block?);
            step();
        }
        self.times.push(began.elapsed());
        blocks.try_into().map_err(|_| Failure::work("a quad has four blocks"))
    }

    /// A block that nothing is concluded from: whether the setting can be measured at all, before time is spent on others.
    /// With why the generator was late, where it was so each time.
    pub(super) fn trial(&mut self, setting: &Setting) -> Result<Played, Failure> {
        let seed = self.next_seed();
        self.unless_late(setting, seed)
    }

    /// Why one block of a setting does not count: its generator was late, or it failed. None where it counts.
    ///
    /// # Errors
    /// With what ends the whole search.
    pub(super) fn once_more(&mut self, setting: &Setting) -> Result<Option<String>, Failure> {
        let seed = self.next_seed();
        match self.once(setting, seed) {
            Ok(Played::Block(_)) => Ok(None),
            Ok(Played::Void(late)) => {
                self.void += 1;
                Ok(Some(late.to_string()))
            }
            Err(failure) if self.is_over(&failure) => Err(failure),
            Err(failure) => Ok(Some(failure.to_string())),
        }
    }

    /// Whether no setting can be measured after this failure; otherwise it was that of its setting.
    pub(super) const fn is_over(&self, failure: &Failure) -> bool {
        matches!(failure, Failure::Signal(..)) || self.session.is_over()
    }

    /// One block of a setting, again where its generator was late: what it measured is then not what was asked for. The rule
    /// does not look at arms, so that what is not different stays so. A setting that makes the generator late keeps its luckier
    /// blocks, so each block says how many were void before it.
    ///
    /// # Errors
    /// Where it was late each time, too.
    pub(super) fn block(&mut self, setting: &Setting, seed: u64) -> Result<Block, Failure> {
        match self.unless_late(setting, seed)? {
            Played::Block(block) => Ok(block),
            Played::Void(last) => Err(Failure::work(always_late(&last))),
        }
    }

    /// How late it was the last time, where it always was.
    fn unless_late(&mut self, setting: &Setting, seed: u64) -> Result<Played, Failure> {
        let mut last = Late::default();
        for void in 0..=AGAIN_MAX {
            match self.once(setting, seed)? {
                Played::Block(block) => return Ok(Played::Block(Block { void, ..block })),
                Played::Void(late) => last = late.after(last),
            }
            self.void += 1;
        }
        Ok(Played::Void(last))
    }

    fn once(&mut self, setting: &Setting, seed: u64) -> Result<Played, Failure> {
        turn(&mut self.session, self.dials, setting)?;
        self.interrupt.rest(self.target.settle(self.dials))?;
        let steal = Steal::begin();
        let (mut played, complaints) =
            self.target.block((self.dials, setting), seed, self.interrupt)?;
        if let Played::Block(block) = &mut played {
            block.noise = vec![steal.until_now()];
            if let Some(why) = &block.invalid {
                self.invalid += 1;
                told_of_invalid(self.invalid, why, &complaints);
            }
        }
        // A block during which a knob was turned by others says nothing.
        self.session.check()?;
        Ok(played)
    }

    pub(super) fn next_seed(&mut self) -> u64 {
        let seed = self.seed;
        self.seed = seed.wrapping_add(1);
        seed
    }
}

/// Tells of the first block that does not count, the second, the fourth and so on, each with what it complained of: on a busy
/// machine there are hundreds.
fn told_of_invalid(blocks: u32, why: &str, complaints: &[String]) {
    if blocks.is_power_of_two() {
        let do_not =
            if blocks == 1 { "a block does".into() } else { format!("{blocks} blocks do") };
        tell(&format!("{do_not} not count; in the last, {why}"));
        complaints.iter().for_each(|line| tell(line));
    }
}

/// Why a setting cannot be measured whose generator was late each time. What a run names as the cause is told in place of
/// advice.
pub(super) fn always_late(last: &Late) -> String {
    let what_to_do = match last.complaint {
        Some(_) => "",
        None => "; give it a core that is at rest, or a larger --late-max (late_max in a file)",
    };
    format!(
        "the generator was late in {} blocks, one after the other; in the last, {last}{what_to_do}",
        AGAIN_MAX + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_names_as_the_cause_of_late_blocks_is_told_in_place_of_advice() {
        let late = |us: u32, complaints: &[&str]| {
            let lines: Vec<String> = complaints.iter().map(|line| (*line).to_owned()).collect();
            Late::of(format!("its lateness (p99) was {us} µs"), &lines)
        };
        let advice = "give it a core that is at rest";
        let without = always_late(&late(5_000, &["warning: found a server"]));
        assert!(without.contains("in the last, its lateness (p99) was 5000 µs; give"), "{without}");
        // The last block names nobody.
        let named = late(7_000, &["close vi (process 9)"]);
        let told = always_late(&late(5_000, &[]).after(named));
        let end = "was 5000 µs; of the cause the run of a late block before it says: close vi (process 9)";
        assert!(told.ends_with(end) && !told.contains(advice), "{told}");
        let before = late(7_000, &["close vi"]);
        let last = late(5_000, &["close ed", "warning: found a server"]);
        let told = always_late(&last.after(before));
        assert!(told.ends_with("of the cause its run says: close ed"), "{told}");
    }
}
