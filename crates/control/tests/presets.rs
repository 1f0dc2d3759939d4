//! A publication's constants stand in the profile `paper`, where they hold for every workload. They also stand in
//! `presets/`, which has each workload's settings whole, for any profile. They must not differ.

use std::time::Duration;
use tailwater_control::{breakwater, dagor, seda};

const PRESETS: &str = include_str!("../../../presets/breakwater-osdi20.toml");
/// Profiles say nothing of a workload but its objective; any will do.
const SLO: Duration = Duration::from_micros(200);

/// Every value of a setting of a controller, whichever the workload.
fn stated(controller: &str, setting: &str) -> Vec<String> {
    let mut ours = false;
    let mut values = Vec::new();
    for line in PRESETS.lines() {
        if let Some(section) = line.strip_prefix('[') {
            ours = section.split(['.', ']']).nth(1) == Some(controller);
        } else if let Some((name, value)) = line.split_once('=')
            && ours
            && name.trim() == setting
        {
            let value = value.split('#').next().unwrap_or_default();
            values.push(value.trim().trim_matches('"').to_owned());
        }
    }
    values
}

#[test]
fn what_holds_for_every_workload_is_the_same_in_profiles_and_presets() {
    let (pool, levels) = (breakwater::Config::paper(SLO, 1), dagor::Config::paper(SLO));
    let millis = |time: Duration| format!("{}ms", time.as_millis());
    let constants = [
        ("breakwater", "alpha", pool.alpha.to_string()),
        ("breakwater", "beta", pool.beta.to_string()),
        ("dagor", "alpha", levels.alpha.to_string()),
        ("dagor", "beta", levels.beta.to_string()),
        ("dagor", "update_every", millis(levels.update_every)),
        ("dagor", "update_requests", levels.update_requests.to_string()),
        ("seda", "timeout", millis(seda::Config::paper(SLO).timeout)),
    ];
    for (controller, setting, value) in constants {
        let stated = stated(controller, setting);
        assert_eq!(stated.len(), 4, "{controller}.{setting} of four workloads");
        assert!(stated.iter().all(|it| *it == value), "{controller}.{setting}: {stated:?}");
    }
}

#[test]
fn the_profiles_are_tuned_for_the_first_workload() {
    let first = |controller, setting| stated(controller, setting).swap_remove(0);
    let seda = seda::Config::paper(SLO);
    assert_eq!(first("seda", "adj_i"), seda.adj_i.to_string());
    assert_eq!(first("seda", "adj_d"), seda.adj_d.to_string());
    let micros = |time: Duration| format!("{}us", time.as_micros());
    assert_eq!(first("seda", "target"), micros(seda.target));
    assert_eq!(first("dagor", "delay_limit"), micros(dagor::Config::paper(SLO).delay_limit));
    let target = breakwater::Config::paper(SLO, 1).target_delay;
    assert_eq!(first("breakwater", "target_delay"), micros(target));
}
