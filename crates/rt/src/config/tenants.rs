//! On whose behalf clients call, by what is known of them.

use crate::net::Peer;
use std::fmt;
use std::sync::Arc;

/// Tells the tenant of a client from what is known of its end of the connection, such as a certificate or
/// a user number. The client's own word counts for nothing then. Cheap to clone; two are equal if one is
/// the other's clone.
#[derive(Clone)]
pub struct Tenants(Arc<dyn Fn(&Peer) -> u32 + Send + Sync>);

impl Tenants {
    /// `tell` is asked once for each connection, on the loop that owns it: it must not block, and a panic
    /// ends the server. Zero stands for nobody in particular.
    pub fn new(tell: impl Fn(&Peer) -> u32 + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, peer: &Peer) -> u32 {
        (self.0)(peer)
    }
}

impl fmt::Debug for Tenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tenants(..)")
    }
}

impl PartialEq for Tenants {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
