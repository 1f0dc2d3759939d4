//! The oracle by its definition, which looks at every write for every get, and random histories for both.

use super::{REQUESTS_MAX, Registers, Wrong, initial, value};
use proptest::prelude::*;

const EPOCH: u32 = 9;
const KEYS: u32 = 2;

#[derive(Clone, Copy)]
struct Write {
    key: u32,
    asked: u32,
    over: Option<u32>,
    acknowledged: Option<u32>,
}

/// Every write that was asked, in no order that matters.
#[derive(Default)]
struct Naive {
    asked: u32,
    writes: Vec<Write>,
}

impl Naive {
    fn write(&mut self, number: u32) -> &mut Write {
        self.writes.iter_mut().find(|write| write.asked == number).expect("it was asked")
    }

    fn acknowledge(&mut self, number: u32) {
        let now = self.asked;
        let write = self.write(number);
        if write.acknowledged.is_none() {
            (write.over, write.acknowledged) = (Some(now), Some(now));
        }
    }

    fn refuse(&mut self, number: u32) {
        let now = self.asked;
        let over = &mut self.write(number).over;
        over.get_or_insert(now);
    }

    /// `over` is when the value's write was over; another write replaces it.
    fn is_replaced(&self, (key, get): (u32, u32), over: u32) -> bool {
        let replaces = |it: &Write| {
            it.key == key && it.asked >= over && it.acknowledged.is_some_and(|at| at <= get)
        };
        self.writes.iter().any(replaces)
    }

    fn check(&mut self, of: (u32, u32), write: u32) -> Result<(), Wrong> {
        let Write { over, acknowledged, .. } = *self.write(write);
        if over.is_some_and(|over| self.is_replaced(of, over)) {
            return Err(Wrong::Old);
        }
        if acknowledged.is_none() && over.is_some_and(|over| over <= of.1) {
            // Now it is known to be in force. It was over before, and what was asked since replaces it.
            let now = self.asked;
            self.write(write).acknowledged = Some(now);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Get(u32),
    Set(u32),
    /// Of the writes asked so far, one.
    Acknowledge(prop::sample::Index),
    Refuse(prop::sample::Index),
    /// Of the gets asked so far, one, and one of the writes of its key, or what was there before.
    Answer(prop::sample::Index, prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..KEYS;
    prop_oneof![
        key.clone().prop_map(Step::Get),
        key.prop_map(Step::Set),
        any::<prop::sample::Index>().prop_map(Step::Acknowledge),
        any::<prop::sample::Index>().prop_map(Step::Refuse),
        any::<(prop::sample::Index, prop::sample::Index)>()
            .prop_map(|(get, write)| Step::Answer(get, write)),
        any::<(prop::sample::Index, prop::sample::Index)>()
            .prop_map(|(get, write)| Step::Answer(get, write)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn the_oracle_says_what_its_definition_says(steps in prop::collection::vec(step(), 0..60)) {
        let (registers, mut naive) = (Registers::new(EPOCH, REQUESTS_MAX), Naive::default());
        let mut gets = Vec::new();
        for step in steps {
            match step {
                Step::Get(key) => {
                    gets.push((key, registers.get(key).expect("there is room")));
                    naive.asked += 1;
                }
                Step::Set(key) => {
                    let (asked, _) = registers.set(key).expect("there is room");
                    naive.writes.push(Write { key, asked, over: None, acknowledged: None });
                    naive.asked += 1;
                }
                Step::Acknowledge(at) if !naive.writes.is_empty() => {
                    let number = at.get(&naive.writes).asked;
                    prop_assert_eq!(registers.acknowledge(number), Ok(()));
                    naive.acknowledge(number);
                }
                Step::Refuse(at) if !naive.writes.is_empty() => {
                    let number = at.get(&naive.writes).asked;
                    prop_assert_eq!(registers.refuse(number), Ok(()));
                    naive.refuse(number);
                }
                Step::Answer(get, write) if !gets.is_empty() => {
                    let (key, get) = *get.get(&gets);
                    let of_key: Vec<Option<u32>> = naive
                        .writes
                        .iter()
                        .filter(|write| write.key == key)
                        .map(|write| Some(write.asked))
                        .chain([None])
                        .collect();
                    match *write.get(&of_key) {
                        Some(number) => {
                            let found = registers.check(get, Some(&value(key, EPOCH, number)));
                            prop_assert_eq!(found, naive.check((key, get), number));
                        }
                        None => {
                            let is_old = naive.is_replaced((key, get), 0);
                            let found = registers.check(get, Some(&initial(key)));
                            prop_assert_eq!(found, if is_old { Err(Wrong::Old) } else { Ok(()) });
                            let found = registers.check(get, None);
                            prop_assert_eq!(found, if is_old { Err(Wrong::Missing) } else { Ok(()) });
                        }
                    }
                }
                Step::Acknowledge(_) | Step::Refuse(_) | Step::Answer(..) => {}
            }
        }
    }
}
