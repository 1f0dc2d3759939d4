//! When the regulator looks, and what ends a window, to the nanosecond.

use super::*;

const SLO: Duration = Duration::from_micros(200);

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// After a first tick, at which windows and looks begin.
fn begun(config: Config) -> Shared {
    let shared = Shared::new(config, 1);
    shared.tick(at(0), 0, Duration::ZERO);
    shared
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(1_000_000_000 + us * 1_000)
}

fn smoothed(shared: &Shared) -> Duration {
    shared.regulator.lock().unwrap().smoothed
}

/// Looks are 10 µs apart, and each weighs a fifth.
#[test]
fn a_look_is_made_when_it_is_due_and_not_before() {
    let shared = begun(Config::artifact(SLO));
    shared.tick(at(5), 0, us(100));
    assert_eq!(smoothed(&shared), Duration::ZERO, "not due");
    shared.tick(at(10), 0, us(100));
    assert_eq!(smoothed(&shared), us(20));
    shared.tick(at(15), 0, us(100));
    assert_eq!(smoothed(&shared), us(20));
    shared.tick(at(20), 0, us(100));
    assert_eq!(smoothed(&shared), us(36));
}

/// A level falls by a twentieth at the limit, and rises by 1.28 of 128 levels below it.
#[test]
fn a_smoothed_delay_of_the_limit_is_overload() {
    for (delay, level) in [(us(70), 30), (us(70) - Duration::from_nanos(1), 33)] {
        let shared = begun(Config { gain: 1.0, ..Config::artifact(SLO) });
        shared.tick(at(1_000), 0, delay);
        assert_eq!((shared.cursor(), shared.last_delay()), (level, delay));
    }
}

#[test]
fn a_window_ends_at_its_end() {
    let shared = begun(Config::artifact(SLO));
    shared.tick(Instant::from_nanos(at(1_000).as_nanos() - 1), 0, Duration::ZERO);
    assert_eq!(shared.cursor(), 32);
    shared.tick(at(1_000), 0, Duration::ZERO);
    assert_eq!(shared.cursor(), 33);
    // The next ends a millisecond later; looks go on meanwhile.
    shared.tick(at(1_999), 0, Duration::ZERO);
    assert_eq!((shared.cursor(), shared.next_deadline(at(1_999))), (33, Some(at(2_000))));
    shared.tick(at(2_000), 0, Duration::ZERO);
    assert_eq!(shared.cursor(), 34, "32 + 2 · 1.28");
}

/// SoCC '18: the mean wait of the requests that started in the window, against the limit, whatever waits now.
#[test]
fn the_histogram_goes_by_the_mean_wait_of_what_started() {
    let limit = Config::tuned(SLO).delay_limit;
    for (last, falls) in [(limit, false), (limit + Duration::from_nanos(2), true)] {
        let shared = begun(Config { start_level: 100, ..Config::tuned(SLO) });
        for wait in [limit, last] {
            [50, 100].into_iter().for_each(|level| shared.tally(0).on_arrival(level));
            shared.tally(0).on_start(wait);
        }
        shared.tick(at(1_000), 0, if falls { Duration::ZERO } else { SLO });
        assert_eq!(shared.cursor() < 100, falls, "{last:?}: {}", shared.cursor());
        assert_eq!(shared.last_delay(), (limit + last) / 2);
    }
}

/// Nothing started: a queue that stands still is overload, and an empty one is not.
#[test]
fn where_nothing_started_what_waits_counts() {
    for (delay, falls) in [(SLO, true), (Duration::ZERO, false)] {
        let shared = begun(Config { start_level: 100, ..Config::tuned(SLO) });
        [50, 100].into_iter().for_each(|level| shared.tally(0).on_arrival(level));
        shared.tick(at(1_000), 0, delay);
        assert_eq!(shared.cursor() < 100, falls, "{}", shared.cursor());
        assert_eq!(shared.last_delay(), delay);
    }
}

#[test]
fn an_open_server_asks_for_no_tick() {
    let shared = begun(Config { start_level: 126, ..Config::artifact(SLO) });
    assert_eq!(shared.next_deadline(at(5)), Some(at(1_000)));
    assert_eq!(shared.next_deadline(at(1_005)), Some(at(1_005)), "it is late already");
    shared.tick(at(1_000), 0, Duration::ZERO);
    assert_eq!((shared.cursor(), shared.next_deadline(at(1_005))), (127, None));
}
