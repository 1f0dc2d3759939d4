//! HDSearch: answers, shards, tiers, and what the published code does wrong.

mod documents;
mod published_bugs;
mod shards;
mod tiers;
