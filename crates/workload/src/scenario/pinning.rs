//! Lists of cores to which threads are pinned.

use super::item::Item;
use super::section::Section;

/// The cores under `cores`, one for each thread; empty when left out, which leaves threads to the
/// kernel. Too few or too many would leave the rest to chance, so `counts` says what fits.
pub(super) fn cores(section: &Section<'_>, counts: &[(u32, &str)]) -> Vec<u32> {
    let Some(item) = section.item("cores") else {
        return Vec::new();
    };
    let cores = item.each_distinct(Item::whole::<u32>);
    if !cores.is_empty() && !counts.iter().any(|(count, _)| *count as usize == cores.len()) {
        let needed: Vec<String> =
            counts.iter().map(|(count, whose)| format!("{whose} ({count})")).collect();
        item.problem(format!(
            "{} names {} cores; {} is needed, or leave it out",
            item.name,
            cores.len(),
            needed.join(" or ")
        ));
    }
    cores
}
