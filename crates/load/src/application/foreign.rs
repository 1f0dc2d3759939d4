//! Tiers that are programs of others, as the handlers of one process ask them.

use super::Unanswered;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tailwater_core::Instant;

/// The nodes of a tier that speak a protocol of their own.
pub trait ForeignTier: Debug + Send + Sync {
    /// How many there are.
    fn nodes(&self) -> u32;

    /// Asks a node, at once, for what `draw` decides. The future is what came of it, by the deadline at the latest; of
    /// what no answer is needed any more it may be dropped.
    fn ask(&self, node: u32, draw: u64, deadline: Option<Instant>) -> Asked;
}

/// What comes of a question; nothing to tell where it was answered rightly.
pub type Asked = Pin<Box<dyn Future<Output = Result<(), Unanswered>> + Send>>;

/// All such tiers that a server's requests call, by name.
#[derive(Clone, Debug, Default)]
pub struct ForeignTiers(Vec<(String, Arc<dyn ForeignTier>)>);

impl ForeignTiers {
    /// The tier that is called so.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<&Arc<dyn ForeignTier>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, tier)| tier)
    }
}

impl FromIterator<(String, Arc<dyn ForeignTier>)> for ForeignTiers {
    fn from_iter<I: IntoIterator<Item = (String, Arc<dyn ForeignTier>)>>(tiers: I) -> Self {
        Self(tiers.into_iter().collect())
    }
}
