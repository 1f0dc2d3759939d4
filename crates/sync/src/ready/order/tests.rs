//! The policies against naive ones over a vector of flags, and their bounds of fairness.

use super::*;
use proptest::prelude::*;

/// The flags as policies want them, found by looking at each.
struct Plain(Vec<bool>);

impl Flags for Plain {
    fn find(&mut self, from: u32) -> Option<u32> {
        (from..self.0.len() as u32).find(|queue| self.0[*queue as usize])
    }

    fn has(&mut self, queue: u32) -> bool {
        self.0[queue as usize]
    }
}

/// Everyone is always ready: how many visits each queue had after so many in all, with this cost.
fn visits(
    policy: &VisitPolicy,
    queues: usize,
    total: usize,
    cost: impl Fn(u32) -> u32,
) -> Vec<u32> {
    let mut order = Order::new(policy, 0);
    let mut flags = Plain(vec![true; queues]);
    (0..total)
        .map(|_| {
            let queue = order.choose(&mut flags).expect("all are ready");
            order.served(queue);
            // Each visit costs 1 by itself.
            order.charge(queue, cost(queue) - 1);
            queue
        })
        .collect()
}

/// The longest run of visits in which a queue was left out.
fn longest_wait(visits: &[u32], queue: u32) -> usize {
    visits.split(|visited| *visited == queue).map(<[u32]>::len).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn round_robin_leaves_a_ready_queue_out_for_less_than_a_round(queues in 1_usize..70) {
        let order = visits(&VisitPolicy::RoundRobin, queues, 4 * queues, |_| 1);
        for queue in 0..queues as u32 {
            prop_assert!(longest_wait(&order, queue) < queues);
        }
    }

    #[test]
    fn weights_bound_the_wait_and_set_the_shares(weights in prop::collection::vec(1_u16..9, 1..20)) {
        let sum: usize = weights.iter().map(|weight| usize::from(*weight)).sum();
        let order = visits(&VisitPolicy::Weighted(weights.clone().into()), weights.len(), 3 * sum, |_| 1);
        for (queue, weight) in weights.iter().enumerate() {
            let queue = queue as u32;
            prop_assert!(longest_wait(&order, queue) <= sum - usize::from(*weight));
            let had = order.iter().filter(|visited| **visited == queue).count();
            prop_assert_eq!(had, 3 * usize::from(*weight));
        }
    }

    #[test]
    fn ageing_bounds_the_wait(queues in 1_usize..30, strict_for in 0_u32..10) {
        let bound = (strict_for as usize + 1) * queues;
        let order = visits(&VisitPolicy::Aged { strict_for }, queues, 4 * bound, |_| 1);
        for queue in 0..queues as u32 {
            prop_assert!(longest_wait(&order, queue) < bound);
        }
    }

    /// After whole rounds each queue has spent its quanta to within one visit and one quantum.
    #[test]
    fn a_deficit_shares_cost_and_not_visits(
        queues in prop::collection::vec((10_u32..50, 1_u32..100), 2..12),
    ) {
        let quanta: Arc<[u32]> = queues.iter().map(|(quantum, _)| *quantum).collect();
        let order = visits(&VisitPolicy::Deficit(quanta.clone()), queues.len(), 4_000, |queue| {
            queues[queue as usize].1
        });
        let spent: Vec<f64> = (0_u32..).zip(&queues).map(|(queue, (quantum, cost))| {
            let visits = order.iter().filter(|visited| **visited == queue).count() as f64;
            visits * f64::from(*cost) / f64::from(*quantum)
        }).collect();
        for (one, (quantum, cost)) in spent.iter().zip(&queues) {
            let slack = 2.0 + f64::from(*cost) / f64::from(*quantum);
            for (other, (quantum, cost)) in spent.iter().zip(&queues) {
                let slack = slack + f64::from(*cost) / f64::from(*quantum);
                prop_assert!((one - other).abs() <= slack, "{one} and {other} rounds' worth");
            }
        }
    }
}

#[test]
fn strict_starves_and_says_so() {
    assert!(visits(&VisitPolicy::Strict, 3, 10, |_| 1).iter().all(|queue| *queue == 0));
}

#[test]
fn a_debt_is_forgiven_beyond_its_bound() {
    let policy = VisitPolicy::Deficit([1, 1].into());
    let order = visits(&policy, 2, 300, |queue| if queue == 0 { 1_000_000 } else { 1 });
    assert_eq!(order[0], 0);
    assert_eq!(longest_wait(&order, 0), ROUNDS, "and then it has a turn again");
}

/// Sixty-four rounds to pay, and the round in which it has credit begins with it.
const ROUNDS: usize = 65;
