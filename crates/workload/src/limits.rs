//! How large a scenario may be. A file beyond these is refused with the limit in the message.

use std::ops::RangeInclusive;
use std::time::Duration;

pub use tailwater_core::problems::PROBLEMS_MAX;

/// Bytes of a file.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// Entries of any list.
pub const LIST_MAX: usize = 64;
/// Characters of a title, label, name or override value.
pub const TEXT_CHARS_MAX: usize = 200;
/// Clients, each with a connection and control state of its own.
pub const CLIENTS_MAX: u64 = 1_000_000;
/// Repetitions of a run, and of a cycle of steps within a run.
pub const REPETITIONS_MAX: u64 = 1_000;
/// Runs between two measurements of capacity.
pub const EVERY_MAX: u64 = 1_000_000;
/// Loops and generator threads; the cores of all fit a list.
pub const THREADS_MAX: u64 = 32;
/// Threads of a pool, and simulated cores: the thesis' server has 50 workers and 36 cores (Table 3.1, §3.6.1.2).
pub const POOL_MAX: u64 = 64;
/// Unread answers of one connection: what all connections of a loop may have.
pub const OUTPUT_HIGH_MAX: u64 = 1 << 23;
/// Handlers of a thread that wait at once: as many as a server can number.
pub const TASKS_MAX: u64 = 1 << 24;
/// What a socket holds of either way.
pub const SOCKET_BYTES_MAX: u64 = 1 << 30;
/// The highest number of a core.
pub const CORE_MAX: u64 = 4_095;
/// The shortest measured window, step or capacity measurement.
pub const DURATION_MIN: Duration = Duration::from_millis(1);
/// The longest of any time in a scenario, and of a whole run.
pub const DURATION_MAX: Duration = Duration::from_secs(3_600);
/// Objectives.
pub const SLO: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(60);
/// Mean service times; even 36.7 times the longest, the largest exponential draw, fits an entry.
pub const SERVICE_MAX: Duration = Duration::from_millis(100);
/// The longest single request that is drawn: it fits the 32 bits of a schedule entry.
pub const REQUEST_MAX: Duration = Duration::from_secs(4);
/// Standard deviation of the logarithm of log-normal service times. Up to 3.2 a mean of 1 µs leaves less than a
/// thousandth of the work in requests beyond [`REQUEST_MAX`]; wider ones would allow no mean that is used.
pub const SIGMA: RangeInclusive<f64> = 0.01..=3.2;
/// The same as the 99th percentile over the median: e^(2.326 σ).
pub const P99_OF_P50: RangeInclusive<f64> = 1.1..=1_700.0;
/// Shapes of gamma service times.
pub const GAMMA_SHAPE: RangeInclusive<f64> = 0.05..=1_000.0;
/// Shapes of Pareto service times; at 1 and below the end alone would decide the mean.
pub const PARETO_SHAPE: RangeInclusive<f64> = 1.05..=20.0;
/// Bytes of a file of service times.
pub const TIMES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Values in it.
pub const TIMES_MAX: usize = 1_000_000;
/// The longest that a loop spins before it sleeps, and the longest cost or delay in `[sim]`.
pub const COST_MAX: Duration = Duration::from_secs(1);
/// Locks in one set of a path.
pub const LOCKS_MAX: u64 = 1_000_000;
/// Locks that a request holds at once.
pub const NESTING_MAX: usize = 8;
/// Replicas of the server.
pub const REPLICAS_MAX: u64 = 32;
/// Retries that may come at once.
pub const RETRY_BURST_MAX: u64 = 1_000_000;
/// Nodes of a tier, all of which one request may ask.
pub const NODES_MAX: u64 = 64;
/// Nodes or replicas that are reckoned with before they are refused.
pub(crate) const CALLEES_MAX: u32 = 4_096;
/// Keys that a program of others is asked for.
pub const KEYS_MAX: u64 = 1_000_000;
/// Bins of the series of one run.
pub const BINS_MAX: u128 = 100_000;
/// Demand as a multiple of capacity.
pub const OF_CAPACITY_MAX: f64 = 100.0;
/// Demand and capacity in requests per second.
pub const PER_SECOND_MAX: f64 = 1e9;
/// How long a fault lasts, and the longest delay, timeout or clock offset that one brings.
pub const FAULT_TIME_MAX: Duration = Duration::from_secs(60);
/// What is left of a slow node's speed.
pub const SPEED: RangeInclusive<f64> = 0.001..=1.0;
/// How many times slower a link may become.
pub const FAULT_FACTOR_MAX: f64 = 1_000_000.0;
/// The fastest drift of a clock; quartz has tens.
pub const DRIFT_PPM_MAX: f64 = 100_000.0;
/// Stalls of a core per second; a timer interrupts it no more than a thousand times.
pub const STALLS_PER_SECOND_MAX: f64 = 100_000.0;
