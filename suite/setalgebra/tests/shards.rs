//! The same answers from 1, 2, 4 and 16 leaves, by every method, and all of them right.

use crate::common::{HITS, World, glosses, midtier};
use std::time::Duration;
use tailwater_rt::client::Answer as Answered;
use tailwater_setalgebra::collection::Collection;
use tailwater_setalgebra::intersect::Method;
use tailwater_setalgebra::leaf::Leaf;

/// What the mid-tier answers to each query, as bytes.
fn answers(world: &World, leaves: &[Leaf]) -> Vec<Vec<u8>> {
    let count = leaves.len() as u32;
    let one = |number: usize| {
        let tag = number as u64;
        let request = world.questions.request(number, tag);
        let outcomes = leaves.iter().map(|leaf| {
            let payload = leaf.answer(&request).expect("a request").to_bytes();
            Ok(Answered { status: 0, payload, sojourn: Duration::ZERO })
        });
        let answer = midtier(count).unite(tag, outcomes.collect()).expect("all have answered");
        let right = world.questions.is_answer(number, &answer, (count, count, HITS));
        assert!(right, "query {number} of {count} leaves: {answer:?}");
        answer.to_bytes()
    };
    (0..world.questions.count()).map(one).collect()
}

fn all_agree(world: &World) {
    let first = answers(world, &world.leaves(1, Method::Merge));
    for count in [1, 2, 4, 16] {
        for &(name, method) in Method::NAMES {
            let others = answers(world, &world.leaves(count, method));
            assert!(others == first, "{count} leaves by {name}");
        }
    }
}

#[test]
fn generated_documents_have_the_same_answers_however_many_leaves_there_are() {
    let world = World::generated();
    assert!(world.questions.empty() >= 30, "5 % of the answers at least are empty");
    assert!(world.questions.documents() > 1_000, "and others are not");
    all_agree(&world);
}

#[test]
fn glosses_have_the_same_answers_however_many_leaves_there_are() {
    let Some(corpus) = glosses(20_000) else { return };
    all_agree(&World::of(Collection::of_texts(corpus.texts())));
}
