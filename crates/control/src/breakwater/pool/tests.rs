use super::super::config::{Interval, Span};
use super::*;

const SLO: Duration = Duration::from_micros(200);

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn at(micros: u64) -> Instant {
    Instant::from_nanos(1_000 * micros)
}

fn turn(tally: &mut Tally) -> Turn<'_> {
    Turn { delay: Duration::ZERO, pace: Duration::ZERO, tally }
}

/// Little's law: two loops that complete a request every 10 µs use a hundred credits in half of the time.
#[test]
fn a_turnover_is_as_long_as_all_loops_together_need_for_what_is_issued() {
    for (loops, turnover) in [(1, us(1_000)), (2, us(500))] {
        let pool = Pool::new(Config::tuned(SLO, 1), loops);
        pool.shift_issued(0, 100);
        assert_eq!(pool.turnover(us(10)), turnover);
        assert_eq!(pool.interval(us(10)), turnover / 16, "sixteen updates");
        assert_eq!(pool.next_look(us(10)), turnover / 16);
        pool.on_rtt(us(300));
        assert_eq!(pool.interval(us(10)), us(300), "but none before a change is felt");
    }
}

/// What is shed waits for 170 µs, and requests of 34 clients for 165 on average, of 36 for 175.
#[test]
fn a_reserve_is_what_the_queue_holds_beyond_a_request_of_each_client() {
    for loops in [1_u32, 2] {
        let pool = Pool::new(Config::tuned(SLO, 1), loops as usize);
        let reserves: Vec<Duration> = (0..40)
            .map(|_| {
                (0..loops).for_each(|_| pool.join());
                pool.reserve(us(10))
            })
            .collect();
        // The first waits for none and the last for all others.
        let means = (1..=40).map(|each| (each * loops - 1) * us(10) / loops / 2);
        let left: Vec<Duration> = means.map(|mean| us(170).saturating_sub(mean)).collect();
        assert_eq!(reserves, left, "{loops} loops");
        assert!(reserves[33] > Duration::ZERO && reserves[35].is_zero(), "{reserves:?}");
        assert_eq!(pool.reserve(Duration::ZERO), Duration::ZERO, "the pace is unknown");
        (0..10 * loops).for_each(|_| pool.set_idle(0));
        assert_eq!(pool.reserve(us(10)), reserves[29], "as of thirty");
    }
}

#[test]
fn a_reserve_is_measured_by_the_aqm_or_by_twice_the_target_and_can_be_left_out() {
    let of = |config| {
        let pool = Pool::new(config, 1);
        pool.join();
        pool.reserve(us(10))
    };
    let tuned = Config::tuned(SLO, 1);
    assert_eq!(of(Config { drop_threshold: None, ..tuned }), 2 * us(60));
    assert_eq!(of(Config { reserve: false, ..tuned }), Duration::ZERO);
}

/// It grew back between iterations, and refusals at locks took no credit.
#[test]
fn under_the_efficiency_law_clients_have_no_reserve() {
    let pool = Pool::new(Config::efficiency_tuned(SLO, 1), 1);
    (0..4).for_each(|_| pool.join());
    assert_eq!(pool.reserve(us(10)), Duration::ZERO);
}

/// Four clients leave 155 µs: sixteen requests and more are too many.
#[test]
fn a_reserve_holds_what_is_not_issued_or_it_does_not() {
    let pool = Pool::new(Config::tuned(SLO, 1), 1);
    (0..4).for_each(|_| pool.join());
    pool.shift_issued(0, 4);
    let small = |total| {
        pool.total.store(total, Relaxed);
        pool.is_reserve_small(us(10))
    };
    assert_eq!([3, 19, 20].map(small), [true, true, false]);
    pool.join();
    assert_eq!([18, 19].map(small), [true, false], "of five it is fifteen, which are none fewer");
    (0..31).for_each(|_| pool.join());
    assert!(!small(3), "a request of each is more than the queue holds");
}

/// Of twenty requests three are more than half of the fifth that is tolerated.
#[test]
fn a_pool_does_not_grow_while_handlers_refuse_half_of_what_is_tolerated() {
    let grown = |refused| {
        let pool = Pool::new(Config { refusals: Some(0.2), ..Config::tuned(SLO, 1) }, 1);
        (0..4).for_each(|_| pool.join());
        pool.total.store(20, Relaxed);
        pool.shift_issued(0, 20);
        let mut tally = Tally { served: 20 - refused, refused, ..Tally::default() };
        pool.tick(at(1_000), 0, turn(&mut tally));
        pool.total()
    };
    assert_eq!([2, 3].map(grown), [21, 20]);
}

/// Half of ten requests were refused, each 8 ms after it came: so long the next update waits, or it sees nothing of this one.
#[test]
fn updates_wait_for_what_handlers_refuse_where_that_counts() {
    let wait = |refusals| {
        let pool = Pool::new(Config { refusals, ..Config::tuned(SLO, 1) }, 1);
        pool.on_handled(us(8_000));
        let mut tally = Tally { served: 5, refused: 5, ..Tally::default() };
        pool.tick(at(1_000), 0, turn(&mut tally));
        pool.next_look(Duration::ZERO)
    };
    assert_eq!([Some(0.2), None].map(wait), [us(8_000), us(20)]);
}

/// While a server is idle, nothing tells how fast it serves what comes next.
#[test]
fn a_pool_grows_unused_by_updates_that_know_the_pace_of_now() {
    let pool = Pool::new(Config::tuned(SLO, 1), 1);
    (0..4).for_each(|_| pool.join());
    pool.total.store(100, Relaxed);
    pool.shift_issued(0, 88);
    let total = |(at_us, paced)| {
        let mut tally = Tally { paced, ..Tally::default() };
        let delay = Duration::ZERO;
        pool.tick(at(at_us), 0, Turn { delay, pace: us(10), tally: &mut tally });
        pool.total()
    };
    let ticks = [(1_000, false), (2_000, false), (3_000, true), (4_000, false), (5_000, true)];
    assert_eq!(ticks.map(total), [100, 100, 106, 106, 106], "eighteen are no small reserve");
}

#[test]
fn of_the_loops_round_trips_the_lower_median_counts() {
    let pool = Pool::new(Config::tuned(SLO, 1), 4);
    let told = [(0, 40), (1, 10), (2, 20), (3, 900)].map(|(place, rtt_us)| {
        pool.on_median(place, us(rtt_us));
        pool.rtt()
    });
    assert_eq!(told, [40, 10, 20, 20].map(us), "those unknown do not count");
}

#[test]
fn a_late_loop_makes_one_update() {
    let config = Config { interval: Interval::Fixed(us(10)), ..Config::paper(SLO, 1) };
    let pool = Pool::new(config, 1);
    (0..9).for_each(|_| pool.join());
    let mut total = |now_us| {
        pool.tick(at(now_us), 0, turn(&mut Tally::default()));
        pool.total()
    };
    assert_eq!([1_000, 1_009, 1_010, 5_000, 5_009].map(&mut total), [2, 2, 3, 4, 4]);
}

#[test]
fn the_last_session_takes_with_it_what_its_crowd_needed() {
    let pool = Pool::new(Config { pool_min: 3, ..Config::tuned(SLO, 1) }, 1);
    (0..2).for_each(|_| pool.join());
    pool.total.store(90, Relaxed);
    pool.mean_delay_ns.store(7, Relaxed);
    pool.leave();
    assert_eq!((pool.total(), pool.mean_delay_ns.load(Relaxed)), (90, 7), "one is left");
    pool.leave();
    assert_eq!((pool.total(), pool.mean_delay_ns.load(Relaxed)), (3, 0));
}

#[test]
fn idle_sessions_take_their_credits_along_within_the_pools_bounds() {
    let config = Config { pool_min: 10, window_max: 8, ..Config::tuned(SLO, 1) };
    let pool = Pool::new(config, 1);
    (0..2).for_each(|_| pool.join());
    pool.total.store(15, Relaxed);
    pool.set_idle(2);
    assert_eq!((pool.total(), pool.active()), (13, 1));
    pool.set_idle(4);
    assert_eq!((pool.total(), pool.active()), (10, 0), "the least");
    pool.set_active();
    assert_eq!((pool.total(), pool.active()), (11, 1));
    pool.total.store(16, Relaxed);
    pool.set_active();
    assert_eq!((pool.total(), pool.active()), (16, 2), "the most that both could hold");
    pool.set_idle(2);
    pool.leave();
    pool.forget_idle();
    assert_eq!(
        (pool.total(), pool.active()),
        (14, 1),
        "an idle one takes nothing along when it leaves"
    );
}

#[test]
fn a_pool_is_short_while_a_session_of_any_loop_is_stranded_and_no_credit_is_left() {
    let pool = Pool::new(Config { pool_min: 2, ..Config::tuned(SLO, 1) }, 2);
    assert!(!pool.is_short());
    pool.shift_stranded(0, 1);
    pool.shift_stranded(0, 1);
    assert!(!pool.is_short(), "there is room");
    pool.shift_issued(0, 2);
    assert!(pool.is_short());
    pool.shift_stranded(1, 0);
    assert!(pool.is_short(), "the other loop's");
    pool.shift_stranded(1, 0);
    assert!(!pool.is_short());
}

/// It is looked at again when counting begins or ends, whichever comes after the shorter time.
#[test]
fn where_efficiency_alone_steers_the_pool_its_iterations_say_when_to_look() {
    for (config, look) in [
        (Config::efficiency_paper(SLO, 1), us(5)),
        (Config::efficiency_artifact(SLO, 1), us(100)),
        (Config::efficiency_tuned(SLO, 1), us(20)),
    ] {
        assert_eq!(Pool::new(config, 1).next_look(Duration::ZERO), look);
    }
}

#[test]
fn an_update_goes_by_the_slowest_loop_and_says_so() {
    let config = Config { interval: Interval::Fixed(us(10)), ..Config::paper(SLO, 1) };
    let pool = Pool::new(config, 2);
    let tick = |at_us, place, delay_us| {
        let mut tally = Tally::default();
        pool.tick(at(at_us), place, Turn { delay: us(delay_us), ..turn(&mut tally) });
        pool.last_delay()
    };
    assert_eq!([tick(10, 0, 7), tick(11, 1, 50), tick(20, 0, 3)], [7, 7, 50].map(us));
}

/// Where requests are dropped and more that come bring nothing, the pool must not grow; where none is, it may.
#[test]
fn an_iteration_of_the_efficiency_law_holds_the_pool_or_lets_it_go() {
    for (dropped, held) in [(0, false), (10, true)] {
        let pool = Pool::new(Config::efficiency_tuned(SLO, 1), 1);
        let mut tally = Tally::default();
        pool.tick(at(100), 0, turn(&mut tally));
        (0..10).for_each(|_| pool.meter.on_incoming());
        (0..dropped).for_each(|_| pool.meter.on_dropped());
        pool.tick(at(200), 0, turn(&mut tally));
        assert_eq!(pool.held.load(Relaxed), held, "{dropped} of ten dropped");
    }
}

#[test]
fn a_session_that_is_idle_no_more_does_not_make_the_largest_pool_larger() {
    for (pool_max, total) in [(10, 10), (11, 11), (u32::MAX, 11)] {
        let law = Law::Efficiency(Efficiency { pool_max, ..Efficiency::TUNED });
        let pool = Pool::new(Config { law, pool_min: 10, ..Config::tuned(SLO, 1) }, 1);
        (0..4).for_each(|_| pool.join());
        pool.set_idle(1);
        pool.set_active();
        assert_eq!(pool.total(), total, "{pool_max}");
    }
}

/// Counting begins after 50 µs of 200 and ends 150 µs later: no look is put off beyond the shorter of both. Where all is
/// counted there is one part.
#[test]
fn the_shorter_part_of_an_iteration_says_when_to_look() {
    for (settle, look) in [(us(150), us(50)), (us(50), us(50)), (us(199), us(1)), (us(0), us(200))]
    {
        let span = Span::Fixed { interval: us(200), settle };
        let law = Law::Efficiency(Efficiency { span, ..Efficiency::PAPER });
        let pool = Pool::new(Config { law, ..Config::paper(SLO, 1) }, 1);
        assert_eq!(pool.next_look(Duration::ZERO), look, "{settle:?}");
    }
}

/// A pool of 100 and a half for 500 sessions that hold a hundred, whose iterations take 100 µs, of which ten settle.
fn efficient(base: Config) -> Pool {
    efficient_of(base, 1)
}

/// The same pool of so many loops.
fn efficient_of(base: Config, loops: usize) -> Pool {
    let Law::Efficiency(law) = base.law else { panic!("{:?}", base.law) };
    let span = Span::Fixed { interval: us(100), settle: us(10) };
    let law = Law::Efficiency(Efficiency { span, ..law });
    let pool = Pool::new(Config { law, interval: Interval::Fixed(us(10)), ..base }, loops);
    (0..500).for_each(|_| pool.join());
    pool.total.store(100, Relaxed);
    pool.carry_bits.store(0.5_f64.to_bits(), Relaxed);
    pool.shift_issued(0, 100);
    pool
}

/// From which size to which a tick without any delay has brought the pool.
fn ticked(pool: &Pool, at_us: u64) -> Option<(u32, u32)> {
    let resized = pool.tick(at(at_us), 0, turn(&mut Tally::default()));
    resized.map(|Resized { from, to, .. }| (from, to))
}

fn come(pool: &Pool, incoming: u32, served: u32, dropped: u32) {
    (0..incoming).for_each(|_| pool.meter.on_incoming());
    (0..served).for_each(|_| pool.meter.on_served(us(5)));
    (0..dropped).for_each(|_| pool.meter.on_dropped());
}

/// Algorithm 1 by the text: one more where it pays and 2 % less where it does not, of a real number.
#[test]
fn by_the_text_iterations_alone_move_the_pool_and_its_fraction() {
    let pool = efficient(Config::efficiency_paper(SLO, 1));
    let (held, wary) = (|| pool.held.load(Relaxed), || pool.wary.load(Relaxed));
    assert_eq!(ticked(&pool, 1_000), None, "counting begins");
    assert_eq!(pool.total(), 100, "an empty queue is no reason to grow");
    come(&pool, 10, 10, 0);
    assert_eq!((ticked(&pool, 1_090), held(), wary()), (Some((100, 101)), false, true));
    assert_eq!(ticked(&pool, 1_100), None, "settled");
    come(&pool, 10, 5, 5);
    // 0.98 of 101.5, since as many came and fewer were served.
    assert_eq!((ticked(&pool, 1_190), held(), wary()), (Some((101, 99)), true, false));
    assert!((f64::from_bits(pool.carry_bits.load(Relaxed)) - 0.47).abs() < 1e-9);
}

/// The delay law goes on at its own intervals: 6 % of 100.5 more. An iteration in which half was dropped takes
/// 2 % and forbids it to grow, and what one tick did is told as one change.
#[test]
fn by_default_both_laws_move_the_pool() {
    let pool = efficient(Config::efficiency_tuned(SLO, 1));
    assert_eq!(ticked(&pool, 1_000), Some((100, 106)));
    come(&pool, 20, 10, 10);
    assert_eq!(ticked(&pool, 1_090), Some((106, 104)));
    assert_eq!(ticked(&pool, 1_100), Some((104, 104)), "it is held");
}

/// Both laws' updates are due for both loops. The second would take its step from what the first has just written.
#[test]
fn of_two_loops_that_look_at_one_time_one_makes_the_updates_of_both_laws() {
    let pool = efficient_of(Config::efficiency_tuned(SLO, 1), 2);
    let tick = |at_us, place| {
        let resized = pool.tick(at(at_us), place, turn(&mut Tally::default()));
        resized.map(|Resized { from, to, .. }| (from, to))
    };
    assert_eq!([tick(1_000, 0), tick(1_000, 1)], [Some((100, 106)), None]);
    come(&pool, 20, 10, 10);
    assert_eq!([tick(1_090, 1), tick(1_090, 0)], [Some((106, 104)), None]);
}

/// Eq. 4: a share of the room for each of the sessions, and one at least where there is none.
#[test]
fn room_and_overcommitment_by_the_numbers() {
    let pool = Pool::new(Config { pool_min: 10, ..Config::paper(SLO, 1) }, 1);
    (0..3).for_each(|_| pool.join());
    assert_eq!((pool.room(), pool.overcommitment()), (10, 3));
    pool.shift_issued(0, 4);
    assert_eq!((pool.issued(), pool.room(), pool.overcommitment()), (4, 6, 2));
    pool.shift_issued(4, 13);
    assert_eq!((pool.issued(), pool.room(), pool.overcommitment()), (13, -3, 1));
    pool.shift_issued(13, 9);
    assert_eq!((pool.issued(), pool.room()), (9, 1));
}
