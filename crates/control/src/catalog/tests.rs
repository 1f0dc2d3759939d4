//! What the catalog accepts and what it says otherwise.

use super::*;
use std::time::Duration;

const SLO: Duration = Duration::from_micros(200);

fn with(overrides: &[(&str, &str)]) -> Result<Controller, SpecError> {
    let mut spec = Spec::named("breakwater");
    spec.overrides =
        overrides.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    spec.build(&Site::one_loop(SLO, 1))
}

fn complaint(overrides: &[(&str, &str)]) -> String {
    with(overrides).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn every_controller_and_profile_builds() {
    for family in FAMILIES {
        let profiles = profiles_of(family.name());
        assert!(profiles.contains(&"default"), "{}", family.name());
        for profile in profiles {
            assert!(PROFILES.iter().any(|(known, _)| *known == profile), "{profile} has no help");
            let spec = Spec { profile: profile.into(), ..Spec::named(family.name()) };
            let controller = spec.build(&Site::of_loops(SLO, 2, 1)).unwrap();
            assert_eq!(controller.admission.name(), family.name());
        }
    }
}

/// C_min and the artifact's smallest pool are the cores, of one loop or ten.
#[test]
fn cores_bound_the_pool_from_below() {
    for name in ["breakwater", "efficiency", "gradient"] {
        let pool = |loops, cores| {
            let site = Site { loops, cores, ..Site::one_loop(SLO, 1) };
            Spec::named(name).build(&site).unwrap().admission.gauges().pool
        };
        assert_eq!(pool(10, 10), pool(1, 10), "{name}");
        assert!(pool(1, 100) > pool(1, 1), "{name}");
    }
}

#[test]
fn errors_say_what_was_found_and_what_is_needed() {
    assert_eq!(complaint(&[("alhpa", "1")]).split(';').next(), Some("setting 'alhpa' is unknown"));
    assert_eq!(
        complaint(&[("target_delay", "80")]),
        "target_delay: \"80\" has no unit; ns, us, ms, s or min is needed, as in 250ms"
    );
    assert_eq!(
        complaint(&[("explicit", "fair")]),
        "explicit: 'fair' found, one of random, oldest-first is needed"
    );
    assert_eq!(complaint(&[("alpha", "2")]), "alpha is 2; a number from 0 to 1 is needed");
    assert_eq!(
        complaint(&[("shed_cap", "1.5")]),
        "shed_cap is 1.5; a number from 0 to 1 is needed"
    );
    assert!(complaint(&[("alpha", "-1")]).contains("0 or more"));
    assert_eq!(complaint(&[("expiry", "0us")]), "expiry: '0us' found, a time above zero is needed");
    assert!(complaint(&[("expiry", "0")]).starts_with("expiry: \"0\" has no unit"));
    assert!(with(&[("expiry", "0.001")]).is_ok() && with(&[("expiry", "1")]).is_ok());
    let unknown = Spec::named("breakwatr").build(&Site::one_loop(SLO, 1)).err().unwrap();
    let said =
        "controller 'breakwatr' is unknown; did you mean breakwater? Known are none, breakwater, ";
    assert!(unknown.message.starts_with(said), "{unknown}");
    let profile = Spec { profile: "papre".into(), ..Spec::named("breakwater") };
    let unknown = profile.build(&Site::one_loop(SLO, 1)).err().unwrap();
    assert_eq!(
        unknown.message,
        "profile 'papre' is unknown; did you mean paper? Known are default, paper, artifact"
    );
}

#[test]
fn what_is_meant_by_another_name_is_told() {
    let said = |name: &str, key: &str| {
        let overrides = vec![(key.to_owned(), "1".to_owned())];
        let spec = Spec { overrides, ..Spec::named(name) };
        spec.build(&Site::one_loop(SLO, 1)).err().map(|error| error.message).unwrap_or_default()
    };
    let protego = said("protego", "x");
    assert!(
        protego
            .starts_with("controller 'protego' is unknown; Protego is efficiency. Known are none,"),
        "{protego}"
    );
    // Its name stands in the summary of another, too.
    for (found, own) in [("Breakwater", "breakwater"), ("AQM-Only", "aqm-only")] {
        let start = format!("controller '{found}' is unknown; did you mean {own}? Known are none,");
        assert!(said(found, "x").starts_with(&start), "{}", said(found, "x"));
    }
    let near = said("breakwater", "target");
    let own = "setting 'target' does not apply to breakwater, whose own is target_delay; it is one of codel,";
    assert!(near.starts_with(own), "{near}");
    let of_others = said("none", "target_dely");
    assert!(of_others.starts_with("target_delay is a setting of breakwater"), "{of_others}");
    assert!(of_others.contains("setting 'target_dely' is unknown"), "{of_others}");
    // Words of a summary that are no names lead nowhere.
    assert!(said("credits", "x").starts_with("controller 'credits' is unknown; known are"));
}

/// A sensible value for each setting, whichever controllers have it.
const VALUES: &[(&str, &str)] = &[
    ("target_delay", "80us"),
    ("drop_threshold", "0.16ms"),
    ("aqm", "false"),
    ("deadline_aware", "true"),
    ("classes", "0.35"),
    ("alpha", "0.002"),
    ("beta", "0.08"),
    ("increase", "carried"),
    ("signal", "predicted"),
    ("growth", "0.8"),
    ("reserve", "false"),
    ("refusals", "0.2"),
    ("settle", "10us"),
    ("interval", "10us"),
    ("efficiency_threshold", "0.3"),
    ("drop_cap", "0.2"),
    ("additive", "0.002"),
    ("decrease", "additive"),
    ("judge", "published"),
    ("memory", "8"),
    ("spared_drops", "0.1"),
    ("delay_steers", "false"),
    ("pool_max", "1000"),
    ("issued", "unused"),
    ("last_credit", "revoked"),
    ("explicit", "random"),
    ("demand", "synchronised"),
    ("trust", "claimed"),
    ("idle_after", "never"),
    ("round_trip", "smoothed"),
    ("starvation_limit", "1s"),
    ("window_max", "16"),
    ("pause", "10"),
    ("pool_min", "4"),
    ("pools", "shared"),
    ("variant", "threshold"),
    ("delay_limit", "70us"),
    ("update_every", "2ms"),
    ("update_requests", "1000"),
    ("sample_every", "20us"),
    ("gain", "0.3"),
    ("unseen", "as-arrived"),
    ("class_bits", "2"),
    ("user_bits", "4"),
    ("start_level", "32"),
    ("draw", "1s"),
    ("belief", "random"),
    ("probe_after", "50ms"),
    ("target", "80us"),
    ("ceiling", "0.3ms"),
    ("responses", "50"),
    ("timeout", "2ms"),
    ("smoothing", "0.5"),
    ("adj_i", "40"),
    ("adj_i_share", "0.2"),
    ("adj_d", "1.04"),
    ("rate_min", "1"),
    ("rate_max", "100000"),
    ("rate_initial_min", "4"),
    ("rate_initial_max", "600"),
    ("burst", "8"),
    ("fresh_only", "false"),
    ("grow_unused", "true"),
    ("window_initial", "4"),
    ("window_step", "2"),
    ("window_decrease", "0.5"),
    ("cut", "each-response"),
    ("limit_initial", "30"),
    ("limit_min", "2"),
    ("limit_max", "300"),
    ("tolerance", "2"),
    ("queue", "root"),
    ("long_window", "100"),
    ("drift_decay", "0.9"),
    ("baseline_min", "10us"),
    ("baseline_max", "never"),
    ("sample_floor", "1us"),
    ("span_min", "1ms"),
    ("span_max", "1ms"),
    ("window_samples", "30"),
    ("queue_max", "16"),
    ("expiry", "10us"),
    ("deregister_after", "never"),
    ("mode", "dry-run"),
    ("shed_cap", "0.5"),
];

#[test]
fn every_setting_of_every_controller_accepts_a_sensible_value() {
    for setting in SETTINGS.iter() {
        let value = VALUES.iter().find(|(name, _)| *name == setting.name);
        let (name, value) =
            value.unwrap_or_else(|| panic!("{} needs a line in VALUES", setting.name));
        for controller in &setting.controllers {
            let mut overrides = vec![((*name).into(), (*value).into())];
            if setting.name == "settle" {
                overrides.insert(0, ("interval".into(), "1ms".into()));
            }
            let spec = Spec { overrides, ..Spec::named(controller) };
            let built = spec.build(&Site::one_loop(SLO, 1));
            assert!(built.is_ok(), "{spec}: {}", built.err().unwrap());
        }
    }
}

#[test]
fn a_setting_of_another_controller_is_refused_with_their_names() {
    let overrides = vec![("drop_threshold".into(), "80us".into())];
    let error =
        Spec { overrides, ..Spec::named("none") }.build(&Site::one_loop(SLO, 1)).err().unwrap();
    assert_eq!(error.culprit, "drop_threshold");
    let said = "setting 'drop_threshold' does not apply to none; it is one of breakwater, ";
    assert!(error.message.starts_with(said), "{error}");
}
