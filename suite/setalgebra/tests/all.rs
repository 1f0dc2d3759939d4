//! Set Algebra against the texts, over shards and tiers, and bugs that are planted.

mod common;

mod published_bugs;
mod shards;
mod texts;
mod tiers;
