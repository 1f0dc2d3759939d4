//! What the catalog accepts and what it says otherwise.

use super::*;

const SLO: Duration = Duration::from_micros(200);

fn with(overrides: &[(&str, &str)]) -> Result<Controller, SpecError> {
    let mut spec = Spec::named("breakwater");
    spec.overrides =
        overrides.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    spec.build(SLO, 1, 1)
}

fn complaint(overrides: &[(&str, &str)]) -> String {
    with(overrides).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn every_controller_and_profile_builds() {
    for (name, _) in CONTROLLERS {
        for (profile, _) in PROFILES {
            let spec =
                Spec { name: (*name).into(), profile: (*profile).into(), overrides: Vec::new() };
            let controller = spec.build(SLO, 2, 1).unwrap();
            assert_eq!(controller.admission.name(), *name);
        }
    }
}

#[test]
fn errors_say_what_was_found_and_what_is_needed() {
    assert_eq!(complaint(&[("alhpa", "1")]).split(';').next(), Some("setting 'alhpa' is unknown"));
    assert_eq!(
        complaint(&[("target_delay", "80")]),
        "target_delay: '80' found, a duration such as 80us is needed"
    );
    assert_eq!(
        complaint(&[("explicit", "fair")]),
        "explicit: 'fair' found, one of random, oldest-first is needed"
    );
    assert_eq!(complaint(&[("alpha", "2")]), "alpha is 2; a number from 0 to 1 is needed");
    assert_eq!(complaint(&[("shed_cap", "1.5")]), "shed_cap is 1.5; 0 to 1 is needed");
    assert!(complaint(&[("alpha", "-1")]).contains("0 or more"));
    let unknown = Spec::named("breakwatr").build(SLO, 1, 1).err().unwrap();
    assert_eq!(
        unknown.message,
        "controller 'breakwatr' is unknown; known are none, breakwater, aqm-only"
    );
}

#[test]
fn every_setting_accepts_a_sensible_value() {
    let values = [
        ("target_delay", "80us"),
        ("drop_threshold", "0.16ms"),
        ("aqm", "false"),
        ("deadline_aware", "true"),
        ("alpha", "0.002"),
        ("beta", "0.08"),
        ("increase", "carried"),
        ("signal", "predicted"),
        ("growth", "0.8"),
        ("interval", "10us"),
        ("issued", "unused"),
        ("last_credit", "revoked"),
        ("explicit", "random"),
        ("demand", "synchronised"),
        ("starvation_limit", "1s"),
        ("window_max", "16"),
        ("pool_min", "4"),
        ("queue_max", "16"),
        ("expiry", "10us"),
        ("deregister_after", "never"),
        ("mode", "dry-run"),
        ("shed_cap", "0.5"),
    ];
    assert_eq!(
        values.map(|(name, _)| name).to_vec(),
        SETTINGS.iter().map(|s| s.name).collect::<Vec<_>>()
    );
    for value in values {
        assert_eq!(complaint(&[value]), "", "{value:?}");
    }
}
