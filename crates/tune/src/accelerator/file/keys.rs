//! The keys of a file.

/// A table for each case.
pub const CASE: &str = "case";

/// A key and what it means, for errors and `docs/accelerator.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// As in the file.
    pub name: &'static str,
    /// In words.
    pub meaning: &'static str,
    /// A value as it may stand in a file.
    pub example: &'static str,
    /// What holds where it is left out.
    pub default: &'static str,
}

const fn key(
    name: &'static str,
    example: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, meaning, example, default }
}

/// Keys of the file, outside of cases.
pub const TOP: [Key; 1] = [key("title", "\"Feed1\"", "none", "a line for people")];

/// Keys of a case, or of the file for all cases.
pub const KEYS: [Key; 23] = [
    key("name", "\"off-chip\"", "needed in [[case]]", "how reports call the case"),
    key(
        "design",
        "\"sync-os\"",
        "needed",
        "what threads do: `sync`, `sync-os`, `async`, `async-distinct`, `async-no-response`",
    ),
    key(
        "strategy",
        "\"off-chip\"",
        "needed",
        "where the accelerator is: `on-chip`, `off-chip`, `remote`",
    ),
    key(
        "acknowledged",
        "false",
        "true",
        "whether the driver waits until the accelerator has the data (`sync-os`, `async-distinct`)",
    ),
    key(
        "clock",
        "\"2.3GHz\"",
        "none",
        "the host's clock rate; needed where a cost is a time, for a queue and for batches",
    ),
    key("unit", "\"10s\"", "\"1s\"", "the unit of time of `C`, `n`, `n_all` and `g`"),
    key(
        "C",
        "\"2.3e9 cycles\"",
        "a unit of `clock`",
        "busy cycles of all the host's cores in the unit of time",
    ),
    key(
        "alpha",
        "0.15",
        "from `Cb` and `g`",
        "the share of C that the kernel takes, all offloads together",
    ),
    key("n", "9629", "from `g`", "offloads that are made in the unit of time"),
    key("n_all", "15008", "`n`", "offloads in all, where only the `n` lucrative ones are made"),
    key(
        "share",
        "0.97",
        "1, or from `n_all`",
        "the share of the kernel's work that the `n` offloads carry",
    ),
    key(
        "g",
        "\"sizes.csv\"",
        "none",
        "sizes: rows of bytes and offloads in the unit of time, or a file of them",
    ),
    key("beta", "1.2", "1", "kernel cycles grow with the size to this power"),
    key("Cb", "\"5.62 cycles\"", "from `alpha` and `g`", "host cycles of the kernel for each byte"),
    key("o0", "\"10 cycles\"", "0", "o₀: setting up an offload"),
    key(
        "Q",
        "\"0 cycles\"",
        "0",
        "waiting for the accelerator; or a model of its queue, see below",
    ),
    key("L", "\"1us\"", "0", "moving an offload to the accelerator"),
    key("o1", "\"2.5us\"", "0", "o₁: switching threads once, with what it costs in caches"),
    key("A", "27", "unknown", "how much faster the accelerator is; \"infinite\" for a bound"),
    key("batch", "8", "1", "offloads that are handed over together (designs of `async`)"),
    key("hosts", "4", "1", "hosts that share the accelerator, each with this load"),
    key("offload", "\"all\"", "\"lucrative\"", "of sizes: those that pay, or `all`"),
    key(
        "profile",
        "\"paper\"",
        "\"default\"",
        "the kernel's share of what is offloaded: by its work, or by number as the thesis has it",
    ),
];

/// What a publication prints; a table, shown beside the answer.
pub const STATED: &str = "stated";
/// Its keys.
pub const STATED_KEYS: [&str; 4] = ["speedup", "latency", "measured", "source"];
/// Keys of a model in `Q`.
pub const QUEUE_KEYS: [&str; 3] = ["model", "servers", "variation"];
/// Keys of an uncertain number.
pub const UNCERTAIN_KEYS: [&str; 4] = ["from", "to", "values", "weights"];
