use super::*;
use crate::breakwater::{Breakwater, Config};
use crate::none::None as NoControl;
use crate::{Outcome, Reached};
use tailwater_core::{Class, Silent};

const SLO: Duration = Duration::from_micros(200);
const ID: SessionId = SessionId(0);

fn guarded(shed_cap: f64) -> (Box<dyn Shard>, Arc<Switch>) {
    let switch = Arc::new(Switch::default());
    let inner = Arc::new(Breakwater::new(Config::paper(SLO, 1), 1, 1).unwrap());
    let guard = Arc::new(Guarded::new(inner, Arc::clone(&switch), shed_cap));
    let mut shard = guard.shard(0);
    shard.on_open(Instant::ZERO, ID, &mut Silent);
    (shard, switch)
}

fn ask(shard: &mut dyn Shard, delay: Duration, acked: u32) -> (Verdict, Offer) {
    let arrival = Arrival { register: true, acked, ..Arrival::default() };
    let verdict = shard.on_request(Instant::ZERO, ID, &arrival, delay, &mut Silent);
    let (outcome, reached) = match verdict {
        Verdict::Admit => (Outcome::Served, Reached::Handler),
        Verdict::Shed(why) | Verdict::Close(why) => (Outcome::Shed(why), Reached::Arrival),
    };
    let done = RequestEnd {
        outcome,
        reached,
        waited: delay,
        service: Duration::ZERO,
        class: Class::default(),
    };
    (verdict, shard.on_done(Instant::ZERO, ID, &done))
}

#[test]
fn a_dry_run_admits_and_opens_what_enforcement_would_not() {
    let (mut shard, switch) = guarded(1.0);
    let (verdict, offer) = ask(&mut *shard, SLO, 0);
    assert_eq!(verdict, Verdict::Shed(Reason::Delay));
    assert!(offer.window < 10);
    switch.set(Mode::DryRun);
    let (verdict, offer) = ask(&mut *shard, SLO, offer.seq);
    assert_eq!(verdict, Verdict::Admit);
    assert_eq!(offer.window, u32::MAX);
}

#[test]
fn a_dry_run_tells_what_it_would_have_done_and_off_tells_nothing() {
    for (mode, told) in [(Mode::DryRun, 1), (Mode::Off, 0)] {
        let (mut shard, switch) = guarded(1.0);
        switch.set(mode);
        let mut spared = 0;
        let mut observer = |_: Instant, event: &Event| {
            spared += u32::from(matches!(event, Event::Spared(..)));
        };
        let arrival = Arrival { register: true, ..Arrival::default() };
        shard.on_request(Instant::ZERO, ID, &arrival, SLO, &mut observer);
        assert_eq!(spared, told, "{mode:?}");
    }
}

#[test]
fn switching_back_is_no_trap_for_clients_that_were_told_to_send_at_will() {
    let (mut shard, switch) = guarded(1.0);
    switch.set(Mode::DryRun);
    let (_, open) = ask(&mut *shard, Duration::ZERO, 0);
    switch.set(Mode::Enforce);
    let burst = Arrival { acked: open.seq, ..Arrival::default() };
    for _ in 0..100 {
        let verdict = shard.on_request(Instant::ZERO, ID, &burst, Duration::ZERO, &mut Silent);
        assert_eq!(verdict, Verdict::Admit);
    }
    // Told that limits are back, it has a second, whatever it goes on echoing.
    let (waited, service) = (Duration::ZERO, Duration::ZERO);
    let (outcome, reached) = (Outcome::Served, Reached::Handler);
    let done = RequestEnd { outcome, reached, waited, service, class: Class::default() };
    shard.on_done(Instant::ZERO, ID, &done);
    let later = Instant::ZERO + 2 * AMNESTY;
    let refused = (0..200).any(|_| {
        shard.on_request(later, ID, &burst, Duration::ZERO, &mut Silent) != Verdict::Admit
    });
    assert!(refused);
}

#[test]
fn the_cap_bounds_the_share_that_is_shed() {
    let (mut shard, _switch) = guarded(0.1);
    let mut seq = 0;
    let mut shed = 0;
    for _ in 0..10_000 {
        let (verdict, offer) = ask(&mut *shard, SLO, seq);
        seq = offer.seq;
        shed += u32::from(verdict == Verdict::Shed(Reason::Delay));
    }
    assert!((1_000..=1_064).contains(&shed), "{shed} of 10,000 shed under a cap of 10 %");
}

#[test]
fn a_guard_around_nothing_changes_nothing() {
    let guard = Arc::new(Guarded::new(Arc::new(NoControl), Arc::default(), 1.0));
    assert_eq!(guard.name(), "none");
    let mut shard = guard.shard(0);
    assert_eq!(shard.on_open(Instant::ZERO, ID, &mut Silent), Offer::OPEN);
    assert_eq!(ask(&mut *shard, Duration::from_secs(1), 0).0, Verdict::Admit);
}

/// A shard that always judges alike, and writes down what it was told.
struct Scribe {
    verdict: Verdict,
    offer: Offer,
    heard: Arc<std::sync::Mutex<Vec<&'static str>>>,
}

impl Scribe {
    fn note(&self, what: &'static str) {
        self.heard.lock().expect("nothing panicked").push(what);
    }
}

impl Shard for Scribe {
    fn on_open(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) -> Offer {
        self.note("open");
        self.offer
    }
    fn on_close(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) {
        self.note("close");
    }
    fn on_deregister(&mut self, _: Instant, _: SessionId, _: &mut dyn Observer) {
        self.note("deregister");
    }
    fn on_demand(&mut self, _: Instant, _: SessionId, _: u32, _: u32) {
        self.note("demand");
    }
    fn on_request(
        &mut self,
        now: Instant,
        id: SessionId,
        _: &Arrival,
        _: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict {
        observer.on_event(now, &Event::Violation(id));
        self.verdict
    }
    fn on_start(
        &mut self,
        _: Instant,
        _: SessionId,
        _: Duration,
        _: Option<Duration>,
        _: &mut dyn Observer,
    ) -> Verdict {
        self.verdict
    }
    fn on_sent(&mut self, _: Instant, _: SessionId) {
        self.note("sent");
    }
    fn on_done(&mut self, _: Instant, _: SessionId, _: &RequestEnd) -> Offer {
        self.offer
    }
    fn on_tick(&mut self, _: Instant, _: Duration, _: &mut dyn Observer) {
        self.note("tick");
    }
    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        Some(now + Duration::from_nanos(3))
    }
    fn poll_wish(&mut self, _: Instant, _: &mut dyn Observer) -> Option<Wish> {
        Some(Wish::Credit(SessionId(2), self.offer))
    }
}

const OFFER: Offer = Offer { window: 5, seq: 7, ..Offer::OPEN };
const UNCREDITED: Verdict = Verdict::Shed(Reason::NoCredit);
const LATE: Verdict = Verdict::Shed(Reason::Delay);

fn around(verdict: Verdict, shed_cap: f64) -> GuardedShard {
    let inner = Box::new(Scribe { verdict, offer: OFFER, heard: Arc::default() });
    let switch = Arc::new(Switch::default());
    GuardedShard { inner, switch, shed_cap, tokens: BUCKET, amnesty: Vec::new() }
}

fn request(shard: &mut GuardedShard, now: Instant, acked: u32) -> Verdict {
    let arrival = Arrival { acked, ..Arrival::default() };
    shard.on_request(now, ID, &arrival, Duration::ZERO, &mut Silent)
}

fn start(shard: &mut GuardedShard) -> Verdict {
    shard.on_start(Instant::ZERO, ID, Duration::ZERO, None, &mut Silent)
}

#[test]
fn what_it_does_not_judge_it_passes_on() {
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut shard = around(Verdict::Admit, 1.0);
    shard.inner =
        Box::new(Scribe { verdict: Verdict::Admit, offer: OFFER, heard: Arc::clone(&heard) });
    let now = Instant::from_nanos(4);
    assert_eq!(shard.on_open(now, ID, &mut Silent), OFFER);
    shard.on_demand(now, ID, 1, 2);
    shard.on_sent(now, ID);
    shard.on_tick(now, Duration::ZERO, &mut Silent);
    shard.on_deregister(now, ID, &mut Silent);
    shard.on_close(now, ID, &mut Silent);
    let all = ["open", "demand", "sent", "tick", "deregister", "close"];
    assert_eq!(*heard.lock().expect("nothing panicked"), all);
    assert_eq!(shard.next_deadline(now), Some(Instant::from_nanos(7)));
    let wish = Wish::Credit(SessionId(2), OFFER);
    assert_eq!(shard.poll_wish(now, &mut Silent), Some(wish));
    shard.switch.set(Mode::DryRun);
    let open = Offer { seq: 7, ..Offer::OPEN };
    let wish = Wish::Credit(SessionId(2), open);
    assert_eq!(shard.poll_wish(now, &mut Silent), Some(wish), "a dry run tells no limits");
    assert_eq!(shard.on_open(now, ID, &mut Silent), open);
}

#[test]
fn a_guards_loops_and_gauges_are_those_of_what_it_guards() {
    let inner = Breakwater::new(Config::paper(SLO, 7), 3, 1).unwrap();
    let guard = Guarded::new(Arc::new(inner), Arc::default(), 1.0);
    assert_eq!((guard.name(), guard.shards(), guard.gauges().pool), ("breakwater", Some(3), 7));
}

#[test]
fn what_a_controller_says_is_heard_unless_it_is_off() {
    for (mode, told) in [(Mode::Enforce, 1), (Mode::DryRun, 1), (Mode::Off, 0)] {
        let mut shard = around(Verdict::Admit, 1.0);
        shard.switch.set(mode);
        assert_eq!(shard.switch.get(), mode);
        let mut events = 0;
        let mut observer = |_: Instant, _: &Event| events += 1;
        shard.on_request(Instant::ZERO, ID, &Arrival::default(), SLO, &mut observer);
        assert_eq!(events, told, "{mode:?}");
    }
}

/// Sixty-four at once and none after them, whichever of both asks; what comes without credit is neither
/// counted nor spared.
#[test]
fn a_cap_of_nothing_lets_a_bucket_of_sheds_pass() {
    let mut shard = around(LATE, 0.0);
    for n in 0..32 {
        assert_eq!(request(&mut shard, Instant::ZERO, 0), LATE, "{n}");
        assert_eq!(start(&mut shard), LATE, "{n}");
    }
    assert_eq!(request(&mut shard, Instant::ZERO, 0), Verdict::Admit);
    assert_eq!(start(&mut shard), Verdict::Admit);
    let mut shard = around(UNCREDITED, 0.0);
    (0..200).for_each(|_| assert_eq!(request(&mut shard, Instant::ZERO, 0), UNCREDITED));
    assert_eq!(shard.tokens, BUCKET);
    shard.tokens = 0.0;
    assert_eq!(request(&mut shard, Instant::ZERO, 0), UNCREDITED, "the cap is not for these");
}

/// In a dry run it was told that it may send at will, under number 7, and then that limits are back.
#[test]
fn an_amnesty_ends_with_a_newer_number_or_a_second_after_limits_are_told() {
    let amnesty = || {
        let mut shard = around(UNCREDITED, 1.0);
        shard.switch.set(Mode::DryRun);
        shard.present(Instant::ZERO, ID, OFFER);
        shard.switch.set(Mode::Enforce);
        shard
    };
    let (later, second) = (Instant::from_nanos(500), Instant::from_nanos(1_000_000_500));
    let mut shard = amnesty();
    let half = 1 << 31;
    for acked in [7, 6, 7_u32.wrapping_add(half), 7_u32.wrapping_sub(half - 1)] {
        let verdict = request(&mut shard, second + AMNESTY, acked);
        assert_eq!(verdict, Verdict::Admit, "it has not heard of limits: {acked}");
    }
    for newer in [8, 7_u32.wrapping_add(half - 1)] {
        let mut shard = amnesty();
        assert_eq!(request(&mut shard, later, newer), UNCREDITED);
        assert_eq!(request(&mut shard, later, 7), UNCREDITED, "that was once");
    }
    assert_eq!(shard.present(later, ID, OFFER), OFFER);
    // Told again later, it still has the second after the first time.
    shard.present(second - Duration::from_nanos(9), ID, OFFER);
    assert_eq!(request(&mut shard, second - Duration::from_nanos(1), 7), Verdict::Admit);
    assert_eq!(request(&mut shard, second, 7), UNCREDITED);
}

#[test]
fn a_new_connection_has_no_amnesty_of_the_one_before() {
    let mut shard = around(UNCREDITED, 1.0);
    shard.switch.set(Mode::DryRun);
    shard.present(Instant::ZERO, ID, OFFER);
    shard.switch.set(Mode::Enforce);
    assert_eq!(request(&mut shard, Instant::ZERO, 7), Verdict::Admit);
    shard.on_open(Instant::ZERO, ID, &mut Silent);
    assert_eq!(request(&mut shard, Instant::ZERO, 7), UNCREDITED);
}
