//! The allocator: pages cut into chunks of a class's size, within a limit of bytes.
//!
//! Memory never returns from a class, as in memcached without its page mover. So that no class comes too
//! late, each whose chunks are no larger than a page has its first one reserved from the start.

use super::config::{CHUNK_MAX, CHUNK_OVERHEAD, Config, ConfigError};
use super::item::{Chain, Item};
use bytes::BytesMut;

/// The chunk sizes, smallest first. They do not change, so no lock is needed to look at them.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    sizes: Box<[usize]>,
    page: usize,
}

impl Sizes {
    /// From the smallest chunk on, each larger by the factor, up to what holds the largest item.
    pub(super) fn new(config: &Config) -> Self {
        let mut sizes = vec![config.chunk_min.next_multiple_of(8)];
        while let Some(&last) = sizes.last().filter(|last| **last < CHUNK_MAX) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "sizes up to a megabyte"
            )]
            let next = (last as f64 * config.factor) as usize;
            sizes.push(next.max(last + 1).next_multiple_of(8).min(CHUNK_MAX));
        }
        Self { sizes: sizes.into(), page: config.page() }
    }

    /// The smallest class whose chunks hold `len` bytes; `None` if none does.
    pub(super) fn class_of(&self, len: usize) -> Option<usize> {
        let class = self.sizes.partition_point(|size| *size < len);
        (class < self.sizes.len()).then_some(class)
    }

    pub(super) fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Chunks of a page; of those larger than half a page, one.
    pub(super) fn per_page(&self, class: usize) -> usize {
        (self.page / self.sizes[class]).max(1)
    }

    fn page_bytes(&self, class: usize) -> usize {
        self.per_page(class) * self.sizes[class]
    }

    /// With the headers of all its chunks, though they are made one by one.
    fn page_cost(&self, class: usize) -> usize {
        self.page_bytes(class) + self.per_page(class) * CHUNK_OVERHEAD
    }

    fn is_reserved(&self, class: usize) -> bool {
        self.sizes[class] <= self.page
    }
}

/// What the slabs lock protects.
#[derive(Debug)]
pub(super) struct Slabs {
    sizes: Sizes,
    classes: Box<[Class]>,
    limit: usize,
    used: usize,
}

#[derive(Debug, Default)]
struct Class {
    free: Chain,
    free_count: u32,
    /// What is not yet carved of the newest page.
    rest: BytesMut,
    carved: u32,
    pages: u32,
}

/// A class as `stats slabs` reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassStats {
    /// Bytes of a chunk.
    pub chunk_size: usize,
    /// Chunks that a page yields.
    pub chunks_per_page: usize,
    /// Pages taken.
    pub pages: u32,
    /// Chunks that hold an item or are being filled.
    pub used_chunks: u32,
    /// Chunks that were used and are free again.
    pub free_chunks: u32,
}

impl Slabs {
    /// `base` bytes are in use already.
    pub(super) fn new(sizes: &Sizes, limit: usize, base: usize) -> Result<Self, ConfigError> {
        let classes = std::iter::repeat_with(Class::default).take(sizes.count()).collect();
        let reserved: usize = (0..sizes.count())
            .filter(|class| sizes.is_reserved(*class))
            .map(|class| sizes.page_cost(class))
            .sum();
        let used = base + reserved;
        if used > limit {
            return Err(ConfigError::Memory { found: limit, needed: used });
        }
        Ok(Self { sizes: sizes.clone(), classes, limit, used })
    }

    /// A chunk of that class, from the free ones or from a page; `None` when the limit is reached.
    pub(super) fn take(&mut self, class: usize) -> Option<Box<Item>> {
        if let Some(item) = self.classes[class].free.pop() {
            self.classes[class].free_count -= 1;
            return Some(item);
        }
        let size = self.sizes.sizes[class];
        if self.classes[class].rest.len() < size {
            self.add_page(class)?;
        }
        let home = &mut self.classes[class];
        let slot = home.carved;
        home.carved += 1;
        let number = u8::try_from(class).expect("Config::check bounds the classes");
        Some(Item::new(home.rest.split_to(size), number, slot))
    }

    pub(super) fn give(&mut self, item: Box<Item>) {
        let home = &mut self.classes[usize::from(item.class)];
        home.free.push(item);
        home.free_count += 1;
    }

    /// Bytes in use: tables, pages, headers. At most the limit.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// Every class, by number.
    pub(super) fn stats(&self) -> Vec<ClassStats> {
        let read = |(class, home): (usize, &Class)| ClassStats {
            chunk_size: self.sizes.sizes[class],
            chunks_per_page: self.sizes.per_page(class),
            pages: home.pages,
            used_chunks: home.carved - home.free_count,
            free_chunks: home.free_count,
        };
        self.classes.iter().enumerate().map(read).collect()
    }

    fn add_page(&mut self, class: usize) -> Option<()> {
        let is_reserved = self.classes[class].pages == 0 && self.sizes.is_reserved(class);
        let cost = if is_reserved { 0 } else { self.sizes.page_cost(class) };
        if self.used + cost > self.limit {
            return None;
        }
        self.used += cost;
        self.classes[class].rest = BytesMut::zeroed(self.sizes.page_bytes(class));
        self.classes[class].pages += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::VALUE_MAX;
    use super::*;

    const LIMIT: usize = 8 << 20;

    fn sizes() -> Sizes {
        Sizes::new(&Config { memory: LIMIT, ..Config::default() })
    }

    #[test]
    fn every_length_has_the_smallest_class_that_holds_it() {
        let sizes = sizes();
        assert!(sizes.sizes.is_sorted());
        for len in [1, 48, 49, 100, 4_000, 100_000, VALUE_MAX, CHUNK_MAX] {
            let class = sizes.class_of(len).expect("a class");
            assert!(sizes.sizes[class] >= len);
            assert!(class == 0 || sizes.sizes[class - 1] < len);
        }
        assert_eq!(sizes.class_of(CHUNK_MAX + 1), None);
    }

    #[test]
    fn the_limit_holds_and_chunks_come_back() {
        let sizes = sizes();
        let mut slabs = Slabs::new(&sizes, LIMIT, 1_000).expect("room");
        let class = sizes.class_of(10_000).expect("a class");
        let mut taken: Vec<_> = std::iter::from_fn(|| slabs.take(class)).collect();
        assert!(slabs.used() <= LIMIT && LIMIT - slabs.used() < sizes.page_cost(class));
        assert_eq!(taken.len() % sizes.per_page(class), 0);
        let slots: std::collections::BTreeSet<u32> = taken.iter().map(|item| item.slot).collect();
        assert_eq!(slots.len(), taken.len(), "no two chunks share a slot");
        slabs.give(taken.pop().expect("one"));
        assert_eq!(slabs.stats()[class].free_chunks, 1);
        assert!(slabs.take(class).is_some());
        assert!(slabs.take(class).is_none());
    }

    #[test]
    fn every_class_gets_a_page_however_late_unless_its_chunks_are_huge() {
        let sizes = sizes();
        let mut slabs = Slabs::new(&sizes, LIMIT, 0).expect("room");
        let greedy = sizes.class_of(1_000).expect("a class");
        while slabs.take(greedy).is_some() {}
        for class in (0..sizes.count()).filter(|class| *class != greedy) {
            assert_eq!(slabs.take(class).is_some(), sizes.is_reserved(class), "class {class}");
            assert!(slabs.used() <= LIMIT);
        }
    }

    #[test]
    fn a_limit_without_room_for_the_tables_is_refused() {
        let error = Slabs::new(&sizes(), LIMIT, LIMIT).expect_err("too small");
        assert!(matches!(error, ConfigError::Memory { found: LIMIT, needed } if needed > LIMIT));
    }
}
