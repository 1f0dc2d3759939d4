//! What is measured: each service with its load.

use crate::Result;

/// One of them.
#[derive(PartialEq, Debug)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    /// What a person reads.
    pub(crate) title: &'static str,
    /// Rules of `tailwater accelerate measure`.
    pub(crate) rules: &'static str,
    /// Requests per second, far below what one core serves together with the load and the leaves.
    pub(crate) rate: u32,
    pub(crate) kind: Kind,
}

/// How it is started and loaded.
#[derive(PartialEq, Debug)]
pub(crate) enum Kind {
    /// An application of `tailwater serve`, by the scenario of this name.
    Ours { scenario: &'static str, tier: Option<&'static str> },
    /// A program of others, in a protocol of `tailwater tune drive`.
    Foreign {
        protocol: &'static str,
        /// In the folder of Debian's sources.
        program: &'static str,
        /// For make.
        make: &'static [&'static str],
        /// Behind the program.
        words: &'static [&'static str],
    },
}

/// All of them. Each is loaded as the examples of `tailwater tune` load it, or as its scenario has it.
pub(crate) const ALL: &[Service] = &[
    Service {
        name: "key-value",
        title: "tailwater's key-value store",
        rules: "tailwater",
        rate: 10_000,
        kind: Kind::Ours { scenario: "key-value-usr-cost", tier: None },
    },
    Service {
        name: "hdsearch",
        title: "HDSearch's mid-tier",
        rules: "tailwater",
        rate: 400,
        kind: Kind::Ours { scenario: "hdsearch", tier: Some("leaf") },
    },
    Service {
        name: "router",
        title: "Router's mid-tier",
        rules: "tailwater",
        rate: 4_000,
        kind: Kind::Ours { scenario: "router", tier: Some("leaf") },
    },
    Service {
        name: "setalgebra",
        title: "Set Algebra's mid-tier",
        rules: "tailwater",
        rate: 3_000,
        kind: Kind::Ours { scenario: "setalgebra", tier: Some("leaf") },
    },
    Service {
        name: "recommend",
        title: "Recommend's mid-tier",
        rules: "tailwater",
        rate: 4_000,
        kind: Kind::Ours { scenario: "recommend", tier: Some("leaf") },
    },
    Service {
        name: "memcached",
        title: "memcached",
        rules: "memcached",
        rate: 10_000,
        kind: Kind::Foreign {
            protocol: "memcached",
            program: "memcached",
            make: &["CFLAGS=-O2 -g -pthread -Wno-error", "memcached"],
            words: &["-u", "root", "-l", "127.0.0.1", "-p", "{port}", "-m", "256", "-t", "2"],
        },
    },
    Service {
        name: "redis",
        title: "Redis",
        rules: "redis",
        rate: 10_000,
        kind: Kind::Foreign {
            protocol: "redis",
            program: "src/redis-server",
            make: &["MALLOC=libc", "redis-server"],
            words: &["--bind", "127.0.0.1", "--port", "{port}", "--save", "", "--appendonly", "no"],
        },
    },
];

/// The service of this name.
pub(crate) fn of_name(name: &str) -> Result<&'static Service> {
    ALL.iter().find(|one| one.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|one| one.name).collect();
        format!("'{name}' found, one of {} is needed", names.join(", "))
    })
}
