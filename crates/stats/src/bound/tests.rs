use super::*;

const MEAN_NS: f64 = 10_000.0;
const US: Duration = Duration::from_micros(1);
const BASE: Duration = Duration::from_micros(20);

/// Goodput ÷ capacity at a demand of `load` × capacity.
fn of_capacity(
    knows: Knowledge,
    (cores, load, slo): (u32, f64, Duration),
    service: &mut dyn FnMut() -> f64,
) -> f64 {
    let capacity = f64::from(cores) * 1e9 / MEAN_NS;
    let demand = Rate(load * capacity);
    let requests = if knows == Knowledge::Cost { 400_000 } else { 150_000 };
    let spec = BoundSpec { service, knows, cores, demand, slo, base: BASE, requests, seed: 1 };
    bound(spec).0 / capacity
}

fn exponential() -> impl FnMut() -> f64 {
    let mut rng = Rng::from_seed(2).split("service");
    move || rng.exponential(MEAN_NS)
}

fn close(found: f64, needed: f64) {
    assert!((found / needed - 1.0).abs() < 0.01, "found {found}, needed {needed}");
}

#[test]
fn constant_service_and_a_loose_slo_give_the_lesser_of_demand_and_capacity() {
    for knows in [Knowledge::Cost, Knowledge::Backlog] {
        for (cores, load) in [(1, 0.5), (1, 1.5), (1, 3.0), (4, 0.9), (4, 2.0)] {
            let found = of_capacity(knows, (cores, load, US * 5_000), &mut || MEAN_NS);
            close(found, f64::min(load, 1.0));
        }
    }
}

#[test]
fn stable_exponential_service_and_a_loose_slo_serve_all_demand() {
    for knows in [Knowledge::Cost, Knowledge::Backlog] {
        close(of_capacity(knows, (1, 0.8, US * 5_000), &mut exponential()), 0.8);
    }
}

#[test]
fn a_budget_of_one_service_time_is_the_loss_system_of_erlang() {
    // No room to wait: M/D/c/c, whose loss depends on the mean alone (Erlang B).
    for knows in [Knowledge::Cost, Knowledge::Backlog] {
        for (cores, load) in [(1_u32, 1.0), (3, 1.0), (3, 2.0)] {
            let offered = f64::from(cores) * load;
            let loss = (1..=cores).fold(1.0, |b, c| offered * b / (f64::from(c) + offered * b));
            let found = of_capacity(knows, (cores, load, US * 30), &mut || MEAN_NS);
            close(found, load * (1.0 - loss));
        }
    }
}

fn integral(to: f64, of: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 20_000;
    let step = to / f64::from(STEPS);
    (0..STEPS).map(|i| of((f64::from(i) + 0.5) * step) * step).sum()
}

/// Share of arrivals admitted to an M/M/1 queue whose sojourn is bounded by `k`.
///
/// Crossings of the workload level v balance: its density is f(v) = λ ∫ (e^{-μ(v-u)} − e^{-μ(k-u)})
/// dF(u) over u below v, the second term being those refused. With G(v) = ∫ e^{μu} dF(u) that is
/// G' = λ (1 − e^{-μ(k-v)}) G, so G(v) = p₀ exp(λv − λ/μ (e^{-μ(k-v)} − e^{-μk})).
fn in_time_by_cost(lambda: f64, mu: f64, k: f64) -> f64 {
    let fits = |v: f64| 1.0 - (-mu * (k - v)).exp();
    let density = |v: f64| {
        let g = (lambda * v - lambda / mu * ((-mu * (k - v)).exp() - (-mu * k).exp())).exp();
        lambda * fits(v) * g * (-mu * v).exp()
    };
    let mass = 1.0 + integral(k, density);
    (fits(0.0) + integral(k, |v| fits(v) * density(v))) / mass
}

/// The same when all are admitted that wait for at most `limit`: then G' = λ G below the limit, so
/// f(v) = p₀ λ e^{(λ-μ)v}, and above it f(v) = λ G(limit) e^{-μv}.
fn in_time_by_backlog(lambda: f64, mu: f64, k: f64, limit: f64) -> f64 {
    let fits = |v: f64| 1.0 - (-mu * (k - v)).exp();
    let density = |v: f64| lambda * ((lambda - mu) * v).exp();
    let above = lambda / mu * ((lambda - mu) * limit).exp();
    let mass = 1.0 + integral(limit, density) + above;
    (fits(0.0) + integral(limit, |v| fits(v) * density(v))) / mass
}

#[test]
fn exponential_service_with_a_deadline_follows_the_closed_forms() {
    for (load, slo_us) in [(0.5, 50), (0.9, 200), (1.0, 200), (1.2, 150), (2.0, 400)] {
        let case = (1, load, US * slo_us);
        let (lambda, k) = (load / 10.0, f64::from(slo_us) - 20.0);
        let by_cost = of_capacity(Knowledge::Cost, case, &mut exponential());
        close(by_cost, load * in_time_by_cost(lambda, 0.1, k));
        let by_backlog = of_capacity(Knowledge::Backlog, case, &mut exponential());
        let best = (0..=200)
            .map(|step| in_time_by_backlog(lambda, 0.1, k, k * f64::from(step) / 200.0))
            .fold(0.0, f64::max);
        close(by_backlog, load * best);
        assert!(by_backlog <= by_cost * 1.005, "knowing less gained at {load}");
    }
}

#[test]
fn knowing_costs_exceeds_capacity_and_knowing_the_backlog_does_not() {
    let case = (1, 2.0, US * 400);
    close(of_capacity(Knowledge::Cost, case, &mut exponential()), 1.523);
    let by_backlog = of_capacity(Knowledge::Backlog, case, &mut exponential());
    assert!((0.98..1.01).contains(&by_backlog), "{by_backlog}");
}

/// Plans the whole first-come-first-served schedule anew for every arrival.
fn naive(cores: usize, jobs: &[(f64, f64)], budget: f64) -> Vec<bool> {
    let mut admitted: Vec<(f64, f64)> = Vec::new();
    jobs.iter()
        .map(|&(arrival, cost)| {
            let mut cores = vec![0.0_f64; cores];
            let mut finish = 0.0;
            for (arrival, cost) in admitted.iter().copied().chain([(arrival, cost)]) {
                cores.sort_by(f64::total_cmp);
                finish = cores[0].max(arrival) + cost;
                cores[0] = finish;
            }
            let fits = finish - arrival <= budget;
            if fits {
                admitted.push((arrival, cost));
            }
            fits
        })
        .collect()
}

#[test]
fn admission_by_cost_equals_planning_the_whole_schedule() {
    let mut rng = Rng::from_seed(5);
    for cores in [1_u32, 2, 5] {
        let mut now = 0.0;
        let jobs: Vec<(f64, f64)> = (0..600)
            .map(|_| {
                now += rng.exponential(MEAN_NS / f64::from(cores) / 1.3);
                (now, rng.exponential(MEAN_NS))
            })
            .collect();
        let server = &mut servers(Knowledge::Cost, cores, 40_000.0)[0];
        let found: Vec<bool> = jobs.iter().map(|&(now, cost)| server.offer(now, cost)).collect();
        assert_eq!(found, naive(cores as usize, &jobs, 40_000.0), "{cores} cores, seed 5");
        assert!(found.contains(&false) && found.contains(&true));
    }
}

#[test]
fn pooled_cores_come_nearer_to_their_capacity() {
    let at = |cores| of_capacity(Knowledge::Backlog, (cores, 1.0, US * 200), &mut exponential());
    close(at(1), 0.94);
    close(at(10), 0.993);
}

#[test]
fn without_cores_demand_time_or_requests_there_is_no_goodput() {
    let goodput = |cores, demand, slo, requests| {
        let (service, knows) = (&mut || MEAN_NS, Knowledge::Cost);
        bound(BoundSpec { service, knows, cores, demand, slo, base: BASE, requests, seed: 1 })
    };
    let demand = Rate(50_000.0);
    assert_eq!(goodput(0, demand, US * 200, 1000), Rate(0.0));
    assert_eq!(goodput(1, Rate(0.0), US * 200, 1000), Rate(0.0));
    assert_eq!(goodput(1, demand, US * 10, 1000), Rate(0.0));
    assert_eq!(goodput(1, demand, US * 200, 0), Rate(0.0));
}
