//! How the kernel finds out that the host of a TCP peer is gone.

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt;
use std::fmt::Debug;
use std::time::Duration;
use tailwater_control::ConfigError;

/// When a TCP connection ends because its peer's host is silent: it crashed, lost its network, or was
/// taken away. A process that hangs is not noticed, since its kernel still answers. Unix sockets need
/// none of this: both ends share a kernel, which closes the one when the other ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// Silence after which the kernel asks the peer's kernel whether it is there; default 15 s. Whole
    /// seconds, 1 to 32,767. Shorter costs packets on idle connections.
    pub idle: Duration,
    /// Pause between such questions; default 5 s. Whole seconds, 1 to 32,767.
    pub interval: Duration,
    /// Questions without an answer after which the connection ends; default 3, from 1 to 127.
    pub probes: u32,
    /// How long sent data may remain unacknowledged, the peer's receive window closed, or an attempt to
    /// connect unanswered, before the connection ends; default 30 s. Whole milliseconds, from 1 s to
    /// 24 days. Shorter ends connections over a link that is away for a moment.
    pub unacknowledged: Duration,
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The kernel's bounds (`MAX_TCP_KEEPIDLE`, `MAX_TCP_KEEPINTVL` and `MAX_TCP_KEEPCNT`).
const SECONDS_MAX: u64 = 32_767;
const PROBES_MAX: u32 = 127;
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(24 * 24 * 3_600);

impl KeepAlive {
    /// A host that is gone is noticed after some 30 s.
    pub const DEFAULT: Self = Self {
        idle: Duration::from_secs(15),
        interval: Duration::from_secs(5),
        probes: 3,
        unacknowledged: Duration::from_secs(30),
    };

    /// Whether the kernel would take it.
    ///
    /// # Errors
    /// The field that it would not.
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name, found: &dyn Debug, needed: String| {
            Err(ConfigError::new(name, format!("{found:?}"), needed).at("keep_alive"))
        };
        for (name, time) in [("idle", self.idle), ("interval", self.interval)] {
            if !(1..=SECONDS_MAX).contains(&time.as_secs()) || time.subsec_nanos() > 0 {
                let needed = format!("a number of whole seconds from 1 to {SECONDS_MAX}");
                return wrong(name, &time, needed);
            }
        }
        if !(1..=PROBES_MAX).contains(&self.probes) {
            return wrong("probes", &self.probes, format!("a number from 1 to {PROBES_MAX}"));
        }
        if !(Duration::from_secs(1)..=UNACKNOWLEDGED_MAX).contains(&self.unacknowledged) {
            let needed = "a time from 1 s to 24 days".to_owned();
            return wrong("unacknowledged", &self.unacknowledged, needed);
        }
        Ok(())
    }

    /// Sets it on a TCP socket. Sockets that a listener accepts inherit it.
    pub(super) fn set(&self, socket: impl AsFd) -> Result<(), Errno> {
        let socket = socket.as_fd();
        let milliseconds = u32::try_from(self.unacknowledged.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_keepidle(socket, self.idle)?;
        sockopt::set_tcp_keepintvl(socket, self.interval)?;
        sockopt::set_tcp_keepcnt(socket, self.probes)?;
        sockopt::set_tcp_user_timeout(socket, milliseconds)?;
        sockopt::set_socket_keepalive(socket, true)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_default_suits_the_kernel_and_nonsense_is_named() {
        let default = KeepAlive::default();
        assert_eq!(default.check(), Ok(()));
        let ms = Duration::from_millis;
        let wrong = [
            ("idle", KeepAlive { idle: ms(1_500), ..default }),
            ("interval", KeepAlive { interval: ms(0), ..default }),
            ("probes", KeepAlive { probes: 128, ..default }),
            ("unacknowledged", KeepAlive { unacknowledged: ms(999), ..default }),
        ];
        for (name, keep_alive) in wrong {
            let error = keep_alive.check().unwrap_err();
            assert_eq!((&*error.place, error.setting), ("keep_alive", name));
        }
    }
}
