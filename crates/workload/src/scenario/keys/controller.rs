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
        key(
            "name",
            Text,
            Needed,
            "\"breakwater\"",
            "The controller: one of those that tailwater controllers and README.md list. none is without control; servers \
             still refuse what is past its deadline, and locks what server.locks.policy does. With locks = \"plain\" locks \
             refuse nothing.",
        ),
        key(
            "profile",
            Text,
            Is("\"default\""),
            "\"paper\"",
            "Which settings it begins with. default: ours. paper: as the publication's text has them. artifact: as its \
             code has them. scaled and original: of baselines, told by tailwater controllers. Not every controller has all: of a \
             wrong one tailwater check says which it has.",
        ),
        key(
            "preset",
            Text,
            Means("none"),
            "\"breakwater-osdi20/10us\"",
            "Settings of a publication's testbed on top of the profile, for example for one service time.",
        ),
        key(
            "override",
            Settings,
            Means("none"),
            "{ target_delay = \"80us\" }",
            "Single settings that differ from profile and preset, by the names that tailwater controllers lists.",
        ),
        key(
            "label",
            Text,
            Means("its profile, with preset and overrides"),
            "\"tight\"",
            "Told beside its name in tables and plots, so that variants of one controller can be told apart.",
        ),
        key(
            "locks",
            Word(words::<LockPolicy>),
            Means("server.locks.policy"),
            "\"plain\"",
            "What requests of its runs do at taken locks, in place of server.locks.policy, so that one file can compare \
             policies. docs/protego.md has the controller that is meant for servers whose requests wait at locks.",
        ),
        key(
            "model",
            Word(words::<Model>),
            Means("server.model"),
            "\"sdb:4\"",
            "The server's threading model in its runs, in place of server.model, so that one file can compare models.",
        ),
    ],
);
