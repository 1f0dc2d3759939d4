//! HDSearch: answers, shards, tiers, its program, and what the published code does wrong.

mod documents;
mod frontier;
mod published_bugs;
mod shards;
mod tiers;
