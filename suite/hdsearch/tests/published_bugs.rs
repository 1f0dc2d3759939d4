//! What the published code does wrong, and what an index can do wrong, done here by wrappers around our tiers: the
//! comparison must notice each.
//!
//! µSuite's HDSearch (github.com/wenischlab/MicroSuite, as of 2020) resizes each leaf's candidates to exactly ten,
//! padded with point 0; its leaf finds one neighbour, whatever is wanted; its tiers look a query's vector up by number
//! in their own copy of the set; it hashes values that were cut to eight bits; and it asks for points that are
//! indexed.

use tailwater_hdsearch::check::Wrong;
use tailwater_hdsearch::index::ivf::{Clustered, Ivf, Training};
use tailwater_hdsearch::index::lsh::{Hashed, Lsh, Settings};
use tailwater_hdsearch::index::{Candidates, Index};
use tailwater_hdsearch::leaf::Leaf;
use tailwater_hdsearch::midtier::{Call, MidTier};
use tailwater_hdsearch::nearest::Found;
use tailwater_hdsearch::oracle::{ByClusters, ByHashes, LookUp};
use tailwater_hdsearch::placement::{Order, Placement};
use tailwater_hdsearch::questions::Questions;
use tailwater_hdsearch::vectors::{Generator, Kind, Set};
use tailwater_hdsearch::wire::{self, Answer, LeafAnswer, Query};
use tailwater_kernels::{Rows, Table};

const SETTINGS: Settings = Settings { tables: 4, bits: 6, probes: 3 };
const QUERIES: usize = 80;

struct Tiers {
    set: Set,
    placement: Placement,
    midtier: MidTier,
    look_up: Box<dyn LookUp>,
    leaves: Vec<Leaf>,
}

impl Tiers {
    fn new() -> Self {
        let generator = Generator::new(Kind::Words.recipe(30), 11);
        let set = Set::generated(&generator, 2_000, QUERIES, |_| Ok::<_, ()>(())).expect("made");
        let placement = Placement::new(2_000, 4);
        let hashed = hashed(set.points.rows());
        let index = Lsh::new(&hashed, placement, SETTINGS).expect("an index");
        let midtier = MidTier::new(Box::new(index), placement, 30);
        let look_up = Box::new(ByHashes::new(set.points.rows(), &hashed, SETTINGS));
        let leaves = leaves(&set, &Order::as_given(2_000), placement);
        Self { set, placement, midtier, look_up, leaves }
    }

    /// The same with this index in the mid-tier.
    fn with(index: impl Index + 'static) -> Self {
        let tiers = Self::new();
        let midtier = MidTier::new(Box::new(index), tiers.placement, 30);
        Self { midtier, ..tiers }
    }

    /// The same with points in clusters, which must be looked up as `right` says.
    fn clustered(clustered: &Clustered, probes: usize, right: ByClusters) -> Self {
        let tiers = Self::with(Ivf::new(clustered, probes).expect("an index"));
        let leaves = leaves(&tiers.set, clustered.parts().1, tiers.placement);
        Self { leaves, look_up: Box::new(right), ..tiers }
    }

    fn questions(&self) -> Questions<'_> {
        let quiet = |_| Ok::<_, ()>(());
        Questions::prepare(&self.set, &*self.look_up, 10, quiet).expect("prepared")
    }

    /// The faults that are noticed when the calls, each leaf's answer and the merged one pass through these wrappers.
    fn faults(
        &self,
        plan: impl Fn(&Query, usize, Vec<Call>) -> Vec<Call>,
        leaf: impl Fn(Vec<Found>) -> Vec<Found>,
        merged: impl Fn(Vec<Found>) -> Vec<Found>,
    ) -> Vec<Wrong> {
        let leaf = |number: usize, request: &[u8]| {
            let answer = self.answer(number, request);
            LeafAnswer { found: leaf(answer.found), ..answer }
        };
        self.faults_of(plan, leaf, merged)
    }

    /// The same with other leaves: `leaf` takes its number and a request.
    fn faults_of(
        &self,
        plan: impl Fn(&Query, usize, Vec<Call>) -> Vec<Call>,
        leaf: impl Fn(usize, &[u8]) -> LeafAnswer,
        merged: impl Fn(Vec<Found>) -> Vec<Found>,
    ) -> Vec<Wrong> {
        let questions = self.questions();
        let mut faults = Vec::new();
        for number in 0..QUERIES {
            let query = questions.query(number);
            let calls = plan(&query, number, self.midtier.plan(&query));
            let answers: Vec<_> = calls
                .iter()
                .map(|call| (call.leaf, wire::leaf_answer(&leaf(call.leaf, &call.request))))
                .collect();
            let answers = answers.iter().map(|(leaf, bytes)| (*leaf, &bytes[..]));
            let answer = self.midtier.merge(0, answers, 10).expect("merged");
            let answer = Answer { found: merged(answer.found), ..answer };
            let checked = questions.check(number, &answer);
            assert_eq!(questions.expected(number).is(&answer), checked.is_ok());
            faults.extend(checked.err());
        }
        faults
    }

    /// What the right leaf answers.
    fn answer(&self, leaf: usize, request: &[u8]) -> LeafAnswer {
        let bytes = self.leaves[leaf].answer(request).expect("an answer");
        wire::read_leaf_answer(&bytes).expect("an answer")
    }
}

fn leaves(set: &Set, order: &Order, placement: Placement) -> Vec<Leaf> {
    let leaf = |leaf| Leaf::new(set.points.rows(), order, placement, leaf);
    (0..placement.leaves()).map(leaf).collect()
}

fn hashed(points: Rows<'_>) -> Hashed {
    Hashed::new(points, SETTINGS, 1).expect("hashed")
}

/// The parts of what was hashed, with these buckets instead.
fn with_buckets(hashed: &Hashed, buckets: Vec<Vec<u32>>) -> Hashed {
    let ((normals, offsets), _) = hashed.parts();
    let mut planes = Table::new(normals.dimensions());
    (0..normals.count()).for_each(|plane| planes.push(normals.vector(plane)));
    Hashed::of_parts(SETTINGS.bits, (planes, offsets.to_vec()), buckets).expect("parts")
}

fn lsh(hashed: &Hashed, placement: Placement) -> Lsh {
    Lsh::new(hashed, placement, SETTINGS).expect("an index")
}

fn same<T>(value: T) -> T {
    value
}

fn as_planned(_: &Query, _: usize, plan: Vec<Call>) -> Vec<Call> {
    plan
}

/// Changes the candidates of every call.
fn with_candidates(
    query: &Query,
    mut plan: Vec<Call>,
    change: impl Fn(&mut Vec<u32>),
) -> Vec<Call> {
    for call in &mut plan {
        let mut candidates = Vec::new();
        wire::read_leaf_request(&call.request, (500, 30), &mut candidates).expect("a request");
        change(&mut candidates);
        call.request = wire::leaf_request(query, &[], &candidates);
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
    // Padding alone: where point 0 is far away, the neighbours are right all the same, and their number is not.
    let padded = |query: &Query, _, plan| {
        with_candidates(query, plan, |candidates| candidates.resize(candidates.len() + 3, 0))
    };
    let faults = tiers.faults(padded, same, same);
    assert_eq!(faults.len(), QUERIES);
    let counted = faults.iter().filter(|wrong| matches!(wrong, Wrong::Candidates { .. }));
    assert!(counted.count() > QUERIES / 2, "{faults:?}");
}

/// Its neighbours are right: what it skips would not have been among them.
#[test]
fn a_leaf_that_skips_half_of_its_candidates() {
    let tiers = Tiers::new();
    let skips = |leaf: usize, request: &[u8]| {
        let mut candidates = Vec::new();
        let query =
            wire::read_leaf_request(request, (500, 30), &mut candidates).expect("a request");
        let nearest = tiers.answer(leaf, request).found;
        // Points lie as in the set.
        let numbers: Vec<u32> = tiers.placement.of_leaf(leaf).collect();
        let mut others = 0;
        candidates.retain(|candidate| {
            let number = numbers[*candidate as usize];
            let is_near = nearest.iter().any(|found| found.point == number);
            others += usize::from(!is_near);
            is_near || others % 2 == 0
        });
        tiers.answer(leaf, &wire::leaf_request(&query, &[], &candidates))
    };
    let faults = tiers.faults_of(as_planned, skips, same);
    assert_eq!(faults.len(), QUERIES);
    let is_count =
        |wrong: &Wrong| matches!(wrong, Wrong::Candidates { found, needed } if found < needed);
    assert!(faults.iter().all(is_count), "{faults:?}");
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
    let looked_up = |query: &Query, number: usize, plan: Vec<Call>| {
        let vector = tiers.set.points.rows().vector(number).to_vec();
        with_candidates(&Query { vector, neighbours: query.neighbours }, plan, |_| ())
    };
    let faults = tiers.faults(looked_up, same, same);
    assert_eq!(faults.len(), QUERIES);
    assert!(faults.iter().all(|wrong| matches!(wrong, Wrong::Distance { .. })));
}

#[test]
fn hashes_of_values_cut_to_eight_bits() {
    let tiers = Tiers::new();
    let rows = tiers.set.points.rows();
    let mut bytes = Table::new(30);
    (0..rows.count()).for_each(|row| bytes.push(&cut(rows.vector(row))));
    // By the planes of the cut points, and by those that the look-up knows.
    let own_planes = lsh(&hashed(bytes.rows()), tiers.placement);
    let buckets = hashed(bytes.rows()).parts().1.to_vec();
    let same_planes = lsh(&with_buckets(&hashed(rows), buckets), tiers.placement);
    for index in [own_planes, same_planes] {
        let faults = Tiers::with(Cut(index)).faults(as_planned, same, same);
        assert!(faults.len() > QUERIES / 2, "{} noticed", faults.len());
    }
}

fn cut(vector: &[f32]) -> Vec<f32> {
    vector.iter().map(|value| f32::from((value * 255.0) as u8)).collect()
}

/// Queries are hashed as the points were.
struct Cut(Lsh);

impl Index for Cut {
    fn look_up(&self, query: &[f32], candidates: &mut Candidates) {
        self.0.look_up(&cut(query), candidates);
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

#[test]
fn an_index_that_loses_half_of_its_buckets() {
    let tiers = Tiers::new();
    let right = hashed(tiers.set.points.rows());
    // What is in a bucket with an odd number is found under the even one beside it alone.
    let even = right.parts().1.iter().map(|table| table.iter().map(|bucket| bucket & !1).collect());
    let lossy = lsh(&with_buckets(&right, even.collect()), tiers.placement);
    assert_eq!(Tiers::with(lossy).faults(as_planned, same, same).len(), QUERIES);
}

#[test]
fn an_index_that_ignores_how_many_buckets_are_asked_for() {
    let tiers = Tiers::new();
    let right = lsh(&hashed(tiers.set.points.rows()), tiers.placement);
    for probes in [1, 2, 4] {
        let other = right.with(Settings { probes, ..SETTINGS }).expect("settings");
        let faults = Tiers::with(other).faults(as_planned, same, same);
        assert!(faults.len() > QUERIES / 2, "{probes} instead of 3: {} noticed", faults.len());
    }
}

#[test]
fn clusters_that_are_not_the_nearest() {
    let tiers = Tiers::new();
    let points = tiers.set.points.rows();
    let right = Clustered::new(points, 40, Training::default()).expect("clustered");
    let (centres, order, starts) = right.parts();
    // Each list is looked into where the centre of the next one is near.
    let mut table = Table::new(30);
    (0..40).for_each(|list| table.push(centres.vector((list + 1) % 40)));
    let wrong = Clustered::of_parts(table, order.clone(), starts.to_vec()).expect("parts");
    let faults = |clustered: &Clustered, probes| {
        let look_up = ByClusters::new(points, &right, 4);
        Tiers::clustered(clustered, probes, look_up).faults(as_planned, same, same).len()
    };
    assert_eq!((faults(&right, 4), faults(&right, 3), faults(&wrong, 4)), (0, QUERIES, QUERIES));
}

/// Their vectors lie as in the set, and lists are looked for where clusters would have them.
#[test]
fn leaves_that_know_nothing_of_the_order_of_clusters() {
    let tiers = Tiers::new();
    let points = tiers.set.points.rows();
    let clustered = Clustered::new(points, 40, Training::default()).expect("clustered");
    let look_up = ByClusters::new(points, &clustered, 4);
    let right = Tiers::clustered(&clustered, 4, look_up);
    let unordered = Tiers { leaves: tiers.leaves, ..right };
    assert!(unordered.faults(as_planned, same, same).len() > QUERIES / 2);
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
    let without = |_: &Query, _: usize, mut plan: Vec<Call>| {
        plan.retain(|call| call.leaf != 2);
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
    let questions = tiers.questions();
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
