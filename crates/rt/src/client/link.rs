//! A channel's connection: when it is tried, when it stands, and when the next attempt is due.

use super::config::ChannelConfig;
use crate::net::{Dial, DialError, Dialed, Dialing, Stream};
use crate::poll::{Interest, Poller, Readiness};
use std::time::Duration;
use tailwater_core::{Instant, Rng};

/// How long a client's first attempt may take before its calls go to a replica that can be reached already.
/// Some handshakes take longer than others; a call that has moved has used up one of its tries.
const FIRST_GRACE: Duration = Duration::from_millis(20);

/// The connection of one channel, and its attempts.
pub(super) struct Link {
    dialing: Dialing,
    key: u64,
    connect_timeout: Duration,
    /// Numbers the attempts.
    attempts: usize,
    /// Why the last attempt, or connection, ended. `None` while the connection stands.
    failure: Option<DialError>,
    backoff: Backoff,
    state: State,
    /// What the poller watches the present stream for.
    interest: Interest,
    /// When calls stop waiting for an attempt to succeed, where they can go elsewhere: at once, if
    /// something has failed since a call was answered.
    down_from: Instant,
}

enum State {
    /// The next attempt is due then.
    Resting(Instant),
    /// The name is resolved, or the transport's handshake is under way; it has failed by then.
    Dialing(Box<Dial>, Instant),
    /// HELLO was said; WELCOME is in time until then.
    Greeting(Stream, Instant),
    /// WELCOME was heard.
    Up(Stream),
    /// The driver wants no more.
    Closed,
}

impl Link {
    pub(super) fn new(config: &ChannelConfig, key: u64, seed: u64) -> Self {
        Self {
            dialing: config.dialing(),
            key,
            connect_timeout: config.connect_timeout,
            attempts: 0,
            failure: None,
            backoff: Backoff::new(config, seed),
            state: State::Resting(Instant::ZERO),
            interest: Interest::default(),
            down_from: Instant::FAR_FUTURE,
        }
    }

    /// Begins an attempt that is due.
    pub(super) fn begin(&mut self, now: Instant, poller: &Poller) {
        if !matches!(self.state, State::Resting(at) if at <= now) {
            return;
        }
        // Not yet heard of anything: other replicas may take what waits, but not in the first moment.
        self.down_from = self.down_from.min(now + FIRST_GRACE);
        self.attempts = self.attempts.wrapping_add(1);
        match Dial::begin(self.dialing.clone(), self.attempts, poller, self.key) {
            Ok(dial) => self.state = State::Dialing(Box::new(dial), now + self.connect_timeout),
            Err(error) => self.lose(now, error),
        }
    }

    /// The poller says something about an attempt: true if its transport stands from now on.
    ///
    /// # Errors
    /// When the attempt has failed.
    pub(super) fn on_ready(
        &mut self,
        poller: &Poller,
        readiness: Readiness,
    ) -> Result<bool, DialError> {
        let State::Dialing(dial, until) = &mut self.state else { return Ok(false) };
        match dial.on_ready(poller, readiness) {
            Dialed::Pending => Ok(false),
            Dialed::Connected(stream) => {
                // As the attempt has left it with the poller.
                self.interest = stream.interest(Interest::READ);
                self.state = State::Greeting(stream, *until);
                Ok(true)
            }
            Dialed::Failed(error) => Err(error),
        }
    }

    /// WELCOME was heard. Extra calls do no harm.
    pub(super) fn on_welcome(&mut self) {
        if matches!(self.state, State::Greeting(..))
            && let State::Greeting(stream, _) = std::mem::replace(&mut self.state, State::Closed)
        {
            self.state = State::Up(stream);
            self.failure = None;
        }
    }

    /// The server has answered a call: it is worth trying again soon. A server that only greets is not.
    pub(super) const fn on_answer(&mut self) {
        self.backoff.reset();
        self.down_from = Instant::FAR_FUTURE;
    }

    /// The connection, or the attempt, is over. Dropping the socket takes it out of the poller.
    pub(super) fn lose(&mut self, now: Instant, failure: DialError) {
        if !matches!(self.state, State::Closed) {
            self.failure = Some(failure);
            self.state = State::Resting(now + self.backoff.next());
            self.down_from = now;
        }
    }

    /// What ended the connection, or the attempt: TLS, if it says something, or this.
    pub(super) fn failure_of(&self, said: &'static str) -> DialError {
        let address = &self.dialing.address;
        #[cfg(feature = "tls")]
        if let Some(why) = self.stream().and_then(Stream::tls_failure) {
            return DialError::of_tls(address, &why);
        }
        DialError::of(address, &said)
    }

    /// Closes it for good.
    pub(super) fn close(&mut self) {
        self.state = State::Closed;
        self.down_from = Instant::ZERO;
    }

    /// The socket, once its transport stands.
    pub(super) const fn stream(&self) -> Option<&Stream> {
        match &self.state {
            State::Greeting(stream, _) | State::Up(stream) => Some(stream),
            State::Resting(_) | State::Dialing(..) | State::Closed => None,
        }
    }

    /// Has the poller watch the socket for this.
    ///
    /// # Errors
    /// When the poller cannot; then the connection is of no use.
    pub(super) fn watch(&mut self, poller: &Poller, wanted: Interest) -> Result<(), Failed> {
        let Some(stream) = self.stream() else { return Ok(()) };
        let interest = stream.interest(wanted);
        if self.interest != interest {
            poller.modify(stream, self.key, interest).map_err(|_| Failed)?;
            self.interest = interest;
        }
        Ok(())
    }

    /// Whether an attempt has taken too long.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.limit().is_some_and(|until| until <= now)
    }

    /// Whether calls that wait for it had better go elsewhere.
    pub(super) fn is_down(&self, now: Instant) -> bool {
        !self.is_up() && self.down_from <= now
    }

    pub(super) const fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }

    pub(super) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let down = Some(self.down_from).filter(|at| !self.is_up() && *at > now);
        let own = if let State::Resting(at) = self.state { Some(at) } else { self.limit() };
        [own, down].into_iter().flatten().min()
    }

    /// Why the last attempt, or connection, ended; `None` while it stands, and before the first end.
    pub(super) const fn failure(&self) -> Option<&DialError> {
        self.failure.as_ref()
    }

    /// When an attempt has taken too long.
    const fn limit(&self) -> Option<Instant> {
        match self.state {
            State::Dialing(_, until) | State::Greeting(_, until) => Some(until),
            State::Resting(_) | State::Up(_) | State::Closed => None,
        }
    }
}

/// An attempt, or a connection, is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Failed;

/// Longer pauses are as long as this, a hundred years: larger ones would overflow when they are doubled.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The pause before the next attempt.
struct Backoff {
    least: Duration,
    most: Duration,
    now: Duration,
    rng: Rng,
}

impl Backoff {
    fn new(config: &ChannelConfig, seed: u64) -> Self {
        let [least, most] =
            [config.backoff_min, config.backoff_max].map(|pause| pause.min(FOREVER));
        Self { least, most, now: least, rng: Rng::from_seed(seed) }
    }

    const fn reset(&mut self) {
        self.now = self.least;
    }

    /// Doubled each time, and spread by up to half so that a thousand clients do not come back in step.
    fn next(&mut self) -> Duration {
        let pause = self.now.mul_f64(1.0 - 0.5 * self.rng.unit());
        self.now = (2 * self.now).min(self.most);
        pause
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn backoff(seed: u64) -> Backoff {
        Backoff::new(
            &ChannelConfig::new(crate::net::Address::Tcp(([127, 0, 0, 1], 1).into())),
            seed,
        )
    }

    #[test]
    fn a_pause_without_end_does_not_overflow() {
        let address = "127.0.0.1:1".parse().expect("an address");
        let mut config = ChannelConfig::new(address);
        (config.backoff_min, config.backoff_max) = (Duration::MAX, Duration::MAX);
        let mut backoff = Backoff::new(&config, 1);
        for _ in 0..3 {
            assert!(backoff.next() >= FOREVER / 2);
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_with_an_answer() {
        let mut backoff = backoff(1);
        let ms = Duration::from_millis;
        for most in [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000].map(ms) {
            let pause = backoff.next();
            assert!(pause <= most && pause >= most / 2, "{pause:?} of {most:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= ms(10));
    }

    #[test]
    fn clients_with_different_numbers_do_not_come_back_in_step() {
        assert_ne!(backoff(1).next(), backoff(2).next());
    }
}
