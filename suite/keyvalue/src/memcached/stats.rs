//! `stats` and its topics.

use super::front::{Front, line};
use crate::locks::{Blocking, at_once};
use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering::Relaxed;

/// Appends the statistics of that topic: none for the general ones, `slabs`, `settings`, or (ours)
/// `locks`.
pub(super) fn write<L: Blocking>(front: &Front<L>, topic: &[u8], out: &mut Vec<u8>) {
    let mut lines = Lines(out);
    match topic {
        b"" => general(front, &mut lines),
        b"slabs" => slabs(front, &mut lines),
        b"settings" => settings(front, &mut lines),
        b"locks" => locks(&mut lines),
        _ => return line(out, "CLIENT_ERROR unknown topic; slabs, settings and locks are known"),
    }
    line(out, "END");
}

struct Lines<'a>(&'a mut Vec<u8>);

impl Lines<'_> {
    fn add(&mut self, name: impl Display, value: impl Display) {
        let mut text = String::new();
        let _ = write!(text, "STAT {name} {value}");
        line(self.0, &text);
    }
}

fn general<L: Blocking>(front: &Front<L>, lines: &mut Lines<'_>) {
    let counts = at_once(front.store().counts());
    lines.add("pid", std::process::id());
    lines.add("uptime", front.uptime_s());
    lines.add("time", front.unix_s());
    lines.add("version", env!("CARGO_PKG_VERSION"));
    lines.add("pointer_size", usize::BITS);
    lines.add("curr_connections", front.connections.open.load(Relaxed));
    lines.add("total_connections", front.connections.ever.load(Relaxed));
    lines.add("rejected_connections", front.connections.rejected.load(Relaxed));
    lines.add("idle_kicks", front.connections.idle_ended.load(Relaxed));
    lines.add("buffer_bytes_lent", front.pool.lent());
    lines.add("cmd_get", counts.get_hits + counts.get_misses);
    lines.add("cmd_set", counts.stored);
    lines.add("get_hits", counts.get_hits);
    lines.add("get_misses", counts.get_misses);
    lines.add("delete_hits", counts.delete_hits);
    lines.add("delete_misses", counts.delete_misses);
    lines.add("touch_hits", counts.touch_hits);
    lines.add("touch_misses", counts.touch_misses);
    lines.add("cas_hits", counts.cas_hits);
    lines.add("cas_badval", counts.cas_changed);
    lines.add("cas_misses", counts.cas_misses);
    lines.add("curr_items", counts.items);
    lines.add("total_items", counts.stored);
    lines.add("bytes", counts.bytes);
    lines.add("evictions", counts.evictions);
    lines.add("reclaimed", counts.reclaimed);
    lines.add("limit_maxbytes", front.store().config().memory);
    lines.add("used_bytes", at_once(front.store().memory()));
    lines.add("hash_power_level", front.store().table().0.ilog2());
}

/// Classes that have a page.
fn slabs<L: Blocking>(front: &Front<L>, lines: &mut Lines<'_>) {
    let classes = at_once(front.store().classes());
    let paged = classes.iter().enumerate().filter(|(_, class)| class.pages > 0);
    for (number, class) in paged.clone() {
        let mut add =
            |name: &str, value: u64| lines.add(format_args!("{}:{name}", number + 1), value);
        add("chunk_size", class.chunk_size as u64);
        add("chunks_per_page", class.chunks_per_page as u64);
        add("total_pages", u64::from(class.pages));
        add("used_chunks", u64::from(class.used_chunks));
        add("free_chunks", u64::from(class.free_chunks));
    }
    lines.add("active_slabs", paged.count());
}

fn settings<L: Blocking>(front: &Front<L>, lines: &mut Lines<'_>) {
    let (buckets, locks) = front.store().table();
    let config = front.store().config();
    lines.add("maxbytes", config.memory);
    lines.add("chunk_size", config.chunk_min);
    lines.add("growth_factor", config.factor);
    lines.add("item_size_max", crate::store::VALUE_MAX);
    lines.add("buckets", buckets);
    lines.add("item_locks", locks);
    lines.add("buffer_bytes_max", front.pool.bytes());
    match front.budget() {
        Some(budget) => lines.add("lock_budget_us", budget.as_micros()),
        None => lines.add("lock_budget_us", "none"),
    }
}

/// The process's named locks, the one that was waited for most first.
fn locks(lines: &mut Lines<'_>) {
    for lock in tailwater_sync::report() {
        let mut add =
            |name: &str, value: u128| lines.add(format_args!("{}:{name}", lock.name), value);
        add("contended", lock.contended.into());
        add("refused", lock.refused.into());
        add("gave_up", lock.gave_up.into());
        add("wait_total_us", lock.wait_total.as_micros());
        add("wait_p50_us", lock.wait_p50.as_micros());
        add("wait_p99_us", lock.wait_p99.as_micros());
        add("wait_max_us", lock.wait_max.as_micros());
    }
}
