//! The threading model of a server, at its start and later.

use super::item::Item;
use super::section::Section;
use crate::limits;
use tailwater_core::threads::Model;

/// As one word, or by its parts.
pub(super) fn of_server(section: &Section<'_>) -> Model {
    let Some(item) = section.item("model") else {
        let placement = section.item("placement").and_then(|item| {
            let placement = item.word()?;
            bounded(&item, Model::from(placement)).map(|_| placement)
        });
        let reception = section.item("reception").and_then(|item| item.word());
        return Model {
            reception: reception.unwrap_or_default(),
            placement: placement.unwrap_or_default(),
            ..Model::default()
        };
    };
    for part in ["reception", "placement"].into_iter().filter_map(|part| section.item(part)) {
        part.problem(format!(
            "{} is given beside {}, which says it too; leave one out",
            part.name, item.name
        ));
    }
    read(&item).unwrap_or_default()
}

/// As one word.
pub(super) fn read(item: &Item<'_>) -> Option<Model> {
    bounded(item, item.word()?)
}

fn bounded(item: &Item<'_>, model: Model) -> Option<Model> {
    if model.workers() as u64 > limits::POOL_MAX {
        return item.wrong(format_args!("at most {} workers", limits::POOL_MAX));
    }
    if model.completion.crew() as u64 > limits::POOL_MAX {
        return item.wrong(format_args!("at most {} threads for calls", limits::POOL_MAX));
    }
    Some(model)
}
