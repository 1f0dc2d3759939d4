//! Which classes fit, and how far the others are admitted: to the last request.

use super::*;

/// The shares of fits and of room as they are decided for these rates and costs, one core's work being 1.
fn ranked(least: f64, asked: &[(f64, u64)]) -> Classes {
    let mut classes = Classes::new(least, &config());
    for (number, &(rate, cost_us)) in (0..).zip(asked) {
        let account = classes.account(Class::of(MethodId(number)));
        (account.rate, account.counted_ns) = (rate, cost_us * 1_000);
    }
    classes.rank();
    classes
}

#[test]
fn what_fills_the_core_to_the_last_nanosecond_fits() {
    let half = (1_000.0, 500);
    assert_eq!(rooms(0.0, &[half, (2_000.0, 250)]), [Room::Fits; 2]);
    assert_eq!(rooms(0.0, &[(1_001.0, 500), (2_000.0, 250)]), [Room::Dear(FIRST), Room::Fits]);
}

/// Of 400, 600, 800 and 1,000 µs the first fits; each dearer one may find half as much before it.
#[test]
fn room_halves_with_each_dearer_class() {
    let asked = [(2_000.0, 400), (500.0, 1_000), (1_000.0, 600), (1_000.0, 800)];
    let dear = [4.0, 1.0, 2.0].map(|part| Room::Dear(FIRST / part));
    assert_eq!(rooms(0.0, &asked), [Room::Fits, dear[0], dear[1], dear[2]]);
}

/// All have a quarter. Of works of 0.7 and 1.3 the other three quarters of the first are more than half a core;
/// of works of 0.4 and 0.5 they are less than three quarters of one.
#[test]
fn shares_come_first_and_the_rest_is_filled_from_the_cheapest_on() {
    let over = ranked(0.25, &[(7_000.0, 100), (6_500.0, 200)]);
    assert_eq!((over.all[0].room, over.all[1].room), (Room::Cheapest, Room::Dear(FIRST)));
    assert_eq!((over.share, over.dearest), (0.25, us(200)));
    let under = ranked(0.25, &[(4_000.0, 100), (2_500.0, 200)]);
    assert_eq!((under.all[0].room, under.all[1].room), (Room::Fits, Room::Fits));
}

/// Nine tenths of what can be done are promised, however many cores that takes.
#[test]
fn shares_are_cut_to_what_can_be_promised() {
    let close = |found: f64, right: f64| assert!((found - right).abs() < 1e-12, "{found}, {right}");
    // Three cores' work.
    let asked = [(10_000.0, 100), (10_000.0, 200)];
    close(ranked(0.36, &asked).share, 0.3);
    close(ranked(0.2, &asked).share, 0.2);
    let mut classes = ranked(0.9, &asked);
    for look in 1..=1_000_u32 {
        (0..2).for_each(|_| classes.pace.learn(Instant::ZERO + look * us(20), 20_000, true));
    }
    classes.rank();
    let cores = classes.pace.cores();
    assert!((1.9..2.1).contains(&cores), "{cores}");
    close(classes.share, 0.9 * cores / 3.0);
    close(ranked(0.36, &[]).share, 0.36);
}

/// What a class lacks it is given, and beyond its share it is admitted while no more waits than its room.
#[test]
fn a_class_gives_way_beyond_its_room_and_not_at_it() {
    let config = config();
    let (target, threshold) = (config.target_delay, config.drop_threshold.expect("it sheds"));
    let table = [
        (Room::Fits, us(10_000), us(10_000)),
        (Room::Dear(0.25), us(0), target.mul_f64(0.25)),
        (Room::Cheapest, us(400), threshold - us(400)),
        (Room::Cheapest, us(1_000), target.mul_f64(FIRST)),
    ];
    for (room, dearest, most) in table {
        let mut classes = Classes::new(0.0, &config);
        classes.dearest = dearest;
        classes.account(LONG).room = room;
        classes.backlog.join(most.nanos());
        assert_eq!(classes.wait(), most);
        assert!(!classes.gives_way(LONG, &config), "{room:?} at {most:?}");
        classes.backlog.join(1);
        assert_eq!(classes.gives_way(LONG, &config), room != Room::Fits, "{room:?} beyond");
        assert!(!classes.gives_way(Class::of(MethodId(9)), &config), "nothing is known of it");
        classes.account(LONG).owed = 0.999;
        assert_eq!(classes.gives_way(LONG, &config), room != Room::Fits, "less than one is owed");
        classes.account(LONG).owed = 1.0;
        assert!(!classes.gives_way(LONG, &config), "one is owed");
    }
    let never = Config { drop_threshold: None, ..config };
    let mut classes = Classes::new(0.0, &never);
    classes.account(LONG).room = Room::Cheapest;
    classes.backlog.join(us(1_000_000).nanos());
    assert!(!classes.gives_way(LONG, &never), "nothing is shed for its delay");
}
