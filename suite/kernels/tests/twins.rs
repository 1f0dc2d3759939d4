//! Every level that this processor has, against plain code.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Once;
use tailwater_kernels::{Kernels, Level, Table, gallop, merge};

/// Names each level that this processor has not, once, past the harness, which hides what tests that pass have printed.
fn tell_of_others() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        for level in Level::ALL.into_iter().filter(|level| !level.is_here()) {
            let _ = writeln!(std::io::stderr(), "PASSED OVER: {level}: this processor has it not");
        }
    });
}

/// Scalar code, and every other level that is here.
fn levels() -> (Kernels, Vec<Kernels>) {
    tell_of_others();
    let here = Level::ALL.into_iter().filter(|level| level.is_here());
    (Kernels::up_to(Level::Scalar), here.map(Kernels::up_to).collect())
}

/// Values whose squares are normal numbers: the bounds of the errors hold for these.
fn value() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0), -1e3_f32..1e3, (-1.0_f32..1.0).prop_map(|x| x * 1e-3)]
}

fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    (0_usize..200).prop_flat_map(|length| {
        let vector = || prop::collection::vec(value(), length);
        (vector(), vector())
    })
}

/// The relative error that a sum of so many terms may have, each rounded so often.
fn bound(length: usize, roundings: usize) -> f64 {
    let unit = 2_f64.powi(-24);
    let additions = length.div_ceil(32) + 5 + roundings;
    // A hundredth more for what is not of the first order.
    1.01 * additions as f64 * unit
}

proptest! {
    #[test]
    fn every_level_gives_the_same_bits((a, b) in pair()) {
        let (scalar, all) = levels();
        for kernels in all {
            let level = kernels.level();
            let (found, wanted) = (kernels.squared_distance(&a, &b), scalar.squared_distance(&a, &b));
            prop_assert_eq!(found.to_bits(), wanted.to_bits(), "{}: {} for {}", level, found, wanted);
            let (found, wanted) = (kernels.dot(&a, &b), scalar.dot(&a, &b));
            prop_assert_eq!(found.to_bits(), wanted.to_bits(), "{}: {} for {}", level, found, wanted);
        }
    }

    #[test]
    fn errors_stay_within_their_bounds((a, b) in pair()) {
        let (scalar, _) = levels();
        let terms = || a.iter().zip(&b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
        // The subtraction is rounded, then what it gave is squared, which doubles that error and is rounded.
        let exact: f64 = terms().map(|(a, b)| (a - b) * (a - b)).sum();
        let error = (f64::from(scalar.squared_distance(&a, &b)) - exact).abs();
        prop_assert!(error <= bound(a.len(), 3) * exact, "{error} of {exact}");
        let exact: f64 = terms().map(|(a, b)| a * b).sum();
        let size: f64 = terms().map(|(a, b)| (a * b).abs()).sum();
        let error = (f64::from(scalar.dot(&a, &b)) - exact).abs();
        prop_assert!(error <= bound(a.len(), 1) * size, "{error} of {size}");
    }

    #[test]
    fn rows_are_computed_as_vectors_are(
        dimensions in 1_usize..70,
        numbers in prop::collection::vec(0_u32..40, 0..60),
        seed in 1_u32..1_000,
    ) {
        let mut table = Table::new(dimensions);
        let vector = |row: u32| -> Vec<f32> {
            (0..dimensions as u32).map(|at| ((seed + row * 7 + at * 13) % 101) as f32 - 50.0).collect()
        };
        (0..40).for_each(|row| table.push(&vector(row)));
        let (rows, asked) = (table.rows(), vector(99));
        let query = rows.padded(&asked);
        let (scalar, all) = levels();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let each = |numbers: &[u32], of: fn(Kernels, &[f32], &[f32]) -> f32| -> Vec<f32> {
            numbers.iter().map(|&number| of(scalar, &asked, &vector(number))).collect()
        };
        let every: Vec<u32> = (0..40).collect();
        for kernels in all {
            let mut found = vec![1.5];
            kernels.distances_of(&query, rows, &numbers, &mut found).expect("rows that are there");
            prop_assert_eq!(bits(&found[1..]), bits(&each(&numbers, Kernels::squared_distance)));
            let mut found = Vec::new();
            kernels.distances(&query, rows, &mut found);
            prop_assert_eq!(bits(&found), bits(&each(&every, Kernels::squared_distance)));
            let mut found = Vec::new();
            kernels.dots(&query, rows, &mut found);
            prop_assert_eq!(bits(&found), bits(&each(&every, Kernels::dot)));
        }
    }

    #[test]
    fn intersections_are_those_of_sets(
        a in prop::collection::btree_set(0_u32..300, 0..200),
        b in prop::collection::btree_set(0_u32..300, 0..200),
        few in prop::collection::btree_set(prop_oneof![0_u32..4_000, Just(u32::MAX)], 0..5),
    ) {
        let many: BTreeSet<u32> = (0..4_000).step_by(3).chain([u32::MAX]).collect();
        for (a, b) in [(&a, &b), (&few, &many), (&many, &few), (&a, &many), (&b, &b)] {
            let wanted: Vec<u32> = [7].into_iter().chain(a.intersection(b).copied()).collect();
            let lists: [Vec<u32>; 2] = [a, b].map(|set| set.iter().copied().collect());
            let mut found = vec![7];
            merge(&lists[0], &lists[1], &mut found);
            prop_assert_eq!(&found, &wanted, "merge");
            let mut found = vec![7];
            gallop(&lists[0], &lists[1], &mut found);
            prop_assert_eq!(&found, &wanted, "gallop");
            for kernels in levels().1 {
                let mut found = vec![7];
                kernels.intersect(&lists[0], &lists[1], &mut found);
                prop_assert_eq!(&found, &wanted, "{}", kernels.level());
            }
        }
    }

    /// Lists that do not rise give some of their numbers, and no more than that.
    #[test]
    fn lists_out_of_order_do_no_harm(a: Vec<u32>, b: Vec<u32>) {
        for kernels in levels().1 {
            let mut found = Vec::new();
            kernels.intersect(&a, &b, &mut found);
            prop_assert!(found.iter().all(|number| a.contains(number) && b.contains(number)));
        }
    }
}

#[test]
fn infinities_and_what_is_no_number_pass_through_every_level() {
    let (scalar, all) = levels();
    let ordinary = vec![1.0_f32; 50];
    for (place, odd) in [(0, f32::INFINITY), (31, f32::NAN), (49, f32::NEG_INFINITY)] {
        let mut vector = ordinary.clone();
        vector[place] = odd;
        let wanted = scalar.squared_distance(&vector, &ordinary);
        for kernels in &all {
            let found = kernels.squared_distance(&vector, &ordinary);
            assert!(found == wanted || found.is_nan() && wanted.is_nan(), "{}", kernels.level());
        }
    }
}

#[test]
fn a_row_that_is_not_there_is_named_and_nothing_is_appended() {
    let mut table = Table::new(3);
    table.push(&[1.0, 2.0, 3.0]);
    let query = table.rows().padded(&[0.0; 3]);
    let mut found = vec![1.0];
    let error = Kernels::best().distances_of(&query, table.rows(), &[0, 1, 0], &mut found);
    assert_eq!(error.unwrap_err().to_string(), "found number 1; there are 1 rows, from 0 on");
    assert_eq!(found, [1.0]);
}

#[test]
#[should_panic(expected = "two vectors of one length are needed")]
fn vectors_of_two_lengths_are_a_mistake() {
    let _ = Kernels::best().dot(&[1.0], &[1.0, 2.0]);
}

#[test]
fn levels_have_names() {
    for level in Level::ALL {
        assert_eq!(level.to_string().parse(), Ok(level));
    }
    let error = "mmx".parse::<Level>().unwrap_err();
    assert_eq!(error, "found \"mmx\"; one of scalar, sse4.1, avx2, avx512 is needed");
    assert!(Level::Scalar.is_here());
}
