//! Breakwater's server AQM alone, as the catalog knows it.

use super::{AQM, server};
use crate::breakwater::Config;
use crate::client::OpenGate;
use crate::family::clients;
use crate::family::{Family, Profile};

pub(crate) const FAMILY: Family<Config> = Family {
    name: "aqm-only",
    summary: "Breakwater's server AQM without credits: shedding alone",
    profiles: &[
        Profile {
            name: "default",
            server: |site| without_credits(Config::tuned(site.slo, site.serving_cores())),
            client: clients::open,
        },
        Profile {
            name: "paper",
            server: |site| without_credits(Config::paper(site.slo, site.serving_cores())),
            client: clients::open,
        },
        Profile {
            name: "artifact",
            server: |site| without_credits(Config::artifact(site.slo, site.serving_cores())),
            client: clients::open,
        },
    ],
    settings: &[AQM],
    server,
    gate: |_, _| Box::new(OpenGate),
};

fn without_credits(config: Config) -> Config {
    Config { credits: false, ..config }
}
