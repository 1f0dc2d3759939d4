//! Which leaves may be asked, and for what: a state machine without a socket and without a clock.
//!
//! A leaf is *strange* until it was met, then *known* by its incarnation. It is *lost* when its connection is,
//! when it is silent for too long, and when another incarnation answers. So it is when it has missed more than is remembered. A lost leaf is
//! asked nothing until it was met again. By then it has forgotten what it missed, or all if its memory is another.

use super::life::Meeting;
use crate::parts::{Part, Parts};
use crate::standing::{Forget, Standing};
use std::time::Duration;
use tailwater_core::Instant;

/// What the mid-tier knows of its leaves.
#[derive(Debug)]
pub(super) struct Replicas {
    all: Vec<Replica>,
    /// A leaf that answers nothing for so long is lost.
    silence_max: Duration,
    /// Numbers writes in the order in which their calls are made.
    writes: u64,
    upheavals: Upheavals,
}

/// A node, and the incarnation of it that is known.
pub(super) type Known = (u16, u64);

/// How often leaves were lost, and how often one came back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Upheavals {
    /// Leaves that were asked nothing from then on.
    pub lost: u32,
    /// Of these, those that were met again.
    pub returned: u32,
}

#[derive(Debug)]
struct Replica {
    life: Life,
    /// A meeting is under way: there is one at a time.
    is_being_met: bool,
    standing: Standing,
    silence: Silence,
    /// When it was found late last, or was asked for a value since; `None` once it has answered.
    late: Option<Instant>,
    /// After a meeting that does not come about, the next one is due so much later.
    pause: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    /// Not met yet: it holds what it held at its start.
    Strange,
    Known(u64),
    /// What the incarnation `was` holds is known, but for what it has missed. To be met again from `due` on.
    Lost {
        was: u64,
        due: Instant,
    },
}

/// How long calls have been under way to a leaf since it last answered. Time without a call under way is no silence.
#[derive(Clone, Copy, Default, Debug)]
struct Silence {
    lasted: Duration,
    /// Up to which time this is counted.
    until: Option<Instant>,
}

impl Silence {
    fn add(&mut self, from: Instant, to: Instant) {
        let from = self.until.map_or(from, |until| until.max(from));
        self.lasted += to.since(from);
        self.until = self.until.max(Some(to));
    }
}

/// What a call's end says of the leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// It has answered, or refused.
    Answer,
    /// The connection was lost, or another incarnation has answered.
    Gone,
    /// Nothing came since the call was made.
    Silence(Instant),
    /// The call was given up before its time: another replica has answered, or the request has ended.
    Late,
    /// Nothing: the call was not sent.
    Nothing,
}

/// What became of a write at a leaf that was asked to carry it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub(super) node: u16,
    /// Which incarnation was asked.
    pub(super) asked: u64,
    pub(super) part: Part,
}

impl Replicas {
    /// So many leaves, all of which hold what belongs to them. One is lost that answers nothing for `silence_max`.
    pub(super) fn new(count: usize, silence_max: Duration) -> Self {
        let replica = |_| Replica {
            life: Life::Strange,
            is_being_met: false,
            standing: Standing::new(false),
            silence: Silence::default(),
            late: None,
            pause: silence_max / 10,
        };
        let all = (0..count).map(replica).collect();
        Self { all, silence_max, writes: 0, upheavals: Upheavals::default() }
    }

    fn at(&mut self, node: u16) -> &mut Replica {
        &mut self.all[usize::from(node)]
    }

    /// Under which number it is asked; `None` while it is not.
    pub(super) fn known(&self, node: u16) -> Option<u64> {
        match self.all[usize::from(node)].life {
            Life::Known(incarnation) => Some(incarnation),
            Life::Strange | Life::Lost { .. } => None,
        }
    }

    /// Whether what it holds of this key may be answered.
    pub(super) fn has_last(&self, node: u16, key: &[u8]) -> bool {
        let is_old = self.all[usize::from(node)].standing.is_to_forget(key);
        self.known(node).is_some() && !is_old
    }

    /// Whether it may lack what others hold.
    pub(super) fn is_cold(&self, node: u16) -> bool {
        self.all[usize::from(node)].standing.is_cold()
    }

    /// Whether it can be asked, lacks nothing and has missed no write.
    pub(super) fn is_whole(&self, node: u16) -> bool {
        self.known(node).is_some() && self.all[usize::from(node)].standing.is_whole()
    }

    /// It has what the others hold.
    pub(super) fn is_refilled(&mut self, node: u16) {
        self.at(node).standing.grows_warm();
    }

    /// How many leaves there are.
    pub(super) const fn count(&self) -> u16 {
        // At most 256.
        self.all.len() as u16
    }

    /// Whether others are not to be asked before it: it answers as far as is known, or has not been asked for a tenth of the
    /// longest silence. Without another try it would never be heard where only gets are asked.
    pub(super) fn answers(&self, node: u16, now: Instant) -> bool {
        let late = self.all[usize::from(node)].late;
        late.is_none_or(|late| now.since(late) >= self.silence_max / 10)
    }

    /// It is asked for a value now. While it is late, the next are asked of others.
    pub(super) fn on_get(&mut self, node: u16, now: Instant) {
        let late = &mut self.at(node).late;
        *late = late.map(|late| late.max(now));
    }

    /// Whether a request may find it met that waits for a meeting.
    pub(super) fn is_being_met(&self, node: u16) -> bool {
        self.all[usize::from(node)].is_being_met
    }

    /// Whether this is its first meeting.
    pub(super) fn is_strange(&self, node: u16) -> bool {
        self.all[usize::from(node)].life == Life::Strange
    }

    /// How often leaves were lost, and came back.
    pub(super) const fn upheavals(&self) -> Upheavals {
        self.upheavals
    }

    /// It is asked nothing until it was met again.
    pub(super) fn lose(&mut self, node: u16, now: Instant) {
        let replica = self.at(node);
        let was = match replica.life {
            Life::Strange => 0,
            Life::Known(incarnation) => incarnation,
            Life::Lost { .. } => return,
        };
        replica.life = Life::Lost { was, due: now };
        (replica.silence, replica.late) = (Silence::default(), None);
        self.upheavals.lost += 1;
    }

    /// A call to it has ended, which was made to the incarnation `asked`. What is heard late of an earlier one says nothing.
    pub(super) fn hear(&mut self, node: u16, asked: u64, heard: Heard, now: Instant) {
        let silence_max = self.silence_max;
        if self.known(node) != Some(asked) {
            return;
        }
        match heard {
            Heard::Answer => {
                let replica = self.at(node);
                (replica.silence, replica.late) = (Silence::default(), None);
            }
            Heard::Gone => self.lose(node, now),
            Heard::Silence(since) => {
                let replica = self.at(node);
                replica.late = Some(now);
                replica.silence.add(since, now);
                if replica.silence.lasted >= silence_max {
                    self.lose(node, now);
                }
            }
            // It may be slower than others, and answers: that is no silence.
            Heard::Late => self.at(node).late = Some(now),
            Heard::Nothing => {}
        }
    }

    /// What it is to be told at a meeting, if one is due. It is under way then until [`Replicas::met`] or
    /// [`Replicas::not_met`].
    pub(super) fn meeting(&mut self, node: u16, now: Instant) -> Option<Meeting> {
        let replica = self.at(node);
        let known = match replica.life {
            Life::Known(_) => return None,
            Life::Strange => 0,
            Life::Lost { due, .. } if due > now => return None,
            Life::Lost { was, .. } => was,
        };
        if std::mem::replace(&mut replica.is_being_met, true) {
            return None;
        }
        let forget: Vec<_> =
            replica.standing.take().into_iter().map(|(forget, _)| forget).collect();
        if !forget.is_empty() {
            replica.standing.grows_cold();
        }
        Some(Meeting { known, forget })
    }

    /// It was met: who it is, and whether it kept what the known one held.
    pub(super) fn met(&mut self, node: u16, incarnation: u64, is_kept: bool, now: Instant) {
        let pause = self.silence_max / 10;
        let replica = self.at(node);
        if !is_kept {
            replica.standing.grows_cold();
        }
        let is_back = matches!(replica.life, Life::Lost { .. });
        replica.life = Life::Known(incarnation);
        (replica.is_being_met, replica.pause) = (false, pause);
        let is_useless = replica.standing.is_to_forget_everything();
        self.upheavals.returned += u32::from(is_back);
        // It has missed too much meanwhile.
        if is_useless {
            self.lose(node, now);
        }
    }

    /// The meeting has not come about, or nobody knows: what it was told is to be told again, after a pause.
    pub(super) fn not_met(&mut self, node: u16, meeting: Meeting, now: Instant) {
        let (write, silence_max) = (self.writes, self.silence_max);
        self.lose(node, now);
        let replica = self.at(node);
        for forget in meeting.forget {
            replica.standing.add(forget, write);
        }
        let due = now + replica.pause;
        replica.life = Life::Lost { was: meeting.known, due };
        replica.is_being_met = false;
        replica.pause = (replica.pause * 2).min(silence_max);
    }

    /// The number of a write whose calls are made now.
    pub(super) const fn begin_write(&mut self) -> u64 {
        self.writes += 1;
        self.writes
    }

    /// A write is over: replicas that may hold something else than the others forget the key. Whether one has stored it.
    pub(super) fn end_write(
        &mut self,
        (write, key): (u64, &[u8]),
        replicas: &[u16],
        ends: &[End],
        now: Instant,
    ) -> bool {
        let (mut parts, mut asked, mut is_stored) = (Parts::new(false), Vec::new(), false);
        for end in ends {
            let is_same = self.known(end.node) == Some(end.asked);
            let part = match end.part {
                // It was lost meanwhile: whether it has this when it comes back is not known.
                Part::Done if !is_same => Part::Lost,
                // Another incarnation, which has nothing to say here.
                Part::Refused if !is_same => continue,
                part => part,
            };
            if part == Part::Done {
                is_stored = true;
                self.at(end.node).standing.store(key, write);
            }
            asked.push(end.node);
            let is_old = !self.has_last(end.node, key);
            parts.end(end.node, part, is_old || self.is_cold(end.node));
        }
        let is_untouched = ends.iter().all(|end| end.part == Part::Refused);
        let follows = parts.decide(true).unwrap_or_default();
        let mut forget = follows.forget;
        let keeps = follows.all_but_one.iter().copied().min_by_key(|&node| {
            // Before who is met: one that is lost and holds it is worth more than one that is met and empty.
            let is_old = self.all[usize::from(node)].standing.is_to_forget(key);
            (is_old, self.is_cold(node), self.known(node).is_none(), node)
        });
        forget.extend(follows.all_but_one.iter().filter(|node| Some(**node) != keeps));
        if !is_untouched {
            forget.extend(replicas.iter().filter(|node| !asked.contains(node)));
        }
        for node in forget {
            self.miss(node, key, write, now);
        }
        is_stored
    }

    fn miss(&mut self, node: u16, key: &[u8], write: u64, now: Instant) {
        let standing = &mut self.at(node).standing;
        standing.add(Forget::of(Some(key)), write);
        // It could be asked for nothing, and would be told to forget it all only when it is met.
        if standing.is_to_forget_everything() {
            self.lose(node, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Part::{Done, Lost, Refused};
    use super::*;

    const SILENCE: Duration = Duration::from_millis(100);
    const ALL: [u16; 3] = [0, 1, 2];

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Three leaves, of the incarnations 10, 11 and 12.
    fn met() -> Replicas {
        let mut replicas = Replicas::new(3, SILENCE);
        for node in ALL {
            assert_eq!(replicas.known(node), None);
            let meeting = replicas.meeting(node, at(0)).expect("due");
            assert_eq!(meeting, Meeting { known: 0, forget: vec![] });
            assert!(replicas.is_strange(node) && replicas.meeting(node, at(0)).is_none());
            replicas.met(node, 10 + u64::from(node), true, at(0));
            assert!(replicas.has_last(node, b"a") && replicas.meeting(node, at(0)).is_none());
        }
        replicas
    }

    fn write(replicas: &mut Replicas, parts: [Part; 3]) -> bool {
        let number = replicas.begin_write();
        let ends = ALL.map(|node| End {
            node,
            asked: 10 + u64::from(node),
            part: parts[usize::from(node)],
        });
        replicas.end_write((number, b"a"), &ALL, &ends, at(0))
    }

    fn which_answer(replicas: &Replicas) -> Vec<u16> {
        ALL.into_iter().filter(|&node| replicas.has_last(node, b"a")).collect()
    }

    #[test]
    fn silence_is_time_with_a_call_under_way_and_calls_that_were_not_sent_say_nothing() {
        let mut replicas = met();
        for call in 0..1_000 {
            replicas.hear(0, 10, Heard::Nothing, at(call));
        }
        assert!(replicas.answers(0, at(1_000)));
        // Of an hour without a call, a call of 60 ms each: and an answer between the second and the third.
        replicas.hear(0, 10, Heard::Silence(at(1_000)), at(1_060));
        assert!(!replicas.answers(0, at(1_061)) && replicas.known(0).is_some());
        replicas.hear(0, 10, Heard::Answer, at(1_061));
        assert!(replicas.answers(0, at(1_061)));
        replicas.hear(0, 10, Heard::Silence(at(3_600_000)), at(3_600_060));
        replicas.hear(0, 10, Heard::Silence(at(3_600_020)), at(3_600_080));
        assert!(replicas.known(0).is_some(), "80 ms of silence, as the two calls overlap");
        replicas.hear(0, 10, Heard::Silence(at(7_200_000)), at(7_200_020));
        assert_eq!(replicas.known(0), None);
        assert_eq!(replicas.upheavals(), Upheavals { lost: 1, returned: 0 });
    }

    #[test]
    fn a_lost_leaf_is_met_again_with_what_it_has_missed_and_then_asked() {
        let mut replicas = met();
        replicas.hear(1, 11, Heard::Gone, at(5));
        assert!(write(&mut replicas, [Done, Done, Done]), "the second is lost, and so is its word");
        assert_eq!(which_answer(&replicas), [0, 2]);
        let meeting = replicas.meeting(1, at(5)).expect("due at once");
        let missed = Meeting { known: 11, forget: vec![Forget::of(Some(b"a"))] };
        assert_eq!(meeting, missed);
        assert!(
            replicas.meeting(1, at(3_600_000)).is_none(),
            "one at a time, however long it takes"
        );
        // It does not come about, and is due again.
        replicas.not_met(1, meeting, at(5));
        assert!(replicas.meeting(1, at(14)).is_none(), "after a pause");
        let meeting = replicas.meeting(1, at(15)).expect("due again");
        assert_eq!(meeting, missed);
        replicas.not_met(1, meeting, at(15));
        assert!(replicas.meeting(1, at(34)).is_none(), "pauses grow");
        assert_eq!(replicas.meeting(1, at(35)), Some(missed));
        replicas.met(1, 21, true, at(0));
        assert_eq!((which_answer(&replicas), replicas.known(1)), (vec![0, 1, 2], Some(21)));
        replicas.hear(1, 11, Heard::Gone, at(17));
        assert_eq!(replicas.known(1), Some(21), "a call to the earlier one has ended late");
        assert_eq!(replicas.upheavals(), Upheavals { lost: 1, returned: 1 });
    }

    /// It has the write of another life: what it says now is nobody's word.
    #[test]
    fn what_is_stored_by_one_that_was_lost_meanwhile_does_not_count() {
        let mut replicas = met();
        replicas.lose(0, at(0));
        replicas.meeting(0, at(0)).expect("due");
        replicas.met(0, 20, false, at(0));
        assert!(write(&mut replicas, [Done, Done, Done]));
        assert_eq!(which_answer(&replicas), [1, 2]);
        assert!(replicas.is_cold(0) && !replicas.is_cold(1));
    }

    /// Carried out here and not there: from the end of the write on, one value is answered.
    #[test]
    fn replicas_that_may_differ_are_not_asked_but_for_one() {
        for (parts, answer) in [
            ([Done, Done, Done], vec![0, 1, 2]),
            ([Done, Refused, Lost], vec![0]),
            ([Lost, Lost, Lost], vec![0]),
            ([Lost, Refused, Refused], vec![1, 2]),
            ([Refused, Refused, Refused], vec![0, 1, 2]),
        ] {
            let mut replicas = met();
            assert_eq!(write(&mut replicas, parts), parts.contains(&Done), "{parts:?}");
            assert_eq!(which_answer(&replicas), answer, "{parts:?}");
            assert!(write(&mut replicas, [Done; 3]));
            assert_eq!(which_answer(&replicas), [0, 1, 2], "a later write makes it good");
        }
    }

    /// The first is cold and has refused; the second, which was lost amid the write, may have the only value.
    #[test]
    fn the_only_value_is_not_forgotten_for_the_word_of_one_that_may_have_none() {
        for breaks in [false, true] {
            let mut replicas = met();
            replicas.lose(0, at(0));
            replicas.meeting(0, at(0)).expect("due");
            replicas.met(0, 10, false, at(0));
            let number = replicas.begin_write();
            if breaks {
                replicas.lose(1, at(0));
            }
            let end = |node, asked, part| End { node, asked, part };
            let ends = [end(0, 10, Refused), end(1, 11, Lost)];
            assert!(!replicas.end_write((number, b"a"), &[0, 1], &ends, at(0)));
            if breaks {
                let meeting = replicas.meeting(1, at(0)).expect("due");
                assert_eq!(meeting.forget, [], "it comes back with it");
                replicas.met(1, 21, true, at(0));
            }
            assert_eq!(which_answer(&replicas), [1, 2], "{breaks}");
        }
    }

    #[test]
    fn a_leaf_that_misses_too_much_is_lost_and_told_to_forget_everything() {
        let mut replicas = met();
        let mut key = 0_u32;
        while replicas.known(2).is_some() {
            let number = replicas.begin_write();
            let ends = [End { node: 0, asked: 10, part: Done }];
            replicas.end_write((number, &key.to_le_bytes()), &[0, 2], &ends, at(0));
            key += 1;
        }
        assert!(key > 10_000, "{key}");
        let meeting = replicas.meeting(2, at(0)).expect("due");
        assert_eq!(meeting.forget, [Forget::Everything]);
    }

    /// It would be asked for nothing, as it may hold what is old of everything.
    #[test]
    fn a_leaf_that_misses_too_much_while_it_is_met_is_met_again() {
        let mut replicas = met();
        replicas.lose(2, at(0));
        let meeting = replicas.meeting(2, at(0)).expect("due");
        assert_eq!(meeting.forget, []);
        for key in 0..100_000_u32 {
            let number = replicas.begin_write();
            let ends = [End { node: 0, asked: 10, part: Done }];
            replicas.end_write((number, &key.to_le_bytes()), &[0, 2], &ends, at(0));
        }
        replicas.met(2, 22, true, at(0));
        assert_eq!(replicas.known(2), None);
        let meeting = replicas.meeting(2, at(0)).expect("due at once");
        assert_eq!(meeting, Meeting { known: 22, forget: vec![Forget::Everything] });
    }

    /// It has accepted the connection, and answers nothing.
    #[test]
    fn a_strange_leaf_that_is_not_met_is_lost_and_met_later_with_what_it_has_missed() {
        let mut replicas = Replicas::new(2, SILENCE);
        replicas.meeting(1, at(0)).expect("due");
        replicas.met(1, 11, true, at(0));
        let meeting = replicas.meeting(0, at(0)).expect("due");
        let number = replicas.begin_write();
        let ends = [End { node: 1, asked: 11, part: Done }];
        assert!(replicas.end_write((number, b"a"), &[0, 1], &ends, at(0)));
        replicas.not_met(0, meeting, at(100));
        assert!(!replicas.is_strange(0) && replicas.known(0).is_none());
        assert_eq!(replicas.upheavals(), Upheavals { lost: 1, returned: 0 });
        let meeting = replicas.meeting(0, at(110)).expect("due again");
        let missed = Meeting { known: 0, forget: vec![Forget::of(Some(b"a"))] };
        assert_eq!(meeting, missed, "its memory at its start is known, but for that");
        replicas.met(0, 7, true, at(0));
        assert_eq!(replicas.upheavals(), Upheavals { lost: 1, returned: 1 });
    }

    /// Where only gets are asked nothing else would tell that it answers again.
    #[test]
    fn a_silent_leaf_is_asked_once_in_a_tenth_of_the_longest_silence() {
        let mut replicas = met();
        replicas.hear(0, 10, Heard::Silence(at(0)), at(5));
        assert!(!replicas.answers(0, at(14)) && replicas.answers(0, at(15)));
        replicas.on_get(0, at(15));
        assert!(!replicas.answers(0, at(24)), "the next are asked of others");
        // The pause in which it was asked nothing is no silence.
        replicas.hear(0, 10, Heard::Silence(at(15)), at(105));
        assert!(replicas.known(0).is_some(), "95 ms of silence");
        replicas.hear(0, 10, Heard::Answer, at(106));
        assert!(replicas.answers(0, at(106)));
        replicas.on_get(0, at(107));
        assert!(replicas.answers(0, at(107)), "of one that answers nothing is changed");
        for call in 0..1_000 {
            replicas.hear(0, 10, Heard::Late, at(200 + call));
        }
        assert!(replicas.known(0).is_some() && !replicas.answers(0, at(1_200)), "it is slow");
    }
}
