//! Which servers a tier has.

use super::counts::Tallies;
use super::room::Room;
use crate::client::ChannelConfig;
use crate::counts::TierCounts;
use std::fmt;
use std::sync::Arc;
use tailwater_control::catalog::{Controller, default_client};
use tailwater_control::retry::{HedgeConfig, REPLICAS_MAX};
use tailwater_control::{Client as Control, ConfigError, Replicas, RetryConfig};

/// Most shards of a tier.
const SHARDS_MAX: usize = 256;

/// Servers that handlers may call: shards, each of which is one server or several replicas of one. Each loop
/// and each worker connects to all of them.
#[derive(Clone)]
pub struct TierConfig {
    name: String,
    shards: Vec<Vec<ChannelConfig>>,
    half: Arc<dyn Fn(u64) -> Control + Send + Sync>,
    retry: RetryConfig,
    hedge: Option<HedgeConfig>,
    calls_max: usize,
    bytes_max: usize,
    answers_max: usize,
    /// Of the server that has this configuration.
    tallies: Arc<Tallies>,
}

impl TierConfig {
    /// A tier with one server for each shard, which runs the default controller.
    #[must_use]
    pub fn new(name: impl Into<String>, servers: Vec<ChannelConfig>) -> Self {
        Self::replicated(name, servers.into_iter().map(|server| vec![server]).collect())
    }

    /// A tier of several replicas for each shard. A call that one refuses, or that finds no credit there, is
    /// tried at another of the same shard ([`tailwater_control::retry`]).
    #[must_use]
    pub fn replicated(name: impl Into<String>, shards: Vec<Vec<ChannelConfig>>) -> Self {
        Self {
            name: name.into(),
            shards,
            half: Arc::new(|_| default_client()),
            retry: RetryConfig::default(),
            hedge: None,
            calls_max: 1 << 16,
            bytes_max: 64 << 20,
            answers_max: 64 << 20,
            tallies: Arc::default(),
        }
    }

    /// The same with servers that run this controller.
    #[must_use]
    pub fn controller(mut self, controller: &Controller) -> Self {
        let controller = controller.clone();
        self.half = Arc::new(move |number| controller.client(number));
        self
    }

    /// The same with another rule for trying again at another replica.
    #[must_use]
    pub const fn retry(mut self, retry: RetryConfig) -> Self {
        self.retry = retry;
        self
    }

    /// The same with a second try at another replica for calls that are late, of fans that say
    /// [`Fan::hedged`](super::Fan::hedged). Each thread has a budget of its own for each shard.
    #[must_use]
    pub const fn hedge(mut self, hedge: HedgeConfig) -> Self {
        self.hedge = Some(hedge);
        self
    }

    /// The same with another bound on the calls of a thread's handlers to this tier that have not ended, whoever makes
    /// them; further ones end at once as [`CallError::QueueFull`](crate::client::CallError::QueueFull). Default 65,536.
    #[must_use]
    pub const fn calls_max(mut self, calls: usize) -> Self {
        self.calls_max = calls;
        self
    }

    /// The same with another bound on the bytes of those calls' arguments; what several share counts for each.
    /// Further calls end as above, but for one that comes alone. Default 64 MiB.
    #[must_use]
    pub const fn bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// The same with another bound on the bytes that the answers of one fan may have together. An answer beyond it is not
    /// kept, and its call ends as [`CallError::AnswersTooLong`](crate::client::CallError::AnswersTooLong). Default 64 MiB. It
    /// bounds what a handler has of its calls; on its way there is one answer more for each connection at most.
    #[must_use]
    pub const fn answers_max(mut self, bytes: usize) -> Self {
        self.answers_max = bytes;
        self
    }

    /// What handlers call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn shards(&self) -> &[Vec<ChannelConfig>] {
        &self.shards
    }

    pub(super) fn half(&self, number: u64) -> Control {
        (self.half)(number)
    }

    pub(super) fn room(&self) -> Room {
        Room::new(self.calls_max, self.bytes_max)
    }

    pub(super) const fn most_of_answers(&self) -> usize {
        self.answers_max
    }

    /// What decides where calls to one shard go, of so many servers. `number` says which is the thread's own.
    pub(super) fn choice(&self, servers: usize, number: u64) -> Replicas {
        let choice = Replicas::new(self.retry, servers, number);
        self.hedge.into_iter().fold(choice, Replicas::hedged)
    }

    pub(super) const fn tallies(&self) -> &Arc<Tallies> {
        &self.tallies
    }

    /// A server begins to count; another that has a clone of this counts for itself.
    pub(crate) fn count_anew(&mut self) {
        self.tallies = Arc::default();
    }

    /// What the server's threads have counted.
    pub(crate) fn counts(&self) -> TierCounts {
        self.tallies.of(&self.name)
    }

    /// Whether it can work.
    ///
    /// # Errors
    /// The field that cannot, and the tier or its shard that has it.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let name = &self.name;
        if name.is_empty() {
            let needed = "a name, by which handlers ask for it,";
            return Err(ConfigError::new("name", "empty", needed).at("a tier"));
        }
        self.check_fields().map_err(|error| error.at(format_args!("tier {name}")))?;
        for (index, replicas) in self.shards.iter().enumerate() {
            let place = format_args!("shard {index} of tier {name}");
            check_shard(replicas).map_err(|error| error.at(place))?;
        }
        Ok(())
    }

    fn check_fields(&self) -> Result<(), ConfigError> {
        let shards = self.shards.len();
        if !(1..=SHARDS_MAX).contains(&shards) {
            let needed = format!("a number from 1 to {SHARDS_MAX}");
            return Err(ConfigError::new("shards", shards, needed));
        }
        // No call could be made, or no answer taken.
        for (field, found) in [
            ("calls_max", self.calls_max),
            ("bytes_max", self.bytes_max),
            ("answers_max", self.answers_max),
        ] {
            if found == 0 {
                return Err(ConfigError::new(field, 0, "a number above zero"));
            }
        }
        let Some(hedge) = self.hedge else { return Ok(()) };
        hedge.check()?;
        if self.shards.iter().all(|replicas| replicas.len() < 2) {
            let needed = "a shard with a second server, or a tier without hedge,";
            return Err(ConfigError::new("hedge", "set, and no shard has replicas", needed));
        }
        Ok(())
    }
}

fn check_shard(replicas: &[ChannelConfig]) -> Result<(), ConfigError> {
    let count = replicas.len();
    if !(1..=REPLICAS_MAX).contains(&count) {
        let needed = format!("a number from 1 to {REPLICAS_MAX}");
        return Err(ConfigError::new("servers", count, needed));
    }
    for server in replicas {
        server.check()?;
        // A client's thread may spin while it connects; a loop serves requests meanwhile.
        if server.backoff_min.is_zero() {
            return Err(ConfigError::new("backoff_min", "zero", "a time above zero"));
        }
    }
    Ok(())
}

impl fmt::Debug for TierConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, shards, half: _, retry, hedge, .. } = self;
        let Self { calls_max, bytes_max, answers_max, tallies: _, .. } = self;
        let mut it = f.debug_struct("TierConfig");
        it.field("name", name).field("shards", shards).field("retry", retry).field("hedge", hedge);
        it.field("calls_max", calls_max).field("bytes_max", bytes_max);
        it.field("answers_max", answers_max).finish_non_exhaustive()
    }
}

/// Two that name the same servers are equal if they share their controller.
impl PartialEq for TierConfig {
    fn eq(&self, other: &Self) -> bool {
        let Self { name, shards, half, retry, hedge, .. } = self;
        let Self { calls_max, bytes_max, answers_max, tallies: _, .. } = self;
        *name == other.name
            && *shards == other.shards
            && Arc::ptr_eq(half, &other.half)
            && (*retry, *hedge) == (other.retry, other.hedge)
            && (*calls_max, *bytes_max) == (other.calls_max, other.bytes_max)
            && *answers_max == other.answers_max
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::net::Address;
    use tailwater_core::Ratio;

    #[test]
    fn what_cannot_work_is_named() {
        let server = || ChannelConfig::new(Address::Tcp(([127, 0, 0, 1], 1).into()));
        let sound = TierConfig::new("leaf", vec![server()]);
        assert_eq!(sound.check(), Ok(()));
        let mut silent = server();
        silent.outstanding_max = 0;
        let wrong = [
            (TierConfig::new("", vec![server()]), "a tier: name is empty"),
            (TierConfig::new("leaf", Vec::new()), "tier leaf: shards is 0"),
            (
                TierConfig::replicated("leaf", vec![Vec::new()]),
                "shard 0 of tier leaf: servers is 0",
            ),
            (
                TierConfig::new("leaf", vec![server(), silent]),
                "shard 1 of tier leaf: outstanding_max",
            ),
            (sound.clone().calls_max(0), "tier leaf: calls_max is 0"),
            (sound.clone().bytes_max(0), "tier leaf: bytes_max is 0"),
            (sound.clone().answers_max(0), "tier leaf: answers_max is 0"),
            (sound.hedge(HedgeConfig::default()), "tier leaf: hedge is set, and no shard"),
            (
                TierConfig::replicated("leaf", vec![vec![server(), server()]])
                    .hedge(HedgeConfig { share: Ratio(2.0), ..HedgeConfig::default() }),
                "tier leaf: hedge.share is 2",
            ),
        ];
        for (tier, begins) in wrong {
            let error = tier.check().expect_err(begins).to_string();
            assert!(error.starts_with(begins), "{error}");
        }
    }
}
