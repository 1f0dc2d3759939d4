//! Whether a get's answer can be, whoever else writes the key meanwhile: the oracle of the generator.
//!
//! Requests are numbered as they are asked. Of each write is known when it was asked, and when it was acknowledged. A get
//! may answer any write but one that was over for certain: another write of the key was asked after that one was
//! acknowledged, and was itself acknowledged before the get was asked. A write that was refused or lost counts as under way
//! for ever, for it may have been carried out. What was stored before, by leaves at their start or by other generators, is
//! right until a write of this one was acknowledged.

use crate::oracle::{value, version_in};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More requests of one generator are not asked: their keys take 256 MiB.
pub const REQUESTS_MAX: usize = 1 << 26;

/// The epoch of what leaves hold at their start.
const PRELOADED: u32 = 0;

/// The bytes of a key.
#[must_use]
pub fn key_of(number: u32) -> Vec<u8> {
    format!("key-{number}").into_bytes()
}

/// What leaves hold of a key at their start.
#[must_use]
pub fn preloaded(key: u32) -> Vec<u8> {
    value(key, PRELOADED, 0)
}

/// What one generator has asked.
#[derive(Debug)]
pub struct Registers {
    /// Of this generator alone.
    epoch: u32,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    /// The key of each request.
    keys: Vec<u32>,
    /// The writes of each key, as they were asked.
    writes: BTreeMap<u32, Vec<Write>>,
}

/// Times are counts of requests asked by then.
#[derive(Clone, Copy, Debug)]
struct Write {
    asked: u32,
    acknowledged: Option<u32>,
}

/// What is wrong about an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// No such request was asked, or not of this kind.
    Unasked,
    /// Not a value of the key.
    Foreign,
    /// The write of this number was never asked.
    Unwritten(u32),
    /// This value was over for certain when the get was asked.
    Old,
}

impl Registers {
    /// Without any request as yet. Generators that ask the same servers have different epochs, none of them 0.
    #[must_use]
    pub fn new(epoch: u32) -> Self {
        Self { epoch: epoch.max(1), log: Mutex::default() }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A get of a key is asked: its number.
    ///
    /// # Panics
    /// After [`REQUESTS_MAX`] requests.
    #[must_use]
    pub fn get(&self, key: u32) -> u32 {
        self.log().ask(key)
    }

    /// A write of a key is asked: its number, and the value.
    ///
    /// # Panics
    /// As above.
    #[must_use]
    pub fn set(&self, key: u32) -> (u32, Vec<u8>) {
        let mut log = self.log();
        let number = log.ask(key);
        let write = Write { asked: number, acknowledged: None };
        log.writes.entry(key).or_default().push(write);
        drop(log);
        (number, value(key, self.epoch, number))
    }

    /// The write of this number was acknowledged.
    ///
    /// # Errors
    /// When there is none.
    pub fn acknowledge(&self, number: u32) -> Result<(), Wrong> {
        let mut log = self.log();
        let (key, now) = (log.key(number)?, log.keys.len() as u32);
        let writes = log.writes.get_mut(&key).ok_or(Wrong::Unasked)?;
        let at = writes.binary_search_by_key(&number, |write| write.asked);
        let write = &mut writes[at.map_err(|_| Wrong::Unasked)?];
        write.acknowledged.get_or_insert(now);
        Ok(())
    }

    /// The get of this number has ended with this value.
    ///
    /// # Errors
    /// When the answer cannot be.
    pub fn check(&self, number: u32, found: &[u8]) -> Result<(), Wrong> {
        let log = self.log();
        let key = log.key(number)?;
        let (epoch, version) = version_in(key, found).ok_or(Wrong::Foreign)?;
        let none = Vec::new();
        let writes = log.writes.get(&key).unwrap_or(&none);
        let write_of = |number: u32| writes.binary_search_by_key(&number, |write| write.asked);
        if write_of(number).is_ok() {
            return Err(Wrong::Unasked);
        }
        // When it was acknowledged: before every request, where it is of another epoch.
        let acknowledged = if epoch == self.epoch {
            writes[write_of(version).map_err(|_| Wrong::Unwritten(version))?].acknowledged
        } else {
            Some(0)
        };
        let Some(over_from) = acknowledged else { return Ok(()) };
        let replaces = |write: &Write| {
            let is_later =
                write.asked >= over_from && (epoch, version) != (self.epoch, write.asked);
            is_later && write.acknowledged.is_some_and(|at| at <= number)
        };
        if writes.iter().any(replaces) { Err(Wrong::Old) } else { Ok(()) }
    }
}

impl Log {
    fn ask(&mut self, key: u32) -> u32 {
        let number = self.keys.len();
        assert!(
            number < REQUESTS_MAX,
            "a generator asks {REQUESTS_MAX} requests at most; ask in shorter runs"
        );
        self.keys.push(key);
        number as u32
    }

    fn key(&self, number: u32) -> Result<u32, Wrong> {
        self.keys.get(number as usize).copied().ok_or(Wrong::Unasked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(registers: &Registers, key: u32, number: u32) -> Vec<u8> {
        value(key, registers.epoch, number)
    }

    #[test]
    fn what_was_over_before_the_get_is_old() {
        let registers = Registers::new(9);
        let before = registers.get(1);
        let (first, written) = registers.set(1);
        assert_eq!(written, value_of(&registers, 1, first));
        registers.acknowledge(first).expect("it was asked");
        let between = registers.get(1);
        let (second, _) = registers.set(1);
        registers.acknowledge(second).expect("it was asked");
        let after = registers.get(1);
        let check = |get, version| registers.check(get, &value_of(&registers, 1, version));
        assert_eq!((check(before, first), check(before, second)), (Ok(()), Ok(())));
        assert_eq!((check(between, first), check(between, second)), (Ok(()), Ok(())));
        assert_eq!((check(after, first), check(after, second)), (Err(Wrong::Old), Ok(())));
        let preloaded = preloaded(1);
        assert_eq!(registers.check(before, &preloaded), Ok(()));
        assert_eq!(registers.check(between, &preloaded), Err(Wrong::Old));
        assert_eq!(registers.check(between, &value(1, 8, 3)), Err(Wrong::Old), "of others");
    }

    /// Neither was over when the other was asked: whichever came last may be there.
    #[test]
    fn writes_at_the_same_time_may_come_in_any_order() {
        let registers = Registers::new(9);
        let [(first, _), (second, _)] = [registers.set(1), registers.set(1)];
        registers.acknowledge(second).expect("asked");
        registers.acknowledge(first).expect("asked");
        let get = registers.get(1);
        for version in [first, second] {
            assert_eq!(registers.check(get, &value_of(&registers, 1, version)), Ok(()));
        }
        // A third that was asked when both were over ends that.
        let (third, _) = registers.set(1);
        registers.acknowledge(third).expect("asked");
        let get = registers.get(1);
        for version in [first, second] {
            let found = registers.check(get, &value_of(&registers, 1, version));
            assert_eq!(found, Err(Wrong::Old));
        }
    }

    #[test]
    fn a_write_that_was_not_acknowledged_may_be_there_at_any_time() {
        let registers = Registers::new(9);
        let (lost, _) = registers.set(1);
        let (known, _) = registers.set(1);
        registers.acknowledge(known).expect("asked");
        let get = registers.get(1);
        assert_eq!(registers.check(get, &value_of(&registers, 1, lost)), Ok(()));
        assert_eq!(registers.check(get, &value_of(&registers, 1, known)), Ok(()));
    }

    #[test]
    fn what_nobody_wrote_is_wrong() {
        let registers = Registers::new(9);
        let (set, written) = registers.set(1);
        let get = registers.get(1);
        let mut damaged = written.clone();
        *damaged.last_mut().expect("not empty") ^= 1;
        for foreign in [&value_of(&registers, 2, set)[..], &damaged, &[], &written[..5]] {
            assert_eq!(registers.check(get, foreign), Err(Wrong::Foreign));
        }
        let unwritten = registers.check(get, &value_of(&registers, 1, get));
        assert_eq!(unwritten, Err(Wrong::Unwritten(get)));
        assert_eq!(registers.check(7, &written), Err(Wrong::Unasked));
        assert_eq!(registers.check(set, &written), Err(Wrong::Unasked), "a write has no value");
        assert_eq!(registers.acknowledge(get), Err(Wrong::Unasked));
    }
}
