//! A/B tests of made-up blocks: what is planted is found, what is not there is not.

use rand_distr::{Distribution as _, StandardNormal};
use tailwater_core::Rng;
use tailwater_stats::anytime::{Arm, Level};
use tailwater_tune::ab::{
    Better, Block, Comparison, ComparisonRules, Conclusion, Guard, NoiseRule, Pilot, SetAside,
    Verdict,
};

/// Standard deviation of a block's logarithm.
const NOISE: f64 = 0.01;
const PILOT_QUADS: usize = 12;

fn rules() -> ComparisonRules {
    ComparisonRules {
        better: Better::Less,
        level: Level::FIVE_PERCENT,
        effect: 0.01,
        quads_max: 100,
        has_losses_measured: false,
        guards: vec![
            Guard { name: "p99.9".into(), floor: 1e-9, tolerated: 0.05 },
            Guard { name: "errors".into(), floor: 1e-3, tolerated: 0.0 },
        ],
        noise: vec![NoiseRule { name: "steal".into(), max: 0.02 }],
    }
}

/// Blocks of a made-up program: what B changes of each reading.
#[derive(Clone, Copy)]
struct Program {
    metric: f64,
    tail: f64,
    errors: f64,
    invalid: f64,
}

const SAME: Program = Program { metric: 1.0, tail: 1.0, errors: 0.0, invalid: 0.0 };

impl Program {
    fn block(self, rng: &mut Rng, arm: Arm) -> Block {
        let mut wobble = || -> f64 {
            let normal: f64 = StandardNormal.sample(rng);
            (NOISE * normal).exp()
        };
        let (metric, tail) = (1_000.0 * wobble(), 90.0 * wobble() * wobble() * wobble());
        let steal = if rng.chance(0.02) { 0.5 } else { 0.0 };
        let of_b = |b: f64, a: f64| if arm == Arm::B { b } else { a };
        let invalid = rng.chance(of_b(self.invalid, 0.0));
        Block {
            metric: metric * of_b(self.metric, 1.0),
            guards: vec![tail * of_b(self.tail, 1.0), of_b(self.errors, 0.0)],
            noise: vec![steal],
            invalid: invalid.then(|| "made up".into()),
            void: 0,
        }
    }
}

fn pilot(rules: &ComparisonRules, seed: u64) -> Pilot {
    let mut rng = Rng::from_seed(seed).split("pilot's blocks");
    let mut pilot = Pilot::new(seed);
    for _ in 0..PILOT_QUADS {
        let order = pilot.throw();
        let blocks = order.arms().map(|_| SAME.block(&mut rng, Arm::A));
        pilot.take(rules, order, blocks);
    }
    pilot
}

fn compared(rules: &ComparisonRules, program: Program, seed: u64) -> Comparison {
    let mut rng = Rng::from_seed(seed).split("blocks");
    let mut comparison = Comparison::new(rules, &pilot(rules, seed), seed).expect("rules in range");
    while let Some(order) = comparison.next_order() {
        let blocks = order.arms().map(|arm| program.block(&mut rng, arm));
        comparison.take(order, blocks);
    }
    comparison
}

/// How many of 200 comparisons end so.
fn count(program: Program, is: impl Fn(&Verdict) -> bool) -> usize {
    let rules = rules();
    (0..200).filter(|seed| is(&compared(&rules, program, *seed).verdict())).count()
}

#[test]
fn what_is_no_different_is_mostly_found_alike_and_seldom_different() {
    let different = count(SAME, |verdict| {
        matches!(verdict, Verdict::Better | Verdict::Worse | Verdict::Alarm(_))
    });
    assert!(
        different <= 20,
        "{different} of 200, where 10 are of the finding and 10 of the guards"
    );
    let alike = count(SAME, |verdict| *verdict == Verdict::Alike);
    assert!(alike >= 150, "{alike} of 200");
}

#[test]
fn planted_effects_are_found_with_their_sign() {
    for (metric, verdict) in
        [(0.98, Verdict::Better), (1.02, Verdict::Worse), (0.95, Verdict::Better)]
    {
        let found = count(Program { metric, ..SAME }, |found| *found == verdict);
        assert!(found >= 185, "{found} of 200 at {metric}");
    }
}

#[test]
fn what_is_better_depends_on_the_quantity() {
    let rules = ComparisonRules { better: Better::More, ..rules() };
    let program = Program { metric: 1.03, ..SAME };
    assert_eq!(compared(&rules, program, 5).verdict(), Verdict::Better);
}

#[test]
fn a_gain_at_the_cost_of_a_guard_ends_by_its_alarm() {
    let slow = Program { tail: 1.3, ..SAME };
    let found = count(slow, |verdict| *verdict == Verdict::Alarm("p99.9".into()));
    assert!(found >= 150, "{found} of 200 found the tail before anything else");
    let wrong = Program { errors: 0.5, ..SAME };
    let found = count(wrong, |verdict| *verdict == Verdict::Alarm("errors".into()));
    assert!(found >= 150, "{found} of 200");
}

#[test]
fn one_error_of_the_pilot_blunts_no_guard() {
    let rules = rules();
    let found = (0..200).filter(|seed| {
        let mut rng = Rng::from_seed(*seed).split("blocks");
        let mut pilot = Pilot::new(*seed);
        for quad in 0..PILOT_QUADS {
            let order = pilot.throw();
            let mut blocks = order.arms().map(|_| SAME.block(&mut rng, Arm::A));
            // Only of quads that count.
            blocks.iter_mut().for_each(|block| block.noise = vec![0.0]);
            blocks[2].guards[1] = if quad == 3 { 1.0 } else { 0.0 };
            pilot.take(&rules, order, blocks);
        }
        let mut comparison = Comparison::new(&rules, &pilot, *seed).expect("rules in range");
        let wrong = Program { errors: 1.0, ..SAME };
        while let Some(order) = comparison.next_order() {
            comparison.take(order, order.arms().map(|arm| wrong.block(&mut rng, arm)));
        }
        comparison.verdict() == Verdict::Alarm("errors".into())
    });
    let found = found.count();
    assert!(found >= 150, "{found} of 200");
}

#[test]
fn a_setting_without_a_quantity_raises_the_alarm_on_blocks_that_cannot_count() {
    let rules = rules();
    let mut rng = Rng::from_seed(1).split("blocks");
    let mut comparison = Comparison::new(&rules, &pilot(&rules, 1), 1).expect("rules in range");
    while let Some(order) = comparison.next_order() {
        let blocks = order.arms().map(|arm| {
            let block = SAME.block(&mut rng, arm);
            let metric = if arm == Arm::B { 0.0 } else { block.metric };
            Block { metric, ..block }
        });
        comparison.take(order, blocks);
    }
    assert_eq!(comparison.verdict(), Verdict::Alarm("blocks that cannot count".into()));
}

#[test]
fn a_setting_that_spoils_its_blocks_raises_the_alarm_on_those() {
    let spoilt = Program { invalid: 0.9, ..SAME };
    let name = "blocks that cannot count";
    let found = count(spoilt, |verdict| *verdict == Verdict::Alarm(name.into()));
    assert!(found >= 180, "{found} of 200");
}

#[test]
fn a_machine_that_is_never_quiet_ends_it_without_a_finding() {
    let rules = rules();
    let mut comparison = Comparison::new(&rules, &pilot(&rules, 1), 1).expect("rules in range");
    let mut quads = 0;
    while let Some(order) = comparison.next_order() {
        let block =
            Block { metric: 1.0, guards: vec![1.0, 0.0], noise: vec![0.5], invalid: None, void: 0 };
        comparison.take(order, order.arms().map(|_| block.clone()));
        quads += 1;
    }
    assert_eq!((comparison.verdict(), quads), (Verdict::Noisy, 17));
}

/// What is said after each quad of a comparison, all of which count.
fn verdicts(rules: &ComparisonRules, program: Program) -> Vec<Verdict> {
    let mut rng = Rng::from_seed(2).split("blocks");
    let mut comparison = Comparison::new(rules, &pilot(rules, 2), 2).expect("rules in range");
    let mut verdicts = Vec::new();
    while let Some(order) = comparison.next_order() {
        let mut blocks = order.arms().map(|arm| program.block(&mut rng, arm));
        blocks.iter_mut().for_each(|block| block.noise = vec![0.0]);
        comparison.take(order, blocks);
        verdicts.push(comparison.verdict());
    }
    verdicts
}

#[test]
fn a_gain_and_a_loss_that_is_measured_are_told_from_their_interval_on_and_cut_short_before() {
    let measured = ComparisonRules { has_losses_measured: true, ..rules() };
    for (rules, metric, told) in
        [(rules(), 0.95, Verdict::Better), (measured, 1.05, Verdict::Worse)]
    {
        let mut before = verdicts(&rules, Program { metric, ..SAME });
        assert_eq!(before.pop(), Some(told.clone()));
        assert_eq!(before.len(), 15, "an interval takes 16 quads");
        assert_eq!(before[14], Verdict::CutShort, "{before:?}");
        assert!(!before.contains(&told), "{before:?}");
    }
    // One that ends a test ends it at once.
    let loss = verdicts(&rules(), Program { metric: 1.05, ..SAME });
    assert!(loss.len() < 16 && loss.last() == Some(&Verdict::Worse), "{loss:?}");
}

#[test]
fn a_forecast_says_what_can_be_found_and_a_pilot_without_noise_is_refused() {
    let rules = rules();
    let forecast = pilot(&rules, 3).forecast(&rules, 60, 3).expect("it has noise");
    let smallest = forecast.smallest_effect.expect("there is one");
    assert!((0.002..0.02).contains(&smallest), "{forecast:?}");
    assert!((NOISE / 2.0..NOISE * 2.0).contains(&forecast.noise), "{forecast:?}");
    // Without an interval no gain is claimed.
    let short = pilot(&rules, 3).forecast(&rules, 15, 3).expect("it has noise");
    assert_eq!((short.smallest_effect, short.power), (None, 0.0));
    assert_eq!(short.noise, forecast.noise);
    let mut still = Pilot::new(1);
    for _ in 0..PILOT_QUADS {
        let block =
            Block { metric: 1.0, guards: vec![1.0, 0.0], noise: vec![0.0], invalid: None, void: 0 };
        let order = still.throw();
        still.take(&rules, order, order.arms().map(|_| block.clone()));
    }
    assert!(still.forecast(&rules, 60, 1).is_err() && Comparison::new(&rules, &still, 1).is_err());
}

#[test]
fn every_look_is_kept_for_the_curve() {
    let rules = rules();
    let comparison = compared(&rules, Program { metric: 0.97, ..SAME }, 9);
    let looks = comparison.looks();
    let counted = comparison.quads().iter().filter(|quad| quad.set_aside.is_none()).count();
    assert_eq!(looks.len(), counted);
    assert!(looks.windows(2).all(|two| two[0].p_value >= two[1].p_value));
    assert!(looks[looks.len() - 1].p_value <= 0.05);
}

#[test]
fn a_conclusion_has_the_mean_of_the_look_whose_p_value_it_has() {
    let falls = |found: &Comparison| {
        let looks = found.looks();
        let strongest = looks.iter().map(|look| look.evidence).fold(0.0, f64::max);
        strongest > 1.0 && looks[looks.len() - 1].evidence < strongest
    };
    // So that the last look is another one.
    let mut all = (0..20).map(|seed| compared(&rules(), SAME, seed));
    let found = all.find(falls).expect("evidence falls again where nothing differs");
    let looks = found.looks();
    let least = looks.iter().map(|look| look.p_value).fold(1.0, f64::min);
    let first = looks.iter().find(|look| look.p_value == least).expect("there are looks");
    assert_eq!(Conclusion::of(&found, false, None).strongest_mean, Some(first.mean));
}

#[test]
fn a_conclusion_tells_how_many_quads_were_set_aside_and_why_the_last_was() {
    let spoilt = compared(&rules(), Program { invalid: 1.0, ..SAME }, 9);
    let all = spoilt.quads().len();
    let SetAside { quads, last } = Conclusion::of(&spoilt, false, None).set_aside.expect("some");
    assert_eq!((quads, spoilt.looks().len()), (all, 0));
    assert!(last.contains("cannot count: made up"), "{last}");
}

#[test]
fn far_worse_is_by_half_and_by_more_than_noise_whichever_way_is_better() {
    let rules = rules();
    // Blocks are about 1,000 here, with a deviation of 1 %.
    let quiet = pilot(&rules, 1);
    for (metric, better, is_far) in [
        (1_450.0, Better::Less, false),
        (1_550.0, Better::Less, true),
        (645.0, Better::More, true),
        (690.0, Better::More, false),
        // Far better is no reason to wait.
        (100.0, Better::Less, false),
        (10_000.0, Better::More, false),
        (0.0, Better::More, false),
        (f64::NAN, Better::Less, false),
    ] {
        let change = quiet.far_worse(metric, better);
        assert_eq!(change.is_some(), is_far, "{metric}, {better:?}");
        let expected = (metric / 1_000.0_f64).ln();
        assert!(change.is_none_or(|change| (change - expected).abs() < 0.01), "{change:?}");
    }
    assert_eq!(Pilot::new(1).far_worse(1e9, Better::Less), None, "nothing is known of noise");
    let mut noisy = Pilot::new(1);
    for factor in [0.7, 1.0, 1.4, 1.0] {
        let order = noisy.throw();
        let block = |arm| SAME.block(&mut Rng::from_seed(1), arm);
        let block = |arm| Block { metric: 1_000.0 * factor, ..block(arm) };
        noisy.take(&rules, order, order.arms().map(block));
    }
    assert_eq!(noisy.far_worse(2_500.0, Better::Less), None, "within its noise");
    assert!(noisy.far_worse(9_000.0, Better::Less).is_some());
}
