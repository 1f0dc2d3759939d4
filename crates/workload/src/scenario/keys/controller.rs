//! `[[controller]]`.

use super::Absent::{Is, Means, Needed};
use super::ValueKind::{Settings, Text, Word};
use super::{Table, key, table, words};
use tailwater_core::locks::LockPolicy;
use tailwater_core::threads::Model;

pub(super) static CONTROLLER: Table = table(
    "[[controller]]",
    "One controller that is compared. Names, profiles, presets and settings: type tailwater controllers.",
    &[
        key("name", Text, Needed, "\"breakwater\"", "Its name."),
        key(
            "profile",
            Text,
            Is("\"default\""),
            "\"paper\"",
            "Settings and choices under one name.",
        ),
        key(
            "preset",
            Text,
            Means("none"),
            "\"breakwater-osdi20/10us\"",
            "A publication's settings, which change the profile.",
        ),
        key(
            "override",
            Settings,
            Means("none"),
            "{ target_delay = \"80us\" }",
            "Settings that depart from profile and preset.",
        ),
        key(
            "label",
            Text,
            Means("its profile, with preset and overrides"),
            "\"tight\"",
            "Tells variants of a controller apart in reports.",
        ),
        key(
            "locks",
            Word(words::<LockPolicy>),
            Means("server.locks.policy"),
            "\"plain\"",
            "What requests of these runs do at taken locks, so that one file can compare.",
        ),
        key(
            "model",
            Word(words::<Model>),
            Means("server.model"),
            "\"sdb:4\"",
            "The server's threading model in these runs, so that one file can compare.",
        ),
    ],
);
