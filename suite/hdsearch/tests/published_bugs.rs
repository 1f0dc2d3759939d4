//! What the published code does wrong, done here by wrappers around our tiers: the comparison must notice each.
//!
//! µSuite's HDSearch (github.com/wenischlab/MicroSuite, as of 2020) resizes each leaf's candidates to exactly ten,
//! padded with point 0; its leaf finds one neighbour, whatever is wanted; its tiers look a query's vector up by number
//! in their own copy of the set; it hashes values that were cut to eight bits; and it asks for points that are
//! indexed.

use tailwater_hdsearch::check::Wrong;
use tailwater_hdsearch::index::Index;
use tailwater_hdsearch::index::lsh::{Hashed, Lsh, Settings};
use tailwater_hdsearch::leaf::Leaf;
use tailwater_hdsearch::midtier::{MidTier, Plan};
use tailwater_hdsearch::nearest::Found;
use tailwater_hdsearch::placement::Placement;
use tailwater_hdsearch::questions::Questions;
use tailwater_hdsearch::vectors::{Generator, Kind, Set};
use tailwater_hdsearch::wire::{self, Answer, Query};
use tailwater_kernels::Table;

const SETTINGS: Settings = Settings { tables: 4, bits: 6, probes: 3 };
const QUERIES: usize = 80;

struct Tiers {
    set: Set,
    placement: Placement,
    midtier: MidTier,
    leaves: Vec<Leaf>,
}

impl Tiers {
    fn new() -> Self {
        let generator = Generator::new(Kind::Words.recipe(30), 11);
        let set = Set::generated(&generator, 2_000, QUERIES, |_| Ok::<_, ()>(())).expect("made");
        let placement = Placement::new(2_000, 4);
        let midtier = MidTier::new(index(&set.points, placement), placement, 30);
        let leaf = |leaf| Leaf::new(set.points.rows(), placement, leaf);
        let leaves = (0..4).map(leaf).collect();
        Self { set, placement, midtier, leaves }
    }

    /// The faults that are noticed when `plan`, each leaf's answer and the merged one pass through these wrappers.
    fn faults(
        &self,
        plan: impl Fn(&Query, usize, Plan) -> Plan,
        leaf: impl Fn(Vec<Found>) -> Vec<Found>,
        merged: impl Fn(Vec<Found>) -> Vec<Found>,
    ) -> Vec<Wrong> {
        let quiet = |_| Ok::<_, ()>(());
        let questions = Questions::prepare(&self.set, &self.midtier, 10, quiet).expect("prepared");
        let mut faults = Vec::new();
        for number in 0..QUERIES {
            let query = questions.query(number);
            let plan = plan(&query, number, self.midtier.plan(&query));
            let mut answers = Vec::new();
            for call in &plan.calls {
                let bytes = self.leaves[call.leaf].answer(&call.request).expect("an answer");
                let found = leaf(wire::read_leaf_answer(&bytes).expect("an answer"));
                answers.push((call.leaf, wire::leaf_answer(&found)));
            }
            let answers = answers.iter().map(|(leaf, bytes)| (*leaf, &bytes[..]));
            let found = merged(self.midtier.merge(answers, 10).expect("merged"));
            let answer = plan.answer(0, found);
            let checked = questions.check(number, &answer);
            assert_eq!(questions.expected(number).is(&answer), checked.is_ok());
            faults.extend(checked.err());
        }
        faults
    }
}

fn index(points: &Table, placement: Placement) -> Box<dyn Index> {
    let hashed = Hashed::new(points.rows(), SETTINGS, 1).expect("hashed");
    Box::new(Lsh::new(&hashed, placement, SETTINGS).expect("an index"))
}

fn same<T>(value: T) -> T {
    value
}

fn as_planned(_: &Query, _: usize, plan: Plan) -> Plan {
    plan
}

/// Changes the candidates of every call.
fn with_candidates(query: &Query, plan: Plan, change: impl Fn(&mut Vec<u32>)) -> Plan {
    let mut plan = plan;
    for call in &mut plan.calls {
        let mut candidates = Vec::new();
        wire::read_leaf_request(&call.request, 30, &mut candidates).expect("a request");
        change(&mut candidates);
        call.request = wire::leaf_request(query, &candidates);
    }
    plan
}

#[test]
fn the_right_tiers_have_no_fault() {
    assert_eq!(Tiers::new().faults(as_planned, same, same), []);
}

#[test]
fn candidates_resized_to_ten_and_padded_with_zero() {
    let tiers = Tiers::new();
    let resized = |query: &Query, _, plan| {
        with_candidates(query, plan, |candidates| candidates.resize(10, 0))
    };
    let faults = tiers.faults(resized, same, same);
    assert!(faults.len() > QUERIES / 2, "{} noticed", faults.len());
    // Padding alone, where a leaf has fewer than ten: point 0 comes twice, or comes from nowhere.
    let padded = |query: &Query, _, plan| {
        with_candidates(query, plan, |candidates| candidates.resize(candidates.len() + 3, 0))
    };
    let faults = tiers.faults(padded, same, same);
    assert!(!faults.is_empty());
}

#[test]
fn a_leaf_that_finds_one_neighbour() {
    let one = |found: Vec<Found>| found.into_iter().take(1).collect();
    let faults = Tiers::new().faults(as_planned, one, same);
    assert!(faults.len() > QUERIES / 2);
    assert!(faults.iter().all(|wrong| matches!(wrong, Wrong::Count { .. })), "{faults:?}");
}

#[test]
fn a_query_looked_up_by_number_in_a_copy_of_the_set() {
    let tiers = Tiers::new();
    let looked_up = |query: &Query, number: usize, plan: Plan| {
        let vector = tiers.set.points.rows().vector(number).to_vec();
        let other = Query { vector, neighbours: query.neighbours };
        let mut plan = plan;
        for call in &mut plan.calls {
            let mut candidates = Vec::new();
            wire::read_leaf_request(&call.request, 30, &mut candidates).expect("a request");
            call.request = wire::leaf_request(&other, &candidates);
        }
        plan
    };
    let faults = tiers.faults(looked_up, same, same);
    assert_eq!(faults.len(), QUERIES);
    assert!(faults.iter().all(|wrong| matches!(wrong, Wrong::Distance { .. })));
}

#[test]
fn hashes_of_values_cut_to_eight_bits() {
    let tiers = Tiers::new();
    let rows = tiers.set.points.rows();
    let cut = |vector: &[f32]| {
        vector.iter().map(|value| f32::from((value * 255.0) as u8)).collect::<Vec<_>>()
    };
    let mut bytes = Table::new(30);
    (0..rows.count()).for_each(|row| bytes.push(&cut(rows.vector(row))));
    let other = MidTier::new(index(&bytes, tiers.placement), tiers.placement, 30);
    let planned = |query: &Query, _: usize, _: Plan| {
        let hashed = Query { vector: cut(&query.vector), neighbours: query.neighbours };
        with_candidates(query, other.plan(&hashed), |_| ())
    };
    assert!(tiers.faults(planned, same, same).len() > QUERIES / 2);
}

#[test]
fn answers_out_of_order() {
    let reversed = |found: Vec<Found>| found.into_iter().rev().collect();
    let faults = Tiers::new().faults(as_planned, same, reversed);
    assert!(faults.len() > QUERIES / 2);
    assert!(faults.iter().all(|wrong| matches!(wrong, Wrong::Order(0))), "{faults:?}");
}

#[test]
fn a_shard_that_is_left_out() {
    let without = |_: &Query, _: usize, mut plan: Plan| {
        plan.calls.retain(|call| call.leaf != 2);
        plan
    };
    assert!(Tiers::new().faults(without, same, same).len() > QUERIES / 2);
}

/// Queries are no points: each is at some distance from all of them.
#[test]
fn no_query_is_a_point() {
    let tiers = Tiers::new();
    for query in tiers.set.queries.rows().all() {
        let nearest = tailwater_hdsearch::oracle::nearest_of_all(tiers.set.points.rows(), query, 1);
        assert!(nearest[0].distance > 0.0);
    }
}

#[test]
fn every_fault_has_words() {
    let tiers = Tiers::new();
    let quiet = |_| Ok::<_, ()>(());
    let questions = Questions::prepare(&tiers.set, &tiers.midtier, 10, quiet).expect("prepared");
    let right = Answer { tag: 0, ..answer(&questions) };
    let changed = |change: fn(&mut Answer)| {
        let mut answer = right.clone();
        change(&mut answer);
        questions.check(0, &answer).expect_err("wrong").to_string()
    };
    assert_eq!(questions.check(0, &right), Ok(()));
    assert!(
        changed(|answer| answer.found.truncate(3)).contains("found 3 neighbours; 10 are needed")
    );
    assert!(
        changed(|answer| answer.found[2].point = 2_000)
            .contains("point 2000, which is not in the set")
    );
    assert!(changed(|answer| answer.found[1] = answer.found[0]).contains("twice"));
    assert!(changed(|answer| answer.found.swap(4, 5)).contains("out of order, at places 4 and 5"));
    assert!(changed(|answer| answer.found[9].distance += 1.0).contains("it is"));
    assert!(changed(|answer| answer.candidates += 1).contains("candidates; the index has"));
}

fn answer(questions: &Questions<'_>) -> Answer {
    let expected = questions.expected(0);
    Answer { tag: 0, candidates: expected.candidates, found: expected.found.clone() }
}
