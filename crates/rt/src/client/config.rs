//! How a channel connects, and when it gives a connection up.

use crate::net::{Address, Dialing, KeepAlive};
use std::time::Duration;
use tailwater_control::ConfigError;
use tailwater_wire::Limits;

/// How a channel connects, and when it gives a connection up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelConfig {
    /// The server.
    pub address: Address,
    /// Most time from the first attempt at a connection to the server's WELCOME; default 3 s, above zero.
    /// Shorter than the server's longest handler that computes on its loop, and a busy server is never
    /// reached; longer, and a silent one is found out late.
    pub connect_timeout: Duration,
    /// A server from which nothing was heard for so long although answers are due is asked whether it is
    /// there; default 1 s, above zero. Until it says something, other replicas are preferred. A frame is heard once it is
    /// whole; of a long one each KiB is.
    pub ping_after: Duration,
    /// Most time from that question to a sign of life, after which the connection is given up; default
    /// 5 s, above zero. Shorter than the server's longest handler that computes on its loop, and a busy
    /// server loses its connections.
    pub ping_patience: Duration,
    /// First pause after a lost or refused connection; doubles until a server answers a call. Default
    /// 10 ms.
    pub backoff_min: Duration,
    /// Longest pause. Default 1 s.
    pub backoff_max: Duration,
    /// How a TCP server whose host is gone is noticed; default: after some 30 s. `None` never notices it
    /// while nothing is due from the server.
    pub keep_alive: Option<KeepAlive>,
    /// How to speak TLS; `None`, the default: not at all.
    #[cfg(feature = "tls")]
    pub tls: Option<crate::net::tls::TlsClient>,
    /// Longest frame accepted, in bytes; default 1 MiB.
    pub frame_max: u32,
    /// Most unsent bytes before calls wait although there is credit; default 1 MiB. A call that is being
    /// written may exceed it once.
    pub output_max: usize,
    /// Most requests that were sent and not answered, whatever the server allows; default 65,536, above
    /// zero. At the bound calls wait.
    pub outstanding_max: u32,
    /// The client's own number, for the server's logs, and for traces of both ends: two connections of one number have calls
    /// that cannot be told apart there. Also decides its jitter. Of several replicas of a [`Client`](super::Client), and of
    /// [`Channel::to_replica`](super::Channel::to_replica), the first has this number; those of the others are drawn with it as the
    /// seed. Zero, the default: a client draws one; a
    /// [`Channel`](super::Channel) has none. Each connection of a tier draws its own, whatever is said here: every thread has
    /// one.
    pub client_id: u64,
}

impl ChannelConfig {
    /// Defaults for a server.
    #[must_use]
    pub const fn new(address: Address) -> Self {
        Self {
            address,
            connect_timeout: Duration::from_secs(3),
            ping_after: Duration::from_secs(1),
            ping_patience: Duration::from_secs(5),
            backoff_min: Duration::from_millis(10),
            backoff_max: Duration::from_secs(1),
            keep_alive: Some(KeepAlive::DEFAULT),
            #[cfg(feature = "tls")]
            tls: None,
            frame_max: Limits::DEFAULT,
            output_max: 1 << 20,
            outstanding_max: 1 << 16,
            client_id: 0,
        }
    }

    pub(super) fn dialing(&self) -> Dialing {
        Dialing {
            address: self.address.clone(),
            keep_alive: self.keep_alive,
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
        }
    }

    /// Whether a channel can work with this.
    ///
    /// # Errors
    /// The field that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        let times = [
            ("connect_timeout", self.connect_timeout),
            ("ping_after", self.ping_after),
            ("ping_patience", self.ping_patience),
        ];
        for (name, time) in times {
            if time.is_zero() {
                // No server answers so fast.
                return Err(ConfigError::new(name, "zero", "a time above zero"));
            }
        }
        for (name, most) in
            [("output_max", self.output_max), ("outstanding_max", self.outstanding_max as usize)]
        {
            if most == 0 {
                // No call could be sent.
                return Err(ConfigError::new(name, 0, "a number above zero"));
            }
        }
        if self.backoff_min > self.backoff_max {
            let (least, most) = (self.backoff_min, self.backoff_max);
            let needed = format!("backoff_max, {most:?}, or less");
            return Err(ConfigError::new("backoff_min", format!("{least:?}"), needed));
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            tls.name_at(&self.address).map_err(|error| {
                let needed = format!("an address of a server with a name ({error})");
                ConfigError::new("address", &self.address, needed).at("tls")
            })?;
        }
        self.keep_alive.map_or(Ok(()), |keep_alive| keep_alive.check())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_named() {
        let sound = ChannelConfig::new(Address::Tcp(([127, 0, 0, 1], 1).into()));
        assert_eq!(sound.check(), Ok(()));
        let zero = Duration::ZERO;
        let wrong = [
            ("connect_timeout", ChannelConfig { connect_timeout: zero, ..sound.clone() }),
            ("ping_after", ChannelConfig { ping_after: zero, ..sound.clone() }),
            ("ping_patience", ChannelConfig { ping_patience: zero, ..sound.clone() }),
            ("output_max", ChannelConfig { output_max: 0, ..sound.clone() }),
            ("outstanding_max", ChannelConfig { outstanding_max: 0, ..sound.clone() }),
            ("backoff_min", ChannelConfig { backoff_max: zero, ..sound }),
        ];
        for (name, config) in wrong {
            let error = config.check().expect_err(name);
            assert_eq!(error.setting, name, "{error}");
        }
    }
}
