//! Service and oracle against the definitions, and the oracle against what the published code does wrong.

use std::sync::Arc;
use tailwater_recommend::average::Averaged;
use tailwater_recommend::evaluate::Errors;
use tailwater_recommend::factors::Fit;
use tailwater_recommend::model::{Among, Model, Query, Rule, Whole};
use tailwater_recommend::neighbours::{Neighbour, weighted_mean};
use tailwater_recommend::oracle::{Oracle, averaged};
use tailwater_recommend::queries;
use tailwater_recommend::ratings::{Generated, Rating, Ratings, Split, by_lines};
use tailwater_recommend::similarity::Similarity;

fn ratings(number: usize) -> Ratings {
    Generated { ratings: number, ..Generated::default() }.make(4)
}

fn model(ratings: &Ratings, rule: Rule) -> Model {
    Model::learn(Arc::new(ratings.clone()), rule, |_| Ok(())).expect("sound settings")
}

fn small() -> Rule {
    let fit = Fit { rank: 6, sweeps: 5, ..Fit::default() };
    Rule { fit, neighbours: 5, ..Rule::default() }
}

fn sharded(model: &Model, shards: u32) -> Whole {
    let shards = (0..shards).map(|number| model.shard(number, shards)).collect();
    Whole { profiles: model.profiles(), shards }
}

/// Every user compared, all of them sorted: by the definitions alone.
fn by_definition(model: &Model, rule: Rule, query: Query) -> f32 {
    let (ratings, factors, biases) = (model.ratings(), model.factors(), model.biases());
    let like =
        |user: u32| similarity(rule.similarity, factors.of_user(query.user), factors.of_user(user));
    let others = (0..ratings.users() as u32).filter(|user| *user != query.user);
    let neighbour = |user: u32| {
        let value = match rule.among {
            Among::Everyone => factors.product(user, query.item),
            Among::Raters => {
                let own = ratings.of_user(user).iter().find(|rating| rating.item == query.item)?;
                f64::from(own.value) - biases.predict(user, query.item)
            }
        };
        Some(Neighbour { user, similarity: like(user), value: value as f32 })
    };
    let mut all: Vec<_> = others.filter_map(neighbour).collect();
    all.sort_by(Neighbour::order);
    all.truncate(rule.neighbours);
    let alone = biases.predict(query.user, query.item);
    let exact = match (weighted_mean(&all, rule.among.shrinkage()), rule.among) {
        (None, _) => alone,
        (Some(mean), Among::Raters) => alone + mean,
        (Some(mean), Among::Everyone) => mean,
    };
    let [low, high] = ratings.bounds();
    (exact as f32).clamp(low, high)
}

fn similarity(kind: Similarity, one: &[f32], other: &[f32]) -> f32 {
    let wide = |row: &[f32]| row.iter().map(|it| f64::from(*it)).collect::<Vec<_>>();
    let (mut one, mut other) = (wide(one), wide(other));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    if kind == Similarity::Euclid {
        let square = |(a, b): (&f64, &f64)| (a - b) * (a - b);
        let distance = one.iter().zip(&other).map(square).sum::<f64>().sqrt();
        return (1.0 / (1.0 + distance)) as f32;
    }
    if kind == Similarity::Pearson {
        for row in [&mut one, &mut other] {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            row.iter_mut().for_each(|it| *it -= mean);
        }
    }
    (dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt()) as f32
}

#[test]
fn predictions_follow_from_the_definitions() {
    let ratings = ratings(4_000);
    let queries = queries::draw(&ratings, 300, 1).expect("empty cells");
    let learnt = model(&ratings, small());
    for (_, similarity) in Similarity::ALL {
        for (_, among) in Among::ALL {
            let rule = Rule { similarity, among, ..small() };
            let with = learnt.with(similarity, among, rule.neighbours);
            let (whole, oracle) = (with.whole(), Oracle::of(&with));
            for &query in &queries {
                let (found, expected) =
                    (whole.predict(query).expect("known"), by_definition(&learnt, rule, query));
                assert_eq!(found.to_bits(), oracle.predict(query).to_bits(), "{rule:?} {query:?}");
                // Rows are rounded once when they are prepared.
                let off = (found - expected).abs() / expected;
                assert!(off < 1e-4, "{rule:?} {query:?}: {found} for {expected}");
            }
        }
    }
}

#[test]
fn shards_change_nothing_to_the_bit() {
    let ratings = ratings(6_000);
    let queries = queries::draw(&ratings, 500, 2).expect("empty cells");
    for (_, among) in Among::ALL {
        let learnt = model(&ratings, Rule { among, ..small() });
        let answers = |shards: u32| -> Vec<u32> {
            let whole = sharded(&learnt, shards);
            let predict = |&query: &Query| whole.predict(query).expect("known").to_bits();
            queries.iter().map(predict).collect()
        };
        let alone = answers(1);
        for shards in [2, 4, 16, 61] {
            assert_eq!(answers(shards), alone, "{among:?}, {shards} shards");
        }
    }
}

/// How many of the queries a faulty service answers otherwise than the oracle.
fn wrong(learnt: &Model, queries: &[Query], faulty: impl Fn(Query) -> f32) -> usize {
    let oracle = Oracle::of(learnt);
    let is_wrong = |query: &&Query| faulty(**query).to_bits() != oracle.predict(**query).to_bits();
    queries.iter().filter(is_wrong).count()
}

/// The published mid-tier averages what leaves predict by themselves.
#[test]
fn an_average_of_the_leaves_predictions_is_caught() {
    let ratings = ratings(6_000);
    let queries = queries::draw(&ratings, 300, 3).expect("empty cells");
    let learnt = model(&ratings, small());
    let parts: Vec<Whole> = (0..4)
        .map(|number| Whole { profiles: learnt.profiles(), shards: vec![learnt.shard(number, 4)] })
        .collect();
    let averaged = |query: Query| {
        let each = parts.iter().map(|part| part.predict(query).expect("known"));
        each.sum::<f32>() / 4.0
    };
    assert!(wrong(&learnt, &queries, averaged) > 100);
    let of_slices = Averaged::learn(&ratings, 4, small()).expect("sound settings");
    assert!(wrong(&learnt, &queries, |query| of_slices.predict(query)) > 100);
}

/// As a mode it has an oracle of its own.
#[test]
fn an_average_of_slices_is_what_its_own_oracle_says() {
    let ratings = ratings(6_000);
    let queries = queries::draw(&ratings, 300, 3).expect("empty cells");
    for (_, among) in Among::ALL {
        let rule = Rule { among, ..small() };
        let served = Averaged::learn(&ratings, 4, rule).expect("sound settings");
        let slices: Vec<Model> =
            by_lines(&ratings, 4).iter().map(|slice| model(slice, rule)).collect();
        let oracles: Vec<Oracle<'_>> = slices.iter().map(Oracle::of).collect();
        for &query in &queries {
            let needed = averaged(&oracles, &ratings, query);
            assert_eq!(served.predict(query).to_bits(), needed.to_bits(), "{query:?}");
        }
        let lacks = |query: &&Query| {
            averaged(&oracles[..3], &ratings, **query) != averaged(&oracles, &ratings, **query)
        };
        assert!(queries.iter().filter(lacks).count() > 100, "a leaf that is left out is noticed");
    }
}

/// With one leaf, too: the faults are not those of merging.
#[test]
fn faults_of_one_leaf_are_caught() {
    let ratings = ratings(6_000);
    let queries = queries::draw(&ratings, 300, 6).expect("empty cells");
    let learnt = model(&ratings, small());
    let with = |rule: Rule| learnt.with(rule.similarity, rule.among, rule.neighbours).whole();
    for (what, rule) in [
        ("products of factors over everyone", Rule { among: Among::Everyone, ..small() }),
        ("a neighbour is left out", Rule { neighbours: 4, ..small() }),
        ("another measure", Rule { similarity: Similarity::Euclid, ..small() }),
    ] {
        let faulty = with(rule);
        let caught = wrong(&learnt, &queries, |query| faulty.predict(query).expect("known"));
        assert!(caught > 30, "{what}: {caught}");
    }
    let right = learnt.whole();
    assert_eq!(wrong(&learnt, &queries, |query| right.predict(query).expect("known")), 0);
}

/// The published code gives each leaf a slice of lines: a user's ratings lie in all of them.
#[test]
fn leaves_that_hold_lines_instead_of_users_are_caught() {
    let ratings = ratings(6_000);
    let queries = queries::draw(&ratings, 300, 4).expect("empty cells");
    let learnt = model(&ratings, small());
    let slice = by_lines(&ratings, 4).swap_remove(0);
    let lacking = model(&slice, small()).shard(0, 1);
    let mut whole = sharded(&learnt, 4);
    whole.shards[0] = lacking;
    assert!(wrong(&learnt, &queries, |query| whole.predict(query).expect("known")) > 100);
}

/// A leaf that is left out, as a mid-tier that does not wait for all answers would.
#[test]
fn a_leaf_that_is_left_out_is_caught() {
    let ratings = ratings(6_000);
    let queries = queries::draw(&ratings, 300, 5).expect("empty cells");
    let learnt = model(&ratings, small());
    let mut whole = sharded(&learnt, 4);
    whole.shards.pop();
    assert!(wrong(&learnt, &queries, |query| whole.predict(query).expect("known")) > 50);
}

fn rmse(held_out: &[Rating], predict: impl Fn(Query) -> f64) -> f64 {
    Errors::of(held_out, predict).expect("some are held out").rmse
}

/// Unknown cells taken for zeros pull every prediction down.
#[test]
fn factors_of_a_matrix_full_of_zeros_are_caught() {
    let ratings = ratings(5_000);
    let split = Split::of(&ratings, 0.2, 1);
    let (users, items) = (ratings.users(), ratings.items());
    let value = |user, item| {
        let known = split.seen.of_user(user).iter().find(|rating| rating.item == item);
        known.map_or(0.0, |rating| rating.value)
    };
    let cells = (0..users as u32).flat_map(|user| (0..items as u32).map(move |item| (user, item)));
    let all = cells.map(|(user, item)| Rating { user, item, value: value(user, item) }).collect();
    let full = Ratings::new(users, items, all);
    let of = |ratings: &Ratings| {
        let learnt = model(ratings, small());
        rmse(&split.held_out, |query| learnt.factors().product(query.user, query.item))
    };
    let (masked, zeros) = (of(&split.seen), of(&full));
    assert!(masked < 1.3, "{masked}");
    assert!(zeros > 2.0 * masked, "{zeros} beside {masked}");
}

/// The better algorithms are better where there is something to learn.
#[test]
fn held_out_ratings_rank_the_predictors() {
    let ratings = ratings(100_000);
    let split = Split::of(&ratings, 0.1, 1);
    let learnt = model(&split.seen, Rule::default());
    let whole = learnt.whole();
    let mean = split.seen.mean();
    let by_mean = rmse(&split.held_out, |_| mean);
    let by_biases = rmse(&split.held_out, |query| learnt.biases().predict(query.user, query.item));
    let by_neighbours = rmse(&split.held_out, |query| whole.predict(query).expect("known").into());
    assert!(
        by_biases < by_mean && by_neighbours < by_biases,
        "{by_mean} {by_biases} {by_neighbours}"
    );
}
