//! The bugs of the published code (wenischlab/MicroSuite, SetAlgebra), planted in a leaf or in how documents are dealt
//! to leaves: the oracle must notice each.

use crate::common::{HITS, World, midtier};
use std::collections::BTreeSet;
use std::time::Duration;
use tailwater_rt::client::{Answer as Answered, CallError};
use tailwater_setalgebra::index::Shard;
use tailwater_setalgebra::intersect::Method;
use tailwater_setalgebra::leaf::Leaf;
use tailwater_setalgebra::wire::{Answer, read_request};

/// What is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    None,
    /// An empty intersection ends the loop before it is assigned: the partial one before it is returned.
    EmptyReturnsPartial,
    /// Words with more postings than this are dropped from the query without a word: 1,000 as published, fewer here, as
    /// documents are.
    LongListsDropped(usize),
    /// A word that no document has is passed over.
    MissingWordPassedOver,
    /// A short answer is filled up with document 0.
    PaddedWithZero,
    /// The last posting of each list is forgotten.
    LastForgotten,
    /// Leaves share words, not documents.
    ShardedByWord,
    /// The second leaf answers with the numbers of its own documents.
    LocalNumbers,
    /// The first leaf alone is asked.
    OneLeafAlone,
    /// The mid-tier joins what leaves found one behind the other, and calls that their union.
    Concatenated,
    /// Words of the stop list are no condition, so a query of these alone is taken to find every document.
    StopWordsFindAll,
    /// A word that is named twice takes its documents away again.
    TwiceIsNever,
}

/// Those that a single leaf can have.
const OF_ONE_LEAF: [Bug; 7] = [
    Bug::EmptyReturnsPartial,
    Bug::LongListsDropped(100),
    Bug::MissingWordPassedOver,
    Bug::PaddedWithZero,
    Bug::LastForgotten,
    Bug::StopWordsFindAll,
    Bug::TwiceIsNever,
];

/// Those of dividing and merging.
const OF_SEVERAL: [Bug; 4] =
    [Bug::ShardedByWord, Bug::LocalNumbers, Bug::OneLeafAlone, Bug::Concatenated];

/// Which leaf, and of how many.
#[derive(Clone, Copy)]
struct Place {
    number: u32,
    leaves: u32,
    /// How many documents it has.
    documents: u32,
}

/// A leaf that does as published: words in the query's order, intersected one by one.
fn published(leaf: &Leaf, place: Place, words: &[&str], stop: &[&str], bug: Bug) -> Vec<u32> {
    let Place { number, leaves, documents } = place;
    let mut found: Option<Vec<u32>> = None;
    let asked = || words.iter().filter(|word| !stop.contains(word));
    if bug == Bug::StopWordsFindAll && asked().count() == 0 {
        found = Some((0..documents).collect());
    }
    let is_twice = |word: &&str| asked().filter(|other| *other == word).count() > 1;
    if bug == Bug::TwiceIsNever && asked().any(is_twice) {
        return Vec::new();
    }
    for &word in asked() {
        if bug == Bug::ShardedByWord && word.len() as u32 % leaves != number {
            continue;
        }
        let mut list = Vec::new();
        match leaf.shard.list(word) {
            Some(lists) => lists.read_all(&mut list),
            None if bug == Bug::MissingWordPassedOver => continue,
            None => {}
        }
        if matches!(bug, Bug::LongListsDropped(most) if list.len() > most) {
            continue;
        }
        if bug == Bug::LastForgotten {
            list.pop();
        }
        let kept = match &found {
            None => list,
            Some(former) => {
                let set: BTreeSet<u32> = list.into_iter().collect();
                former.iter().copied().filter(|document| set.contains(document)).collect()
            }
        };
        if kept.is_empty() && bug == Bug::EmptyReturnsPartial && found.is_some() {
            break;
        }
        found = Some(kept);
    }
    let mut found = found.unwrap_or_default();
    if bug != Bug::LocalNumbers || number != 1 {
        found.iter_mut().for_each(|local| *local = *local * leaves + number);
    }
    if bug == Bug::PaddedWithZero && found.is_empty() && number == 0 {
        found.push(0);
    }
    found
}

/// How many of the answers of so many leaves the oracle finds wrong.
fn wrong(world: &World, count: u32, bug: Bug) -> usize {
    let leaves = world.leaves(count, Method::Gallop);
    let all = world.collection.documents() as u32;
    let stop: Vec<&str> = world.stop.iter().map(|&word| world.collection.word(word)).collect();
    let is_wrong = |query: &usize| {
        let request = world.questions.request(*query, 9);
        let (tag, words) = read_request(&request).expect("a request");
        let answer = |(number, leaf): (u32, &Leaf)| {
            let asked = bug != Bug::OneLeafAlone || number == 0;
            let documents = (number..all).step_by(count as usize).len() as u32;
            let place = Place { number, leaves: count, documents };
            let documents = published(leaf, place, if asked { &words } else { &[] }, &stop, bug);
            let found = documents.len() as u32;
            let payload = Answer { tag, missing: 0, found, documents }.to_bytes();
            Ok(Answered { status: 0, payload, sojourn: Duration::ZERO })
        };
        let outcomes: Vec<_> = (0..).zip(&leaves).map(answer).collect();
        // What is not even an answer is noticed by the mid-tier.
        let answer = match bug {
            Bug::Concatenated => Ok(concatenated(tag, &outcomes)),
            _ => midtier(count).unite(tag, outcomes),
        };
        answer.is_err()
            || answer.is_ok_and(|answer| {
                !world.questions.is_answer(*query, &answer, (count, count, HITS))
            })
    };
    (0..world.questions.count()).filter(is_wrong).count()
}

/// The leaves' documents in the order of the leaves: each once, and all of them.
fn concatenated(tag: u64, outcomes: &[Result<Answered, CallError>]) -> Answer {
    let of = |outcome: &Result<Answered, CallError>| {
        let answered = outcome.as_ref().expect("each leaf answers");
        Answer::of_bytes(&answered.payload).expect("an answer").documents
    };
    let documents: Vec<u32> = outcomes.iter().flat_map(of).collect();
    Answer { tag, missing: 0, found: documents.len() as u32, documents }
}

#[test]
fn what_is_published_is_right_without_its_bugs() {
    let world = World::generated();
    for leaves in [1, 4] {
        assert_eq!(wrong(&world, leaves, Bug::None), 0, "{leaves} leaves");
    }
}

#[test]
fn every_bug_of_the_published_code_is_noticed() {
    let world = World::generated();
    for bug in OF_ONE_LEAF.into_iter().chain(OF_SEVERAL) {
        assert!(wrong(&world, 4, bug) > 0, "{bug:?}");
    }
}

/// No merge hides or shows them there.
#[test]
fn bugs_of_a_single_leaf_are_noticed_with_one_leaf_too() {
    let world = World::generated();
    for bug in OF_ONE_LEAF {
        assert!(wrong(&world, 1, bug) > 0, "{bug:?}");
    }
}

/// As of a stop list that is counted otherwise.
#[test]
fn a_wrong_stop_list_is_noticed() {
    let world = World::generated();
    let mut shorter = world.stop.clone();
    shorter.pop();
    let shard = Shard::build(&world.collection, &shorter, (0, 1)).expect("small");
    let leaf = Leaf { shard, method: Method::Gallop, hits: HITS };
    let is_wrong = |query: &usize| {
        let answer = leaf.answer(&world.questions.request(*query, 1)).expect("a request");
        !world.questions.is_answer(*query, &answer, (1, 1, HITS))
    };
    let asked = |word: &u32| world.queries.iter().any(|query| query.contains(word));
    assert!(world.stop.last().is_some_and(asked), "some query has the word");
    assert!((0..world.questions.count()).any(|query| is_wrong(&query)));
}
