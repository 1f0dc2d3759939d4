//! Service and oracle against the definitions, and the oracle against what the published code does wrong.

use std::sync::Arc;
use tailwater_core::Rng;
use tailwater_recommend::average::Averaged;
use tailwater_recommend::evaluate::Errors;
use tailwater_recommend::factors::Fit;
use tailwater_recommend::model::{Among, Model, Query, Rule, Whole};
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

/// The recommender by its definitions, of the ratings alone: nothing of the crate's is called, factors excepted, which
/// are compared with their own definition in `factors_follow_from_the_definition`.
struct Definition<'a> {
    all: &'a [Rating],
    /// The rows of users and of items.
    factors: (Vec<Vec<f64>>, Vec<Vec<f64>>),
    mean: f64,
    of_users: Vec<f64>,
    of_items: Vec<f64>,
}

impl<'a> Definition<'a> {
    fn of(learnt: &'a Model) -> Self {
        let (ratings, factors) = (learnt.ratings(), learnt.factors());
        let wide = |row: &[f32]| row.iter().map(|it| f64::from(*it)).collect::<Vec<_>>();
        let users = (0..ratings.users() as u32).map(|user| wide(factors.of_user(user))).collect();
        let items = (0..ratings.items() as u32).map(|item| wide(factors.of_item(item))).collect();
        let all = ratings.all();
        let mean = all.iter().map(|it| f64::from(it.value)).sum::<f64>() / all.len() as f64;
        let (of_users, of_items) = biases(all, mean, (ratings.users(), ratings.items()));
        Self { all, factors: (users, items), mean, of_users, of_items }
    }

    fn alone(&self, user: u32, item: u32) -> f64 {
        self.mean + self.of_users[user as usize] + self.of_items[item as usize]
    }

    /// Every user compared, all of them sorted.
    fn predict(&self, rule: Rule, query: Query) -> f32 {
        let (users, items) = &self.factors;
        let like = |user: u32| {
            similarity(rule.similarity, &users[query.user as usize], &users[user as usize])
        };
        let mut near: Vec<(f64, u32, f64)> = match rule.among {
            Among::Everyone => (0..users.len() as u32)
                .map(|user| {
                    (like(user), user, dot(&users[user as usize], &items[query.item as usize]))
                })
                .collect(),
            Among::Raters => {
                let raters = self.all.iter().filter(|it| it.item == query.item);
                raters
                    .map(|it| {
                        let exceeds = f64::from(it.value) - self.alone(it.user, it.item);
                        (like(it.user), it.user, exceeds)
                    })
                    .collect()
            }
        };
        near.retain(|&(_, user, _)| user != query.user);
        near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        near.truncate(rule.neighbours);
        let exact = self.combined(rule.among, query, &near);
        let values = || self.all.iter().map(|it| it.value);
        let (low, high) = (values().fold(f32::MAX, f32::min), values().fold(f32::MIN, f32::max));
        (exact as f32).clamp(low, high)
    }

    /// What exceeds biases is drawn to zero, as by neighbours of a similarity of five together.
    fn combined(&self, among: Among, query: Query, near: &[(f64, u32, f64)]) -> f64 {
        let weight = |alike: f64| alike.max(0.0);
        let weights: f64 = near.iter().map(|one| weight(one.0)).sum();
        let weighted: f64 = near.iter().map(|one| weight(one.0) * one.2).sum();
        let plain = near.iter().map(|one| one.2).sum::<f64>() / near.len() as f64;
        let biases = self.alone(query.user, query.item);
        match among {
            _ if near.is_empty() => biases,
            Among::Raters => biases + weighted / (weights + 5.0),
            Among::Everyone if weights > 0.0 => weighted / weights,
            Among::Everyone => plain,
        }
    }
}

/// Ten times all items and then all users, each the mean of what is left to it, as with 10 or 15 ratings of nothing.
fn biases(all: &[Rating], mean: f64, (users, items): (usize, usize)) -> (Vec<f64>, Vec<f64>) {
    let (mut of_users, mut of_items) = (vec![0.0; users], vec![0.0; items]);
    for _ in 0..10 {
        let (mut sums, mut counts) = (vec![0.0; items], vec![10.0; items]);
        for it in all {
            sums[it.item as usize] += f64::from(it.value) - mean - of_users[it.user as usize];
            counts[it.item as usize] += 1.0;
        }
        of_items = sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect();
        let (mut sums, mut counts) = (vec![0.0; users], vec![15.0; users]);
        for it in all {
            sums[it.user as usize] += f64::from(it.value) - mean - of_items[it.item as usize];
            counts[it.user as usize] += 1.0;
        }
        of_users = sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect();
    }
    (of_users, of_items)
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn similarity(kind: Similarity, one: &[f64], other: &[f64]) -> f64 {
    let (mut one, mut other) = (one.to_vec(), other.to_vec());
    if kind == Similarity::Euclid {
        let square = |(a, b): (&f64, &f64)| (a - b) * (a - b);
        let distance = one.iter().zip(&other).map(square).sum::<f64>().sqrt();
        return 1.0 / (1.0 + distance);
    }
    if kind == Similarity::Pearson {
        for row in [&mut one, &mut other] {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            row.iter_mut().for_each(|it| *it -= mean);
        }
    }
    let lengths = (dot(&one, &one) * dot(&other, &other)).sqrt();
    if lengths > 0.0 { dot(&one, &other) / lengths } else { 0.0 }
}

/// The factors where each coordinate in turn is the best for all others as they are. Its error is computed anew each
/// time from all ratings.
fn factors(ratings: &Ratings, fit: Fit) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let all = ratings.all();
    let mean = all.iter().map(|it| f64::from(it.value)).sum::<f64>() / all.len() as f64;
    let square = mean / fit.rank as f64;
    let (even, weight) = (square.sqrt(), f64::from(fit.regularisation) * square);
    let mut rng = Rng::from_seed(fit.seed).split("factors");
    let mut draw = |rows: usize| -> Vec<Vec<f64>> {
        let mut row = || (0..fit.rank).map(|_| even * (0.5 + rng.unit())).collect();
        (0..rows).map(|_| row()).collect()
    };
    let (mut users, mut items) = (draw(ratings.users()), draw(ratings.items()));
    for _ in 0..fit.sweeps {
        for (user, row) in users.iter_mut().enumerate() {
            let own: Vec<_> = all.iter().filter(|it| it.user as usize == user).collect();
            let others: Vec<_> =
                own.iter().map(|it| (it.value, &items[it.item as usize])).collect();
            descend(row, &others, even, weight);
        }
        for (item, row) in items.iter_mut().enumerate() {
            let own: Vec<_> = all.iter().filter(|it| it.item as usize == item).collect();
            let others: Vec<_> =
                own.iter().map(|it| (it.value, &users[it.user as usize])).collect();
            descend(row, &others, even, weight);
        }
    }
    (users, items)
}

/// The coordinate x that is best: Σ (v − w·h)² + λ (x − c)² has no slope there, or x is zero.
fn descend(own: &mut [f64], others: &[(f32, &Vec<f64>)], even: f64, weight: f64) {
    for place in 0..own.len() {
        let (mut above, mut below) = (weight * even, weight);
        for (value, other) in others {
            let without = dot(own, other) - own[place] * other[place];
            above += (f64::from(*value) - without) * other[place];
            below += other[place] * other[place];
        }
        own[place] = (above / below).max(0.0);
    }
}

#[test]
fn factors_follow_from_the_definition() {
    let ratings = ratings(3_000);
    let learnt = model(&ratings, small());
    let (users, items) = factors(&ratings, small().fit);
    let of = learnt.factors();
    let users = users.iter().enumerate().map(|(user, row)| (of.of_user(user as u32), row));
    let items = items.iter().enumerate().map(|(item, row)| (of.of_item(item as u32), row));
    for (found, expected) in users.chain(items) {
        for (found, expected) in found.iter().zip(expected) {
            // Ours are rounded to 32 bits at every step.
            assert!((f64::from(*found) - expected).abs() < 1e-3, "{found} for {expected}");
        }
    }
}

#[test]
fn predictions_follow_from_the_definitions() {
    let ratings = ratings(4_000);
    let queries = queries::draw(&ratings, 300, 1).expect("empty cells");
    let learnt = model(&ratings, small());
    let definition = Definition::of(&learnt);
    for (_, similarity) in Similarity::ALL {
        for (_, among) in Among::ALL {
            let rule = Rule { similarity, among, ..small() };
            let with = learnt.with(similarity, among, rule.neighbours);
            let (whole, oracle) = (with.whole(), Oracle::of(&with));
            for &query in &queries {
                let (found, expected) =
                    (whole.predict(query).expect("known"), definition.predict(rule, query));
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

/// How many of the queries a service answers otherwise than the definition says.
fn wrong(learnt: &Model, queries: &[Query], faulty: impl Fn(Query) -> f32) -> usize {
    let oracle = Oracle::of(learnt);
    let is_wrong = |query: &&Query| faulty(**query).to_bits() != oracle.predict(**query).to_bits();
    queries.iter().filter(is_wrong).count()
}

#[test]
fn the_right_service_has_no_fault() {
    let ratings = ratings(6_000);
    let learnt = model(&ratings, small());
    for (whole, seed) in [(learnt.whole(), 3), (sharded(&learnt, 4), 4), (sharded(&learnt, 7), 5)] {
        let queries = queries::draw(&ratings, 300, seed).expect("empty cells");
        assert_eq!(wrong(&learnt, &queries, |query| whole.predict(query).expect("known")), 0);
    }
}

/// The default similarity says the same of all users then.
#[test]
fn a_rank_that_tells_no_users_apart_is_refused() {
    let ratings = Arc::new(ratings(1_000));
    let learn = |rank, similarity| {
        let fit = Fit { rank, sweeps: 1, ..Fit::default() };
        Model::learn(ratings.clone(), Rule { fit, similarity, ..Rule::default() }, |_| Ok(()))
    };
    assert_eq!(Rule::default().similarity, Similarity::Pearson);
    let error = learn(1, Similarity::Pearson).expect_err("refused").to_string();
    assert!(error.contains("3 or more is needed, or the similarity euclid"), "{error}");
    assert!(learn(2, Similarity::Pearson).is_err() && learn(1, Similarity::Cosine).is_err());
    assert!(learn(3, Similarity::Pearson).is_ok() && learn(1, Similarity::Euclid).is_ok());
    let zero = learn(0, Similarity::Euclid).expect_err("refused").to_string();
    assert!(zero.contains("the rank is 0; a number from 1 to 128 is needed"), "{zero}");
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
