//! The client that floods, lies and grabs.

use super::peer::{Down, Up};
use super::setup::{Lie, Mischief};
use tailwater_control::{Arrival, Outcome};
use tailwater_core::RequestId;

/// A client that follows no rule.
#[derive(Debug, Default)]
pub(crate) struct Rogue {
    pub(crate) link: Option<u64>,
    newest: u32,
    pub(crate) window: u32,
    outstanding: u32,
    pub(crate) served: u32,
}

impl Rogue {
    pub(crate) const fn connect(&mut self, link: u64) {
        self.link = Some(link);
        (self.newest, self.window, self.outstanding) = (0, 1, 0);
    }

    /// False when the server said goodbye.
    pub(crate) fn take(&mut self, message: &Down) -> bool {
        match message {
            Down::Reply(_, reply) => {
                (self.newest, self.window) = (reply.offer.seq, reply.offer.window);
                self.outstanding = self.outstanding.saturating_sub(1);
                self.served += u32::from(reply.outcome == Outcome::Served);
            }
            Down::Credit(offer, _) => (self.newest, self.window) = (offer.seq, offer.window),
            Down::Goodbye => self.link = None,
        }
        self.link.is_some()
    }

    pub(crate) fn send(&mut self, mischief: &Mischief) -> Vec<Up> {
        match *mischief {
            Mischief::Greed => self.send(&Mischief::Flood {
                count: u64::from(self.window.min(64).saturating_sub(self.outstanding)),
                acked: Lie::Truth,
                demand: u32::MAX,
                register: true,
            }),
            Mischief::Flood { count, acked, demand, register } => {
                let arrival =
                    Arrival { demand, acked: self.lie(acked), register, ..Arrival::default() };
                self.outstanding += u32::try_from(count).expect("small floods");
                (0..count).map(|id| Up::Request(RequestId(id), arrival)).collect()
            }
            Mischief::Demand(demand, acked) => vec![Up::Demand(demand, self.lie(acked))],
            Mischief::Deregister => vec![Up::Deregister],
            Mischief::Connect | Mischief::Vanish => Vec::new(),
        }
    }

    const fn lie(&self, acked: Lie) -> u32 {
        match acked {
            Lie::Truth => self.newest,
            Lie::Nothing => 0,
            Lie::Future(ahead) => self.newest.wrapping_add(ahead),
        }
    }
}
