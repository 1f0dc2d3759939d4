//! No control, in the catalog.

use super::clients;
use super::family::{Family, Profile};
use crate::client::OpenGate;
use crate::none::None as NoControl;
use std::sync::Arc;

pub(super) static NONE: Family<()> = Family {
    name: "none",
    summary: "no control: every request is sent and served",
    profiles: &[
        Profile { name: "default", server: |_| (), client: clients::open },
        Profile { name: "paper", server: |_| (), client: clients::open },
        Profile { name: "artifact", server: |_| (), client: clients::open },
    ],
    settings: &[],
    server: |(), _| Ok(Arc::new(NoControl)),
    gate: |(), _| Box::new(OpenGate),
};
