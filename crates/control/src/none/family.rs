//! No control as the catalog knows it: names, profiles, settings, and how both ends are built.

use super::None as NoControl;
use crate::client::OpenGate;
use crate::family::clients;
use crate::family::{Family, Profile};
use std::sync::Arc;

pub(crate) const FAMILY: Family<()> = Family {
    name: "none",
    summary: "no control: every request is sent; servers refuse only what is past its deadline",
    profiles: &[
        Profile { name: "default", server: |_| (), client: clients::open },
        Profile { name: "paper", server: |_| (), client: clients::open },
        Profile { name: "artifact", server: |_| (), client: clients::open },
    ],
    settings: &[],
    server: |(), _| Ok(Arc::new(NoControl)),
    gate: |(), _| Box::new(OpenGate),
};
