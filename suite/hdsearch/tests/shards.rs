//! However many leaves there are, answers are the same, to the bit.

use std::collections::BTreeSet;
use tailwater_hdsearch::index::ivf::{Clustered, Ivf, Training};
use tailwater_hdsearch::index::lsh::{Hashed, Lsh, Settings};
use tailwater_hdsearch::index::{Candidates, Index};
use tailwater_hdsearch::leaf::Leaf;
use tailwater_hdsearch::midtier::MidTier;
use tailwater_hdsearch::oracle::{self, ByClusters, ByHashes, LookUp};
use tailwater_hdsearch::placement::{Order, Placement};
use tailwater_hdsearch::vectors::{Generator, Kind, Names, Set};
use tailwater_hdsearch::wire::{self, Answer, Query};
use tailwater_kernels::{Kernels, Level, Table};

fn set(kind: Kind, dimensions: usize) -> Set {
    let generator = Generator::new(kind.recipe(dimensions), 5);
    Set::generated(&generator, 3_001, 60, |_| Ok::<_, ()>(())).expect("made")
}

/// The mid-tier's answer without sockets: by the same bytes.
fn ask(midtier: &MidTier, leaves: &[Leaf], query: &Query) -> Answer {
    let calls = midtier.plan(query);
    let answers: Vec<_> = calls
        .iter()
        .map(|call| (call.leaf, leaves[call.leaf].answer(&call.request).expect("an answer")))
        .collect();
    let answers = answers.iter().map(|(leaf, bytes)| (*leaf, &bytes[..]));
    midtier.merge(9, answers, query.neighbours.into()).expect("merged")
}

fn answers(
    set: &Set,
    count: u32,
    level: Level,
    (index, order): (&dyn Fn(Placement) -> Box<dyn Index>, &Order),
    look_up: &dyn LookUp,
) -> Vec<Vec<u8>> {
    let points = set.points.rows();
    let placement = Placement::new(points.count() as u32, count);
    let kernels = Kernels::up_to(level);
    let leaf = |leaf| Leaf::new(points, order, placement, leaf).with(kernels);
    let leaves: Vec<Leaf> = (0..placement.leaves()).map(leaf).collect();
    let midtier = MidTier::new(index(placement), placement, points.dimensions());
    let queries = set.queries.rows();
    (0..queries.count())
        .map(|number| {
            let query = Query { neighbours: 10, vector: queries.vector(number).to_vec() };
            let answer = ask(&midtier, &leaves, &query);
            let candidates = look_up.candidates(queries.row(number));
            let nearest =
                oracle::nearest_of(points, queries.row(number), candidates.iter().copied(), 10);
            assert_eq!(answer.found, nearest, "query {number} of {count} leaves");
            assert_eq!(answer.candidates as usize, candidates.len());
            wire::answer(&answer)
        })
        .collect()
}

fn are_equal(
    set: &Set,
    look_up: &dyn LookUp,
    index: (&dyn Fn(Placement) -> Box<dyn Index>, &Order),
) {
    let one = answers(set, 1, Level::Scalar, index, look_up);
    for leaves in [2, 4, 16] {
        assert!(answers(set, leaves, Level::Avx512, index, look_up) == one, "{leaves} leaves");
    }
    // Something was found, and not everything looked at.
    let read: Vec<Answer> = one.iter().filter_map(|bytes| wire::read_answer(bytes)).collect();
    let candidates: u32 = read.iter().map(|answer| answer.candidates).sum();
    assert!(read.iter().filter(|answer| answer.found.len() == 10).count() > 50);
    assert!((candidates as usize) < set.points.rows().count() * 60 / 2);
}

#[test]
fn hashed_points_are_found_alike_by_any_number_of_leaves() {
    let set = set(Kind::Words, 50);
    let settings = Settings { tables: 4, bits: 7, probes: 4 };
    let hashed = Hashed::new(set.points.rows(), settings, 1).expect("hashed");
    let look_up = ByHashes::new(set.points.rows(), &hashed, settings);
    let index = |placement: Placement| -> Box<dyn Index> {
        Box::new(Lsh::new(&hashed, placement, settings).expect("an index"))
    };
    are_equal(&set, &look_up, (&index, &Order::as_given(3_001)));
}

#[test]
fn clustered_points_are_found_alike_by_any_number_of_leaves() {
    let set = set(Kind::Images, 200);
    let clustered = Clustered::new(set.points.rows(), 40, Training::default()).expect("clustered");
    let look_up = ByClusters::new(set.points.rows(), &clustered, 4);
    let index =
        |_: Placement| -> Box<dyn Index> { Box::new(Ivf::new(&clustered, 4).expect("an index")) };
    are_equal(&set, &look_up, (&index, clustered.parts().1));
}

/// Two clusters whose points are equally far from a query, and mixed in the set: the ten with the smallest numbers must be
/// found, on whatever leaves and at whatever positions they lie.
#[test]
fn equal_distances_are_told_apart_by_numbers_in_the_set() {
    let (mut points, mut queries) = (Table::new(2), Table::new(2));
    for point in 0..64 {
        points.push(&[if point % 3 == 0 { 5.0 } else { -5.0 }, (point % 7) as f32]);
    }
    (0..60).for_each(|query| queries.push(&[0.0, query as f32 / 10.0]));
    let set = Set { points, queries, names: Names::default() };
    let mut centres = Table::new(2);
    [[-5.0, 3.0], [5.0, 3.0]].iter().for_each(|centre| centres.push(centre));
    let (left, right): (Vec<u32>, Vec<u32>) = (0..64).partition(|point| point % 3 != 0);
    let starts = vec![0, left.len() as u32, 64];
    let order = Order::of([left, right].concat()).expect("an order");
    let clustered = Clustered::of_parts(centres, order, starts).expect("clustered");
    let look_up = ByClusters::new(set.points.rows(), &clustered, 2);
    let index =
        |_: Placement| -> Box<dyn Index> { Box::new(Ivf::new(&clustered, 2).expect("an index")) };
    let all =
        |leaves| answers(&set, leaves, Level::Avx512, (&index, clustered.parts().1), &look_up);
    let one = all(1);
    assert!([2, 4, 16].iter().all(|&leaves| all(leaves) == one));
    // The query in the middle between two rows of points has 19 that are nearest.
    let read = wire::read_answer(&one[5]).expect("an answer");
    let found: Vec<u32> = read.found.iter().map(|found| found.point).collect();
    assert_eq!(found, [0, 1, 7, 8, 14, 15, 21, 22, 28, 29]);
}

fn candidates(
    index: &dyn Index,
    (placement, order): (Placement, &Order),
    query: &[f32],
) -> BTreeSet<u32> {
    let mut candidates = Candidates::new(placement);
    index.look_up(query, &mut candidates);
    let of_leaf = |leaf| {
        let numbers: Vec<u32> = order.of_leaf(placement, leaf).collect();
        let in_ranges = candidates.ranges(leaf).iter().cloned().flatten();
        let all = in_ranges.chain(candidates.of_leaf(leaf).iter().copied());
        all.map(move |local| numbers[local as usize])
    };
    let all: Vec<u32> = (0..placement.leaves()).flat_map(of_leaf).collect();
    assert_eq!(all.len(), candidates.count());
    let distinct: BTreeSet<u32> = all.into_iter().collect();
    assert_eq!(distinct.len(), candidates.count(), "each is there once");
    distinct
}

/// More tables, more probes and more lists never lose a candidate, and all of them have every point.
#[test]
fn more_effort_finds_more() {
    let set = set(Kind::Words, 50);
    let points = set.points.rows();
    let placement = Placement::new(points.count() as u32, 3);
    let most = Settings { tables: 6, bits: 6, probes: 64 };
    let lsh = Lsh::new(&Hashed::new(points, most, 1).expect("hashed"), placement, most)
        .expect("an index");
    let clustered = Clustered::new(points, 30, Training::default()).expect("clustered");
    let ivf = Ivf::new(&clustered, 30).expect("an index");
    let settings = [(1, 1), (1, 8), (3, 8), (6, 8), (6, 64)];
    let hashes = settings.map(|(tables, probes)| -> Box<dyn Index> {
        Box::new(lsh.with(Settings { tables, probes, ..most }).expect("settings"))
    });
    let lists = [1, 3, 10, 30]
        .map(|probes| -> Box<dyn Index> { Box::new(ivf.with(probes).expect("settings")) });
    let given = Order::as_given(points.count() as u32);
    for (family, order) in [(Vec::from(hashes), &given), (lists.into(), clustered.parts().1)] {
        for query in set.queries.rows().all() {
            let found: Vec<_> = (family.iter())
                .map(|index| candidates(&**index, (placement, order), query))
                .collect();
            assert!(found.windows(2).all(|pair| pair[0].is_subset(&pair[1])));
            assert_eq!(
                found.last().map(BTreeSet::len),
                Some(points.count()),
                "all buckets have all points"
            );
        }
    }
}

#[test]
fn settings_out_of_their_bounds_are_refused() {
    let set = set(Kind::Words, 8);
    let (points, settings) = (set.points.rows(), Settings { tables: 2, bits: 4, probes: 2 });
    let placement = Placement::new(points.count() as u32, 2);
    for bad in [
        Settings { tables: 0, ..settings },
        Settings { bits: 25, ..settings },
        Settings { probes: 0, ..settings },
    ] {
        assert!(Hashed::new(points, bad, 1).is_err(), "{bad}");
    }
    let hashed = Hashed::new(points, settings, 1).expect("hashed");
    assert!(Lsh::new(&hashed, placement, Settings { tables: 3, ..settings }).is_err());
    assert!(Lsh::new(&hashed, placement, Settings { bits: 5, ..settings }).is_err());
    assert!(Clustered::new(points, 0, Training::default()).is_err());
    let error = Clustered::new(points, 5_000, Training::default()).expect_err("more than points");
    assert_eq!(
        error.to_string(),
        "found 5000 lists and 1 probes; 1 to 3001 lists, and no more probes than lists, are needed"
    );
    let clustered = Clustered::new(points, 7, Training::default()).expect("clustered");
    assert!(Ivf::new(&clustered, 8).is_err());
}

/// A file may be damaged in a way that its sums do not show.
#[test]
fn lists_that_do_not_fit_their_points_are_refused() {
    let of_parts = |starts: &[u32]| {
        let mut centres = Table::new(2);
        (0..3).for_each(|centre| centres.push(&[centre as f32; 2]));
        Clustered::of_parts(centres, Order::as_given(9), starts.to_vec()).is_some()
    };
    assert!(of_parts(&[0, 4, 4, 9]));
    for starts in [&[0, 4, 9][..], &[0, 4, 9, 9, 9], &[1, 4, 4, 9], &[0, 4, 4, 8], &[0, 5, 4, 9]] {
        assert!(!of_parts(starts), "{starts:?}");
    }
}
