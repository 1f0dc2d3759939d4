//! Whether a get's answer can be, whoever writes the key meanwhile.
//!
//! Requests are numbered as they are asked. Of each write is known when it was asked, and when it was over: acknowledged, or
//! refused. A get may answer any write but one that was replaced for certain: another write of the key was asked after it
//! was over, and was itself acknowledged before the get was asked. So writes at the same time need no order.
//!
//! - A write of which nothing was heard counts as under way for ever: it may be carried out at any time.
//! - A write that was refused may have been carried out or not, but not both. A get that was asked afterwards and answers it
//!   acknowledges it: replicas that differ from then on are found out.
//! - What was there before anybody wrote was over before everything.
//! - What another generator wrote is known by its value alone, and so counts as a write of which nothing was heard.
//!
//! Each request costs one look-up of its key, however many writes that has.

mod value;
#[cfg(test)]
mod naive;

pub use value::{initial, told, value};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use value::writer_of;

/// More requests of one generator are not kept: these take 384 MiB.
pub const REQUESTS_MAX: usize = 1 << 25;

/// What one generator has asked.
#[derive(Debug)]
pub struct Registers {
    /// Of this generator alone.
    epoch: u32,
    requests_max: usize,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    requests: Vec<Request>,
    /// Of each key the latest write, by when it was asked, that is acknowledged.
    acknowledged: BTreeMap<u32, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    key: u32,
    kind: Kind,
}

/// Times are counts of requests asked by then.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// When it was asked, this write was the latest acknowledged one; [`NONE`] without any.
    Get(u32),
    UnderWay,
    Refused(u32),
    Acknowledged(u32),
}

const NONE: u32 = u32::MAX;

/// No further request can be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full {
    /// So many are.
    pub requests: usize,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = self.requests;
        write!(
            f,
            "the oracle keeps {requests} requests, and one more was to be asked; ask in shorter runs"
        )
    }
}

impl std::error::Error for Full {}

/// What is wrong about an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// No such request was asked, or not of this kind.
    Unasked,
    /// Of an acknowledged key there is nothing.
    Missing,
    /// Not a value of the key, or not a whole one.
    Foreign,
    /// The write of this number was never asked.
    Unwritten(u32),
    /// This value was replaced for certain when the get was asked.
    Old,
}

impl Registers {
    /// Without any request as yet, and with room for so many, [`REQUESTS_MAX`] at most. Generators that ask the same servers
    /// have different epochs, none of them 0.
    #[must_use]
    pub fn new(epoch: u32, requests_max: usize) -> Self {
        let requests_max = requests_max.min(REQUESTS_MAX);
        Self { epoch: epoch.max(1), requests_max, log: Mutex::default() }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A get of a key is asked: its number.
    ///
    /// # Errors
    /// Where there is no room for it: it must not be asked.
    pub fn get(&self, key: u32) -> Result<u32, Full> {
        let mut log = self.log();
        let latest = log.latest(key);
        log.ask(key, Kind::Get(latest), self.requests_max)
    }

    /// A write of a key is asked: its number, and the value.
    ///
    /// # Errors
    /// As above.
    pub fn set(&self, key: u32) -> Result<(u32, Vec<u8>), Full> {
        let number = self.log().ask(key, Kind::UnderWay, self.requests_max)?;
        Ok((number, value(key, self.epoch, number)))
    }

    /// The write of this number was acknowledged.
    ///
    /// # Errors
    /// When there is none.
    pub fn acknowledge(&self, number: u32) -> Result<(), Wrong> {
        let mut log = self.log();
        let over = log.now();
        log.acknowledge(number, over)
    }

    /// The write of this number was refused, and nothing of it goes on.
    ///
    /// # Errors
    /// When there is none.
    pub fn refuse(&self, number: u32) -> Result<(), Wrong> {
        let mut log = self.log();
        let (_, at) = log.write(number)?;
        let over = log.now();
        if matches!(at, Kind::UnderWay) {
            log.requests[number as usize].kind = Kind::Refused(over);
        }
        Ok(())
    }

    /// The get of this number has ended: with this value, or without one.
    ///
    /// # Errors
    /// When the answer cannot be.
    pub fn check(&self, number: u32, found: Option<&[u8]>) -> Result<(), Wrong> {
        let mut log = self.log();
        let Some(&Request { key, kind: Kind::Get(latest) }) = log.requests.get(number as usize)
        else {
            return Err(Wrong::Unasked);
        };
        log.judge(self.epoch, Asked { key, at: number, latest }, found)
    }

    /// A replica holds this of a key now, or nothing. It is judged as a get that is asked and answered now, and takes no room.
    ///
    /// # Errors
    /// When that cannot be.
    pub fn look(&self, key: u32, found: Option<&[u8]>) -> Result<(), Wrong> {
        let mut log = self.log();
        let asked = Asked { key, at: log.now(), latest: log.latest(key) };
        log.judge(self.epoch, asked, found)
    }

    /// The keys of all writes that were asked, whatever became of them. It looks at every request.
    #[must_use]
    pub fn written(&self) -> BTreeSet<u32> {
        let log = self.log();
        let writes = log.requests.iter().filter(|it| !matches!(it.kind, Kind::Get(_)));
        writes.map(|write| write.key).collect()
    }
}

/// A get: of which key, when it was asked, and which acknowledged write was the latest then.
#[derive(Clone, Copy)]
struct Asked {
    key: u32,
    at: u32,
    latest: u32,
}

impl Log {
    fn now(&self) -> u32 {
        // At most REQUESTS_MAX.
        self.requests.len() as u32
    }

    /// Of a key the latest acknowledged write; [`NONE`] without any.
    fn latest(&self, key: u32) -> u32 {
        self.acknowledged.get(&key).copied().unwrap_or(NONE)
    }

    fn judge(
        &mut self,
        own_epoch: u32,
        Asked { key, at, latest }: Asked,
        found: Option<&[u8]>,
    ) -> Result<(), Wrong> {
        let is_replaced = |over: u32| latest != NONE && latest >= over;
        let Some(found) = found else {
            return if is_replaced(0) { Err(Wrong::Missing) } else { Ok(()) };
        };
        let write = match writer_of(key, found).ok_or(Wrong::Foreign)? {
            None => return if is_replaced(0) { Err(Wrong::Old) } else { Ok(()) },
            Some((epoch, _)) if epoch != own_epoch => return Ok(()),
            Some((_, write)) => write,
        };
        let unwritten = Wrong::Unwritten(write);
        let (of, kind) = self.write(write).map_err(|_| unwritten)?;
        match kind {
            _ if of != key => Err(unwritten),
            Kind::Acknowledged(over) | Kind::Refused(over) if is_replaced(over) => Err(Wrong::Old),
            Kind::Refused(over) if over <= at => self.acknowledge(write, over),
            _ => Ok(()),
        }
    }

    fn ask(&mut self, key: u32, kind: Kind, requests_max: usize) -> Result<u32, Full> {
        let requests = self.requests.len();
        if requests >= requests_max {
            return Err(Full { requests });
        }
        let number = self.now();
        self.requests.push(Request { key, kind });
        Ok(number)
    }

    /// The key of a write, and how it stands.
    fn write(&self, number: u32) -> Result<(u32, Kind), Wrong> {
        match self.requests.get(number as usize) {
            None | Some(Request { kind: Kind::Get(_), .. }) => Err(Wrong::Unasked),
            Some(&Request { key, kind }) => Ok((key, kind)),
        }
    }

    /// The write is in force, and was over by then.
    fn acknowledge(&mut self, number: u32, over: u32) -> Result<(), Wrong> {
        let (key, kind) = self.write(number)?;
        if !matches!(kind, Kind::Acknowledged(_)) {
            self.requests[number as usize].kind = Kind::Acknowledged(over);
            let latest = self.acknowledged.entry(key).or_insert(number);
            *latest = number.max(*latest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers() -> Registers {
        Registers::new(9, REQUESTS_MAX)
    }

    fn get_of(registers: &Registers, key: u32) -> u32 {
        registers.get(key).expect("there is room")
    }

    fn set_of(registers: &Registers, key: u32) -> (u32, Vec<u8>) {
        registers.set(key).expect("there is room")
    }

    fn check(registers: &Registers, get: u32, write: u32) -> Result<(), Wrong> {
        registers.check(get, Some(&value(1, registers.epoch, write)))
    }

    #[test]
    fn a_get_that_confirms_a_refused_write_late_does_not_hide_what_replaced_it() {
        let registers = registers();
        let (refused, _) = set_of(&registers, 1);
        registers.refuse(refused).expect("asked");
        let slow = get_of(&registers, 1);
        let (second, _) = set_of(&registers, 1);
        registers.acknowledge(second).expect("asked");
        assert_eq!(check(&registers, slow, refused), Ok(()), "it was asked before the second");
        let after = get_of(&registers, 1);
        assert_eq!(check(&registers, after, refused), Err(Wrong::Old));
    }

    #[test]
    fn what_was_over_before_the_get_is_old() {
        let registers = registers();
        let before = get_of(&registers, 1);
        let (first, written) = set_of(&registers, 1);
        assert_eq!(written, value(1, 9, first));
        registers.acknowledge(first).expect("it was asked");
        let between = get_of(&registers, 1);
        let (second, _) = set_of(&registers, 1);
        registers.acknowledge(second).expect("it was asked");
        let after = get_of(&registers, 1);
        let check = |get, write| check(&registers, get, write);
        assert_eq!((check(before, first), check(before, second)), (Ok(()), Ok(())));
        assert_eq!((check(between, first), check(between, second)), (Ok(()), Ok(())));
        assert_eq!((check(after, first), check(after, second)), (Err(Wrong::Old), Ok(())));
        for (found, wrong) in [(Some(initial(1)), Wrong::Old), (None, Wrong::Missing)] {
            assert_eq!(registers.check(before, found.as_deref()), Ok(()));
            assert_eq!(registers.check(between, found.as_deref()), Err(wrong));
        }
    }

    /// Neither was over when the other was asked: whichever came last may be there.
    #[test]
    fn writes_at_the_same_time_may_come_in_any_order() {
        let registers = registers();
        let [(first, _), (second, _)] = [set_of(&registers, 1), set_of(&registers, 1)];
        registers.acknowledge(second).expect("asked");
        registers.acknowledge(first).expect("asked");
        let get = get_of(&registers, 1);
        for write in [first, second] {
            assert_eq!(check(&registers, get, write), Ok(()));
        }
        // A third that was asked when both were over ends that.
        let (third, _) = set_of(&registers, 1);
        registers.acknowledge(third).expect("asked");
        let get = get_of(&registers, 1);
        for write in [first, second] {
            assert_eq!(check(&registers, get, write), Err(Wrong::Old));
        }
    }

    #[test]
    fn a_write_of_which_nothing_was_heard_may_be_there_at_any_time() {
        let registers = registers();
        let (lost, _) = set_of(&registers, 1);
        let (known, _) = set_of(&registers, 1);
        registers.acknowledge(known).expect("asked");
        for write in [lost, known, lost] {
            assert_eq!(check(&registers, get_of(&registers, 1), write), Ok(()));
        }
    }

    /// Some replicas have carried it out and others have not, and a get asks any of them.
    #[test]
    fn replicas_that_differ_after_a_refused_write_are_found_out() {
        let registers = registers();
        let (kept, _) = set_of(&registers, 1);
        registers.acknowledge(kept).expect("asked");
        let (refused, _) = set_of(&registers, 1);
        let amid = get_of(&registers, 1);
        registers.refuse(refused).expect("asked");
        let [first, second] = [(); 2].map(|()| get_of(&registers, 1));
        assert_eq!(check(&registers, amid, refused), Ok(()));
        assert_eq!(check(&registers, first, kept), Ok(()), "it may come yet");
        assert_eq!(check(&registers, first, refused), Ok(()));
        assert_eq!(check(&registers, second, kept), Ok(()), "asked before that was known");
        let later = get_of(&registers, 1);
        assert_eq!(check(&registers, later, refused), Ok(()));
        assert_eq!(check(&registers, later, kept), Err(Wrong::Old));
    }

    /// The lock of what was asked before is as it was: its answers are judged.
    #[test]
    fn more_requests_than_there_is_room_for_are_an_error_and_what_was_asked_is_judged_still() {
        let registers = Registers::new(9, 2);
        let (first, _) = set_of(&registers, 1);
        registers.acknowledge(first).expect("asked");
        let second = get_of(&registers, 1);
        for _ in 0..2 {
            assert_eq!(registers.get(1), Err(Full { requests: 2 }));
            assert_eq!(registers.set(1), Err(Full { requests: 2 }));
        }
        assert_eq!(check(&registers, second, first), Ok(()));
        assert_eq!(registers.check(second, Some(&initial(1))), Err(Wrong::Old));
        let told = Full { requests: 2 }.to_string();
        assert!(told.contains("keeps 2 requests") && told.contains("shorter runs"), "{told}");
        assert_eq!(Registers::new(9, usize::MAX).requests_max, REQUESTS_MAX);
    }

    #[test]
    fn what_a_replica_holds_is_judged_as_a_get_of_now_and_takes_no_room() {
        let registers = Registers::new(9, 4);
        let (first, old) = set_of(&registers, 1);
        registers.acknowledge(first).expect("asked");
        let (second, new) = set_of(&registers, 1);
        registers.acknowledge(second).expect("asked");
        let (_, lost) = set_of(&registers, 2);
        let _ = get_of(&registers, 3);
        assert!(registers.get(1).is_err(), "it is full");
        for _ in 0..3 {
            assert_eq!(registers.look(1, Some(&new)), Ok(()));
            assert_eq!(registers.look(1, Some(&old)), Err(Wrong::Old));
            assert_eq!(registers.look(1, None), Err(Wrong::Missing));
            assert_eq!(registers.look(2, Some(&lost)), Ok(()));
            assert_eq!(registers.look(2, Some(&initial(2))), Ok(()), "it may come yet");
            assert_eq!(registers.look(3, Some(&lost)), Err(Wrong::Foreign));
        }
        assert_eq!(registers.written().into_iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(told(1, Some(&new)), format!("write {second} of generator 9"));
        assert_eq!(told(1, Some(&initial(1))), "what it had at first");
        assert_eq!((&*told(2, Some(&new)), &*told(2, None)), ("no value of the key", "nothing"));
    }

    /// Neither generator knows when the other's writes were.
    #[test]
    fn what_another_generator_writes_is_right_at_any_time() {
        let registers = registers();
        for _ in 0..2 {
            let (own, _) = set_of(&registers, 1);
            registers.acknowledge(own).expect("asked");
            assert_eq!(registers.check(get_of(&registers, 1), Some(&value(1, 8, 3))), Ok(()));
        }
        assert_eq!(registers.check(get_of(&registers, 1), Some(&initial(1))), Err(Wrong::Old));
    }

    #[test]
    fn what_nobody_wrote_is_wrong() {
        let registers = registers();
        let (set, written) = set_of(&registers, 1);
        let get = get_of(&registers, 1);
        let mut damaged = written.clone();
        *damaged.last_mut().expect("not empty") ^= 1;
        for foreign in [&value(2, 9, set)[..], &damaged, &[], &written[..5]] {
            assert_eq!(registers.check(get, Some(foreign)), Err(Wrong::Foreign));
        }
        assert_eq!(check(&registers, get, get), Err(Wrong::Unwritten(get)));
        assert_eq!(check(&registers, get, 77), Err(Wrong::Unwritten(77)));
        let (of_other, _) = set_of(&registers, 2);
        assert_eq!(check(&registers, get, of_other), Err(Wrong::Unwritten(of_other)));
        assert_eq!(registers.check(77, Some(&written)), Err(Wrong::Unasked));
        assert_eq!(registers.check(set, Some(&written)), Err(Wrong::Unasked), "a write");
        assert_eq!(registers.acknowledge(get), Err(Wrong::Unasked));
        assert_eq!(registers.refuse(get), Err(Wrong::Unasked));
    }
}
