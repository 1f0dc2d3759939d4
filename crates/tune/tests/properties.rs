//! What must hold of the model whatever the numbers: monotone in A, L and Q, between its limits, and its choice of
//! offloads the best there is.

use proptest::prelude::*;
use tailwater_tune::accelerator::design::{STRATEGIES, THREADINGS};
use tailwater_tune::accelerator::equations::Parameters;
use tailwater_tune::accelerator::{
    Amount, Case, Design, Input, Inputs, NoOutcome, Queue, Selection, Sizes, Weighting,
};

fn designs() -> impl Strategy<Value = Design> {
    (0..THREADINGS.len(), 0..STRATEGIES.len(), any::<bool>()).prop_map(
        |(threading, strategy, acknowledged)| Design {
            threading: THREADINGS[threading].1,
            strategy: STRATEGIES[strategy].1,
            acknowledged,
        },
    )
}

fn points() -> impl Strategy<Value = Parameters> {
    let costs = (0.0..5e3_f64, 0.0..5e3_f64, 0.0..5e3_f64, 0.0..1e4_f64);
    (1e8..4e9_f64, 0.01..0.9_f64, 1.0..1e6_f64, costs, 0.5..100.0_f64).prop_map(
        |(host, kernel_share, offloads, (setup, transfer, queueing, switch), a)| Parameters {
            host,
            kernel_share,
            offloads,
            setup,
            transfer,
            queueing,
            switch,
            acceleration: Some(a),
            batch: 1.0,
            hosts: 1.0,
            elapsed: host,
        },
    )
}

fn both(point: &Parameters, design: Design) -> [f64; 2] {
    [point.speedup(design), point.latency_reduction(design)]
        .map(|factor| factor.expect("A is known"))
}

/// A case of a few sizes, with a constant Q or a queue.
fn cases() -> impl Strategy<Value = Case> {
    let rows = prop::collection::btree_map(1_u32..100_000, 1.0..1e4_f64, 1..12);
    let queue =
        prop::option::of(prop::sample::select(vec![Queue::MM1, Queue::MD1, Queue::MG1(None)]));
    let shared = (queue, 1..100_u32);
    (designs(), rows, 0.01..0.9_f64, 0.0..1e4_f64, 1.1..50.0_f64, shared).prop_map(
        |(design, rows, alpha, transfer, a, (queue, hosts))| {
            let mut inputs = Inputs::default();
            for (input, value) in [
                (Input::HostCycles, 2e9),
                (Input::KernelShare, alpha),
                (Input::Transfer, transfer),
                (Input::Switch, 1_000.0),
                (Input::Acceleration, a),
            ] {
                inputs.set(input, Amount::Exactly(value));
            }
            let rows = rows.into_iter().map(|(bytes, count)| (f64::from(bytes), count)).collect();
            Case {
                name: "any".into(),
                design,
                inputs,
                sizes: Some(Sizes::new(rows, 1.0).expect("sound rows")),
                queue,
                selection: Selection::Lucrative,
                weighting: Weighting::Work,
                beta: 1.0,
                batch: 1,
                hosts,
                elapsed: Some(2e9),
                stated: None,
            }
        },
    )
}

/// The factor with the largest `kept` sizes, all of which are made.
fn with_largest(case: &Case, kept: usize) -> Option<f64> {
    let sizes = case.sizes.as_ref()?;
    let (part, all) = (sizes.largest(kept), sizes.all());
    let queue = case.queue.map(|queue| match queue {
        Queue::MG1(None) => Queue::MG1(Some(part.variation())),
        other => other,
    });
    let mut counted = Case { sizes: None, queue, ..case.clone() };
    counted.inputs.set(Input::Offloads, Amount::Exactly(part.count));
    counted.inputs.set(Input::Share, Amount::Exactly(part.work / all.work));
    counted.outcome(&counted.central()).ok().map(|outcome| outcome.speedup)
}

proptest! {
    #[test]
    fn a_faster_accelerator_never_hurts(point in points(), design in designs(), more in 1.0..10.0_f64) {
        let faster = Parameters { acceleration: point.acceleration.map(|a| a * more), ..point };
        for (slow, fast) in both(&point, design).into_iter().zip(both(&faster, design)) {
            prop_assert!(fast >= slow * (1.0 - 1e-12), "{slow} {fast}");
        }
    }

    #[test]
    fn a_dearer_way_never_helps(point in points(), design in designs(), more in 0.0..1e5_f64) {
        for dearer in [
            Parameters { transfer: point.transfer + more, ..point },
            Parameters { queueing: point.queueing + more, ..point },
            Parameters { setup: point.setup + more, ..point },
            Parameters { switch: point.switch + more, ..point },
        ] {
            for (cheap, dear) in both(&point, design).into_iter().zip(both(&dearer, design)) {
                prop_assert!(dear <= cheap * (1.0 + 1e-12), "{cheap} {dear}");
            }
        }
    }

    #[test]
    fn without_costs_amdahls_law_is_left(point in points(), design in designs()) {
        let free = Parameters { setup: 0.0, transfer: 0.0, queueing: 0.0, switch: 0.0, ..point };
        let amdahl = 1.0 / (1.0 - free.kernel_share + free.kernel_share / point.acceleration.unwrap());
        let ideal = 1.0 / (1.0 - free.kernel_share);
        let of = |kernel: bool| if kernel { amdahl } else { ideal };
        let [speedup, latency] = both(&free, design);
        prop_assert!((speedup / of(design.of_throughput().kernel) - 1.0).abs() < 1e-12);
        prop_assert!((latency / of(design.of_latency().kernel) - 1.0).abs() < 1e-12);
        prop_assert!(both(&point, design).iter().all(|factor| *factor <= ideal * (1.0 + 1e-12)));
    }

    #[test]
    fn an_offload_at_break_even_changes_nothing(point in points(), design in designs()) {
        let threshold = point.break_even_cycles(design.of_throughput()).unwrap();
        prop_assume!(threshold.is_finite());
        // n offloads of exactly so many cycles each.
        let share = point.offloads * threshold / point.host;
        prop_assume!(share < 0.9);
        let even = Parameters { kernel_share: share, ..point };
        prop_assert!((even.speedup(design).unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn no_other_choice_of_the_largest_sizes_is_better(case in cases()) {
        let chosen = case.outcome(&case.central()).unwrap().speedup;
        let sizes = case.sizes.as_ref().unwrap().len();
        for kept in 0..=sizes {
            let Some(other) = with_largest(&case, kept) else { break };
            prop_assert!(chosen >= other * (1.0 - 1e-9), "{chosen}, with {kept} sizes {other}");
        }
    }

    /// `--need` rests on it: what does for one value does for all that are better.
    #[test]
    fn with_sizes_and_a_queue_too_what_is_faster_or_cheaper_never_hurts(
        case in cases(),
        more in 1.0..10.0_f64,
    ) {
        let values = case.central();
        let speedup = |input, value| case.outcome(&values.with(input, value)).unwrap().speedup;
        for (input, better) in [(Input::Acceleration, more), (Input::Transfer, 1.0 / more)] {
            let value = values.get(input).unwrap();
            let (now, then) = (speedup(input, value), speedup(input, value * better));
            prop_assert!(then >= now * (1.0 - 1e-12), "{input:?} × {better}: {now} to {then}");
        }
    }

    /// Twice the cores do twice the work in the same time, and the accelerator that they share has twice as much to do.
    #[test]
    fn with_twice_the_cores_an_accelerator_is_twice_as_busy(case in cases()) {
        let twice = |case: &Case| {
            let mut doubled = case.clone();
            doubled.inputs.set(Input::HostCycles, Amount::Exactly(4e9));
            let count = doubled.inputs.get(Input::Offloads).map(Amount::central);
            doubled.inputs.set(Input::Offloads, Amount::Exactly(count.unwrap() * 2.0));
            doubled
        };
        let mut case = Case { sizes: None, queue: Some(Queue::MD1), ..case };
        case.inputs.set(Input::Offloads, Amount::Exactly(1_000.0));
        let busy = |case: &Case| match case.outcome(&case.central()) {
            Ok(outcome) => outcome.offload.utilisation.unwrap(),
            Err(NoOutcome::Overloaded(busy)) => busy,
            Err(why) => panic!("{why}"),
        };
        let (one, two) = (busy(&case), busy(&twice(&case)));
        prop_assert!((two / one - 2.0).abs() < 1e-9, "{one} {two}");
    }

    #[test]
    fn a_queue_is_never_chosen_so_long_that_throughput_falls(case in cases()) {
        let outcome = case.outcome(&case.central()).unwrap();
        prop_assert!(outcome.speedup >= 1.0 - 1e-12, "{outcome:?}");
        prop_assert!(outcome.offload.utilisation.is_none_or(|busy| busy < 1.0));
    }
}
