//! How long something takes: a distribution with what it needs, wherever a scenario asks for times.

use super::item::Item;
use super::keys::{TIMES, Variant};
use super::section::Section;
use crate::distribution::{Distribution, Pareto};
use crate::empirical::Empirical;
use crate::limits;
use crate::service::Service;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::duration::format_duration;

/// The longest of a Pareto distribution, in means, where nothing is said.
const PARETO_LONGEST: f64 = 1_000.0;

/// A text is a constant, a table has a distribution.
pub(super) fn read(item: &Item<'_>) -> Option<Service> {
    let Some(section) = item.table() else {
        let mean = item.duration()?;
        return Some(Service { distribution: Distribution::Constant, mean });
    };
    of(&section)
}

/// The same in a table that may have further keys.
pub(super) fn of(section: &Section<'_>) -> Option<Service> {
    let variant: Option<&Variant> = section.needed("distribution", |item| {
        let names: Vec<(&str, &Variant)> = TIMES.iter().map(|kind| (kind.name, kind)).collect();
        item.choice(&names)
    });
    let Some(Variant { name, keys: known, .. }) = variant else {
        // What is wrong with the mean is told along with it.
        let _ = mean(section);
        return None;
    };
    for key in TIMES.iter().flat_map(|kind| kind.keys).filter(|key| !known.contains(key)) {
        if let Some(item) = section.item(key) {
            item.problem(format!(
                "{} means nothing to the distribution {name}; leave it out",
                item.name
            ));
        }
    }
    let service = match *name {
        "empirical" => empirical(section)?,
        _ => {
            let mean = mean(section);
            let distribution = shape(section, name, mean)?;
            Service { distribution, mean: mean? }
        }
    };
    let most = service.distribution.mean_max();
    if service.mean > most {
        let item = section.item("mean").or_else(|| section.item("file"))?;
        item.problem(format!(
            "{} makes a mean of {}; at most {} is needed, or too much of the work lies in requests of more \
             than {}, which none may take",
            item.name,
            format_duration(service.mean),
            format_duration(most),
            format_duration(limits::REQUEST_MAX)
        ));
    }
    Some(service)
}

fn mean(section: &Section<'_>) -> Option<Duration> {
    section.needed("mean", Item::duration)
}

fn shape(section: &Section<'_>, name: &str, mean: Option<Duration>) -> Option<Distribution> {
    Some(match name {
        "constant" => Distribution::Constant,
        "exponential" => Distribution::Exponential,
        "bimodal" => Distribution::Bimodal,
        "lognormal" => match section.only_one(&["sigma", "p99_of_p50"])? {
            (0, item) => Distribution::LogNormal { sigma: item.number()? },
            (_, item) => Distribution::log_normal_of_ratio(item.number()?),
        },
        "gamma" => {
            let shape = section.needed("shape", Item::number);
            Distribution::Gamma { shape: shape? }
        }
        _ => {
            let shape = section.needed("shape", |item| item.number_in(&limits::PARETO_SHAPE));
            let longest = longest(section, mean);
            Distribution::Pareto(Pareto::new(shape?, longest?))
        }
    })
}

/// The longest request of a Pareto distribution, in means.
fn longest(section: &Section<'_>, mean: Option<Duration>) -> Option<f64> {
    let Some(item) = section.item("max") else {
        let most = limits::REQUEST_MAX.div_duration_f64(mean?.max(Duration::from_nanos(1)));
        return Some(PARETO_LONGEST.min(most));
    };
    let max = item.duration()?;
    let mean = mean?;
    if mean.is_zero() || max < 2 * mean {
        return item.wrong(format_args!(
            "at least twice the mean, which is {}, and a mean above 0",
            format_duration(mean)
        ));
    }
    Some(max.div_duration_f64(mean))
}

/// Measured times, in the file's own mean or another.
fn empirical(section: &Section<'_>) -> Option<Service> {
    let said = section.item("mean").map(|item| item.duration());
    let (times, own) = section.needed("file", |item| {
        let text = item.beside()?;
        let name = item.text()?;
        match Empirical::parse(&text) {
            Ok(found) => Some(found),
            Err(error) => {
                item.problem(format!("{}: {name}:{error}", item.name));
                None
            }
        }
    })?;
    let mean = said.map_or(Some(own), |mean| mean)?;
    Some(Service { distribution: Distribution::Empirical(Arc::new(times)), mean })
}

#[cfg(test)]
mod tests;
