//! However many leaves there are, answers are the same, to the bit; by the bytes that tiers exchange.

use std::sync::Arc;
use tailwater_recommend::leaf::Leaf;
use tailwater_recommend::midtier::{MidTier, NotALeafsAnswer, Part};
use tailwater_recommend::model::{Among, Model, Query, Rule};
use tailwater_recommend::neighbours::Neighbour;
use tailwater_recommend::oracle::Oracle;
use tailwater_recommend::queries;
use tailwater_recommend::ratings::Generated;
use tailwater_recommend::similarity::Similarity;
use tailwater_recommend::wire::{self, WireError};

fn model(rule: Rule) -> Model {
    let ratings = Generated { ratings: 6_000, ..Generated::default() }.make(4);
    Model::learn(Arc::new(ratings), rule, |_| Ok(())).expect("sound settings")
}

fn leaves(model: &Model, count: u32) -> (MidTier, Vec<Leaf>) {
    let midtier = MidTier { part: Part::Users(model.profiles()), leaves: count };
    (midtier, (0..count).map(|number| Leaf::Users(model.shard(number, count))).collect())
}

fn ask(midtier: &MidTier, leaves: &[Leaf], query: Query) -> f32 {
    let (_, request) = midtier.plan(query).expect("a known user");
    let answers: Vec<Vec<u8>> =
        leaves.iter().map(|leaf| leaf.answer(&request).expect("a request")).collect();
    midtier.merge(query, answers.iter().map(|bytes| &bytes[..])).expect("answers of leaves")
}

#[test]
fn every_number_of_leaves_answers_what_the_oracle_says() {
    for (_, among) in Among::ALL {
        for (_, similarity) in Similarity::ALL {
            let model = model(Rule { among, similarity, ..Rule::default() });
            let oracle = Oracle::of(&model);
            let queries = queries::draw(model.ratings(), 300, 2).expect("empty cells");
            let needed: Vec<u32> =
                queries.iter().map(|&query| oracle.predict(query).to_bits()).collect();
            for count in [1, 2, 4, 16] {
                let (midtier, leaves) = leaves(&model, count);
                let found: Vec<u32> =
                    queries.iter().map(|&query| ask(&midtier, &leaves, query).to_bits()).collect();
                assert!(found == needed, "{count} leaves, {among:?}, {similarity:?}");
            }
            assert!(needed.iter().any(|one| *one != needed[0]), "answers differ");
        }
    }
}

/// Leaves that a mid-tier cannot merge: each would otherwise be a wrong answer.
#[test]
fn what_no_leaf_can_answer_is_refused() {
    let model = model(Rule { neighbours: 2, ..Rule::default() });
    let (midtier, _) = leaves(&model, 2);
    let query = Query { user: 0, item: 0 };
    let one = |user, similarity| Neighbour { user, similarity, value: 0.5 };
    let merge = |second: &[Neighbour]| {
        let bytes = [wire::neighbours_answer(&[one(2, 0.5)]), wire::neighbours_answer(second)];
        midtier.merge(query, bytes.iter().map(|bytes| &bytes[..]))
    };
    assert!(merge(&[one(3, 0.9), one(5, 0.1)]).is_ok());
    for (what, wrong) in [
        ("a user of another leaf", &[one(2, 0.9)][..]),
        ("one twice", &[one(3, 0.9), one(3, 0.9)]),
        ("one twice, and less alike the second time", &[one(3, 0.9), one(3, 0.8)]),
        ("more than asked for", &[one(3, 0.9), one(5, 0.8), one(7, 0.7)]),
        ("not the nearest first", &[one(3, 0.1), one(5, 0.9)]),
    ] {
        assert_eq!(merge(wrong), Err(NotALeafsAnswer { leaf: 1 }), "{what}");
    }
    let users = model.ratings().users();
    let unknown = Query { user: users as u32, item: 0 };
    assert_eq!(midtier.plan(unknown), Err(WireError::User(users as u32, users)));
}
