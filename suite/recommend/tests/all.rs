//! Recommend: definitions, shards, tiers, documents.

mod documents;
mod oracle;
mod shards;
mod tiers;
