//! The store: a hash table whose buckets lie under item locks; chunks from one allocator under the slabs lock; for
//! each chunk size an LRU under a lock of its own.
//!
//! Written once for all of [`crate::locks`]. Locks are taken in the order item, LRU (the smaller class
//! first); the slabs lock is taken alone. Eviction, which comes from the LRU, only tries the item lock.
//! Every wait that comes before a change is within the request's budget; freeing is not, since a chunk
//! that a refused request leaves behind would be lost.

mod config;
mod item;
mod slabs;
mod lru;
mod stripe;
mod lease;
mod update;

pub use config::{Config, ConfigError, KEY_MAX, VALUE_MAX};
pub use slabs::ClassStats;
pub use stripe::Counts;
pub use update::Arithmetic;

use crate::locks::{Lock, Locks};
use item::Item;
use lease::{Lease, Orphans};
use lru::Lru;
use slabs::{Sizes, Slabs};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::DerefMut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;
use stripe::Stripe;
use tailwater_sync::Refused;

/// A GET moves an item to the front of its LRU at most this often. So hot items do not make every request wait for
/// the LRU (memcached does the same).
const BUMP_EVERY_S: u32 = 60;
/// So many of the oldest items are tried when one is to be evicted, since others may hold their locks.
const EVICTION_TRIES: usize = 50;

/// A key-value store within a limit of memory.
///
/// Times are seconds of the caller's clock, which starts at 1 or later; zero means never.
pub struct Store<L: Locks> {
    config: Config,
    sizes: Sizes,
    slabs: L::Mutex<Slabs>,
    stripes: Box<[L::Mutex<Stripe>]>,
    lrus: Box<[L::Mutex<Lru>]>,
    orphans: Orphans,
    hasher: RandomState,
    last_cas: AtomicU64,
    /// Items up to this CAS unique are dead.
    flushed_cas: AtomicU64,
    /// Items stored before this second are dead.
    flushed_before: AtomicU32,
    /// The same, from that second on; zero for none.
    flush_at: AtomicU32,
    slabs_hold_ns: AtomicU64,
}

/// What to store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Put<'a> {
    /// 1 to [`KEY_MAX`] bytes.
    pub key: &'a [u8],
    /// At most [`VALUE_MAX`] bytes.
    pub value: &'a [u8],
    /// Returned as it is.
    pub flags: u32,
    /// Second from which on it is dead; zero for never.
    pub expires: u32,
    /// Whether what is there matters.
    pub when: When,
}

/// On which condition to store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Always.
    Always,
    /// If the key is not there.
    Absent,
    /// If the key is there.
    Present,
    /// If the item has this CAS unique.
    Unchanged(u64),
    /// The same without counting it as a `cas`: the second half of an update.
    Same(u64),
}

/// What became of a [`Put`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// It is stored.
    Stored,
    /// Its condition does not hold.
    NotStored,
    /// The item has another CAS unique.
    Changed,
    /// There is no item to compare the CAS unique with.
    NotFound,
}

/// An item that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found<'a> {
    /// What was stored.
    pub value: &'a [u8],
    /// What was stored with it.
    pub flags: u32,
    /// Changes with every store.
    pub cas: u64,
    /// Second from which on it is dead; zero for never.
    pub expires: u32,
}

/// Why nothing was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A lock could not be had within the request's budget.
    Refused(Refused),
    /// Neither a chunk nor an item to evict for it was found.
    OutOfMemory,
    /// The key is empty or longer than [`KEY_MAX`], or the value is longer than [`VALUE_MAX`].
    TooLarge,
    /// The item changed under each of many attempts to update it.
    TooBusy,
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl<L: Locks> Store<L> {
    /// An empty store.
    ///
    /// # Errors
    /// When a field of `config` is out of its range, or the memory leaves no room for items.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let sizes = Sizes::new(&config);
        let stripe_count = 1_usize << config.lock_power();
        let buckets_each = 1_usize << (config.hash_power() - config.lock_power());
        let stripe_bytes = size_of::<L::Mutex<Stripe>>() + buckets_each * size_of::<item::Chain>();
        let base = stripe_count * stripe_bytes + sizes.count() * size_of::<L::Mutex<Lru>>();
        let slabs = Slabs::new(&sizes, config.memory, base)?;
        let stripe = |_| L::Mutex::named("item", Stripe::new(buckets_each));
        let lru = |class| L::Mutex::named("lru", Lru::new(sizes.per_page(class)));
        Ok(Self {
            slabs: L::Mutex::named("slabs", slabs),
            stripes: (0..stripe_count).map(stripe).collect(),
            lrus: (0..sizes.count()).map(lru).collect(),
            sizes,
            config,
            orphans: Orphans::default(),
            hasher: RandomState::new(),
            last_cas: AtomicU64::new(0),
            flushed_cas: AtomicU64::new(0),
            flushed_before: AtomicU32::new(0),
            flush_at: AtomicU32::new(0),
            slabs_hold_ns: AtomicU64::new(0),
        })
    }

    /// What `read` makes of the item, which it sees under the item lock; `None` on a miss.
    ///
    /// # Errors
    /// [`Refused`] by the item lock.
    pub async fn get<R>(
        &self,
        key: &[u8],
        now: u32,
        read: impl FnOnce(Found<'_>) -> R,
    ) -> Result<Option<R>, Refused> {
        let count = |counts: &mut Counts, hit| {
            *(if hit { &mut counts.get_hits } else { &mut counts.get_misses }) += 1;
        };
        self.look_up(key, now, read, count).await
    }

    /// `count` is told whether it was a hit.
    async fn look_up<R>(
        &self,
        key: &[u8],
        now: u32,
        read: impl FnOnce(Found<'_>) -> R,
        count: impl FnOnce(&mut Counts, bool),
    ) -> Result<Option<R>, Refused> {
        let hash = self.hasher.hash_one(key);
        let mut stripe = self.stripe(hash).lock_within_budget().await?;
        let Some(item) = stripe.find(hash, key).filter(|item| !self.is_dead(item, now)) else {
            count(&mut stripe.counts, false);
            return Ok(None);
        };
        if item.bumped.saturating_add(BUMP_EVERY_S) <= now
            && let Some(mut lru) = self.lrus[usize::from(item.class)].try_lock()
        {
            item.bumped = now;
            lru.bump(item.slot);
        }
        let result = read(found(item));
        count(&mut stripe.counts, true);
        Ok(Some(result))
    }

    /// Stores an item, evicting others where the memory is full.
    ///
    /// # Errors
    /// [`Failure`]; then this key is as it was.
    pub async fn put(&self, put: Put<'_>, now: u32) -> Result<Stored, Failure> {
        let mut fresh = self.allocate(put.key, put.value, now).await?;
        let hash = self.hasher.hash_one(put.key);
        let stripe = match self.stripe(hash).lock_within_budget().await {
            Ok(stripe) => stripe,
            Err(refused) => {
                fresh.free().await;
                return Err(refused.into());
            }
        };
        fresh.item().hash = hash;
        self.link(stripe, fresh, put, now).await
    }

    /// Removes an item. False on a miss.
    ///
    /// # Errors
    /// [`Refused`] by the item lock or the LRU lock.
    pub async fn delete(&self, key: &[u8], now: u32) -> Result<bool, Refused> {
        let hash = self.hasher.hash_one(key);
        let mut stripe = self.stripe(hash).lock_within_budget().await?;
        let Some(item) = stripe.find(hash, key) else {
            stripe.counts.delete_misses += 1;
            return Ok(false);
        };
        let (class, slot, dead) = (item.class, item.slot, self.is_dead(item, now));
        let mut lru = self.lrus[usize::from(class)].lock_within_budget().await?;
        lru.unlink(slot);
        let removed = stripe.remove(hash, class, slot).map(|item| self.lease(item));
        if dead {
            stripe.counts.delete_misses += 1;
        } else {
            stripe.counts.delete_hits += 1;
        }
        drop((lru, stripe));
        if let Some(removed) = removed {
            removed.free().await;
        }
        Ok(!dead)
    }

    /// Gives an item another time to die. False on a miss.
    ///
    /// # Errors
    /// [`Refused`] by the item lock.
    pub async fn touch(&self, key: &[u8], expires: u32, now: u32) -> Result<bool, Refused> {
        let hash = self.hasher.hash_one(key);
        let mut stripe = self.stripe(hash).lock_within_budget().await?;
        let found = stripe.find(hash, key).filter(|item| !self.is_dead(item, now));
        let hit = found.map(|item| item.expires = expires).is_some();
        if hit {
            stripe.counts.touch_hits += 1;
        } else {
            stripe.counts.touch_misses += 1;
        }
        Ok(hit)
    }

    /// Parts that [`Store::visit`] goes through: each key is in the same one for ever.
    pub const fn parts(&self) -> usize {
        self.stripes.len()
    }

    /// Shows `see` every key of a part, from 0, in no order. Takes an item lock for so long.
    ///
    /// # Errors
    /// [`Refused`] by that lock.
    pub async fn visit(
        &self,
        part: usize,
        now: u32,
        mut see: impl FnMut(&[u8]),
    ) -> Result<(), Refused> {
        let Some(stripe) = self.stripes.get(part) else { return Ok(()) };
        let stripe = stripe.lock_within_budget().await?;
        let living = stripe.items().filter(|item| !self.is_dead(item, now));
        living.for_each(|item| see(item.key()));
        Ok(())
    }

    /// Everything that is stored now is dead from now on.
    pub fn flush(&self) {
        self.flushed_cas.fetch_max(self.last_cas.load(Relaxed), Relaxed);
        self.flush_at.store(0, Relaxed);
    }

    /// What is stored before second `at` is dead from then on. Replaces an earlier call that is still
    /// to come.
    pub fn flush_at(&self, at: u32, now: u32) {
        let earlier = self.flush_at.swap(at, Relaxed);
        if earlier <= now {
            self.flushed_before.fetch_max(earlier, Relaxed);
        }
    }

    /// Sets the extra time for which each allocation and each release holds the slabs lock. Experiments need it on machines
    /// with too few cores to fill the lock by computing.
    pub fn hold_slabs_for(&self, time: Duration) {
        self.slabs_hold_ns.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// What happened so far. Takes each item lock in turn, for as long as it takes.
    pub async fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for stripe in &self.stripes {
            counts.add(&stripe.lock().await.counts);
        }
        counts
    }

    /// Every class of chunks, the smallest first.
    pub async fn classes(&self) -> Vec<ClassStats> {
        self.slabs.lock().await.stats()
    }

    /// Bytes in use for tables, pages and headers: never more than [`Config::memory`].
    pub async fn memory(&self) -> usize {
        self.slabs.lock().await.used()
    }

    /// What it was made with.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Buckets and item locks.
    pub fn table(&self) -> (u64, u64) {
        (1 << self.config.hash_power(), 1 << self.config.lock_power())
    }

    fn stripe(&self, hash: u64) -> &L::Mutex<Stripe> {
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits matter")]
        let index = hash as usize & (self.stripes.len() - 1);
        &self.stripes[index]
    }

    fn is_dead(&self, item: &Item, now: u32) -> bool {
        let flush_at = self.flush_at.load(Relaxed);
        let flush_at = if flush_at <= now { flush_at } else { 0 };
        (item.expires != 0 && item.expires <= now)
            || item.cas <= self.flushed_cas.load(Relaxed)
            || item.stored < flush_at.max(self.flushed_before.load(Relaxed))
    }

    /// A filled chunk that no table knows yet.
    async fn allocate(&self, key: &[u8], value: &[u8], now: u32) -> Result<Lease<'_, L>, Failure> {
        if key.is_empty() || key.len() > KEY_MAX || value.len() > VALUE_MAX {
            return Err(Failure::TooLarge);
        }
        let fitting = self.sizes.class_of(key.len() + value.len()).ok_or(Failure::TooLarge)?;
        // Where a class of huge chunks came too late to get a page, a larger one may have a chunk.
        for class in fitting..self.sizes.count() {
            let mut slabs = self.slabs.lock_within_budget().await?;
            self.orphans.return_to(&mut slabs);
            self.hold().await;
            let taken = slabs.take(class);
            drop(slabs);
            let taken = match taken {
                Some(item) => Some(item),
                None => self.evict(class, now).await?,
            };
            if let Some(mut item) = taken {
                item.fill(key, value);
                return Ok(self.lease(item));
            }
        }
        Err(Failure::OutOfMemory)
    }

    /// Takes the chunk of the oldest item whose lock is free. Items are locked before the LRU elsewhere,
    /// so here they are only tried.
    async fn evict(&self, class: usize, now: u32) -> Result<Option<Box<Item>>, Refused> {
        let mut lru = self.lrus[class].lock_within_budget().await?;
        for (slot, hash) in lru.oldest(EVICTION_TRIES) {
            let Some(mut stripe) = self.stripe(hash).try_lock() else { continue };
            let number = u8::try_from(class).expect("Config::check bounds the classes");
            if let Some(item) = stripe.remove(hash, number, slot) {
                lru.unlink(slot);
                if self.is_dead(&item, now) {
                    stripe.counts.reclaimed += 1;
                } else {
                    stripe.counts.evictions += 1;
                }
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// Puts the fresh item into its bucket and its LRU, and frees whichever it does not need.
    async fn link(
        &self,
        mut stripe: impl DerefMut<Target = Stripe>,
        mut fresh: Lease<'_, L>,
        put: Put<'_>,
        now: u32,
    ) -> Result<Stored, Failure> {
        let hash = fresh.item().hash;
        let old = stripe.find(hash, put.key);
        let verdict = put.when.judge(old.as_deref().filter(|item| !self.is_dead(item, now)));
        put.when.count(verdict, &mut stripe.counts);
        let old = stripe.find(hash, put.key).map(|item| (item.class, item.slot));
        let lists = match verdict {
            Stored::Stored => self.lists(fresh.item().class, old.map(|(class, _)| class)).await,
            unmet => {
                drop(stripe);
                fresh.free().await;
                return Ok(unmet);
            }
        };
        let (mut home, mut other) = match lists {
            Ok(lists) => lists,
            Err(refused) => {
                drop(stripe);
                fresh.free().await;
                return Err(refused.into());
            }
        };
        if let Some((_, slot)) = old {
            other.as_deref_mut().unwrap_or(&mut *home).unlink(slot);
        }
        let replaced = old.and_then(|(class, slot)| stripe.remove(hash, class, slot));
        let replaced = replaced.map(|item| self.lease(item));
        let mut item = fresh.keep();
        (item.flags, item.expires) = (put.flags, put.expires);
        (item.stored, item.bumped) = (now, now);
        item.cas = self.last_cas.fetch_add(1, Relaxed) + 1;
        home.link(item.slot, hash);
        stripe.insert(item);
        stripe.counts.stored += 1;
        drop((home, other, stripe));
        if let Some(replaced) = replaced {
            replaced.free().await;
        }
        Ok(Stored::Stored)
    }

    /// The LRU of `home`, and of `other` where that is another one. Nothing has changed yet, so the
    /// request may still be refused.
    async fn lists(
        &self,
        home: u8,
        other: Option<u8>,
    ) -> Result<(LruGuard<'_, L>, Option<LruGuard<'_, L>>), Refused> {
        let lru = |class: u8| &self.lrus[usize::from(class)];
        match other.filter(|other| *other != home) {
            None => Ok((lru(home).lock_within_budget().await?, None)),
            Some(other) if other < home => {
                let other = lru(other).lock_within_budget().await?;
                Ok((lru(home).lock_within_budget().await?, Some(other)))
            }
            Some(other) => {
                let home = lru(home).lock_within_budget().await?;
                Ok((home, Some(lru(other).lock_within_budget().await?)))
            }
        }
    }

    async fn hold(&self) {
        let time_ns = self.slabs_hold_ns.load(Relaxed);
        if time_ns > 0 {
            L::hold(Duration::from_nanos(time_ns)).await;
        }
    }

    const fn lease(&self, item: Box<Item>) -> Lease<'_, L> {
        Lease::new(self, item)
    }
}

type LruGuard<'a, L> = <<L as Locks>::Mutex<Lru> as Lock<Lru>>::Guard<'a>;

impl When {
    fn judge(self, found: Option<&Item>) -> Stored {
        match (self, found) {
            (Self::Always, _) | (Self::Absent, None) | (Self::Present, Some(_)) => Stored::Stored,
            (Self::Absent, Some(_)) | (Self::Present, None) => Stored::NotStored,
            (Self::Unchanged(_) | Self::Same(_), None) => Stored::NotFound,
            (Self::Unchanged(cas) | Self::Same(cas), Some(item)) if item.cas == cas => {
                Stored::Stored
            }
            (Self::Unchanged(_) | Self::Same(_), Some(_)) => Stored::Changed,
        }
    }

    const fn count(self, verdict: Stored, counts: &mut Counts) {
        if matches!(self, Self::Unchanged(_)) {
            match verdict {
                Stored::Stored => counts.cas_hits += 1,
                Stored::NotStored | Stored::Changed => counts.cas_changed += 1,
                Stored::NotFound => counts.cas_misses += 1,
            }
        }
    }
}

fn found(item: &Item) -> Found<'_> {
    Found { value: item.value(), flags: item.flags, cas: item.cas, expires: item.expires }
}

impl<L: Locks> fmt::Debug for Store<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("config", &self.config).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
